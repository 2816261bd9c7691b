package royalmail_test

import (
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/ship"
)

func TestALabelIsVoidedUntilItIsOnAManifest(t *testing.T) {
	t.Parallel()
	opened := openVia(t, checked(newContract(t), carriertest.Server(t, newStandIn(t, emulator.Faults{}))))
	first, err := opened.Buy(t.Context(), domesticOrder())
	if err != nil {
		t.Fatal(err)
	}
	purchase := ship.Purchase{CarrierRef: first.CarrierRef}
	for range 2 { // a void whose answer was lost is repeated
		if result, err := opened.Void(t.Context(), purchase); err != nil || result.State != ship.StateVoided {
			t.Errorf("void: %+v, %v", result, err)
		}
	}

	second, err := opened.Buy(t.Context(), domesticOrder())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := opened.CloseManifest(t.Context(), ship.ManifestOrder{}); err != nil {
		t.Fatal(err)
	}
	_, err = opened.Void(t.Context(), ship.Purchase{CarrierRef: second.CarrierRef})
	if ship.KindOf(err) != ship.Invalid || !strings.Contains(ship.ErrorOf(err).Refusal.Message, "manifested") {
		t.Errorf("void after the manifest: %v", err)
	}
}

// TestAFormThatIsLateIsFetched closes a manifest whose form is ready at the third
// look.
func TestAFormThatIsLateIsFetched(t *testing.T) {
	t.Parallel()
	opened := openVia(t, checked(newContract(t), carriertest.Server(t, newStandIn(t, emulator.Faults{Account: "late_manifest"}))))
	if _, err := opened.Buy(t.Context(), domesticOrder()); err != nil {
		t.Fatal(err)
	}
	closing, err := opened.CloseManifest(t.Context(), ship.ManifestOrder{})
	if err != nil || closing.Number == "" || len(closing.Documents) != 1 {
		t.Errorf("closed as %q with %d documents, %v", closing.Number, len(closing.Documents), err)
	}
}

// TestALostManifestIsClosedAgain loses the answer of a manifest: closing again
// says that nothing is left, and closes nothing.
func TestALostManifestIsClosedAgain(t *testing.T) {
	t.Parallel()
	server := newStandIn(t, emulator.Faults{Day: map[string]float64{"reset": 1}})
	opened := openVia(t, carriertest.Server(t, server))
	if _, err := opened.Buy(t.Context(), domesticOrder()); err != nil {
		t.Fatal(err)
	}
	if _, err := opened.CloseManifest(t.Context(), ship.ManifestOrder{}); ship.KindOf(err) != ship.Uncertain {
		t.Errorf("first: %v", err)
	}
	again, err := opened.CloseManifest(t.Context(), ship.ManifestOrder{})
	if err != nil || !again.Existed {
		t.Errorf("again: %+v, %v", again, err)
	}
	closed := 0
	for _, entry := range server.Ledger.Entries() {
		if entry.Kind == emulator.ManifestClosed {
			closed++
		}
	}
	if closed != 1 {
		t.Errorf("%d manifests in the ledger, want 1", closed)
	}
}
