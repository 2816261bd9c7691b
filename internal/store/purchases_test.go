package store_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/job"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

func (f *fixture) settle(t *testing.T, sh ship.Shipment, number string, attempt int) (int, error) {
	t.Helper()
	return f.Settle(t.Context(), store.Settlement{Creation: bought(sh, number), Attempt: attempt, BoughtBy: attempt})
}

func TestAnIntentIsUnseenUntilItIsSettled(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	sh := f.intend(t, f.tenant, "o")
	got, err := f.Shipment(t.Context(), f.tenant, sh.ID)
	if err != nil || got.State != ship.StatePurchasing || got.Sequence != 0 || got.Progress.Status != ship.Created {
		t.Fatalf("%+v, %v", got, err)
	}
	if list, err := f.Shipments(t.Context(), f.tenant, store.ShipmentFilter{}, ship.Page{Limit: 10}); err != nil || len(list) != 0 {
		t.Errorf("%d shipments are listed, %v", len(list), err)
	}
	sequence, err := f.settle(t, sh, "1Z1", 1)
	if err != nil || sequence != 2 {
		t.Fatalf("sequence %d, %v", sequence, err)
	}
	got, err = f.Shipment(t.Context(), f.tenant, sh.ID)
	if err != nil || got.State != ship.StatePurchased || got.Progress.Status != ship.LabelGenerated || got.Purchase.TrackingNumber != "1Z1" {
		t.Errorf("%+v, %v", got, err)
	}
	attempts, err := f.Attempts(t.Context(), f.tenant, sh.ID)
	if err != nil || len(attempts) != 1 || attempts[0].Outcome != "purchased" || attempts[0].EndedAt.IsZero() {
		t.Errorf("attempts %+v, %v", attempts, err)
	}
	_, err = f.settle(t, sh, "1Z2", 1)
	wantKind(t, "settling twice", err, ship.Conflict)
	if log := f.settled(t, f.tenant, 2); len(log) != 2 || log[1].Event.Sequence != 2 {
		t.Errorf("log %+v", log)
	}
	if _, _, err := f.Find(t.Context(), f.tenant, "1Z2", ""); ship.KindOf(err) != ship.NotFound {
		t.Errorf("the second settling left its number: %v", err)
	}
}

func TestSettleTellsOfTheCreationOnlyOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	sh := f.intend(t, f.tenant, "o")
	err := f.InTx(t.Context(), f.tenant, func(tx *store.Store) error {
		trackingStates, err := tx.LockTrackingStates(t.Context(), []ship.Subject{{Tenant: f.tenant, ID: sh.ID.Raw()}})
		if err != nil {
			return err
		}
		c := store.Change{State: trackingStates[0]}
		c.State.State = ship.StateNeedsReview
		delivery := ship.EventContext{Now: now(), Purchase: &sh.Purchase}
		c.Events = c.State.Announce(delivery)
		scans, events := c.State.Apply(c.State.OwnScans(), []ship.Scan{ship.FailedScan(now(), ship.ReasonPurchaseUnconfirmed)}, delivery)
		c.Scans, c.Events = []store.NewScan{{Scan: scans[0]}}, append(c.Events, events...)
		c.State.Progress.Pieces = []ship.Status{ship.Exception, ship.Exception}
		return tx.Apply(t.Context(), []store.Change{c})
	})
	if err != nil {
		t.Fatal(err)
	}
	if sequence, err := f.settle(t, sh, "1Z1", 1); err != nil || sequence != 3 {
		t.Fatalf("sequence %d, %v", sequence, err)
	}
	var kinds string
	for i, e := range f.settled(t, f.tenant, 3) {
		kinds += fmt.Sprint(e.Event.Kind, " ")
		if e.Event.Sequence != i+1 {
			t.Errorf("event %d has number %d", i+1, e.Event.Sequence)
		}
	}
	if kinds != "shipment.created shipment.exception label.generated " {
		t.Errorf("told %s", kinds)
	}
	got, err := f.Shipment(t.Context(), f.tenant, sh.ID)
	if err != nil || got.Progress.Status != ship.LabelGenerated || got.Progress.Reason != "" || got.Progress.Pieces != nil {
		t.Errorf("progress %+v, %v", got.Progress, err)
	}
}

// A sale that comes too late must leave nothing behind: its documents would take
// the places of those of the sale that is used.
func TestALateSaleLeavesNoDocuments(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	sh := f.intend(t, f.tenant, "o")
	if err := f.EndAttempt(t.Context(), f.tenant, sh.ID, store.Attempt{Number: 1, Outcome: "declined", Code: "X", Message: "no"}, false); err != nil {
		t.Fatal(err)
	}
	if err := f.Again(t.Context(), sh, store.Attempt{Number: 2, Reference: "R2", Carrier: "usps", Service: "x"}); err != nil {
		t.Fatal(err)
	}
	settle := func(attempt int, text string) error {
		_, err := f.Settle(t.Context(), store.Settlement{
			Creation:  bought(sh, "1Z1"),
			Attempt:   attempt,
			BoughtBy:  attempt,
			Documents: []ship.Document{{Type: "invoice", Format: "pdf", Data: []byte(text)}},
		})
		return err
	}

	wantKind(t, "settling attempt 1 of 2", settle(1, "late"), ship.Conflict)
	if _, err := f.Document(t.Context(), f.tenant, sh.ID, 0); ship.KindOf(err) != ship.NotFound {
		t.Errorf("the late sale left a document: %v", err)
	}
	if err := settle(2, "used"); err != nil {
		t.Fatal(err)
	}
	document, err := f.Document(t.Context(), f.tenant, sh.ID, 0)
	if err != nil || string(document.Data) != "used" {
		t.Errorf("the document is %q, %v", document.Data, err)
	}
}

func TestSettlingAnEarlierAttemptIsAConflict(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	sh := f.intend(t, f.tenant, "o")
	if err := f.EndAttempt(t.Context(), f.tenant, sh.ID, store.Attempt{Number: 1, Outcome: "declined", Code: "X", Message: "no"}, false); err != nil {
		t.Fatal(err)
	}
	if err := f.Again(t.Context(), sh, store.Attempt{Number: 2, Reference: "R2", Carrier: "usps", Service: "x"}); err != nil {
		t.Fatal(err)
	}
	_, err := f.settle(t, sh, "1Z1", 1)
	wantKind(t, "settling attempt 1 of 2", err, ship.Conflict)
	if _, err := f.settle(t, sh, "1Z1", 2); err != nil {
		t.Error(err)
	}
	// What became of an attempt does not change any more.
	if err := f.EndAttempt(t.Context(), f.tenant, sh.ID, store.Attempt{Number: 1, Outcome: "not_found"}, false); err != nil {
		t.Fatal(err)
	}
	attempts, err := f.Attempts(t.Context(), f.tenant, sh.ID)
	if err != nil || len(attempts) != 2 || attempts[0].Outcome != "declined" || attempts[0].Code != "X" || attempts[1].Outcome != "purchased" {
		t.Errorf("attempts %+v, %v", attempts, err)
	}
}

func TestManySettleAtOnceAndOneDoes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for range 5 {
		sh := f.intend(t, f.tenant, "o")
		var settled, conflicts atomic.Int32
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				_, err := f.settle(t, sh, fmt.Sprint("1Z", sh.ID, i), 1)
				switch ship.KindOf(err) {
				case "":
					settled.Add(1)
				case ship.Conflict:
					conflicts.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if settled.Load() != 1 || conflicts.Load() != 7 {
			t.Errorf("%d settled and %d conflicts", settled.Load(), conflicts.Load())
		}
	}
}

func TestMoveIsGuardedByTheTableAndTheRow(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	sh := f.create(t, f.tenant, "o", "1Z1")
	wantKind(t, "purchased to failed", f.Move(t.Context(), sh, ship.StateFailed), ship.Conflict)
	stale := sh
	stale.State = ship.StateVoiding
	wantKind(t, "from a state that it is not in", f.Move(t.Context(), stale, ship.StateVoided), ship.Conflict)
	other := sh
	other.Tenant = newTenant()
	wantKind(t, "by another tenant", f.Move(t.Context(), other, ship.StateVoiding), ship.Conflict)
	var wins atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if f.Move(t.Context(), sh, ship.StateVoiding) == nil {
				wins.Add(1)
			}
		})
	}
	wg.Wait()
	if got, err := f.Shipment(t.Context(), f.tenant, sh.ID); err != nil || got.State != ship.StateVoiding || wins.Load() != 1 {
		t.Errorf("%s after %d moves, %v", got.State, wins.Load(), err)
	}
}

func TestAnOrderIsClaimedByWhatIsNotFailedOrVoided(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	claim := func() (id ship.ShipmentID) {
		err := f.InTx(t.Context(), f.tenant, func(tx *store.Store) (err error) {
			id, err = tx.LockOrder(t.Context(), f.tenant, "o")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	if got := claim(); got != "" {
		t.Errorf("an order without a shipment is claimed by %s", got)
	}
	sh := f.intend(t, f.tenant, "o")
	if got := claim(); got != sh.ID {
		t.Errorf("claimed by %q, want the purchase that is open", got)
	}
	if err := f.Move(t.Context(), sh, ship.StateFailed); err != nil {
		t.Fatal(err)
	}
	if err := f.PastOrder(t.Context(), sh); err != nil {
		t.Fatal(err)
	}
	if got := claim(); got != "" {
		t.Errorf("a failed purchase claims the order: %s", got)
	}
	if err := f.EndAttempt(t.Context(), f.tenant, sh.ID, store.Attempt{Number: 1, Outcome: "not_sent"}, false); err != nil {
		t.Fatal(err)
	}
	if err := f.Again(t.Context(), sh, store.Attempt{Number: 2, Reference: "R2", Carrier: "ups", Service: "ground"}); err != nil {
		t.Fatal(err)
	}
	if got := claim(); got != sh.ID {
		t.Errorf("claimed by %q, want the purchase that is made again", got)
	}
}

func TestTwoWhoLockAnOrderWait(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var made atomic.Int32
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			err := f.InTx(t.Context(), f.tenant, func(tx *store.Store) error {
				id, err := tx.LockOrder(t.Context(), f.tenant, "o")
				if err != nil || id != "" {
					return err
				}
				made.Add(1)
				time.Sleep(20 * time.Millisecond)
				_, err = tx.Intend(t.Context(), shipmentOf(f.tenant, "o"), store.Attempt{Number: 1, Reference: "R"}, ship.KeyName{})
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if made.Load() != 1 {
		t.Errorf("%d of 6 saw no shipment of the order", made.Load())
	}
}

func TestAJobCommitsWithItsRow(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	sh := shipmentOf(f.tenant, "o")
	enqueue := func(fail error) error {
		return f.InTx(t.Context(), f.tenant, func(tx *store.Store) error {
			if err := tx.Enqueue(t.Context(), job.SettlePurchase{Account: sh.Tenant.Account, Livemode: sh.Tenant.Livemode, Shipment: sh.ID}, time.Minute); err != nil {
				return err
			}
			return fail
		})
	}
	if err := enqueue(ship.Errorf(ship.Conflict, "no")); ship.KindOf(err) != ship.Conflict {
		t.Fatal(err)
	}
	if err := enqueue(nil); err != nil {
		t.Fatal(err)
	}
	if n := one[int](t, f.owner, "SELECT count(*) FROM river_job WHERE queue = 'money' AND kind = 'settle_purchase' AND scheduled_at > now() + interval '50 seconds'"); n != 1 {
		t.Errorf("%d jobs are scheduled, want 1", n)
	}
}

func TestOpenPurchasesAreFoundByTheirIndex(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create(t, f.tenant, "done", "1Z1")
	open := f.intend(t, f.tenant, "open")
	voiding := f.create(t, newTenant(), "void", "1Z2")
	if err := f.Move(t.Context(), voiding, ship.StateVoiding); err != nil {
		t.Fatal(err)
	}

	openBetween := func(from, before time.Time) (list []store.OpenParcel) {
		t.Helper()
		err := f.OpenPurchases(t.Context(), from, before, func(page []store.OpenParcel) error {
			list = append(list, page...)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	list := openBetween(time.Time{}, now().Add(time.Second))
	if len(list) != 2 || list[0].ID != open.ID.Raw() || list[1].State != ship.StateVoiding || list[1].Tenant != voiding.Tenant {
		t.Errorf("open %+v", list)
	}
	if list := openBetween(time.Time{}, now().Add(-time.Hour)); len(list) != 0 {
		t.Errorf("%d are older than an hour", len(list))
	}
	if list := openBetween(now().Add(time.Second), now().Add(time.Hour)); len(list) != 0 {
		t.Errorf("%d are of the next hour", len(list))
	}
}

func TestAJobIsEnqueuedOnceUntilItHasEnded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := job.SettlePurchase{Account: f.tenant.Account, Shipment: ship.NewShipmentID(1, now())}
	second := job.SettlePurchase{Account: f.tenant.Account, Shipment: ship.NewShipmentID(1, now())}

	enqueue := func(want int, jobs ...store.Job) {
		t.Helper()
		if err := f.EnqueueOnce(t.Context(), jobs); err != nil {
			t.Fatal(err)
		}
		if n := one[int](t, f.owner, "SELECT count(*) FROM river_job WHERE queue = 'money' AND kind = 'settle_purchase'"); n != want {
			t.Errorf("%d jobs, want %d", n, want)
		}
	}
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := f.owner.Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	enqueue(0)
	enqueue(1, first)
	enqueue(2, first, second)
	for _, state := range []string{"running", "retryable", "scheduled"} {
		exec("UPDATE river_job SET state = $1::text::river_job_state, scheduled_at = now() + interval '1 hour'", state)
		enqueue(2, first, second)
	}
	exec("UPDATE river_job SET state = 'completed', finalized_at = now()")
	enqueue(4, first, second)
}

func TestNothingIsBoughtAgainWhileAnAttemptIsInDoubt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	next := store.Attempt{Number: 2, Reference: "R2", Carrier: "ups", Service: "ground"}
	for outcome, want := range map[string]ship.Kind{
		"": ship.Conflict, "uncertain": ship.Conflict, "purchased": ship.Conflict, "declined": "", "not_sent": "", "not_found": "", "orphaned": "",
	} {
		sh := f.intend(t, f.tenant, "o"+outcome)
		if outcome != "" {
			if err := f.EndAttempt(t.Context(), f.tenant, sh.ID, store.Attempt{Number: 1, Outcome: outcome}, false); err != nil {
				t.Fatal(err)
			}
		}
		wantKind(t, "after an attempt that is "+outcome, f.Again(t.Context(), sh, next), want)
		skipped := next
		skipped.Number = 4
		wantKind(t, "an attempt too far", f.Again(t.Context(), sh, skipped), ship.Conflict)
	}
}

// TestAFailureThatTheClientKnowsOfIsFinal repeats two purchases that have failed, as a
// request does that read them before the second was notified of.
func TestAFailureThatTheClientKnowsOfIsFinal(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	next := store.Attempt{Number: 2, Reference: "R2", Carrier: "ups", Service: "ground"}
	for sequence, want := range map[int]ship.Kind{0: "", 2: ship.Conflict} {
		sh := f.intend(t, f.tenant, fmt.Sprint("o", sequence))
		if err := f.EndAttempt(t.Context(), f.tenant, sh.ID, store.Attempt{Number: 1, Outcome: "not_found"}, false); err != nil {
			t.Fatal(err)
		}
		if _, err := f.owner.Exec(t.Context(), "UPDATE shipment_states SET state = 'failed', sequence = $1 WHERE id = $2", sequence, [16]byte(sh.ID.Raw())); err != nil {
			t.Fatal(err)
		}
		wantKind(t, fmt.Sprint("after ", sequence, " events"), f.Again(t.Context(), sh, next), want)
	}
}

// TestALabelIsEitherTheOneThatCountsOrStranded lets both claims meet.
func TestALabelIsEitherTheOneThatCountsOrStranded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for i := range 20 {
		sh := f.intend(t, f.tenant, "o")
		number := fmt.Sprint("1Z", i)
		purchase := sh.Purchase
		purchase.TrackingNumber = number
		var settled, orphaned atomic.Bool
		var wg sync.WaitGroup
		wg.Go(func() { _, err := f.settle(t, sh, number, 1); settled.Store(err == nil) })
		wg.Go(func() {
			err := f.RecordOrphan(t.Context(), store.OrphanedLabel{Tenant: f.tenant, Shipment: sh.ID, Attempt: 1, FoundBy: "lookup", Purchase: purchase})
			orphaned.Store(err == nil)
		})
		wg.Wait()
		if settled.Load() == orphaned.Load() {
			t.Fatalf("settled %t, stranded %t", settled.Load(), orphaned.Load())
		}
	}
}

func TestAStrandedLabelIsChargedAndCredited(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	sh := f.intend(t, f.tenant, "o")
	x := store.OrphanedLabel{Tenant: f.tenant, Shipment: sh.ID, Attempt: 1, FoundBy: "lookup", Purchase: sh.Purchase}
	x.Purchase.TrackingNumber, x.Purchase.Price, x.Purchase.Simulated = "1Z9", ship.Money{Minor: 700, Currency: "USD"}, false
	for range 2 { // the second time changes nothing
		if err := f.RecordOrphan(t.Context(), x); err != nil {
			t.Fatal(err)
		}
	}
	if got := one[int](t, f.owner, `SELECT count(*) FROM river_job WHERE kind = 'void_orphaned_label'`); got != 1 {
		t.Errorf("%d jobs take it back", got)
	}
	if got := one[int](t, f.owner, `SELECT sum(amount_minor)::int FROM charges`); got != 700 {
		t.Errorf("charged %d", got)
	}
	for range 2 {
		if err := f.CloseOrphan(t.Context(), x, "voided", ""); err != nil {
			t.Fatal(err)
		}
	}
	if got := one[int](t, f.owner, `SELECT sum(amount_minor)::int FROM charges`); got != 0 {
		t.Errorf("charged %d after the void", got)
	}
	if got, err := f.OrphanedLabel(t.Context(), f.tenant, x.Purchase.Carrier, "1Z9"); err != nil || got.State != "voided" || got.Shipment != sh.ID || got.Purchase.TrackingNumber != "1Z9" {
		t.Errorf("stranded %+v, %v", got, err)
	}
}
