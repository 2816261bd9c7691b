package royalmail_test

import (
	"testing"

	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/carrier/royalmail"
	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/ship"
)

// TestAConnectionIsCertified has a carrier without prices, which is certified by the
// services that it names.
func TestAConnectionIsCertified(t *testing.T) {
	t.Parallel()
	carriertest.Certification{
		Spec:        royalmail.Spec,
		Credentials: credentials,
		Server:      newStandIn(t, emulator.Faults{}),
		Origin: ship.Address{
			Name: "Goods In", Company: "Acme Ltd", Address1: "1 Dock Road", City: "Bristol", Zip: "BS1 4DJ", Country: "GB", Phone: "+44 117 496 0000",
		},
		Currency: "GBP",
		Succeeds: []string{
			"credentials", "purchase, domestic", "purchase, international", "label, domestic, zpl", "label, international, png",
			"look-up, domestic", "look-up, unused reference", "tracking, domestic", "void, domestic", "void, international",
		},
		Untestable: func(string) bool { return true },
	}.Run(t)
}
