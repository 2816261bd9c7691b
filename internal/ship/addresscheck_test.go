package ship

import (
	"slices"
	"testing"
)

func TestHowAnAddressIsWrittenIsNoChange(t *testing.T) {
	t.Parallel()
	given := Address{
		Name: "Ann", Address1: "1 Main St.", Address2: "Apt 4", City: "Albany", State: "NY", Zip: "12207",
		Country: "US", Phone: "5185550100",
	}
	place := Address{Address1: "1 MAIN ST", Address2: "APT 4", City: "ALBANY", State: "NY", Zip: "12207-1234", Country: "US"}

	if changes := given.ChangesTo(place); changes != nil {
		t.Errorf("changes: %v", changes)
	}
	if got := given.At(place); got != given {
		t.Errorf("the address became %+v", got)
	}
}

func TestChangesOfAnAddress(t *testing.T) {
	t.Parallel()
	given := Address{Name: "Ann", Address1: "1 Mian St", City: "Albany", State: "NY", Zip: "12208", Country: "US"}
	place := Address{Address1: "1 MAIN ST", Address2: "STE 2", City: "ALBANY", State: "NY", Zip: "12207", Country: "US"}

	want := []AddressChange{{"/address1", "1 Mian St", "1 MAIN ST"}, {"/address2", "", "STE 2"}, {"/zip", "12208", "12207"}}
	if changes := given.ChangesTo(place); !slices.Equal(changes, want) {
		t.Errorf("changes: %v", changes)
	}
	corrected := given.At(place)
	wantAddress := Address{
		Name: "Ann", Address1: "1 MAIN ST", Address2: "STE 2", City: "Albany", State: "NY", Zip: "12207", Country: "US",
	}
	if corrected != wantAddress {
		t.Errorf("corrected: %+v", corrected)
	}
}

// TestWordsDividedElsewhereAreAChange: "1 A" and "1A" are different houses.
func TestWordsDividedElsewhereAreAChange(t *testing.T) {
	t.Parallel()
	if len((Address{Address1: "1 A Street"}).ChangesTo(Address{Address1: "1A Street"})) != 1 {
		t.Error("1 A Street and 1A Street are the same")
	}
}
