package sandbox_test

import (
	"testing"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/sandbox"
	"github.com/waybillhq/waybill/internal/ship"
)

// TestMagicStreets checks that a check finds the same with and without a network.
func TestMagicStreets(t *testing.T) {
	t.Parallel()
	verdicts := map[string]ship.AddressVerdict{
		"5 Any Street":     ship.AddressValid,
		"Corrected Street": ship.AddressCorrected,
		"Ambiguous Street": ship.AddressAmbiguous,
		"Invalid Street":   ship.AddressInvalid,
	}
	for _, via := range []carrier.Doer{nil, sandbox.Service{}} {
		c, err := carrier.Open(sandbox.Specs()[0], carrier.Opening{Via: via})
		if err != nil {
			t.Fatal(err)
		}

		address := ship.Address{Name: "Ann", City: "Albany", State: "NY", Zip: "12207", Country: "US"}
		for line, want := range verdicts {
			address.Address1 = line
			check, err := c.CheckAddress(t.Context(), address)
			if err != nil || check.Verdict != want || check.CheckedBy != "ups" {
				t.Errorf("%s: %+v, %v", line, check, err)
			}
			if want == ship.AddressCorrected && check.Address.Address1 != "1 Corrected Street" {
				t.Errorf("corrected to %q", check.Address.Address1)
			}
		}

		address.Address1 = "unreachable street"
		if _, err := c.CheckAddress(t.Context(), address); ship.KindOf(err) != ship.Unavailable {
			t.Errorf("unreachable: %v", err)
		}
	}
}
