package postnl_test

import (
	"testing"

	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/carrier/postnl"
	"github.com/waybillhq/waybill/internal/certify"
	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/ship"
)

// TestAConnectionIsCertified has a carrier without prices, which is certified by the
// services that it names.
func TestAConnectionIsCertified(t *testing.T) {
	t.Parallel()
	report := carriertest.Certification{
		Spec:        postnl.Spec,
		Credentials: credentials,
		Server:      newStandIn(t, emulator.Faults{}),
		Origin: ship.Address{
			Name: "Magazijn", Company: "Acme B.V.", Address1: "Siriusdreef 42-60", City: "Hoofddorp", Zip: "2132 WT", Country: "NL", Phone: "+31 23 123 4567",
		},
		Currency: "EUR",
		Succeeds: []string{
			"credentials", "purchase, domestic", "purchase, international", "label, domestic, zpl", "label, international, png",
			"look-up, domestic", "look-up, unused reference", "tracking, domestic",
		},
		Untestable: func(string) bool { return true },
	}.Run(t)
	for _, purchase := range report.Purchases {
		if purchase.State != certify.Unused { // it cannot be voided
			t.Errorf("%s is %s", purchase.Name, purchase.State)
		}
	}
}
