package carrier_test

import (
	"testing"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

var given = ship.Address{Name: "Ann", Address1: "1 Main St", City: "Albany", State: "NY", Zip: "12207", Country: "US"}

// place is a place as carriers write it: in capitals, and without a person.
func place(line, city, zip string) ship.Address {
	return ship.Address{Address1: line, City: city, State: "NY", Zip: zip, Country: "US"}
}

func TestCheckedAddresses(t *testing.T) {
	corrected := given
	corrected.Zip = "12208"
	second := given
	second.Address1 = "2 MAIN ST"

	tests := []struct {
		name       string
		found      ship.AddressCheck
		verdict    ship.AddressVerdict
		address    ship.Address
		candidates []ship.Address
	}{
		{
			name:    "written in another way",
			found:   ship.AddressCheck{Verdict: ship.AddressCorrected, Address: place("1 MAIN ST", "ALBANY", "12207-1001")},
			verdict: ship.AddressValid, address: given,
		},
		{
			name:    "another postal code",
			found:   ship.AddressCheck{Verdict: ship.AddressValid, Address: place("1 MAIN ST", "ALBANY", "12208")},
			verdict: ship.AddressCorrected, address: corrected,
		},
		{
			name:    "a correction that is no address",
			found:   ship.AddressCheck{Verdict: ship.AddressValid, Address: place("", "ALBANY", "12208")},
			verdict: ship.AddressValid, address: given,
		},
		{
			name: "several",
			found: ship.AddressCheck{Verdict: ship.AddressAmbiguous, Candidates: []ship.Address{
				place("1 MAIN ST", "ALBANY", "12207"), place("2 MAIN ST", "ALBANY", "12207"),
			}},
			verdict: ship.AddressAmbiguous, address: given, candidates: []ship.Address{given, second},
		},
		{
			name:    "none",
			found:   ship.AddressCheck{Verdict: ship.AddressInvalid, Address: place("9 MAIN ST", "ALBANY", "12207")},
			verdict: ship.AddressInvalid, address: given,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			check, err := carrier.New(spec, &driver{address: test.found}).CheckAddress(t.Context(), given)
			if err != nil {
				t.Fatal(err)
			}
			if check.Verdict != test.verdict || check.Address != test.address || check.CheckedBy != spec.Name {
				t.Errorf("%s: %+v by %q", check.Verdict, check.Address, check.CheckedBy)
			}
			if len(check.Candidates) != len(test.candidates) {
				t.Fatalf("candidates %+v", check.Candidates)
			}
			for i := range test.candidates {
				if check.Candidates[i] != test.candidates[i] {
					t.Errorf("candidate %d is %+v", i, check.Candidates[i])
				}
			}
		})
	}
}

func TestACheckWithoutAVerdictIsAnError(t *testing.T) {
	_, err := carrier.New(spec, &driver{}).CheckAddress(t.Context(), given)
	if ship.KindOf(err) != ship.Unavailable {
		t.Errorf("%v, want unavailable", err)
	}
}

func TestAddressesElsewhereAreNotChecked(t *testing.T) {
	abroad := given
	abroad.Country = "DE"
	_, err := carrier.New(spec, &driver{}).CheckAddress(t.Context(), abroad)
	if ship.KindOf(err) != ship.Unsupported {
		t.Errorf("%v, want unsupported", err)
	}

	coverage := carrier.AddressCoverage{Streets: []string{"US"}, Places: true}
	if coverage.DepthIn("US") != carrier.StreetChecked || coverage.DepthIn("DE") != carrier.PlaceChecked {
		t.Error("the depth of a country is wrong")
	}
}
