package cells_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/cell"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

func ignore(*store.Move) {}

// TestACopyThatEndedEarlyIsRepeated kills a mover behind the first row that it copied.
func TestACopyThatEndedEarlyIsRepeated(t *testing.T) {
	w := newWorld(t)
	tenant := w.tenant(300)
	w.run(first, "INSERT INTO account_logos VALUES ($1, 'x', 1, 1, 'x')", rawOf(tenant))

	type death struct{}
	func() {
		mover := w.mover(func(move *store.Move) {
			if move.State == store.MoveCopying && move.RowsCopied == 1 {
				panic(death{})
			}
		})
		defer mover.Store.Close()
		defer func() {
			if cause := recover(); cause != any(death{}) {
				t.Fatalf("the mover does not die: %v", cause)
			}
		}()
		_, err := mover.Move(t.Context(), 300, second)
		t.Fatalf("the mover ends: %v", err)
	}()

	_, err := w.mover(ignore).Move(t.Context(), 300, second)
	w.must(err)
	if n := w.count(second, "SELECT count(*) FROM account_logos"); n != 1 {
		t.Errorf("%d logos at the target", n)
	}
}

// TestServersMayHaveOtherSettings moves a shard between servers that write times
// differently.
func TestServersMayHaveOtherSettings(t *testing.T) {
	w := newWorld(t)
	tenant := w.tenant(300)
	_, err := w.create(t.Context(), tenant, "one")
	w.must(err)
	for _, setting := range []string{"timezone = 'America/New_York'", "datestyle = 'German'", "intervalstyle = 'iso_8601'", "bytea_output = 'escape'", "statement_timeout = '3s'"} {
		w.run(second, "ALTER DATABASE second SET "+setting)
	}
	_, err = w.mover(ignore).Move(t.Context(), 300, second)
	w.must(err)
}

// holding begins a transaction of the service in a cell, which ends when the function that it returns
// is called.
func (w *world) holding(cell string) (end func()) {
	w.t.Helper()
	conn := storetest.Conn(w.t, w.urls[cell])
	for _, statement := range []string{"SET application_name = 'waybill cell'", "BEGIN", "SELECT 1"} {
		_, err := conn.Exec(w.t.Context(), statement)
		w.must(err)
	}
	return func() {
		_, err := conn.Exec(w.t.Context(), "COMMIT")
		w.must(err)
	}
}

// waitFor waits until a condition holds in a cell.
func (w *world) waitFor(cell, condition string) {
	w.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); w.count(cell, "SELECT count(*) FROM cell_state WHERE "+condition) == 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("%s: %s is not so", cell, condition)
		}
	}
}

// TestTheLogOfATargetGoesOnWithoutTheMover stops a mover between the two steps of a new
// epoch of the log. Until the second, nobody at the target gets new events.
func TestTheLogOfATargetGoesOnWithoutTheMover(t *testing.T) {
	w := newWorld(t)
	end := w.holding(second)
	stopped, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	mover := w.mover(ignore)
	go func() {
		_, err := mover.Move(stopped, 300, second)
		ended <- err
	}()
	w.waitFor(second, "log_epoch = 1 AND readable_log_epoch = 0")
	stop()
	time.Sleep(100 * time.Millisecond)
	end()
	if err := <-ended; err == nil {
		t.Error("the move was not stopped")
	}
	w.waitFor(second, "readable_log_epoch = 1")
}

// TestAnEpochIsReadWhenItIsComplete has another mover raise the epoch while one waits for
// the transactions of the epoch before: those in between are not waited for.
func TestAnEpochIsReadWhenItIsComplete(t *testing.T) {
	w := newWorld(t)
	old := w.holding(second)
	moved := make(chan error, 1)
	mover := w.mover(ignore)
	go func() {
		_, err := mover.Move(t.Context(), 300, second)
		moved <- err
	}()
	w.waitFor(second, "log_epoch = 1")
	between := w.holding(second)
	w.run(second, "UPDATE cell_state SET log_epoch = 2")
	old()
	w.must(<-moved)
	if n := w.count(second, "SELECT readable_log_epoch FROM cell_state"); n != 1 {
		t.Errorf("epoch %d is read while a transaction is open that writes epoch 1", n)
	}
	between()
}

// TestAMoveStopsNobodyElse moves a shard while somebody reads the log of the source for
// long, as a dump does. Nobody may wait for both.
func TestAMoveStopsNobodyElse(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	w.tenant(300)
	other := w.tenant(5)
	_, err := w.create(ctx, other, "before")
	w.must(err)
	tx, err := storetest.Conn(t, w.urls[first]).Begin(ctx)
	w.must(err)
	var today string
	w.must(tx.QueryRow(ctx, "SELECT tableoid::regclass::text FROM events LIMIT 1").Scan(&today))
	w.must(tx.Rollback(ctx))
	tx, err = tx.Conn().Begin(ctx)
	w.must(err)
	_, err = tx.Exec(ctx, "SELECT count(*) FROM "+today)
	w.must(err)

	moved := make(chan error, 1)
	mover := w.mover(ignore)
	go func() {
		_, err := mover.Move(ctx, 300, second)
		moved <- err
	}()
	for deadline := time.Now().Add(30 * time.Second); w.count(first, "SELECT count(*) FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'") == 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the mover does not wait for the dump")
		}
	}
	for n := range 30 {
		if _, err := w.create(ctx, other, fmt.Sprint("order-", n)); err != nil {
			t.Fatalf("another account: %v", err)
		}
		time.Sleep(100 * time.Millisecond)
	}
	w.must(tx.Rollback(ctx))
	w.must(<-moved)
}

// TestPurgesDoNotWaitForEachOther purges two shards of which one is in use.
func TestPurgesDoNotWaitForEachOther(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	mover := w.mover(ignore)
	mover.Keep = time.Hour
	for _, shard := range []ship.Shard{300, 301} {
		_, err := mover.Move(ctx, shard, second)
		w.must(err)
	}

	// What was erased before the switch was complete must not stay either: a mover
	// may have died in between.
	requested := fmt.Sprintf("%x", ship.NewRawID(301, time.Now().Add(-time.Hour)))
	w.run(second, `INSERT INTO erasures (account_id, livemode, id, subject_kind, shipment_id, state, finished_at)
		SELECT $1::text::uuid, true, $1::text::uuid, 'shipment', $1::text::uuid, 'done', $2::timestamptz`, requested, w.midMove(301))

	holder := storetest.Conn(t, w.urls[first])
	_, err := holder.Exec(ctx, "SELECT pg_advisory_lock(2002876005, 300)")
	w.must(err)
	done, err := mover.Purge(ctx, false)
	if done != 1 || err == nil || !strings.Contains(err.Error(), "another mover is at work on shard 300") {
		t.Errorf("%d shards are purged, %v", done, err)
	}
}

// midMove is a time between the freeze of a shard and the end of its switch.
func (w *world) midMove(shard ship.Shard) (at time.Time) {
	w.t.Helper()
	err := w.owners[first].QueryRow(w.t.Context(), "SELECT switched_at - interval '1 ms' FROM shard_moves WHERE shard = $1", int(shard)).Scan(&at)
	if errors.Is(err, pgx.ErrNoRows) {
		w.t.Fatalf("shard %d did not move", shard)
	}
	w.must(err)
	return at
}

// TestADrainSaysWhatItWaitsForAndGoesOn moves a shard back while the cell that it left
// keeps its old rows, and one that can move at once.
func TestADrainSaysWhatItWaitsForAndGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	mover := w.mover(ignore)
	mover.Keep = 2 * time.Second
	_, err := mover.Move(ctx, 300, second)
	w.must(err)

	var said []string
	finished := 0
	transfers := []cell.Transfer{{Shard: 300, To: first}, {Shard: 301, To: second}}
	err = mover.MoveAll(ctx, transfers, func(done int) { finished = done }, func(count int, reason error) {
		said = append(said, fmt.Sprint(count, " after ", finished, ": ", reason))
	})
	w.must(err)
	if len(said) != 1 || !strings.HasPrefix(said[0], "1 after 1: shard 300 has moved from eu-1 to eu-2, and eu-1 keeps its old rows until ") || !strings.Contains(said[0], "waybill shard purge --now") {
		t.Errorf("it said %q", said)
	}
	if n := w.count(first, "SELECT count(*) FROM shards WHERE shard = 300 AND cell = 'eu-1' OR shard = 301 AND cell = 'eu-2'"); n != 2 || finished != 2 {
		t.Errorf("%d shards are where they should be, and %d were reported", n, finished)
	}
}
