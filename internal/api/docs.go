package api

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"net/http"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/ship"
)

//go:embed docs.html
var docsHTML string

//go:embed docs.css
var docsCSS string

// docsStyleHash identifies the page's only style in its content security policy.
var docsStyleHash = func() string {
	sum := sha256.Sum256([]byte(docsCSS))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}()

var docsTemplate = template.Must(template.New("docs").Funcs(template.FuncMap{
	"prose":  prose,
	"json":   highlightJSON,
	"status": http.StatusText,
	"class":  statusClass,
}).Parse(docsHTML))

// docsPage is what the reference page shows.
type docsPage struct {
	Title, Base string
	Style       template.CSS
	About       string
	Groups      []httpkit.ReferenceGroup
	Statuses    [][2]string
	Errors      []docsErrors
	FieldCodes  [][2]string
}

type docsErrors struct {
	Status int
	Codes  []httpkit.Code
}

// page renders the reference page of the document.
func (d *document) page(base string) ([]byte, error) {
	info := d.root.child("info")
	page := docsPage{
		Title:      info.text("title"),
		Base:       base,
		Style:      template.CSS(docsCSS),
		About:      info.text("description"),
		Groups:     d.groups(base),
		Statuses:   statusMeanings(),
		Errors:     errorsByStatus(),
		FieldCodes: httpkit.FieldCodes,
	}

	var out bytes.Buffer
	err := docsTemplate.Execute(&out, page)
	return out.Bytes(), err
}

// groups returns the operations by tag, in the order of the document.
func (d *document) groups(base string) (list []httpkit.ReferenceGroup) {
	for _, tag := range d.root.list("tags") {
		tag := tag.(*object)
		group := httpkit.ReferenceGroup{Name: tag.text("name"), About: tag.text("description")}

		d.operations(func(method, path string, op *object) {
			if method != http.MethodHead && op.list("tags")[0] == any(group.Name) {
				group.Operations = append(group.Operations, d.operation(base, method, path, op))
			}
		})
		list = append(list, group)
	}
	return list
}

// errorsByStatus groups the codes of errors by their HTTP status, the lowest
// first.
func errorsByStatus() []docsErrors {
	codes := slices.Clone(httpkit.Codes)
	slices.SortStableFunc(codes, func(a, b httpkit.Code) int { return a.Status - b.Status })

	var out []docsErrors
	for _, code := range codes {
		if n := len(out); n == 0 || out[n-1].Status != code.Status {
			out = append(out, docsErrors{Status: code.Status})
		}
		last := &out[len(out)-1]
		last.Codes = append(last.Codes, code)
	}
	return out
}

// statusMeanings are the specification's words for the seven statuses.
func statusMeanings() [][2]string {
	return [][2]string{
		{string(ship.Created), "The shipment exists in the service but is not yet manifested."},
		{string(ship.LabelGenerated), "The carrier has accepted the shipment and provided a label."},
		{string(ship.PickedUp), "The carrier has physical possession of the package."},
		{string(ship.InTransit), "The package is moving through the carrier network."},
		{string(ship.OutForDelivery), "The package is on the final delivery vehicle. Reported as the event shipment.in_transit."},
		{string(ship.Delivered), "The package was delivered."},
		{string(ship.Exception), "An issue occurred, such as a weather delay or an address not found. reason says which."},
	}
}

// prose renders paragraphs and `code`; nothing else is markup.
func prose(text string) template.HTML {
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

func statusClass(status int) string {
	switch {
	case status < http.StatusBadRequest:
		return "ok"
	case status < http.StatusInternalServerError:
		return "bad"
	}
	return "worse"
}
