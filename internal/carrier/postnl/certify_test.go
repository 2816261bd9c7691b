package postnl_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/certify"
	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/ship"
)

// TestAConnectionIsCertified walks through a certification on the emulator: a
// carrier without prices is certified by the services that it names.
func TestAConnectionIsCertified(t *testing.T) {
	t.Parallel()
	renderer, err := label.NewRenderer("")
	if err != nil {
		t.Fatal(err)
	}
	server := newStandIn(t, emulator.Faults{})
	walk, err := certify.New(certify.Options{
		Carrier: openVia(t, carriertest.Server(t, server)),
		Account: ship.Account{
			Name:     "Acme",
			Units:    ship.DefaultUnits,
			Currency: "EUR",
			Origin: &ship.Address{
				Name: "Magazijn", Company: "Acme B.V.", Address1: "Siriusdreef 42-60", City: "Hoofddorp", Zip: "2132 WT", Country: "NL", Phone: "+31 23 123 4567",
			},
		},
		Dir:        filepath.Join(t.TempDir(), "report"),
		LookupWait: time.Millisecond,
		Labels:     renderer,
	})
	if err != nil {
		t.Fatal(err)
	}
	report, err := walk.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	results := map[string]certify.Result{}
	for _, check := range report.Checks {
		results[check.Name] = check.Result
		if check.Result == certify.Failed {
			t.Errorf("%s: %s", check.Name, check.Message)
		}
	}
	for _, name := range []string{
		"credentials", "purchase, domestic", "purchase, international", "label, domestic, zpl", "label, international, png",
		"look-up, domestic", "look-up, unused reference", "tracking, domestic",
	} {
		if results[name] != certify.OK {
			t.Errorf("%s: %q", name, results[name])
		}
	}
	for _, purchase := range report.Purchases {
		if purchase.State != certify.Unused { // it cannot be voided
			t.Errorf("%s is %s", purchase.Name, purchase.State)
		}
	}
}
