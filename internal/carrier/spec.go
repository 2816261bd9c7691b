package carrier

import (
	"net/http"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
)

// Spec describes a carrier. It is a value, listed in package all; importing
// a carrier has no side effect.
type Spec struct {
	Name       string // "ups": stored, in URLs, never changes
	Title      string // "UPS"
	Fields     []Field
	Services   []Service
	Packagings []Packaging
	// Open makes a driver of complete credentials. It does no I/O.
	Open func(Credentials, Doer) (Driver, error)
}

// A Field is one credential. The fields drive the form, the validation, the
// redaction and the documentation.
type Field struct {
	Name     string // "client_secret"
	Title    string // "Client secret"
	Help     string // where a person finds it
	Secret   bool   // never shown, never in an error
	Required bool
}

// A Service is a way to send a parcel.
type Service struct {
	Code string // "ground": in the API and in rules, never changes
	Name string // "UPS Ground"
}

// A Packaging is a box or an envelope of the carrier's own.
type Packaging struct {
	Code string
	Name string
}

// Credentials are the values of a Spec's fields.
type Credentials map[string]string

// A Doer sends one HTTP request. Drivers are given one and never make their
// own, so that pacing, recording and faults have one place.
type Doer interface {
	Do(*http.Request) (*http.Response, error)
}

// Service returns the service of the code.
func (s Spec) Service(code string) (Service, bool) {
	i := slices.IndexFunc(s.Services, func(v Service) bool { return v.Code == code })
	if i < 0 {
		return Service{}, false
	}
	return s.Services[i], true
}

// check reports the required fields that are empty and the credentials that
// the carrier has no field for.
func (s Spec) check(given Credentials) error {
	var wrong []ship.FieldError
	for _, f := range s.Fields {
		if f.Required && strings.TrimSpace(given[f.Name]) == "" {
			wrong = append(wrong, ship.FieldError{Pointer: "/" + f.Name, Code: "required", Detail: "is required"})
		}
	}
	for name := range given {
		if !slices.ContainsFunc(s.Fields, func(f Field) bool { return f.Name == name }) {
			wrong = append(wrong, ship.FieldError{Pointer: "/" + name, Code: "unknown_field", Detail: "is not a credential of this carrier"})
		}
	}
	slices.SortFunc(wrong, func(a, b ship.FieldError) int { return strings.Compare(a.Pointer, b.Pointer) })
	return ship.InvalidFields(wrong)
}

// secrets returns the values that may not appear anywhere.
func (s Spec) secrets(given Credentials) []string {
	var list []string
	for _, f := range s.Fields {
		if v := given[f.Name]; f.Secret && v != "" {
			list = append(list, v)
		}
	}
	return list
}
