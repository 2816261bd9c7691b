package store_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

func TestApplyWritesScansStatusAndEventsTogether(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	sh := f.create(t, f.tenant, "o", "1Z1")
	at := now().Add(time.Hour).Truncate(time.Second)
	f.hear(t, sh,
		ship.Scan{Code: "OR", At: at, Status: ship.PickedUp, Description: "Origin scan", Location: "Reno, NV, US"},
		ship.Scan{Code: "ZX", At: at.Add(time.Minute), Reason: ship.ReasonUnmapped, Description: "Event ZX"},
		ship.Scan{Code: "X1", At: at.Add(2 * time.Minute), Status: ship.Exception, Reason: "weather_delay", Description: "Storm"})
	f.hear(t, sh, ship.Scan{Code: "OR", At: at, Status: ship.PickedUp, Description: "told again"})
	j, scans, err := f.TrackingState(t.Context(), f.tenant, sh.ID.Raw())
	if err != nil || j.Sequence != 4 || j.Progress.Status != ship.Exception || j.Progress.Reason != "weather_delay" || !j.NewestAt.Equal(at.Add(2*time.Minute)) {
		t.Fatalf("%+v, %v", j, err)
	}
	line := ship.Timeline(scans)
	if len(line) != 5 || line[1].Code != "ZX" || line[1].Status != ship.PickedUp || line[2].Location != "Reno, NV, US" || line[2].Description != "Origin scan" {
		t.Errorf("timeline %+v", line)
	}
	f.hear(t, sh, ship.Scan{Code: "ZX", At: at.Add(time.Minute), Status: ship.InTransit})
	if j, scans, err = f.TrackingState(t.Context(), f.tenant, sh.ID.Raw()); err != nil || j.Sequence != 5 || ship.Timeline(scans)[1].Status != ship.InTransit {
		t.Errorf("a code that is mapped later: %d events, %+v, %v", j.Sequence, scans, err)
	}
	if raw := one[string](t, f.owner, "SELECT raw->>'code' FROM tracking_events WHERE code = 'ZX'"); raw != "ZX" {
		t.Errorf("the carrier's own words are %q", raw)
	}
}

func TestApplyingNothingIsFine(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	err := f.InSystemTx(t.Context(), func(tx *store.Store) error {
		trackingStates, err := tx.LockTrackingStates(t.Context(), nil)
		if err != nil || len(trackingStates) != 0 {
			t.Errorf("%d journeys, %v", len(trackingStates), err)
		}
		if scans, err := tx.Scans(t.Context(), nil); err != nil || len(scans) != 0 {
			t.Errorf("%d scans, %v", len(scans), err)
		}
		return tx.Apply(t.Context(), nil)
	})
	if err != nil {
		t.Error(err)
	}
}

func TestTheNewestShipmentOfANumberWinsAndTheCarrierChooses(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	older := f.create(t, f.tenant, "o-1", "777")
	f.hear(t, older, ship.Scan{Code: "OR", At: now().Add(time.Hour), Status: ship.PickedUp})
	time.Sleep(2 * time.Millisecond)
	c := bought(shipmentOf(f.tenant, "o-2"), "777")
	c.Shipment.Purchase.Carrier = "fedex"
	if _, err := f.Create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Millisecond)
	tracker, _, err := f.Follow(t.Context(), f.tenant, "key_1", ship.NewTrackerID(7, now()), "777", "ups")
	if err != nil {
		t.Fatal(err)
	}
	other, _, err := f.Follow(t.Context(), f.tenant, "key_1", ship.NewTrackerID(7, now()), "777", "usps")
	if err != nil {
		t.Fatal(err)
	}
	for carrier, want := range map[string]ship.RawID{"": c.Shipment.ID.Raw(), "fedex": c.Shipment.ID.Raw(), "ups": older.ID.Raw(), "usps": other.Raw()} {
		j, scans, err := f.Find(t.Context(), f.tenant, "777", carrier)
		if err != nil || j.ID != want {
			t.Errorf("carrier %q finds %v of %s, %v", carrier, j.ID, j.Carrier, err)
		}
		if n := map[string]int{"": 2, "fedex": 2, "ups": 3, "usps": 0}[carrier]; len(scans) != n {
			t.Errorf("carrier %q finds %d scans, want %d", carrier, len(scans), n)
		}
	}
	_, _, err = f.Find(t.Context(), f.tenant, "777", "dhl_express")
	wantKind(t, "a carrier that has no such number", err, ship.NotFound)
	_, _, err = f.Find(t.Context(), newTenant(), "777", "")
	wantKind(t, "another tenant", err, ship.NotFound)
	if j, _, err := f.TrackingState(t.Context(), f.tenant, tracker.Raw()); err != nil || !j.Followed || j.Sequence != 0 {
		t.Errorf("the tracker is %+v, %v", j, err)
	}
}

func TestOldParcelsAreFound(t *testing.T) {
	t.Parallel()
	f := withOldYears(t)
	old := f.createOld(t, "o-1", "888", longAgo())
	f.createOld(t, "o-2", "999", longAgo())
	f.create(t, f.tenant, "o-3", "999")
	tracker, _, err := f.Follow(t.Context(), f.tenant, "key_1", ship.NewTrackerID(7, now()), "777", "ups")
	if err != nil {
		t.Fatal(err)
	}

	// 888 is also followed since today; a shipment is preferred whatever its age.
	if _, _, err := f.Follow(t.Context(), f.tenant, "key_1", ship.NewTrackerID(7, now()), "888", "usps"); err != nil {
		t.Fatal(err)
	}
	newest := f.create(t, f.tenant, "o-4", "999").ID.Raw()

	for number, want := range map[string]ship.RawID{"777": tracker.Raw(), "888": old.ID.Raw(), "999": newest} {
		found, scans, err := f.Find(t.Context(), f.tenant, number, "")
		if err != nil || found.ID != want {
			t.Errorf("%s finds %v, %v; want %v", number, found.ID, err, want)
		}
		if number != "777" && len(scans) == 0 {
			t.Errorf("%s is found without its scans", number)
		}
	}

	// Together with others, too.
	manyAtOnce(100, func(int) {
		if found, _, err := f.Find(t.Context(), f.tenant, "888", ""); err != nil || found.ID != old.ID.Raw() {
			t.Errorf("under load 888 finds %v, %v; want %v", found.ID, err, old.ID.Raw())
		}
	})
}

func TestFollowingTwiceAtOnceFollowsOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var fresh atomic.Int32
	ids := make([]ship.TrackerID, 12)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			id, isNew, err := f.Follow(t.Context(), f.tenant, "key_1", ship.NewTrackerID(7, now()), "1Z5", "ups")
			if err != nil {
				t.Error(err)
			}
			if ids[i] = id; isNew {
				fresh.Add(1)
			}
		})
	}
	wg.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Fatalf("two trackers of one number: %s and %s", ids[0], id)
		}
	}
	if fresh.Load() != 1 {
		t.Errorf("%d of 12 were the first", fresh.Load())
	}
}

func TestUnfollowForgetsTheTrackerAndNothingElse(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	sh := f.create(t, f.tenant, "o", "1Z1")
	id, _, err := f.Follow(t.Context(), f.tenant, "key_1", ship.NewTrackerID(7, now()), "1Z5", "ups")
	if err != nil {
		t.Fatal(err)
	}
	err = f.InSystemTx(t.Context(), func(tx *store.Store) error {
		trackingStates, err := tx.LockTrackingStates(t.Context(), []ship.Subject{{Tenant: f.tenant, ID: id.Raw()}})
		if err != nil {
			return err
		}
		c := store.Change{State: trackingStates[0]}
		fresh, events := c.State.Apply(nil, []ship.Scan{{Code: "OR", At: now(), Status: ship.PickedUp}}, ship.EventContext{Now: now()})
		c.Scans, c.Events = []store.NewScan{{Scan: fresh[0]}}, events
		return tx.Apply(t.Context(), []store.Change{c})
	})
	if err != nil {
		t.Fatal(err)
	}
	if log := f.settled(t, f.tenant, 3); log[2].Event.Tracker != id || log[2].Event.Sequence != 1 || log[2].Event.Snapshot.Purchase.TrackingNumber != "1Z5" {
		t.Errorf("log %+v", log[2].Event)
	}
	if n, err := f.FollowedSince(t.Context(), f.tenant, "key_1", now().Add(-time.Hour)); err != nil || n != 1 {
		t.Errorf("%d followed, %v", n, err)
	}
	wantKind(t, "another tenant", f.Unfollow(t.Context(), newTenant(), id), ship.NotFound)
	wantKind(t, "a shipment", f.Unfollow(t.Context(), f.tenant, ship.TrackerIDOf(sh.ID.Raw())), ship.NotFound)
	if n := one[int](t, f.owner, "SELECT count(*) FROM sandbox_polls"); n != 1 {
		t.Errorf("%d polls are left of the shipment", n)
	}
	if list, err := f.Followed(t.Context(), f.tenant, ship.Page{Limit: 5}); err != nil || len(list) != 1 || list[0].Number != "1Z5" {
		t.Errorf("followed %+v, %v", list, err)
	}
	if err := f.Unfollow(t.Context(), f.tenant, id); err != nil {
		t.Fatal(err)
	}
	wantKind(t, "twice", f.Unfollow(t.Context(), f.tenant, id), ship.NotFound)
	_, _, err = f.Find(t.Context(), f.tenant, "1Z5", "")
	wantKind(t, "finding it", err, ship.NotFound)
	if n := one[int](t, f.owner, "SELECT count(*) FROM tracking_events"); n != 0 {
		t.Errorf("%d scans are left", n)
	}
	if log := f.settled(t, f.tenant, 3); len(log) != 3 {
		t.Errorf("the log lost an event: %d", len(log))
	}
}

func TestTwoClaimersOfPollsGetDifferentParcels(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const parcels = 400
	_, err := f.owner.Exec(t.Context(), `INSERT INTO sandbox_polls (subject_id, account_id, livemode, due_at)
		SELECT gen_random_uuid(), $1, false, now() - interval '1 second' * n FROM generate_series(1, $2::int) n`, [16]byte(f.tenant.Account.Raw()), parcels)
	if err != nil {
		t.Fatal(err)
	}
	at, again := now(), now().Add(time.Hour)
	var mu sync.Mutex
	seen := map[ship.RawID]int{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for {
				due, err := f.DuePolls(t.Context(), at, again, 17)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				for _, p := range due {
					seen[p.ID]++
				}
				mu.Unlock()
				if len(due) == 0 {
					return
				}
			}
		})
	}
	wg.Wait()
	for id, n := range seen {
		if n != 1 {
			t.Fatalf("%v was claimed %d times", id, n)
		}
	}
	if len(seen) != parcels {
		t.Errorf("%d of %d parcels were claimed", len(seen), parcels)
	}
	due, err := f.DuePolls(t.Context(), again.Add(time.Second), again.Add(time.Hour), 10)
	if err != nil || len(due) != 10 {
		t.Fatalf("%d are due again, %v", len(due), err)
	}
	if err := f.EndPolls(t.Context(), due); err != nil {
		t.Fatal(err)
	}
	if n := one[int](t, f.owner, "SELECT count(*) FROM sandbox_polls"); n != parcels-10 {
		t.Errorf("%d polls are left", n)
	}
}
