package ship

import (
	"strings"
	"unicode"
)

// An AddressVerdict says whether a parcel reaches an address.
type AddressVerdict string

// The verdicts.
const (
	AddressValid     AddressVerdict = "valid"
	AddressCorrected AddressVerdict = "corrected" // valid once it is changed
	AddressAmbiguous AddressVerdict = "ambiguous" // it may mean one of several
	AddressInvalid   AddressVerdict = "invalid"
	AddressUnknown   AddressVerdict = "unknown" // nobody could check it
)

// CheckedByRules is AddressCheck.CheckedBy if no carrier was asked.
const CheckedByRules = "rules"

// An AddressCheck is what a carrier, or the rules, found about an address.
type AddressCheck struct {
	Verdict     AddressVerdict `json:"verdict"`
	Address     Address        `json:"address"`              // as it was given, except for what the verdict AddressCorrected changed
	Candidates  []Address      `json:"candidates,omitempty"` // what an ambiguous address may mean, the likeliest first
	Residential *bool          `json:"residential,omitempty"`
	CheckedBy   string         `json:"checkedBy"` // a carrier's name, or CheckedByRules
	Messages    []string       `json:"messages,omitempty"`
}

// An AddressChange is one field that a check corrected.
type AddressChange struct {
	Pointer  string // "/city"
	From, To string
}

// A placeField is a field of an address that says where it is.
type placeField struct {
	pointer string
	value   *string
}

func (a *Address) placeFields() [7]placeField {
	return [7]placeField{
		{"/address1", &a.Address1},
		{"/address2", &a.Address2},
		{"/address3", &a.Address3},
		{"/city", &a.City},
		{"/state", &a.State},
		{"/zip", &a.Zip},
		{"/country", &a.Country},
	}
}

// PlaceLine writes where an address is in one line, with the country if that differs
// from the country of the given one.
func (a Address) PlaceLine(given Address) string {
	a.Name, a.Company = "", ""
	return strings.Join(a.Lines(a.Country != given.Country), ", ")
}

// ChangesTo lists the fields of the place that differ in b. How a field is
// written makes no difference: letter case, punctuation, and the second half of
// a ZIP code that was not given.
func (a Address) ChangesTo(b Address) []AddressChange {
	var changes []AddressChange
	others := b.placeFields()
	for i, field := range a.placeFields() {
		from, to := *field.value, *others[i].value
		isExtended := field.pointer == "/zip" && a.Country == "US" && len(from) == 5 && strings.HasPrefix(to, from+"-")
		if !isExtended && !sameText(from, to) {
			changes = append(changes, AddressChange{Pointer: field.pointer, From: from, To: to})
		}
	}
	return changes
}

// At returns the address with the place of another: its streets, city, state, postal
// code and country. Fields that differ only in how they are written stay as they
// are, and so does everything about the person.
func (a Address) At(place Address) Address {
	for _, change := range a.ChangesTo(place) {
		for _, field := range a.placeFields() {
			if field.pointer == change.Pointer {
				*field.value = change.To
			}
		}
	}
	return a
}

// sameText reports whether two texts have the same letters and digits, in any
// case, with words divided at the same places.
func sameText(a, b string) bool {
	plain := func(s string) string {
		return strings.Join(strings.FieldsFunc(strings.ToUpper(s), func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r)
		}), " ")
	}
	return a == b || plain(a) == plain(b)
}
