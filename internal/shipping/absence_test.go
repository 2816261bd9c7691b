package shipping_test

import (
	"slices"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/purchase"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
)

// look settles a purchase so many times, once the carrier can no longer sell it and
// with time between the looks.
func (b liveBench) look(t *testing.T, id ship.ShipmentID, times int) ship.Shipment {
	t.Helper()
	time.Sleep(1100 * time.Millisecond)
	for range times {
		if _, err := b.Settle(t.Context(), b.tenant, id); err != nil {
			t.Fatal(err)
		}
		time.Sleep(210 * time.Millisecond) // longer than between two looks
	}

	sh, err := b.Shipment(t.Context(), b.tenant, id)
	if err != nil {
		t.Fatal(err)
	}
	return sh
}

func TestAnAbsenceIsNotBelievedWithoutAControl(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "ups")
	b.turn(t, emulator.Faults{Buy: map[string]float64{"reset": 1}})
	got, err := b.Buy(t.Context(), b.order(1))
	if err != nil {
		t.Fatal(err)
	}

	// The carrier sold the label and does not show it. There is no other purchase
	// that its look-up could find.
	hour := emulator.Duration(time.Hour)
	b.turn(t, emulator.Faults{LookupLag: &hour})
	sh := b.look(t, got.Shipment.ID, 4)

	if sh.State != ship.StateUncertain {
		t.Errorf("the purchase is %s, want %s", sh.State, ship.StateUncertain)
	}
	if n := len(b.alive()); n != 1 {
		t.Errorf("%d labels are live, want the lost one alone", n)
	}
}

func TestALookupThatDoesNotFindItsControlIsReported(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "ups")
	b.sellControl(t)
	b.turn(t, emulator.Faults{Buy: map[string]float64{"reset": 1}})
	got, err := b.Buy(t.Context(), b.order(1))
	if err != nil {
		t.Fatal(err)
	}

	// Its look-up finds nothing at all, as with the account number of somebody else.
	day := emulator.Duration(24 * time.Hour)
	b.turn(t, emulator.Faults{LookupLag: &day})
	sh := b.look(t, got.Shipment.ID, 4)
	known, err := b.store.ConnectionLookup(t.Context(), b.tenant, b.carrier.Connection)
	if err != nil {
		t.Fatal(err)
	}

	if sh.State != ship.StateUncertain {
		t.Errorf("the purchase is %s, want %s", sh.State, ship.StateUncertain)
	}
	if known.ControlAt.IsZero() || known.ControlFound || known.FailingSince.IsZero() {
		t.Errorf("the control is recorded as %+v, want one that was not found", known)
	}
}

func TestAPurchaseThatShowsLaterThanExpectedRaisesTheDelay(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "ups", func(s *settings) {
		s.Waits.LookupScale = 0.00001 // 60 minutes are 36 ms
		s.Waits.Rebuy = 0
	})
	b.sellControl(t)
	b.turn(t, emulator.Faults{Buy: map[string]float64{"reset": 1}})
	got, err := b.Buy(t.Context(), b.order(1))
	if err != nil {
		t.Fatal(err)
	}

	hour := emulator.Duration(time.Hour)
	b.turn(t, emulator.Faults{LookupLag: &hour})
	b.look(t, got.Shipment.ID, 1)
	zero := emulator.Duration(0)
	b.turn(t, emulator.Faults{LookupLag: &zero})
	b.settle(t, got.Shipment.ID, ship.StatePurchased)
	known, err := b.store.ConnectionLookup(t.Context(), b.tenant, b.carrier.Connection)
	if err != nil {
		t.Fatal(err)
	}

	spec := b.carrier.Spec()
	delay, source := shipping.VisibilityOf(&spec, known, 0).Delay()
	if source != purchase.DelayRaised || delay <= spec.Delay() {
		t.Errorf("the delay is %v (%s), want more than the carrier's %v", delay, source, spec.Delay())
	}
}

// TestUSPSIsSentTheSameRequestAgain loses an answer behind a sale that the look-up
// does not show: the same request under the same key answers with the label.
func TestUSPSIsSentTheSameRequestAgain(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "usps")
	b.turn(t, emulator.Faults{Buy: map[string]float64{"reset": 1}})
	got, err := b.Buy(t.Context(), b.order(1))
	if err != nil {
		t.Fatal(err)
	}

	hour := emulator.Duration(time.Hour)
	b.turn(t, emulator.Faults{LookupLag: &hour})
	sh := b.settle(t, got.Shipment.ID, ship.StatePurchased)

	if alive := b.alive(); !slices.Equal(alive, []string{sh.Purchase.TrackingNumber}) {
		t.Errorf("live are %v, want the recorded %s alone", alive, sh.Purchase.TrackingNumber)
	}
	attempts, err := b.store.Attempts(t.Context(), b.tenant, sh.ID)
	if err != nil || len(attempts) != 1 || attempts[0].ResentAt.IsZero() {
		t.Errorf("attempts %+v, %v; want one that was sent again", attempts, err)
	}
}
