package shipping_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/quoting"
	"github.com/waybillhq/waybill/internal/ship"
)

func TestAVoidThatIsOffIsRefusedBeforeItIsSent(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "ups")
	got, err := b.Buy(t.Context(), b.order(1))
	if err != nil || got.Pending {
		t.Fatalf("pending %t, %v", got.Pending, err)
	}
	b.carrier.TurnOff(carrier.AbilityVoid)

	sh, err := b.Void(t.Context(), b.tenant, got.Shipment.ID)
	if ship.CodeOf(err) != carrier.CodeUnconfirmed || ship.KindOf(err) != ship.Conflict || !strings.Contains(err.Error(), "waybill connection certify") {
		t.Errorf("err = %v, want a conflict that says how to confirm voids", err)
	}
	if sh.State != ship.StatePurchased || len(b.alive()) != 1 {
		t.Errorf("the shipment is %s and %d labels are live", sh.State, len(b.alive()))
	}

	b.carrier.TurnOn(carrier.AbilityVoid)
	if sh, err = b.Void(t.Context(), b.tenant, got.Shipment.ID); err != nil || sh.State != ship.StateVoided {
		t.Errorf("once it is confirmed: %s, %v", sh.State, err)
	}
}

// TestAVoidUnderWayGoesToAPersonIfItIsOff: its connection may have been limited since.
func TestAVoidUnderWayGoesToAPersonIfItIsOff(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "ups")
	got, err := b.Buy(t.Context(), b.order(1))
	if err != nil {
		t.Fatal(err)
	}
	b.turn(t, emulator.Faults{Void: map[string]float64{"lost": 1}})
	if sh, err := b.Void(t.Context(), b.tenant, got.Shipment.ID); err != nil || sh.State != ship.StateVoiding {
		t.Fatalf("the void is %s, %v", sh.State, err)
	}

	b.carrier.TurnOff(carrier.AbilityVoid)
	again, err := b.SettleVoid(t.Context(), b.tenant, got.Shipment.ID)
	if err != nil || again != 0 {
		t.Fatalf("again after %v, %v", again, err)
	}

	list, err := b.RefusedVoids(t.Context(), b.tenant)
	if err != nil || len(list) != 1 || !strings.Contains(list[0].Reason, "until it is confirmed") {
		t.Errorf("refused voids are %+v, %v", list, err)
	}
}

func TestACarrierThatMayNotSellIsNotQuoted(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "ups")
	b.carrier.TurnOff(carrier.AbilityBuy)

	in := b.order(1)
	_, quoted := b.quotes.Quote(t.Context(), quoting.Input{Tenant: in.Tenant, Account: in.Account, Order: in.Order, OneParcel: true})
	_, bought := b.Buy(t.Context(), in)

	for _, err := range []error{quoted, bought} {
		if ship.CodeOf(err) != "carrier_rejected" || !strings.Contains(err.Error(), "waybill connection certify") {
			t.Errorf("err = %v, want a refusal that says how to confirm the connection", err)
		}
	}
	if entries := b.emulator.Ledger.Entries(); len(entries) > 0 {
		t.Errorf("%d lines in the ledger", len(entries))
	}
}

// TestALookupIsConfirmedByAPurchaseThatItFinds: that whose answer was lost, or a
// control, which is searched for because the look-up is off.
func TestALookupIsConfirmedByAPurchaseThatItFinds(t *testing.T) {
	t.Parallel()
	for _, isHidden := range []bool{false, true} {
		t.Run(fmt.Sprintf("hidden %t", isHidden), func(t *testing.T) {
			t.Parallel()
			b := newLiveBench(t, "ups")
			b.sellControl(t)
			b.carrier.TurnOff(carrier.AbilityFind)
			b.turn(t, emulator.Faults{Buy: map[string]float64{"reset": 1}})
			got, err := b.Buy(t.Context(), b.order(1))
			if err != nil {
				t.Fatal(err)
			}

			// One that stays hidden is bought again after the looks: with its control
			// its absence is believed, and this carrier has no visibility delay.
			var lag emulator.Duration
			if isHidden {
				lag = emulator.Duration(time.Hour)
			}
			b.turn(t, emulator.Faults{LookupLag: &lag})
			b.settle(t, got.Shipment.ID, ship.StatePurchased)

			if b.carrier.IsOff(carrier.AbilityFind) {
				t.Error("the look-up is still off")
			}
		})
	}
}

// TestALookupThatFindsNothingStaysOff: its control is missing too, which is reported.
func TestALookupThatFindsNothingStaysOff(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "ups")
	b.sellControl(t)
	b.carrier.TurnOff(carrier.AbilityFind)
	b.turn(t, emulator.Faults{Buy: map[string]float64{"reset": 1}})
	got, err := b.Buy(t.Context(), b.order(1))
	if err != nil {
		t.Fatal(err)
	}

	day := emulator.Duration(24 * time.Hour)
	b.turn(t, emulator.Faults{LookupLag: &day})
	sh := b.look(t, got.Shipment.ID, 4)
	known, err := b.store.ConnectionLookup(t.Context(), b.tenant, b.carrier.Connection)
	if err != nil {
		t.Fatal(err)
	}

	if sh.State != ship.StateUncertain || !b.carrier.IsOff(carrier.AbilityFind) {
		t.Errorf("the purchase is %s, and the look-up is off: %t", sh.State, b.carrier.IsOff(carrier.AbilityFind))
	}
	if known.FailingSince.IsZero() {
		t.Error("the control that was not found is not reported")
	}
}
