// Package cells_test moves shards between databases while they are written to.
package cells_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/cell"
	"github.com/waybillhq/waybill/internal/job"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
	"github.com/waybillhq/waybill/test/proving"
)

// world is two cells in one server. The first is the directory too.
type world struct {
	t      *testing.T
	urls   map[string]string
	stores map[string]*store.Store
	owners map[string]*pgx.Conn
}

const (
	first  = "eu-1"
	second = "eu-2"
)

func newWorld(t *testing.T) *world {
	t.Helper()
	cluster := proving.NewCluster(t, "WAYBILL_PG_OPTIONS=-c wal_level=logical -c max_worker_processes=20", "WAYBILL_PG_SHARED_BUFFERS=64MB")
	w := &world{
		t:      t,
		urls:   map[string]string{first: cluster.URL, second: strings.Replace(cluster.URL, "/waybill", "/second", 1)},
		stores: map[string]*store.Store{},
		owners: map[string]*pgx.Conn{first: storetest.Conn(t, cluster.URL)},
	}
	w.run(first, "CREATE DATABASE second")
	w.owners[second] = storetest.Conn(t, w.urls[second])

	for _, name := range []string{first, second} {
		w.must(store.Migrate(t.Context(), w.urls[name]))
		w.must(store.AddCell(t.Context(), w.urls[first], store.NewCell{Name: name, URL: "http://127.0.0.1:1", Database: w.urls[name]}))
		st, err := store.Open(t.Context(), store.Options{URL: w.urls[name], Connections: 8, Cell: name})
		w.must(err)
		t.Cleanup(st.Close)
		w.stores[name] = st
	}
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) run(cell, sql string, args ...any) {
	w.t.Helper()
	_, err := w.owners[cell].Exec(w.t.Context(), sql, args...)
	w.must(err)
}

func (w *world) count(cell, sql string, args ...any) (n int) {
	w.t.Helper()
	w.must(w.owners[cell].QueryRow(w.t.Context(), sql, args...).Scan(&n))
	return n
}

// tenant makes an account in the shard at the first cell, with a webhook endpoint
// and a job.
func (w *world) tenant(shard ship.Shard) ship.Tenant {
	w.t.Helper()
	ctx := w.t.Context()
	tenant := ship.Tenant{Account: ship.NewAccountID(shard, time.Now())}
	st := w.stores[first]
	w.must(st.SaveAccount(ctx, ship.Account{ID: tenant.Account, Name: "A", Units: ship.DefaultUnits, Currency: "USD"}, "account.made"))
	_, err := st.AddEndpoint(ctx, tenant, ship.NewEndpointID(shard, time.Now()), store.EndpointSettings{URL: "https://example.com/hook", Signature: "v1", Secret: []byte{1}, Enabled: true})
	w.must(err)
	w.must(st.InTx(ctx, tenant, func(tx *store.Store) error {
		return tx.Enqueue(ctx, job.VoidOrphanedLabel{Account: tenant.Account, Livemode: tenant.Livemode, Carrier: "ups", Number: "1Z1"}, time.Hour)
	}))
	return tenant
}

// create stores a shipment wherever the tenant is, as a client would that retries.
func (w *world) create(ctx context.Context, tenant ship.Tenant, order string) (ship.ShipmentID, error) {
	creation := storetest.Bought(storetest.Shipment(tenant, order), fmt.Sprintf("1Z%s%d", order, tenant.Shard()))
	for {
		for _, name := range []string{first, second} {
			_, err := w.stores[name].Create(ctx, creation)
			if err == nil {
				return creation.Shipment.ID, nil
			}
			if !errors.Is(err, store.ErrMisdirected) {
				return "", fmt.Errorf("%s in %s: %w", order, name, err)
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// mover returns a mover, and moves report their states to seen.
func (w *world) mover(seen func(*store.Move)) *cell.Mover {
	w.t.Helper()
	open, err := store.OpenDirectoryOwner(w.t.Context(), w.urls[first])
	w.must(err)
	w.t.Cleanup(open.Close)
	return &cell.Mover{Store: open, Databases: w.urls, Keep: 0, Progress: seen}
}

// rawOf returns the account as the database has it.
func rawOf(tenant ship.Tenant) string { return fmt.Sprintf("%x", tenant.Account.Raw()) }

// writer creates shipments of a tenant until it is stopped, and returns them.
func (w *world) writer(tenant ship.Tenant) (stop func() []ship.ShipmentID) {
	ctx, cancel := context.WithCancel(w.t.Context())
	var made []ship.ShipmentID
	var writing sync.WaitGroup
	writing.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			id, err := w.create(w.t.Context(), tenant, fmt.Sprint("order-", n))
			if err != nil {
				w.t.Error(err)
				return
			}
			made = append(made, id)
			time.Sleep(10 * time.Millisecond)
		}
	})
	return func() []ship.ShipmentID {
		cancel()
		writing.Wait()
		return made
	}
}

// events reads a tenant's log at a cell from a cursor on, until it has as many.
func (w *world) events(cell string, tenant ship.Tenant, after store.Position, want int) []store.LogEvent {
	w.t.Helper()
	var all []store.LogEvent
	for deadline := time.Now().Add(10 * time.Second); len(all) < want && time.Now().Before(deadline); {
		list, next, err := w.stores[cell].Log(w.t.Context(), tenant, after, nil, 100)
		w.must(err)
		all = append(all, list...)
		after = next
		if len(list) == 0 {
			time.Sleep(20 * time.Millisecond)
		}
	}
	return all
}

// TestShardsMoveWhileTheyAreWrittenTo moves three shards: one as it is, one whose
// mover dies at every state and is resumed, and one there and back.
func TestShardsMoveWhileTheyAreWrittenTo(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	shards := []ship.Shard{5, 300, 4095}
	tenants := make([]ship.Tenant, len(shards))
	stops := make([]func() []ship.ShipmentID, len(shards))
	cursors := make([]store.Position, len(shards))
	for i, shard := range shards {
		tenants[i] = w.tenant(shard)
		_, err := w.create(ctx, tenants[i], "before")
		w.must(err)
		list := w.events(first, tenants[i], store.Position{}, 2)
		cursors[i] = list[len(list)-1].Position
		stops[i] = w.writer(tenants[i])
	}
	time.Sleep(100 * time.Millisecond)

	began := time.Now()
	move, err := w.mover(func(*store.Move) {}).Move(ctx, shards[0], second)
	w.must(err)
	t.Logf("a move of %d rows took %s, and its shard was frozen for %s", move.RowsCopied, time.Since(began), move.SwitchedAt.Sub(*move.FrozenAt))
	w.moveWithDeaths(shards[1])
	_, err = w.mover(func(*store.Move) {}).Move(ctx, shards[2], second)
	w.must(err)
	_, err = w.mover(func(*store.Move) {}).Purge(ctx, true)
	w.must(err)
	_, err = w.mover(func(*store.Move) {}).Move(ctx, shards[2], first)
	w.must(err)
	time.Sleep(100 * time.Millisecond)

	at := []string{second, second, first}
	for i, tenant := range tenants {
		made := stops[i]()
		w.check(at[i], tenant, cursors[i], made)
	}

	// Personal data that is erased at a target must not stay at the source.
	keeping := w.mover(func(*store.Move) {})
	keeping.Keep = time.Hour
	_, err = keeping.Move(ctx, 77, second)
	w.must(err)
	if n, err := keeping.Purge(ctx, false); err != nil || n != 1 {
		t.Errorf("%d shards are purged, %v; want the one that is not kept", n, err)
	}
	erased := ship.NewRawID(77, time.Now())
	w.run(second, "INSERT INTO erasures (account_id, livemode, id, subject_kind, shipment_id) VALUES ($1::text::uuid, true, $1::text::uuid, 'shipment', $1::text::uuid)", fmt.Sprintf("%x", erased))
	if n, err := keeping.Purge(ctx, false); err != nil || n != 1 {
		t.Errorf("%d shards are purged after an erasure, %v", n, err)
	}

	// So is what was erased under way: requested before the switch, and done after it.
	requested := ship.NewRawID(78, time.Now())
	_, err = keeping.Move(ctx, 78, second)
	w.must(err)
	w.run(second, "INSERT INTO erasures (account_id, livemode, id, subject_kind, shipment_id, state, finished_at) VALUES ($1::text::uuid, true, $1::text::uuid, 'shipment', $1::text::uuid, 'done', clock_timestamp())", fmt.Sprintf("%x", requested))
	if n, err := keeping.Purge(ctx, false); err != nil || n != 1 {
		t.Errorf("%d shards are purged after an erasure that was under way, %v", n, err)
	}

	// What is left at a source is deleted, and nothing else.
	_, err = w.mover(func(*store.Move) {}).Purge(ctx, true)
	w.must(err)
	for i, tenant := range tenants {
		for _, name := range []string{first, second} {
			n := w.count(name, "SELECT count(*) FROM shipments WHERE account_id = $1", rawOf(tenant))
			if (n > 0) != (name == at[i]) {
				t.Errorf("shard %d has %d shipments at %s after the purge", shards[i], n, name)
			}
		}
	}
	for _, name := range []string{first, second} {
		if n := w.count(name, "SELECT (SELECT count(*) FROM pg_publication) + (SELECT count(*) FROM pg_replication_slots WHERE database = current_database())"); n > 0 {
			t.Errorf("%s still has %d publications and slots", name, n)
		}
	}
}

// moveWithDeaths moves a shard with movers that each die at a later state.
func (w *world) moveWithDeaths(shard ship.Shard) {
	w.t.Helper()
	type death struct{ store.MoveState }
	for _, state := range []store.MoveState{store.MoveCopying, store.MoveCatchingUp, store.MoveFrozen, store.MoveSwitched} {
		func() {
			mover := w.mover(func(move *store.Move) {
				if move.State == state {
					panic(death{state})
				}
			})
			defer mover.Store.Close() // as the death of its process would do
			defer func() {
				if cause := recover(); cause != any(death{state}) {
					w.t.Fatalf("the mover does not die at %s: %v", state, cause)
				}
			}()
			_, err := mover.Move(w.t.Context(), shard, second)
			w.t.Fatalf("the mover ends before %s: %v", state, err)
		}()
	}
	_, err := w.mover(func(*store.Move) {}).Move(w.t.Context(), shard, second)
	w.must(err)
}

// check compares what a cell has of a tenant with what was acknowledged.
func (w *world) check(at string, tenant ship.Tenant, cursor store.Position, made []ship.ShipmentID) {
	w.t.Helper()
	if len(made) < 5 {
		w.t.Errorf("only %d shipments were made meanwhile", len(made))
	}
	if n := w.count(at, "SELECT count(*) FROM shipments WHERE account_id = $1", rawOf(tenant)); n != len(made)+1 {
		w.t.Errorf("%d shipments at %s, %d were acknowledged", n, at, len(made)+1)
	}

	// Behind the cursor from before the move there is every event once, in order.
	list := w.events(at, tenant, cursor, 2*len(made))
	if len(list) != 2*len(made) {
		w.t.Errorf("%d events behind the cursor, want %d", len(list), 2*len(made))
	}
	seen := map[ship.EventID]bool{}
	sequences := map[ship.ShipmentID]int{}
	for i, event := range list {
		if seen[event.Event.ID] {
			w.t.Errorf("event %s comes twice", event.Event.ID)
		}
		seen[event.Event.ID] = true
		if sequences[event.Event.Shipment]++; sequences[event.Event.Shipment] != event.Event.Sequence {
			w.t.Errorf("event %d of %s is number %d", event.Event.Sequence, event.Event.Shipment, sequences[event.Event.Shipment])
		}
		if i > 0 && !list[i-1].Position.Before(event.Position) {
			w.t.Errorf("event %s is not behind the one before", event.Event.ID)
		}
	}
	for _, id := range made {
		if sequences[id] != 2 {
			w.t.Errorf("%s has %d events", id, sequences[id])
		}
	}

	if n := w.count(at, "SELECT count(*) FROM webhook_endpoints WHERE account_id = $1 AND catching_up AND cursor_txid IS NOT NULL", rawOf(tenant)); n != 1 {
		w.t.Errorf("%d endpoints go on by themselves, want 1", n)
	}
	if n := w.count(at, "SELECT count(*) FROM river_job WHERE args->>'account' = $1 AND finalized_at IS NULL", string(tenant.Account)); n != 1 {
		w.t.Errorf("%d jobs are at %s, want 1", n, at)
	}
}

// whileFrozen holds a move at its frozen shard while fn runs, and returns the function
// that the mover reports to. With stop, the mover is told to stop in the middle of
// the statement that compares the cells.
func (w *world) whileFrozen(fn, stop func()) func(*store.Move) {
	ctx := w.t.Context()
	target := storetest.Conn(w.t, w.urls[second])
	source := storetest.Conn(w.t, w.urls[first])
	holder := storetest.Conn(w.t, w.urls[second])

	// exec runs statements of the goroutine below, which must not end the test.
	exec := func(conn *pgx.Conn, statement string) {
		if _, err := conn.Exec(ctx, statement); err != nil {
			w.t.Errorf("%s: %v", statement, err)
		}
	}
	waitFor := func(conn *pgx.Conn, condition string) {
		for is := false; !is && ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
			if err := conn.QueryRow(ctx, "SELECT "+condition).Scan(&is); err != nil {
				w.t.Error(err)
				return
			}
		}
	}

	return func(move *store.Move) {
		if move.State != store.MoveFrozen {
			return
		}
		subscription := fmt.Sprintf("waybill_%d_%s", move.Shard, move.ID[:8])
		exec(target, "ALTER SUBSCRIPTION "+subscription+" DISABLE")
		go func() {
			waitFor(source, fmt.Sprintf("frozen FROM shards WHERE shard = %d", move.Shard))
			fn()
			if stop == nil {
				exec(target, "ALTER SUBSCRIPTION "+subscription+" ENABLE")
				return
			}

			exec(holder, "BEGIN")
			exec(holder, "LOCK TABLE saved_views") // it is compared like all others
			exec(target, "ALTER SUBSCRIPTION "+subscription+" ENABLE")
			waitFor(target, "EXISTS (SELECT FROM pg_locks WHERE NOT granted AND relation = 'saved_views'::regclass)")
			stop()
			time.Sleep(100 * time.Millisecond)
			exec(holder, "ROLLBACK")
		}()
	}
}

// TestNothingIsLostWhileAShardIsFrozen has the source's dispatcher and roll-up pass
// the events of a frozen shard, which they cannot see.
func TestNothingIsLostWhileAShardIsFrozen(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	const shard = 300
	tenant := w.tenant(shard)
	other := w.tenant(5)
	slots := []int{}
	leases, err := w.stores[first].TakeSlots(ctx, "test", time.Hour, store.WebhookSlots)
	w.must(err)
	for _, lease := range leases {
		slots = append(slots, lease.Slot)
	}

	// The endpoint reads with the others, so only its slot knows how far it is.
	const rejoin = "UPDATE webhook_endpoints SET catching_up = false, recover_since = NULL, cursor_txid = NULL, cursor_id = NULL, cursor_at = NULL"
	w.run(first, rejoin)
	unseen, err := w.create(ctx, tenant, "unseen")
	w.must(err)
	position := w.events(first, tenant, store.Position{}, 1)[0].Position

	passes := 0
	pass := func() {
		passes++
		_, err := w.create(ctx, other, fmt.Sprint("other-", passes))
		w.must(err)
		var heads []store.LogHead
		for len(heads) == 0 {
			heads, err = w.stores[first].LogHeads(ctx, leases[0].Cursor, 1000)
			w.must(err)
		}
		for i := range leases {
			leases[i].Cursor = heads[len(heads)-1].Position
			w.must(w.stores[first].Record(ctx, store.Record{Lease: leases[i]}, nil))
		}
		w.rollUp(first)
	}
	check := func(cell string) {
		t.Helper()
		endpoints, _, err := w.stores[cell].SlotEndpoints(ctx, slots, time.Time{})
		w.must(err)
		found := 0
		for _, endpoint := range endpoints {
			if endpoint.Tenant != tenant {
				continue
			}
			found++
			if !endpoint.Joining || !endpoint.Cursor.Before(position) {
				t.Errorf("%s: the endpoint reads on from %+v, and would not get the event at %+v", cell, endpoint.Cursor, position)
			}
			if endpoint.RecoverSince.IsZero() {
				t.Errorf("%s: the endpoint would get what was delivered already", cell)
			}
		}
		if found != 1 {
			t.Errorf("%s has %d endpoints of the account", cell, found)
		}
		w.rollUp(cell)
		if n := w.count(cell, "SELECT count(*) FROM shipment_facts WHERE shipment_id = $1", fmt.Sprintf("%x", unseen.Raw())); n != 1 {
			t.Errorf("%s: the shipment is not counted", cell)
		}
	}

	// A mover that is told to stop in the middle of a statement leaves the shard
	// where it was, and served.
	stopped, stop := context.WithCancel(ctx)
	_, err = w.mover(w.whileFrozen(pass, stop)).Move(stopped, shard, second)
	if err == nil || passes != 1 {
		t.Fatalf("the move ends with %v after %d passes", err, passes)
	}
	if n := w.count(first, "SELECT count(*) FROM shards WHERE frozen OR moving_to IS NOT NULL"); n != 0 {
		t.Fatalf("%d shards are still frozen: %v", n, err)
	}
	check(first)

	_, err = w.mover(w.whileFrozen(pass, nil)).Move(ctx, shard, second)
	w.must(err)
	if passes != 2 {
		t.Fatalf("%d passes", passes)
	}
	check(second)
}

// rollUp counts all that a cell has yet to count.
func (w *world) rollUp(cell string) {
	w.t.Helper()
	for did := 1; did > 0; {
		var err error
		did, err = w.stores[cell].RollUp(w.t.Context())
		w.must(err)
	}
}

// TestASwitchWhoseAnswerIsLostIsNotTakenBack has a mover believe that it failed just
// before the switch, although the directory has recorded it.
func TestASwitchWhoseAnswerIsLostIsNotTakenBack(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	tenant := w.tenant(300)
	id, err := w.create(ctx, tenant, "one")
	w.must(err)

	stopped, stop := context.WithCancel(ctx)
	_, err = w.mover(func(move *store.Move) {
		if move.State == store.MoveSwitched {
			move.State = store.MoveFrozen
			stop()
		}
	}).Move(stopped, 300, second)
	if err == nil || !strings.Contains(err.Error(), "run the command again") {
		t.Fatalf("the move ends with %v", err)
	}
	if n := w.count(first, "SELECT count(*) FROM shards WHERE shard = 300 AND NOT frozen"); n != 0 {
		t.Error("the source serves the shard again, which the directory has given to the target")
	}

	// A change of the target's address leaves the shard to its mover.
	w.must(store.AddCell(ctx, w.urls[first], store.NewCell{Name: second, URL: "http://127.0.0.1:2", Database: w.urls[second]}))

	// Whoever moves anything next finishes it.
	w.must(w.mover(func(*store.Move) {}).Resume(ctx))
	if n := w.count(second, "SELECT count(*) FROM shipments WHERE id = $1", fmt.Sprintf("%x", id.Raw())); n != 1 {
		t.Error("the shipment is not at the target")
	}
	if n := w.count(second, "SELECT count(*) FROM river_job WHERE args->>'account' = $1 AND finalized_at IS NULL", string(tenant.Account)); n != 1 {
		t.Errorf("%d jobs are at the target, want 1", n)
	}
}

// TestPeopleStayMembersWhereTheyAreSomebodyElse moves an account whose owner has
// another account at the target, under another id.
func TestPeopleStayMembersWhereTheyAreSomebodyElse(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	tenant := w.tenant(300)
	add := func(cell string, email string) ship.PersonID {
		t.Helper()
		id := ship.NewPersonID(time.Now())
		w.must(w.stores[cell].InSystemTx(ctx, func(tx *store.Store) error {
			return tx.AddPerson(ctx, store.Person{ID: id, Email: email, Name: "Ada", CreatedAt: time.Now()})
		}))
		return id
	}
	join := func(id ship.PersonID) {
		t.Helper()
		w.must(w.stores[first].InSystemTx(ctx, func(tx *store.Store) error {
			return tx.AddMember(ctx, tenant.Account, id, "owner", time.Now())
		}))
	}
	here := add(first, "ada@example.com")
	join(here)
	join(add(first, "bob@example.com"))
	there := add(second, "ada@example.com")

	// Whoever has not proved the address might be anybody.
	_, err := w.mover(func(*store.Move) {}).Move(ctx, 300, second)
	if err == nil || !strings.Contains(err.Error(), "has not verified it") {
		t.Fatalf("the move ends with %v", err)
	}

	w.run(second, "UPDATE people SET email_verified_at = now() WHERE id = $1", fmt.Sprintf("%x", there.Raw()))
	w.run(first, "INSERT INTO recovery_codes (person_id, code_hash) VALUES ($1, 'x')", fmt.Sprintf("%x", here.Raw()))
	_, err = w.mover(func(*store.Move) {}).Move(ctx, 300, second)
	w.must(err)
	if n := w.count(second, "SELECT count(*) FROM members m JOIN people p ON p.id = m.person_id WHERE m.account_id = $1", rawOf(tenant)); n != 2 {
		t.Errorf("%d members are known at the target, want Ada and Bob", n)
	}
	if n := w.count(second, "SELECT count(*) FROM members WHERE account_id = $1 AND person_id = $2", rawOf(tenant), fmt.Sprintf("%x", there.Raw())); n != 1 {
		t.Error("Ada is no member at the target")
	}
	if n := w.count(second, "SELECT count(*) FROM recovery_codes"); n != 0 {
		t.Error("what somebody signs in with elsewhere came along")
	}
}
