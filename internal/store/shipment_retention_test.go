package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// keep is how long the tests keep shipments.
const keep = 400 * 24 * time.Hour

// longAgo is in a year whose shipments are all older than that.
func longAgo() time.Time { return time.Date(now().Year()-3, 6, 1, 0, 0, 0, 0, time.UTC) }

// withOldYears returns a fixture that has partitions of past years, and whose
// store has the login that owns nothing.
func withOldYears(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t)
	if err := store.MaintainPartitions(t.Context(), f.url, longAgo(), nil); err != nil {
		t.Fatal(err)
	}
	serving, err := store.Open(t.Context(), store.Options{URL: storetest.ServingURL(t, f.url), Connections: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(serving.Close)
	f.Store = serving
	return f
}

// createOld stores a shipment that was bought and delivered at a time.
func (f *fixture) createOld(t *testing.T, order, number string, at time.Time) ship.Shipment {
	t.Helper()
	shipment := shipmentOf(f.tenant, order)
	shipment.ID = ship.NewShipmentID(f.tenant.Shard(), at)
	creation := bought(shipment, number)
	creation.Shipment.Purchase.BoughtAt = at
	if _, err := f.Create(t.Context(), creation); err != nil {
		t.Fatal(err)
	}
	f.exec(t, "UPDATE shipment_states SET purchased_at = $2, last_event_at = $2 WHERE id = $1", [16]byte(shipment.ID.Raw()), at)
	return creation.Shipment
}

func (f *fixture) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	if tag, err := f.owner.Exec(t.Context(), sql, args...); err != nil || tag.RowsAffected() == 0 {
		t.Fatalf("%s: %v, %v", sql, tag, err)
	}
}

// sweep deletes what other tables have about the year, and reports how much.
func (f *fixture) sweep(t *testing.T, year store.ExpiredYear) (rows int) {
	t.Helper()
	for range 1000 {
		n, finished, err := f.SweepShipments(t.Context(), year.End)
		if err != nil {
			t.Fatal(err)
		}
		if finished {
			return rows
		}
		rows += n
	}
	t.Fatal("the sweep does not end")
	return 0
}

// expire drops all years that are expired, and returns them.
func (f *fixture) expire(t *testing.T) (years []string) {
	t.Helper()
	for {
		year, err := f.ExpiredYear(t.Context(), keep)
		if ship.KindOf(err) == ship.NotFound {
			return years
		}
		if err != nil {
			t.Fatal(err)
		}
		f.sweep(t, year)
		if err := f.DropShipments(t.Context(), year, keep); err != nil {
			t.Fatal(err)
		}
		years = append(years, year.Year)
	}
}

// tablesWith returns the tables that have an id in one of their columns.
func tablesWith(t *testing.T, f *fixture, id ship.RawID) (found []string) {
	t.Helper()
	rows, err := f.owner.Query(t.Context(), `
		SELECT ARRAY[c.relname::text, a.attname::text] FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
		WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relnamespace = 'public'::regnamespace
		  AND a.atttypid = 'uuid'::regtype AND NOT a.attisdropped ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	columns, err := pgx.CollectRows(rows, pgx.RowTo[[]string])
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range columns {
		if one[bool](t, f.owner, fmt.Sprintf("SELECT EXISTS (SELECT FROM %s WHERE %s = $1)", c[0], c[1]), [16]byte(id)) {
			found = append(found, c[0])
		}
	}
	return slices.Compact(found)
}

// TestAnExpiredYearGoesWithAllThatBelongsToIt drops a year, and finds its id in no
// table but those about money.
func TestAnExpiredYearGoesWithAllThatBelongsToIt(t *testing.T) {
	t.Parallel()
	f := withOldYears(t)
	old := f.createOld(t, "old", "1ZOLD", longAgo())
	young := f.create(t, f.tenant, "young", "1ZYOUNG")
	f.exec(t, `INSERT INTO charges (shipment_id, account_id, livemode, tracking_number, kind, attempt, carrier, amount_minor, currency)
		SELECT id, account_id, livemode, '1ZOLD', 'purchase', 1, 'ups', 1234, 'USD' FROM shipments WHERE id = $1`, [16]byte(old.ID.Raw()))
	f.exec(t, `INSERT INTO idempotency_keys (account_id, livemode, key, fingerprint, shipment_id)
		SELECT account_id, livemode, 'k', '', id FROM shipments WHERE id = $1`, [16]byte(old.ID.Raw()))
	tracker, _, err := f.Follow(t.Context(), f.tenant, ship.NewKeyID(7, now()), ship.NewTrackerID(f.tenant.Shard(), longAgo()), "1ZTRACKED", "ups")
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Recount(t.Context(), f.url); err != nil {
		t.Fatal(err)
	}
	f.rollUp(t)

	holding := func(id ship.RawID) []string { return tablesWith(t, f, id) }
	before := holding(old.ID.Raw())
	for _, table := range []string{"shipments", "shipment_states", "lookup_keys", "shipment_facts", "search_numbers", "search_words", "idempotency_keys", "sandbox_polls", "charges"} {
		if !slices.Contains(before, table) {
			t.Fatalf("%s has no row about the shipment: the test shows nothing; %v", table, before)
		}
	}
	kept := holding(young.ID.Raw())

	years := f.expire(t)
	if want := fmt.Sprint(longAgo().Year()); !slices.Contains(years, want) || slices.Contains(years, fmt.Sprint(now().Year()-1)) {
		t.Errorf("dropped %v, want %s among them, and not last year", years, want)
	}
	// The log and labels have their own retention.
	own := []string{"charges", "events", "labels"}
	if left := holding(old.ID.Raw()); slices.ContainsFunc(left, func(table string) bool { return !slices.Contains(own, table) }) || !slices.Contains(left, "charges") {
		t.Errorf("after it was dropped, the shipment is in %v", left)
	}
	if left := holding(tracker.Raw()); len(left) > 0 {
		t.Errorf("the tracker is in %v", left)
	}
	if got := holding(young.ID.Raw()); !slices.Equal(got, kept) {
		t.Errorf("a young shipment is in %v, it was in %v", got, kept)
	}
	for _, table := range []string{"shipments", "shipment_states", "purchase_attempts", "tracking_events"} {
		list := partitionsOf(t, f.owner, table)
		if slices.Contains(list, fmt.Sprintf("%s_%d", table, longAgo().Year())) || !slices.Contains(list, fmt.Sprintf("%s_%d", table, now().Year()-1)) {
			t.Errorf("partitions of %s: %v", table, list)
		}
	}

	// What arrives late finds nothing and fails nothing: a look-up, a charge of the
	// carrier, the log, the next roll-up, a label with the same order number.
	_, err = f.Shipment(t.Context(), f.tenant, old.ID)
	wantKind(t, "the shipment", err, ship.NotFound)
	if list := f.settled(t, f.tenant, 2); len(list) != 2 || list[0].Event.Shipment != young.ID {
		t.Errorf("the log has %d events", len(list))
	}
	late := old
	late.Purchase.Simulated = false
	if err := f.InTx(t.Context(), f.tenant, func(tx *store.Store) error { return tx.Credit(t.Context(), late) }); err != nil {
		t.Errorf("a late credit: %v", err)
	}
	if _, err := f.RollUp(t.Context()); err != nil {
		t.Error(err)
	}
	if again := f.create(t, f.tenant, "old", "1ZNEW"); one[*string](t, f.owner, "SELECT duplicate_of_id::text FROM shipments WHERE id = $1", [16]byte(again.ID.Raw())) != nil {
		t.Error("a new shipment duplicates one that is gone")
	}
}

// TestOpenWorkKeepsItsYear opens each kind of work in an expired year, and then ends
// it.
func TestOpenWorkKeepsItsYear(t *testing.T) {
	t.Parallel()
	f := withOldYears(t)
	old := f.createOld(t, "old", "1ZOLD", longAgo())
	id := [16]byte(old.ID.Raw())
	year := store.ExpiredYear{Year: fmt.Sprint(longAgo().Year()), End: ship.RawIDAt(time.Date(longAgo().Year()+1, 1, 1, 0, 0, 0, 0, time.UTC))}
	for _, state := range []ship.State{ship.StatePurchasing, ship.StateUncertain, ship.StateNeedsReview, ship.StateVoiding} {
		f.exec(t, "UPDATE shipment_states SET state = $2::text::purchase_state WHERE id = $1", id, string(state))
		work, err := f.OpenWorkBefore(t.Context(), year.End, now())
		if err != nil || work.Purchases != 1 || work.Example != old.ID {
			t.Errorf("%s: open work %+v, %v", state, work, err)
		}

		// It may have become open after the look without a lock.
		f.dropEmptyYears(t, year)
		wantKind(t, string(state), f.DropShipments(t.Context(), year, keep), ship.Conflict)
	}
	f.exec(t, "UPDATE shipment_states SET state = 'purchased' WHERE id = $1", id)

	f.exec(t, `INSERT INTO orphaned_labels (account_id, livemode, carrier, tracking_number, shipment_id, attempt, found_by, purchase)
		SELECT account_id, livemode, 'ups', '1ZX', id, 1, 'lookup', '{}' FROM shipments WHERE id = $1`, id)
	if work, err := f.OpenWorkBefore(t.Context(), year.End, now()); err != nil || work.Orphans != 1 {
		t.Errorf("orphan: open work %+v, %v", work, err)
	}
	wantKind(t, "orphan", f.DropShipments(t.Context(), year, keep), ship.Conflict)
	f.exec(t, "UPDATE orphaned_labels SET state = 'void_declined' WHERE shipment_id = $1", id)

	f.exec(t, "UPDATE shipment_states SET last_event_at = now() - interval '10 days' WHERE id = $1", id)
	if work, err := f.OpenWorkBefore(t.Context(), year.End, now()); err != nil || work.Moving != 1 || work.Purchases+work.Orphans != 0 {
		t.Errorf("moving: open work %+v, %v", work, err)
	}
	f.exec(t, "UPDATE shipment_states SET last_event_at = now() - interval '60 days' WHERE id = $1", id)

	if work, err := f.OpenWorkBefore(t.Context(), year.End, now()); err != nil || work.Any() {
		t.Errorf("open work %+v, %v", work, err)
	}
	f.expire(t)
	if _, err := f.Shipment(t.Context(), f.tenant, old.ID); ship.KindOf(err) != ship.NotFound {
		t.Errorf("the shipment: %v", err)
	}
	if one[int](t, f.owner, "SELECT count(*) FROM orphaned_labels") != 1 {
		t.Error("a label whose void the carrier declined is forgotten")
	}
}

// dropEmptyYears drops the years before one.
func (f *fixture) dropEmptyYears(t *testing.T, until store.ExpiredYear) {
	t.Helper()
	for {
		year, err := f.ExpiredYear(t.Context(), keep)
		if err != nil {
			t.Fatal(err)
		}
		if year.Year >= until.Year {
			return
		}
		if err := f.DropShipments(t.Context(), year, keep); err != nil {
			t.Fatal(err)
		}
	}
}

// TestASweepGoesOnWhereItWas deletes in portions, by different copies.
func TestASweepGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	f := withOldYears(t)
	const rows = 60_000
	f.exec(t, `INSERT INTO lookup_keys SELECT $1::uuid, false, 't', 'number ' || n,
		(CASE WHEN n % 2 = 0 THEN $2::uuid ELSE $3::uuid END) FROM generate_series(1, $4::int) n`,
		[16]byte(f.tenant.Account.Raw()), [16]byte(ship.NewRawID(7, longAgo())), [16]byte(ship.NewRawID(7, now())), rows)
	year := store.ExpiredYear{End: ship.RawIDAt(time.Date(longAgo().Year()+1, 1, 1, 0, 0, 0, 0, time.UTC))}

	deleted, portions := 0, 0
	for {
		n, finished, err := f.SweepShipments(t.Context(), year.End)
		if err != nil {
			t.Fatal(err)
		}
		if finished {
			break
		}
		deleted += n
		portions++
	}
	if deleted != rows/2 || portions < 4 {
		t.Errorf("%d rows in %d portions, want %d", deleted, portions, rows/2)
	}
	if left := one[int](t, f.owner, "SELECT count(*) FROM lookup_keys"); left != rows/2 {
		t.Errorf("%d rows are left", left)
	}
	if n := f.sweep(t, year); n != 0 {
		t.Errorf("it deleted %d rows again", n)
	}
}

// TestShipmentsAreNotDroppedTooEarly asks for what the rules do not allow.
func TestShipmentsAreNotDroppedTooEarly(t *testing.T) {
	t.Parallel()
	f := withOldYears(t)
	conn := storetest.Conn(t, storetest.ServingURL(t, f.url))
	if _, err := conn.Exec(t.Context(), "SET ROLE waybill_sys"); err != nil {
		t.Fatal(err)
	}
	for _, interval := range []any{"0", "89 days", "-10 years", nil} {
		if _, err := conn.Exec(t.Context(), "SELECT drop_expired_shipments($1::text::interval)", interval); !denied(err) {
			t.Errorf("keeping them for %v: %v, want it refused", interval, err)
		}
	}
	for _, table := range []string{"shipments", "shipment_states", "purchase_attempts", "tracking_events"} {
		if _, err := conn.Exec(t.Context(), "SELECT drop_expired_partition($1, '4000 days')", table); !denied(err) {
			t.Errorf("%s alone: %v, want it refused", table, err)
		}
	}
	if _, err := conn.Exec(t.Context(), "SELECT drop_expired_partition('charges', '3599 days')"); !denied(err) {
		t.Errorf("charges: %v, want it refused", err)
	}

	// Kept for 90 days, last year would be created again an hour later.
	for range 5 {
		if _, err := conn.Exec(t.Context(), "SELECT drop_expired_shipments('90 days')"); err != nil {
			t.Fatal(err)
		}
	}
	if list := partitionsOf(t, f.owner, "shipments"); !slices.Equal(list[:2], []string{fmt.Sprintf("shipments_%d", now().Year()-1), fmt.Sprintf("shipments_%d", now().Year())}) {
		t.Errorf("partitions %v", list)
	}
}
