package store_test

import (
	"context"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// blocked is a connection with a tenth of all parcels in watched.
const blocked = "'{00000000-0000-4000-8000-000000000000}'"

// watched gives the database so many open parcels of 500 connections. Due are
// 1,000, and before them a tenth of all, of one connection. The indexes are made
// when all is there, which is many times faster.
func watched(t *testing.T, f *fixture, rows int) {
	t.Helper()
	values := strings.NewReplacer("{rows}", strconv.Itoa(rows))
	for _, sql := range []string{
		`CREATE FUNCTION nth(n int) RETURNS uuid LANGUAGE sql AS $$ SELECT ('00000000-0000-4000-8000-' || lpad(to_hex(n), 12, '0'))::uuid $$`,
		`CREATE TABLE indexes AS SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'carrier_polls'`,
		`DO $$ BEGIN ALTER TABLE carrier_polls DROP CONSTRAINT carrier_polls_pkey; EXECUTE (SELECT string_agg('DROP INDEX IF EXISTS ' || indexname, ';') FROM indexes); END $$`,
		`INSERT INTO carrier_polls (account_id, livemode, subject_id, connection_id, due_at)
		 SELECT nth(c), true, ('019a' || substr(md5(n::text), 5))::uuid, nth(c), now() + interval '100 milliseconds' * (n - {rows} / 10 - 1000)
		 FROM (SELECT n, CASE WHEN n <= {rows} / 10 THEN 0 ELSE 1 + n % 499 END AS c FROM generate_series(1, {rows}) n) parcels`,
		`DO $$ BEGIN EXECUTE (SELECT string_agg(indexdef, ';') FROM indexes); ALTER TABLE carrier_polls ADD PRIMARY KEY USING INDEX carrier_polls_pkey; END $$`,
		`VACUUM ANALYZE carrier_polls`,
	} {
		if _, err := f.owner.Exec(t.Context(), values.Replace(sql)); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

// found is how the claim of 1,000 finds what is due: the scan of the index.
func found(t *testing.T, plan node, claimed int) node {
	t.Helper()
	var scan node
	plan.walk(func(n node) {
		switch {
		case n.Type == "Seq Scan":
			t.Errorf("the claim reads all of %s", n.Relation)
		case n.Index == "carrier_polls_due":
			scan = n
		case n.Index == "carrier_polls_pkey" && n.Loops > claimed:
			t.Errorf("it looks %d rows up for %d", n.Loops, claimed)
		}
	})
	if scan.Type != "Index Only Scan" {
		t.Errorf("what is due is found by %+v", scan)
	}
	if plan.Rows != claimed {
		t.Errorf("%d are claimed, not %d", plan.Rows, claimed)
	}
	return scan
}

// The parcels that are due are looked for several times a second, among any
// number that are not, and behind those of a connection that may not be asked.
func TestParcelsThatAreDueAreFoundInTheIndexAlone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	watched(t, f, 100_000)
	scan := found(t, planOf(t, f.owner, "waybill_sys", "sqlDueWatches", "now()", "now() + interval '1 hour'", "1000", blocked), 1000)
	if scan.Fetches != 0 || scan.Millis > 500 { // the machine may be busy; the proof says 5
		t.Errorf("it read %d rows and took %g ms", scan.Fetches, scan.Millis)
	}
}

// TestProveTheDueQuery is for PROVE=full, with WATCHES rows; 10,000,000 if that is
// not set. Of several times the best counts: it is the machine's that varies.
func TestProveTheDueQuery(t *testing.T) {
	if os.Getenv("PROVE") == "" {
		t.Skip("PROVE is not set: make prove lists the proofs")
	}
	rows := 10_000_000
	if n, err := strconv.Atoi(os.Getenv("WATCHES")); err == nil {
		rows = n
	}
	f := newFixture(t)
	watched(t, f, rows)
	claim := func(skip string) (plan, scan node) {
		plan = planOf(t, f.owner, "waybill_sys", "sqlDueWatches", "now()", "now() + interval '1 day'", "1000", skip)
		if _, err := f.owner.Exec(t.Context(), "DEALLOCATE sqlDueWatches"); err != nil {
			t.Fatal(err)
		}
		return plan, found(t, plan, 1000)
	}
	plan, scan := claim(blocked)
	figures := map[string]any{"rows": rows, "due": 1000, "blocked": rows / 10, "behindBlockedMillis": scan.Millis, "scan": scan.Type, "index": scan.Index, "heapFetches": scan.Fetches}
	best, claimed := 1e9, 1e9
	for range 5 {
		plan, scan = claim("'{}'")
		best, claimed = min(best, scan.Millis), min(claimed, plan.Millis)
		t.Logf("1,000 of %d: found in %.2f ms, claimed in %.2f ms", rows, scan.Millis, plan.Millis)
	}
	figures["foundMillis"], figures["claimedMillis"] = best, claimed
	text, err := json.Marshal(figures)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("figures: %s", text)
	if best > 5 {
		t.Errorf("1,000 due of %d are found in %.2f ms at best; want 5", rows, best)
	}
}

// Several copies claim at once, and one of them dies.
func TestAParcelIsClaimedByOneCopyUntilItsTime(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	connection := ship.NewConnectionID(7, now())
	const parcels, copies = 300, 4
	start := now().Add(-time.Hour)
	for i := range parcels {
		if err := f.Watch(t.Context(), ship.Subject{Tenant: f.tenant, ID: ship.NewRawID(7, now())}, connection, start.Add(time.Duration(i)*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	at, again := now(), now().Add(time.Minute)
	type claim struct {
		ids map[ship.RawID]time.Time
		err error
	}
	claims := make(chan claim)
	for range copies {
		go func() {
			mine := claim{ids: map[ship.RawID]time.Time{}}
			for range 100 {
				list, err := f.DueWatches(context.Background(), at, again, 7, nil)
				for _, w := range list {
					mine.ids[w.ID] = w.Due
				}
				if err != nil {
					mine.err = err
					break
				}
			}
			claims <- mine
		}()
	}
	all := map[ship.RawID]time.Time{}
	total := 0
	for range copies {
		mine := <-claims
		if mine.err != nil {
			t.Error(mine.err)
		}
		total += len(mine.ids)
		for id, due := range mine.ids {
			all[id] = due
		}
	}
	if len(all) != parcels || total != parcels {
		t.Errorf("%d of %d are claimed, %d times", len(all), parcels, total)
	}
	for id, due := range all {
		if due.Before(start) || due.After(at) {
			t.Errorf("%x was due at %s", id, due)
		}
	}
	if list, err := f.DueWatches(t.Context(), again.Add(-time.Second), again, 10, nil); err != nil || len(list) != 0 {
		t.Errorf("before their time %d are due again, %v", len(list), err)
	}
	if list, err := f.DueWatches(t.Context(), again, again.Add(time.Minute), 10, []ship.ConnectionID{connection}); err != nil || len(list) != 0 {
		t.Errorf("of a connection to skip %d are due, %v", len(list), err)
	}
	if list, err := f.DueWatches(t.Context(), again, again.Add(time.Minute), 10, nil); err != nil || len(list) != 10 {
		t.Errorf("of a copy that died %d are taken over, %v", len(list), err)
	}
}
