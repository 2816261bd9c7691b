package store_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// Rows of which the tenant is not that of their shipment. Row-level security
// does not see rows that are swapped inside a transaction of several tenants.
const sqlStrayRows = `
SELECT count(*) FROM shipments s
JOIN (
  SELECT 'shipment_states' AS name, id, account_id, livemode FROM shipment_states
  UNION ALL SELECT 'labels', shipment_id, account_id, livemode FROM labels
  UNION ALL SELECT 'lookup_keys', subject_id, account_id, livemode FROM lookup_keys
  UNION ALL SELECT 'idempotency_keys', shipment_id, account_id, livemode FROM idempotency_keys
  UNION ALL SELECT 'events', subject_id, account_id, livemode FROM events
  UNION ALL SELECT 'sandbox_polls', subject_id, account_id, livemode FROM sandbox_polls
  UNION ALL SELECT 'purchase_attempts', shipment_id, account_id, livemode FROM purchase_attempts
) AS own ON own.id = s.id
WHERE (own.account_id, own.livemode) <> (s.account_id, s.livemode)
  OR own.account_id::text <> s.request->>'orderId'`

// manyAtOnce calls do that often, all at the same time.
func manyAtOnce(n int, do func(i int)) {
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() { do(i) })
	}
	running.Wait()
}

func TestGroupedWritesStayWithTheirTenants(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	tenants := make([]ship.Tenant, 5)
	for i := range tenants {
		tenants[i] = newTenant()
		tenants[i].Livemode = i%2 == 0
	}

	// Each tenant's orders are named after its account. A third of the creations
	// share keys, of which one may win; the rest is recorded first and settled.
	const rounds, width = 8, 60
	var created, taken, settled atomic.Int64
	for round := range rounds {
		manyAtOnce(width, func(i int) {
			tenant := tenants[i%len(tenants)]
			raw := tenant.Account.Raw()
			sh := shipmentOf(tenant, fmt.Sprintf("%x-%x-%x-%x-%x", raw[:4], raw[4:6], raw[6:8], raw[8:10], raw[10:]))
			number := fmt.Sprintf("1Z%d-%d", round, i)

			if i%3 < 2 {
				c := bought(sh, number)
				c.IdempotencyKey = fmt.Sprintf("key-%d-%d", round, i)
				if i%3 == 1 {
					c.IdempotencyKey = fmt.Sprintf("shared-%d", round)
				}
				switch _, err := f.Create(t.Context(), c); ship.KindOf(err) {
				case "":
					created.Add(1)
				case ship.Conflict:
					taken.Add(1)
				default:
					t.Error(err)
				}
				return
			}

			attempt := store.Attempt{Number: 1, Reference: "R1", Carrier: "ups", Service: "ground"}
			if _, err := f.Intend(t.Context(), sh, attempt, ship.KeyName{Key: "live-" + number}); err != nil {
				t.Error(err)
				return
			}
			if sequence, err := f.settle(t, sh, number, 1); err != nil || sequence != 2 {
				t.Errorf("settled with sequence %d, %v", sequence, err)
				return
			}
			settled.Add(1)
		})
	}

	// Per round 20 have a key of their own, 20 share one key per tenant, and 20
	// are settled.
	if got, want := created.Load(), int64(rounds*(20+len(tenants))); got != want || settled.Load() != rounds*20 || taken.Load() != int64(rounds*(20-len(tenants))) {
		t.Errorf("%d created, %d keys taken, %d settled; want %d created", got, taken.Load(), settled.Load(), want)
	}
	if n := one[int](t, f.owner, sqlStrayRows); n != 0 {
		t.Errorf("%d rows are under another tenant than their shipment", n)
	}
	if n := one[int64](t, f.owner, "SELECT count(*) FROM events"); n != 2*(created.Load()+settled.Load()) {
		t.Errorf("%d events of %d shipments", n, created.Load()+settled.Load())
	}
	shared := one[int](t, f.owner, "SELECT count(*) FROM (SELECT txid FROM events GROUP BY txid HAVING count(DISTINCT subject_id) > 1) AS shared")
	several := one[int](t, f.owner, "SELECT count(*) FROM (SELECT txid FROM events GROUP BY txid HAVING count(DISTINCT account_id) > 1) AS several")
	if shared == 0 || several == 0 {
		t.Errorf("%d transactions have several shipments, %d several accounts: nothing was grouped", shared, several)
	}
}

func TestAWriteThatIsRejectedLeavesItsGroupAlone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)

	const n = 60
	manyAtOnce(n, func(i int) {
		order := fmt.Sprint("order-", i)
		if i%10 == 0 {
			order += "\x00" // which Postgres does not store
		}
		_, err := f.Create(t.Context(), bought(shipmentOf(f.tenant, order), fmt.Sprint("1Z", i)))
		if isRejected := err != nil; isRejected != strings.Contains(order, "\x00") {
			t.Errorf("order %q: %v", order, err)
		}
	})
	if got := one[int](t, f.owner, "SELECT count(*) FROM shipments"); got != n*9/10 {
		t.Errorf("%d shipments, want %d", got, n*9/10)
	}
}

func TestGroupedLookupsFindTheirTenantsParcels(t *testing.T) {
	t.Parallel()
	f := newFixture(t)

	// All tenants have the same numbers, and one account has both modes.
	tenants := make([]ship.Tenant, 6)
	for i := range tenants {
		tenants[i] = newTenant()
	}
	tenants[5] = ship.Tenant{Account: tenants[0].Account, Livemode: true}
	const numbers = 4
	parcels := map[string]ship.RawID{}
	for i, tenant := range tenants {
		for n := range numbers {
			sh := f.create(t, tenant, fmt.Sprintf("order-%d-%d", i, n), fmt.Sprint("1Z", n))
			f.hear(t, sh, ship.Scan{Code: fmt.Sprint("C", i), At: now(), Status: ship.PickedUp, Description: "Scanned"})
			parcels[fmt.Sprint(i, " ", n)] = sh.ID.Raw()
		}
	}

	manyAtOnce(600, func(k int) {
		i, n := k%len(tenants), k/len(tenants)%(numbers+1)
		state, scans, err := f.Find(t.Context(), tenants[i], fmt.Sprint("1Z", n), "")
		if n == numbers {
			if ship.KindOf(err) != ship.NotFound {
				t.Errorf("a number that does not exist: %v", err)
			}
			return
		}

		last := ""
		if len(scans) > 0 {
			last = scans[len(scans)-1].Code
		}
		if err != nil || state.ID != parcels[fmt.Sprint(i, " ", n)] || state.Tenant != tenants[i] || last != fmt.Sprint("C", i) {
			t.Errorf("tenant %d, number %d: %v of %v, last scan %q, %v", i, n, state.ID, state.Tenant, last, err)
		}
	})
	if n := f.Pools()["group"].Stat().AcquireCount(); n == 0 {
		t.Error("no look-ups were grouped")
	}
}

func TestTheGroupsRoleSeesTheGroupAlone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	own := f.tenant
	other := newTenant()
	live := ship.Tenant{Account: own.Account, Livemode: true}
	for i, tenant := range []ship.Tenant{own, other, live} {
		sh := f.create(t, tenant, "order", fmt.Sprint("1Z", i))
		f.hear(t, sh, ship.Scan{Code: "C", At: now(), Status: ship.PickedUp, Description: "Scanned"})
	}
	account := func(tenant ship.Tenant) string {
		raw := tenant.Account.Raw()
		return fmt.Sprintf("%x", raw[:])
	}

	pool := f.Pools()["group"]
	for _, tc := range []struct {
		live, test string
		want       int
	}{
		{"", "", 0},
		{"", account(own), 1},
		{account(own), "", 1},
		{account(other), "", 0},
		{account(own), account(own) + "," + account(other), 3},
	} {
		for _, table := range []string{"shipment_states", "tracking_events"} {
			var n int
			batch := &pgx.Batch{}
			batch.Queue("SELECT set_config('waybill.live_accounts', $1, true), set_config('waybill.test_accounts', $2, true)", tc.live, tc.test)
			batch.Queue("SELECT count(*) FROM " + table).QueryRow(func(r pgx.Row) error { return r.Scan(&n) })
			if err := pool.SendBatch(t.Context(), batch).Close(); err != nil || n != tc.want {
				t.Errorf("live %q, test %q: %d rows of %s, %v; want %d", tc.live, tc.test, n, table, err, tc.want)
			}
		}
	}

	for _, sql := range []string{
		"SELECT count(*) FROM shipments",
		"SELECT count(*) FROM idempotency_keys",
		"UPDATE shipment_states SET status = 'delivered'",
		"DELETE FROM lookup_keys",
	} {
		if _, err := f.owner.Exec(t.Context(), "BEGIN; SET LOCAL ROLE waybill_group; "+sql+"; COMMIT"); !denied(err) {
			t.Errorf("%s: %v", sql, err)
		}
		_, _ = f.owner.Exec(t.Context(), "ROLLBACK")
	}
}

// lockStates locks the states of shipments until the transaction ends.
func lockStates(t *testing.T, f *fixture, shipments ...ship.Shipment) pgx.Tx {
	t.Helper()
	tx, err := storetest.Conn(t, f.url).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, sh := range shipments {
		if _, err := tx.Exec(t.Context(), "SELECT FROM shipment_states WHERE id = $1 FOR UPDATE", [16]byte(sh.ID.Raw())); err != nil {
			t.Fatal(err)
		}
	}
	return tx
}

// A group's transaction may have got its number before that of a transaction
// which announces one of the group's shipments meanwhile. The label is generated
// after the announcement, and must come after it in the log.
func TestAGroupWritesNothingBeforeEarlierEvents(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	st, err := store.Open(t.Context(), store.Options{URL: f.url, Connections: 64})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)
	intend := func(n int) (list []ship.Shipment) {
		for range n {
			list = append(list, f.intend(t, f.tenant, "order"))
			time.Sleep(2 * time.Millisecond) // ids are in the order of milliseconds
		}
		return list
	}
	var running sync.WaitGroup
	settle := func(list []ship.Shipment) {
		for _, sh := range list {
			number := "1Z" + string(sh.ID)
			running.Go(func() {
				_, err := st.Settle(t.Context(), store.Settlement{Creation: bought(sh, number), Attempt: 1, BoughtBy: 1})
				if err != nil && ship.KindOf(err) != ship.Unavailable {
					t.Error(err)
				}
			})
		}
	}

	// So many settlements wait for a lock that those after them are gathered.
	// Of these, the second waits for a lock of its own, in a group that has its
	// number already.
	busy := intend(max(8, 4*runtime.GOMAXPROCS(0)) + 2)
	gathered := intend(3)
	busyLock := lockStates(t, f, busy...)
	secondLock := lockStates(t, f, gathered[1])
	settle(busy)
	time.Sleep(300 * time.Millisecond)
	settle(gathered)
	time.Sleep(300 * time.Millisecond)
	if err := busyLock.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond)

	last := gathered[2]
	err = f.InTx(t.Context(), f.tenant, func(tx *store.Store) error {
		states, err := tx.LockTrackingStates(t.Context(), []ship.Subject{{Tenant: f.tenant, ID: last.ID.Raw()}})
		if err != nil {
			return err
		}
		events := states[0].Announce(ship.EventContext{Now: now(), Purchase: &last.Purchase})
		return tx.Apply(t.Context(), []store.Change{{State: states[0], Events: events}})
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := secondLock.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	running.Wait()

	rows, err := f.owner.Query(t.Context(), "SELECT sequence FROM events WHERE subject_id = $1 ORDER BY txid, id", [16]byte(last.ID.Raw()))
	if err != nil {
		t.Fatal(err)
	}
	sequences, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil || !slices.Equal(sequences, []int{1, 2}) {
		t.Errorf("the log has the sequences %v, %v; want 1 and 2", sequences, err)
	}
}
