package carrierkit

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// A FittedAddress is an address as one carrier takes it.
type FittedAddress struct {
	Name, Company                           string
	Lines                                   []string // of the street, none empty
	City, State, Zip, Country, Phone, Email string
	Residential                             bool
}

// Fit returns the address as the carrier with these limits takes it, warnings
// for the client, and an Invalid error with pointers that start with pointer
// ("/destination") for what does not fit.
//
// Nothing is cut. A street line that is too long goes on in the next line, at
// a word; lines are joined with a comma only if there are too many. Letters
// that the carrier cannot print are transliterated, with a warning; letters
// without a transliteration are refused. Abbreviations are suggested and never
// made. Neither warnings nor errors repeat what the client wrote. Fitting what
// Fit returned changes nothing.
func Fit(limits carrier.AddressLimits, given ship.Address, pointer string) (FittedAddress, []string, error) {
	f := fitter{
		limits:  limits,
		script:  script{limits.Charset, given.Country},
		pointer: pointer,
	}
	fitted := FittedAddress{
		Name:        f.text("name", given.Name, limits.Name, nameWords),
		Company:     f.text("company", given.Company, limits.Company, nameWords),
		Lines:       f.street(given),
		City:        f.text("city", given.City, limits.City, cityWords),
		State:       f.state(given.State, given.Country),
		Zip:         f.text("zip", given.Zip, limits.Zip, nil),
		Country:     given.Country,
		Phone:       f.phone(given.Phone, given.Country),
		Email:       f.email(given.Email),
		Residential: given.Residential != nil && *given.Residential,
	}

	if err := ship.InvalidFields(f.invalid); err != nil {
		return FittedAddress{}, nil, err
	}
	return fitted, f.warnings, nil
}

// A fitter collects the invalid fields of an address and the warnings about it.
type fitter struct {
	limits   carrier.AddressLimits
	script   script
	pointer  string
	warnings []string
	invalid  []ship.FieldError
}

func (f *fitter) refuse(field, code, suggestion, detail string, args ...any) {
	f.invalid = append(f.invalid, ship.FieldError{
		Pointer:    f.pointer + "/" + field,
		Code:       code,
		Detail:     fmt.Sprintf(detail, args...),
		Suggestion: suggestion,
	})
}

// warn adds a warning about a field, by its name in the API.
func (f *fitter) warn(field, text string) {
	name := strings.ReplaceAll(strings.TrimPrefix(f.pointer+"/"+field, "/"), "/", ".")
	f.warnings = append(f.warnings, name+" "+text)
}

// text returns a value that is printed on one line.
func (f *fitter) text(field, value string, limit int, words abbreviations) string {
	value = f.printable(field, value)
	if !fits(value, limit) {
		short, used := words.shorten(value)
		if !fits(short, limit) {
			used = nil
		}
		f.refuse(field, "too_long", words.advise(used), "is longer than the %d characters that the carrier prints", limit)
	}
	return value
}

// printable returns the value in characters that the carrier prints, with
// single spaces.
func (f *fitter) printable(field, value string) string {
	value = tidy(value)
	out, ok := f.script.write(value)
	switch {
	case !ok:
		f.refuse(field, "unsupported_characters", "the same in Latin letters", "has characters that the carrier cannot print and that have no transliteration")
		return value
	case out != value:
		f.warn(field, "is transliterated: the carrier cannot print all of its characters")
	}
	return out
}

// stateMatters lists the countries in which a parcel does not arrive without
// its state. Elsewhere the postal code is enough.
var stateMatters = strings.Fields("AU BR CA IN MX US")

// state is left out if the carrier takes only codes and the country has none
// that matter: an address with a British county must not be refused for it.
func (f *fitter) state(value, country string) string {
	if tidy(value) == "" || slices.Contains(stateMatters, country) {
		return f.text("state", value, f.limits.State, nil)
	}

	out, ok := f.script.write(tidy(value))
	if !ok || !fits(out, f.limits.State) {
		f.warn("state", "is omitted: the carrier does not accept it, and addresses in this country do not need it")
		return ""
	}
	return f.printable("state", value)
}

// email is never transliterated: the result would be somebody else's address.
func (f *fitter) email(value string) string {
	value = tidy(value)
	if !inCharset(value, f.limits.Charset) {
		f.warn("email", "is omitted: the carrier does not accept its characters")
		return ""
	}
	if !fits(value, f.limits.Email) {
		f.refuse("email", "too_long", "", "is longer than the %d characters that the carrier accepts", f.limits.Email)
	}
	return value
}

func fits(s string, limit int) bool { return limit == 0 || utf8.RuneCountInString(s) <= limit }
