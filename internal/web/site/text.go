package site

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// The longest text of a field, in bytes. Most fields have lower limits of their
// own; this one holds for all that somebody may have forgotten.
const (
	maxField     = 20_000
	maxHeldField = 2 * maxHeld // a form that is held, encrypted and encoded
)

// checkText parses the query and the form, and rejects text that cannot be
// stored or is far too long. Every text that a person can send passes through
// here, whatever the handler does with it.
func (v *Visit) checkText() error {
	if err := checkFields(httpkit.ParameterPrefix, v.Request.URL.Query()); err != nil || v.Request.Method != http.MethodPost {
		return err
	}

	if isMultipart(v.Request) {
		// Handlers of files parse the form again, and say what is wrong with
		// the file. Without a form there is no text either.
		if v.Request.ParseMultipartForm(cmp.Or(v.rt.MaxBytes, MaxForm)) != nil {
			return nil
		}
		return checkFields("/", v.Request.MultipartForm.Value)
	}

	if err := v.Request.ParseForm(); err != nil {
		if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return ship.Coded(ship.Invalid, "body_too_large", "the form is larger than %d bytes; shorten its texts", tooLarge.Limit)
		}
		return ship.Errorf(ship.Invalid, "the form could not be read; reload the page and send it again")
	}
	return checkFields("/", v.Request.PostForm)
}

func isMultipart(r *http.Request) bool {
	return strings.HasPrefix(strings.ToLower(r.Header.Get("Content-Type")), "multipart/form-data")
}

// checkFields returns the error for the first field, by name, whose text cannot
// be accepted. Pointers to fields begin with the prefix.
func checkFields(prefix string, fields url.Values) error {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		for _, text := range append([]string{name}, fields[name]...) {
			code, detail := textProblem(name, text)
			if code == "" {
				continue
			}

			// A name that is itself the problem is not repeated.
			shown := name
			if shownCode, _ := textProblem("", name); shownCode != "" || len(name) > 100 {
				shown = "?"
			}
			return &ship.Error{
				Kind:    ship.Invalid,
				Code:    "validation_failed",
				Message: fmt.Sprintf("the field %q %s", shown, detail),
				Fields:  []ship.FieldError{{Pointer: prefix + shown, Code: code, Detail: detail}},
			}
		}
	}
	return nil
}

// textProblem says what is wrong with a text; the code is "" if nothing is.
func textProblem(name, text string) (code, detail string) {
	limit := maxField
	if name == "held" {
		limit = maxHeldField
	}

	switch {
	case len(text) > limit:
		return "too_long", fmt.Sprintf("has %d bytes; at most %d are allowed", len(text), limit)
	case strings.IndexByte(text, 0) >= 0: // Postgres stores none
		return "invalid_text", "contains a NUL character; remove it"
	case !utf8.ValidString(text):
		return "invalid_text", "is not valid UTF-8; type it again"
	}
	return "", ""
}

// ReadFile returns the content of an uploaded file. Its size is known, so it is
// read without the garbage that a growing buffer leaves.
func ReadFile(file multipart.File, header *multipart.FileHeader) ([]byte, error) {
	data := make([]byte, header.Size)
	_, err := io.ReadFull(file, data)
	return data, err
}
