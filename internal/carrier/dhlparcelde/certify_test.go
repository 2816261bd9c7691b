package dhlparcelde_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/carrier/dhlparcelde"
	"github.com/waybillhq/waybill/internal/certify"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/ship"
)

// TestCertification walks through "waybill connection certify" on the emulator:
// nothing fails, everything that was bought is voided, and the checklist is
// filled in.
func TestCertification(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	labels, err := label.NewRenderer("")
	if err != nil {
		t.Fatal(err)
	}
	opened, err := carrier.Open(dhlparcelde.Spec, carrier.Opening{
		Credentials: credentials(),
		BaseURL:     dhlparcelde.Spec.TestURL,
		Via:         recorded{carrierkit.Recorder(roundTripper{carriertest.Server(t, s)})},
	})
	if err != nil {
		t.Fatal(err)
	}
	origin := domesticOrder().Order.Origin
	dir := filepath.Join(t.TempDir(), "report")
	walk, err := certify.New(certify.Options{
		Carrier: opened,
		Account: ship.Account{Name: "Acme", Units: ship.DefaultUnits, Currency: "EUR", Origin: &origin},
		Fields:  map[string]string{"username": "shop-system"},
		Dir:     dir,
		Labels:  labels,
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
		if check.Result == certify.Failed || check.Result == certify.NotTestable {
			t.Errorf("%s: %s %s", check.Name, check.Result, check.Message)
		}
	}
	for _, purchase := range []string{"domestic", "international"} {
		for _, check := range []string{"purchase, " + purchase, "label, " + purchase + ", pdf", "label, " + purchase + ", zpl", "tracking, " + purchase, "void, " + purchase} {
			if results[check] != certify.OK {
				t.Errorf("%s: %q", check, results[check])
			}
		}
	}
	if open := report.Open(); len(open) > 0 || len(s.Ledger.Entries()) != 4 {
		t.Errorf("%d purchases are open, %d lines in the ledger, want two sales and two voids", len(open), len(s.Ledger.Entries()))
	}

	page, err := os.ReadFile(filepath.Join(dir, "go-live", "checklist.md"))
	if err != nil || !strings.Contains(string(page), "shop-system") {
		t.Errorf("the checklist: %v\n%s", err, page)
	}
}
