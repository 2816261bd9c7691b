package shipping_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// unnamed is the order without an idempotency key.
func unnamed(in shipping.BuyInput) shipping.BuyInput {
	in.IdempotencyKey = ""
	return in
}

func TestALivePurchaseWithoutAKeyIsJoinedByItsRetryUntilItsAnswerArrived(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "ups")
	b.turn(t, emulator.Faults{Buy: map[string]float64{"hang": 1}})
	first, err := b.Buy(t.Context(), unnamed(b.order(1)))
	if err != nil || !first.Pending {
		t.Fatalf("Buy = pending %t, %v", first.Pending, err)
	}
	b.turn(t, emulator.Faults{})
	again, err := b.Buy(t.Context(), unnamed(b.order(1)))
	if err != nil || again.Shipment.ID != first.Shipment.ID {
		t.Fatalf("the retry made %s beside %s, %v", again.Shipment.ID, first.Shipment.ID, err)
	}
	b.Answered(t.Context(), unnamed(b.order(1))) // of the 202: the purchase stays open
	b.settle(t, first.Shipment.ID, ship.StatePurchased)
	if again, err = b.Buy(t.Context(), unnamed(b.order(1))); err != nil || again.Shipment.ID != first.Shipment.ID || again.Pending {
		t.Fatalf("after it is bought: %s, pending %t, %v", again.Shipment.ID, again.Pending, err)
	}
	b.Answered(t.Context(), unnamed(b.order(1)))
	next, err := b.Buy(t.Context(), unnamed(b.order(1)))
	if err != nil || next.Shipment.ID == first.Shipment.ID {
		t.Errorf("after the answer arrived: %s, %v; want a second purchase", next.Shipment.ID, err)
	}
	if alive := b.alive(); len(alive) != 2 {
		t.Errorf("alive are %v", alive)
	}
}

// TestAKeyAnswersAfterItsShipDateHasPassed repeats a purchase days later, and sends
// another wrong order under its key.
func TestAKeyAnswersAfterItsShipDateHasPassed(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "ups")
	first, err := b.Buy(t.Context(), b.order(1))
	if err != nil {
		t.Fatal(err)
	}

	late := b.order(1)
	late.Order.ShipDate = ship.DateOf(time.Now().AddDate(0, 0, -3))
	again, err := b.Buy(t.Context(), late)
	if err != nil || again.Shipment.ID != first.Shipment.ID || !again.Replayed {
		t.Errorf("days later it is %s, replayed %t, %v; it was %s", again.Shipment.ID, again.Replayed, err, first.Shipment.ID)
	}

	other := b.order(2)
	other.Order.ShipDate = late.Order.ShipDate
	other.IdempotencyKey = late.IdempotencyKey
	if _, err := b.Buy(t.Context(), other); ship.CodeOf(err) != "validation_failed" {
		t.Errorf("another order under the key: %v", err)
	}
	if _, err := b.Buy(t.Context(), keyed(other, "unused")); ship.CodeOf(err) != "validation_failed" {
		t.Errorf("a key that was not used: %v", err)
	}
}

func TestWhatTheDiskHoldsIsRecordedAtTheNextStart(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "fedex")
	conn := storetest.Conn(t, b.url)
	// The database refuses to record the sale, as if it were full.
	if _, err := conn.Exec(t.Context(), `ALTER TABLE charges ADD CONSTRAINT full_disk CHECK (amount_minor < 0) NOT VALID`); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Buy(t.Context(), b.order(1)); err == nil {
		t.Fatalf("Buy = %+v, want an error of our own", got)
	}
	if names, err := b.spool.Names(); err != nil || len(names) != 1 {
		t.Fatalf("on the disk: %v, %v", names, err)
	}
	if _, err := conn.Exec(t.Context(), `ALTER TABLE charges DROP CONSTRAINT full_disk`); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Replay(t.Context()); err != nil {
		t.Fatal(err)
	}
	again, err := b.Buy(t.Context(), b.order(1))
	if err != nil || again.Pending || !slices.Equal(b.alive(), []string{again.Shipment.Purchase.TrackingNumber}) {
		t.Errorf("the same key: %+v, %v; alive are %v", again.Shipment.Purchase.TrackingNumber, err, b.alive())
	}
	if names, err := b.spool.Names(); err != nil || len(names) != 0 {
		t.Errorf("on the disk: %v, %v", names, err)
	}
	if list, err := b.store.Violations(t.Context(), time.Now().Add(time.Second)); err != nil || len(list) > 0 {
		t.Errorf("violations %+v, %v", list, err)
	}
}

// TestALabelThatTurnsUpLateIsTakenBack has a look-up miss a sale until another
// was made.
func TestALabelThatTurnsUpLateIsTakenBack(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "ups")
	b.sellControl(t)
	b.turn(t, emulator.Faults{Buy: map[string]float64{"reset": 1}})
	got, err := b.Buy(t.Context(), b.order(1))
	if err != nil {
		t.Fatal(err)
	}
	b.turn(t, emulator.Faults{LookupLag: new(emulator.Duration(time.Hour))})
	sh := b.settle(t, got.Shipment.ID, ship.StatePurchased)
	if n := len(b.alive()); n != 2 {
		t.Fatalf("%d labels are alive, want the late one too", n)
	}
	b.turn(t, emulator.Faults{})
	if _, err := b.SweepAttempts(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	late := b.alive()[0]
	if _, err := b.VoidOrphanedLabel(t.Context(), b.tenant, "ups", late); err != nil {
		t.Fatal(err)
	}
	if alive := b.alive(); !slices.Equal(alive, []string{sh.Purchase.TrackingNumber}) || late == sh.Purchase.TrackingNumber {
		t.Errorf("alive are %v, recorded is %s", alive, sh.Purchase.TrackingNumber)
	}
	if list, err := b.store.Violations(t.Context(), time.Now().Add(time.Second)); err != nil || len(list) > 0 {
		t.Errorf("violations %+v, %v", list, err)
	}
}

// TestTheSweepGoesOnWhereItStopped has more attempts to look at than a carrier
// answers in the time that one call has.
func TestTheSweepGoesOnWhereItStopped(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "ups")
	const purchases = 24
	var pending []ship.ShipmentID
	for i := range 3 * purchases {
		var faults emulator.Faults
		if i%3 == 0 { // with more failures, nothing would be sent for a while
			faults.Buy = map[string]float64{"reset": 1}
		}
		b.turn(t, faults)
		got, err := b.Buy(t.Context(), b.order(i+1))
		if err != nil {
			t.Fatal(err)
		}
		if got.Pending {
			pending = append(pending, got.Shipment.ID)
			continue
		}
		b.emulator.Ledger.Age(2*time.Hour, got.Shipment.Purchase.TrackingNumber) // it is a control
	}
	b.turn(t, emulator.Faults{LookupLag: new(emulator.Duration(time.Hour))})
	for _, id := range pending {
		b.settle(t, id, ship.StatePurchased)
	}

	b.turn(t, emulator.Faults{Latency: emulator.Duration(200 * time.Millisecond)})
	late := 0
	for pass := 0; late < purchases; pass++ {
		calls, after := 0, ship.ShipmentID("")
		for isFirst := true; isFirst || after != ""; isFirst = false {
			ctx, cancel := context.WithTimeout(t.Context(), 600*time.Millisecond)
			next, err := b.SweepAttempts(ctx, after)
			cancel()
			if err != nil {
				t.Fatal(err)
			}
			calls, after = calls+1, next
		}

		if err := storetest.Conn(t, b.url).QueryRow(t.Context(), `SELECT count(*) FROM orphaned_labels`).Scan(&late); err != nil {
			t.Fatal(err)
		}
		// On a slow machine, a few look-ups have no time to end and need another pass,
		// which may be a single call.
		if pass == 0 && calls < 2 || pass > 20 {
			t.Fatalf("%d calls found %d labels of %d, pass %d", calls, late, purchases, pass)
		}
	}
}

// TestALabelThatCannotBeVoidedIsNotForgotten has a carrier sell without an answer,
// refuse to void what it sold, and then find it no more.
func TestALabelThatCannotBeVoidedIsNotForgotten(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "fedex") // its labels cannot be fetched again
	b.sellControl(t)
	b.turn(t, emulator.Faults{Buy: map[string]float64{"reset": 1}})
	got, err := b.Buy(t.Context(), b.order(1))
	if err != nil {
		t.Fatal(err)
	}
	look := func(times int) {
		for range times {
			time.Sleep(60 * time.Millisecond) // longer than between two looks
			if _, err := b.Settle(t.Context(), b.tenant, got.Shipment.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.turn(t, emulator.Faults{Void: map[string]float64{"refuse": 1}})
	look(3)
	b.turn(t, emulator.Faults{Void: map[string]float64{"refuse": 1}, LookupFlap: 1})
	look(5)
	sold := b.alive()
	if sh, err := b.Shipment(t.Context(), b.tenant, got.Shipment.ID); err != nil || sh.State != ship.StateUncertain || len(sold) != 1 {
		t.Fatalf("the purchase is %s, %v; alive are %v", sh.State, err, sold)
	}

	b.turn(t, emulator.Faults{})
	if _, err := b.VoidOrphanedLabel(t.Context(), b.tenant, "fedex", sold[0]); err != nil {
		t.Fatal(err)
	}
	sh := b.settle(t, got.Shipment.ID, ship.StatePurchased)
	if alive := b.alive(); !slices.Equal(alive, []string{sh.Purchase.TrackingNumber}) || sold[0] == sh.Purchase.TrackingNumber {
		t.Errorf("alive are %v, recorded is %s", alive, sh.Purchase.TrackingNumber)
	}
}

// TestARepeatAfterAFailureNamesTheDuplicateAsEveryRepeatDoes buys an order that has a
// shipment already. The first request fails; the answer to its repeat is the one that
// all later repeats are given.
func TestARepeatAfterAFailureNamesTheDuplicateAsEveryRepeatDoes(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "ups", cachedQuotes)
	first, err := b.Buy(t.Context(), b.order(1))
	if err != nil {
		t.Fatal(err)
	}
	again := keyed(b.order(1), "key-2")

	b.failOrders(t, func(int) shipping.BuyInput { return again }, 1)

	for _, which := range []string{"the repeat that buys", "a later repeat"} {
		got, err := b.Buy(t.Context(), again)
		for ship.CodeOf(err) == "carrier_unavailable" && t.Context().Err() == nil {
			time.Sleep(100 * time.Millisecond)
			got, err = b.Buy(t.Context(), again)
		}
		if err != nil {
			t.Fatalf("%s: %v", which, err)
		}
		if got.Shipment.DuplicateOf != first.Shipment.ID {
			t.Errorf("%s names the duplicate %q, want %q", which, got.Shipment.DuplicateOf, first.Shipment.ID)
		}
	}
}
