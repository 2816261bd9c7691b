package ship

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bojanz/address"
)

func TestAddressFieldsAreThoseOfTheCountry(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{
		"US": "City* State* ZIP code*", "DE": "Postal code* City*", "GB": "Town or city* Postal code*", "IE": "City* County Eircode",
		"HK": "District* Area", "AE": "City* Emirate", "JP": "City* Prefecture Postal code*", "": "City* State or province Postal code",
	} {
		var got []string
		for _, f := range AddressFields(code) {
			label := f.Label
			if f.Required {
				label += "*"
			}
			got = append(got, label)
		}
		have := strings.Join(got, " ")
		if code == "AE" { // the city is ours: its place is behind what the country writes
			if !strings.Contains(have, "Emirate") || !strings.Contains(have, "City*") {
				t.Errorf("AE: %s", have)
			}
			continue
		}
		if have != want {
			t.Errorf("%s: %s, want %s", code, have, want)
		}
	}
}

// TestAddressFieldsAskForWhatNormalizeRequires goes through all countries.
func TestAddressFieldsAskForWhatNormalizeRequires(t *testing.T) {
	t.Parallel()
	for _, code := range address.GetCountryCodes() {
		_, wrong := Address{Name: "x", Address1: "x", Country: code}.Normalize("")
		asked := map[string]bool{}
		for _, f := range AddressFields(code) {
			asked["/"+f.Name] = f.Required
		}
		for _, w := range wrong {
			if !asked[w.Pointer] {
				t.Errorf("%s: %s", code, fmt.Sprint(w))
			}
			delete(asked, w.Pointer)
		}
		for pointer, required := range asked {
			if required {
				t.Errorf("%s: %s is called required and is not", code, pointer)
			}
		}
	}
}
