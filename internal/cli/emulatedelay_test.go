package cli

import (
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

// TestEveryEmulatorFindsSalesAsLateAsItsCarrier holds the delays with which
// each carrier's look-up finds a new label: they decide when an absence can be
// believed, so no emulator may be quicker than its carrier by default.
func TestEveryEmulatorFindsSalesAsLateAsItsCarrier(t *testing.T) {
	t.Parallel()
	want := map[string]time.Duration{
		"ups":             time.Hour,
		"usps":            time.Minute,
		"fedex":           24 * time.Hour,
		"dhl_express":     time.Hour,
		"dhl_parcel_de":   time.Hour,
		"gls":             5 * time.Minute,
		"royal_mail":      5 * time.Minute,
		"postnl":          time.Hour,
		"canada_post":     time.Hour,
		"amazon_shipping": 0, // has no look-up
	}
	if len(want) != len(emulatedCarriers) {
		t.Errorf("%d delays for %d emulators", len(want), len(emulatedCarriers))
	}
	for _, played := range emulatedCarriers {
		ledger, err := emulator.OpenLedger("")
		if err != nil {
			t.Fatal(err)
		}
		server := played.open(ledger)
		if server.LookupDelay != want[played.name] || server.LookupScale != 1 {
			t.Errorf("%s: a delay of %v times %v, want %v", played.name, server.LookupDelay, server.LookupScale, want[played.name])
		}
	}
}
