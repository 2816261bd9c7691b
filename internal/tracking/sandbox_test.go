package tracking_test

import (
	"slices"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// statuses returns the statuses of a timeline, oldest first.
func statuses(scans []ship.Scan) (list []ship.Status) {
	for _, s := range slices.Backward(scans) {
		list = append(list, s.Status)
	}
	return list
}

var wholeLife = []ship.Status{ship.Created, ship.LabelGenerated, ship.PickedUp, ship.InTransit, ship.InTransit, ship.OutForDelivery, ship.Delivered}

func TestASimulatedParcelLivesStepByStepUntilItIsDelivered(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sh := b.buy(t, 1)
	for step := 3; step <= len(wholeLife); step++ {
		if n, err := b.Live(t.Context()); err != nil || n != 1 {
			t.Fatalf("step %d: %d parcels, %v", step, n, err)
		}
		got, err := b.Track(t.Context(), b.tenant, sh.Purchase.TrackingNumber, "ups")
		if err != nil || !slices.Equal(statuses(got.Scans), wholeLife[:step]) || got.Progress.Status != wholeLife[step-1] {
			t.Fatalf("after step %d: %s, %v, %v", step, got.Progress.Status, statuses(got.Scans), err)
		}
		time.Sleep(2 * time.Millisecond)
	}
	if n, err := b.Live(t.Context()); err != nil || n != 0 {
		t.Errorf("after the delivery %d parcels are due, %v", n, err)
	}
	for i, e := range b.events(t, len(wholeLife)) {
		if e.Event.Sequence != i+1 || e.Event.Kind != wholeLife[i].Kind() || e.Event.Late || e.Event.Snapshot.Status != wholeLife[i] {
			t.Errorf("event %d is %s, number %d, late %t, status %s", i+1, e.Event.Kind, e.Event.Sequence, e.Event.Late, e.Event.Snapshot.Status)
		}
	}
}

func TestManyCopiesLiveTheSameLife(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var shipments []ship.Shipment
	for i := range 30 {
		shipments = append(shipments, b.buy(t, 1+i%2))
	}
	done := make(chan error, 4)
	for range cap(done) {
		go func() {
			for quiet := 0; quiet < 5; {
				n, err := b.Live(t.Context())
				if err != nil && ship.KindOf(err) != ship.Unavailable {
					done <- err
					return
				}
				if n == 0 {
					quiet++
				}
				time.Sleep(time.Millisecond)
			}
			done <- nil
		}()
	}
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	total := 0
	for _, sh := range shipments {
		got, err := b.Track(t.Context(), b.tenant, string(sh.ID), "")
		if err != nil || got.Progress.Status != ship.Delivered || len(got.Scans) != 2+5*len(sh.Order.Parcels) {
			t.Errorf("%s with %d scans of %d pieces, %v", got.Progress.Status, len(got.Scans), len(sh.Order.Parcels), err)
		}
		total += len(got.Scans)
	}
	if n := len(b.events(t, total)); n != total {
		t.Errorf("%d events of %d scans", n, total)
	}
}

func TestAVoidThatIsUnderWayDoesNotEndTheLife(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sh := b.buy(t, 1)
	if err := b.store.Move(t.Context(), sh, ship.StateVoiding); err != nil {
		t.Fatal(err)
	}
	live := func(want ship.Status) {
		t.Helper()
		time.Sleep(2 * time.Millisecond)
		if _, err := b.Live(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, err := b.Track(t.Context(), b.tenant, string(sh.ID), ""); err != nil || got.Progress.Status != want {
			t.Errorf("%s, %v; want %s", got.Progress.Status, err, want)
		}
	}
	live(ship.LabelGenerated)
	sh.State = ship.StateVoiding
	if err := b.store.Move(t.Context(), sh, ship.StatePurchased); err != nil {
		t.Fatal(err)
	}
	live(ship.PickedUp)
	sh.State = ship.StatePurchased
	for _, to := range []ship.State{ship.StateVoiding, ship.StateVoided} {
		if err := b.store.Move(t.Context(), sh, to); err != nil {
			t.Fatal(err)
		}
		sh.State = to
	}
	live(ship.PickedUp)
	if n, err := b.Live(t.Context()); err != nil || n != 0 {
		t.Errorf("a voided parcel is still asked about: %d, %v", n, err)
	}
}

func TestAdvanceMovesByAStepOrToAStatus(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sh := b.buy(t, 2)
	advance := func(to ship.Status, reason string, want ship.Status) {
		t.Helper()
		got, err := b.Advance(t.Context(), b.tenant, sh.ID, to, reason)
		if err != nil || got.Progress.Status != want || got.Scans[0].Status != want {
			t.Fatalf("to %q: %s, %v; want %s", to, got.Progress.Status, err, want)
		}
	}
	advance("", "", ship.PickedUp)
	advance("", "", ship.InTransit)
	advance(ship.Exception, "weather_delay", ship.Exception)
	advance(ship.OutForDelivery, "", ship.OutForDelivery)
	advance("", "", ship.Delivered)
	_, err := b.Advance(t.Context(), b.tenant, sh.ID, "", "")
	wantCode(t, err, "cannot_advance")
	got, err := b.Advance(t.Context(), b.tenant, sh.ID, ship.Exception, "return_to_sender")
	if err != nil || got.Progress.Status != ship.Delivered || got.Scans[0].Status != ship.Exception || got.Scans[0].Reason != "return_to_sender" {
		t.Errorf("after the delivery: %s, %+v, %v", got.Progress.Status, got.Scans[0], err)
	}
	if n := len(b.events(t, 14)); n != 14 { // six scans of two pieces, and two events of our own
		t.Errorf("%d events", n)
	}
}

func TestAdvanceRefusesWhatCannotMove(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sh := b.buy(t, 1)
	_, err := b.Advance(t.Context(), ship.Tenant{Account: b.tenant.Account, Livemode: true}, sh.ID, "", "")
	wantCode(t, err, "test_key_required")
	_, err = b.Advance(t.Context(), storetest.Tenant(), sh.ID, "", "")
	wantCode(t, err, "shipment_not_found")
	for _, status := range []ship.Status{ship.Created, ship.LabelGenerated, "lost"} {
		_, err = b.Advance(t.Context(), b.tenant, sh.ID, status, "")
		wantCode(t, err, "validation_failed")
	}
	intended := storetest.Shipment(b.tenant, "o")
	if _, err := b.store.Intend(t.Context(), intended, store.Attempt{Number: 1, Reference: "R"}, ship.KeyName{}); err != nil {
		t.Fatal(err)
	}
	_, err = b.Advance(t.Context(), b.tenant, intended.ID, "", "")
	wantCode(t, err, "shipment_not_found")
	if err := b.store.Move(t.Context(), sh, ship.StateVoiding); err != nil {
		t.Fatal(err)
	}
	_, err = b.Advance(t.Context(), b.tenant, sh.ID, "", "")
	wantCode(t, err, "cannot_advance")
}

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	if ship.CodeOf(err) != code {
		t.Errorf("err = %v with code %q, want %s", err, ship.CodeOf(err), code)
	}
}
