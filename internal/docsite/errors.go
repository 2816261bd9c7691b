package docsite

import (
	"bytes"
	"html/template"
	"net/http"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/httpkit"
)

// A catalogue is every error that the API can answer with.
type catalogue struct {
	Where      Addresses
	Statuses   []errorStatus
	FieldCodes [][2]string
}

// An errorStatus is the errors with one HTTP status.
type errorStatus struct {
	Status int
	Codes  []errorCode
}

// An errorCode is one error, with the operations that can answer with it.
type errorCode struct {
	httpkit.Code
	Everywhere bool // all operations can
	Operations []httpkit.ReferenceOperation
}

// renderErrors fills the page of the catalogue. Its list is the one that answers
// are made of.
func (s *Site) renderErrors(made *page, groups []httpkit.ReferenceGroup) error {
	made.Title = "Errors"
	made.Short = "Errors"

	shown := catalogue{Where: s.where, Statuses: errorsByStatus(groups), FieldCodes: httpkit.FieldCodes}
	for _, status := range shown.Statuses {
		made.Contents = append(made.Contents, heading{
			Level: 2,
			ID:    statusID(status.Status),
			Text:  statusText(status.Status),
		})
	}
	made.Contents = append(made.Contents, heading{Level: 2, ID: "fields", Text: "Field codes"})

	var out bytes.Buffer
	err := pageTemplate.ExecuteTemplate(&out, "errors", shown)
	made.Body = template.HTML(out.String()) // the template escapes all text
	return err
}

// ID returns the anchor of a status.
func (e errorStatus) ID() string { return statusID(e.Status) }

func statusID(status int) string { return headingID(statusText(status)) }

// statusText returns a status with its name, such as "404 Not Found".
func statusText(status int) string {
	return strings.TrimSpace(string(digits(status)) + " " + http.StatusText(status))
}

func digits(status int) []byte {
	return []byte{byte('0' + status/100%10), byte('0' + status/10%10), byte('0' + status%10)}
}

// errorsByStatus groups the codes by their HTTP status, the lowest first.
func errorsByStatus(groups []httpkit.ReferenceGroup) []errorStatus {
	users := map[string][]httpkit.ReferenceOperation{}
	total := 0
	for _, group := range groups {
		for _, operation := range group.Operations {
			total++
			for _, failure := range operation.Errors {
				for _, code := range failure.Codes {
					users[code] = append(users[code], operation)
				}
			}
		}
	}

	codes := slices.Clone(httpkit.Codes)
	slices.SortStableFunc(codes, func(a, b httpkit.Code) int { return a.Status - b.Status })

	var out []errorStatus
	for _, code := range codes {
		if n := len(out); n == 0 || out[n-1].Status != code.Status {
			out = append(out, errorStatus{Status: code.Status})
		}
		last := &out[len(out)-1]
		entry := errorCode{Code: code, Operations: users[code.Name]}
		if total > 0 && len(entry.Operations) == total {
			entry.Everywhere = true
			entry.Operations = nil
		}
		last.Codes = append(last.Codes, entry)
	}
	return out
}

// Prose renders the texts of the API: paragraphs and `code`; nothing else is
// markup.
func Prose(text string) template.HTML {
	var out strings.Builder
	for _, paragraph := range httpkit.Paragraphs(text) {
		out.WriteString("<p>")
		for _, phrase := range paragraph {
			part := template.HTMLEscapeString(phrase.Text)
			if phrase.IsCode {
				part = "<code>" + part + "</code>"
			}
			out.WriteString(part)
		}
		out.WriteString("</p>")
	}
	return template.HTML(out.String()) // every part is escaped above
}
