package log_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// A fact is an event that was committed.
type fact struct {
	tenant int
	kind   ship.EventKind
}

// A ledger is what the writers know to be committed.
type ledger struct {
	mu        sync.Mutex
	committed map[ship.RawID]fact
	count     atomic.Int64
	unknown   draft        // events of transactions that ended with an error of the database
	aborted   atomic.Int64 // events of transactions that were rolled back
	holds     atomic.Int64 // times that a transaction was held open
}

// draft is the events of a transaction that is not committed yet.
type draft map[ship.RawID]fact

func (l *ledger) commit(d draft) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, f := range d {
		l.committed[id] = f
	}
	l.count.Add(int64(len(d)))
}

// doubt notes the events of a transaction of which the database has not said whether it
// was committed.
func (l *ledger) doubt(d draft) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, f := range d {
		l.unknown[id] = f
	}
}

// resolve finds out which of the unknown events were committed, once all writers have
// ended.
func (l *ledger) resolve(ctx context.Context, pool *pgxpool.Pool) error {
	ids := make([][16]byte, 0, len(l.unknown))
	for id := range l.unknown {
		ids = append(ids, id)
	}
	rows, err := pool.Query(ctx, "SELECT id FROM events WHERE id = ANY ($1)", ids)
	if err != nil {
		return err
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[[16]byte])
	if err != nil {
		return err
	}

	committed := draft{}
	for _, id := range found {
		committed[id] = l.unknown[id]
	}
	l.commit(committed)
	l.aborted.Add(int64(len(l.unknown) - len(committed)))
	return nil
}

// A writer writes events until the ledger has enough.
type writer struct {
	rng     *rand.Rand
	ledger  *ledger
	tenants []ship.Tenant
	hold    time.Duration // at most
	batch   int           // events of a statement, at most
}

// wait holds a transaction open: mostly for a moment, now and then for long.
func (w *writer) wait() {
	u := w.rng.Float64()
	w.ledger.holds.Add(1)
	time.Sleep(time.Duration(float64(w.hold) * u * u * u * u))
}

var errRollback = errors.New("rolled back on purpose")

const sqlInsert = `
INSERT INTO events (id, account_id, livemode, subject_id, is_tracker, kind, sequence, body_version, snapshot)
SELECT id, account, livemode, id, true, kind::event_kind, 1, 1, '{"s":"created","u":"","d":{"carrier":"ups","trackingNumber":"1Z"}}'
FROM unnest($1::uuid[], $2::uuid[], $3::boolean[], $4::text[]) AS v (id, account, livemode, kind)`

// direct runs one transaction of a few statements with a few events each, for
// any of the tenants. Some are rolled back, in part or as a whole.
func (w *writer) direct(ctx context.Context, pool *pgxpool.Pool) error {
	d := draft{}
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		for range 1 + w.rng.IntN(5) {
			some := draft{}
			err := pgx.BeginFunc(ctx, tx, func(part pgx.Tx) error {
				if err := w.insert(ctx, part, some); err != nil {
					return err
				}
				if w.rng.IntN(10) == 0 {
					return errRollback
				}
				return nil
			})
			switch {
			case errors.Is(err, errRollback):
				w.ledger.aborted.Add(int64(len(some)))
			case err != nil:
				return err
			default:
				for id, f := range some {
					d[id] = f
				}
			}
			if w.rng.IntN(4) == 0 {
				w.wait()
			}
		}
		w.wait()
		if w.rng.IntN(10) == 0 {
			return errRollback
		}
		return nil
	})
	return w.conclude(d, err)
}

func (w *writer) insert(ctx context.Context, tx pgx.Tx, d draft) error {
	var ids, accounts [][16]byte
	var modes []bool
	var kinds []string
	for range 1 + w.rng.IntN(w.batch) {
		n := w.rng.IntN(len(w.tenants))
		t, kind := w.tenants[n], ship.EventKinds[w.rng.IntN(len(ship.EventKinds))]
		id := ship.NewRawID(t.Shard(), time.Now())
		ids, accounts = append(ids, id), append(accounts, t.Account.Raw())
		modes, kinds = append(modes, t.Livemode), append(kinds, string(kind))
		d[id] = fact{n, kind}
	}
	_, err := tx.Exec(ctx, sqlInsert, ids, accounts, modes, kinds)
	return err
}

// conclude writes down what became of a transaction.
func (w *writer) conclude(d draft, err error) error {
	switch {
	case err == nil:
		w.ledger.commit(d)
	case errors.Is(err, errRollback):
		w.ledger.aborted.Add(int64(len(d)))
	case ship.KindOf(err) == ship.Unavailable, ship.KindOf(err) == ship.Uncertain: // such as a lock that was not to be had in time
		w.ledger.doubt(d)
	default:
		return err
	}
	return nil
}

var scanCount atomic.Int64

// serve runs one transaction the way the tracking service does, on one
// shipment that other writers want too.
func (w *writer) serve(ctx context.Context, st *store.Store, shipments [][]ship.Shipment) error {
	n := w.rng.IntN(len(w.tenants))
	sh := shipments[n][w.rng.IntN(len(shipments[n]))]
	subject := ship.Subject{Tenant: sh.Tenant, ID: sh.ID.Raw()}
	d := draft{}
	err := st.InTx(ctx, sh.Tenant, func(tx *store.Store) error {
		trackingStates, err := tx.LockTrackingStates(ctx, []ship.Subject{subject})
		if err != nil {
			return err
		}
		known, err := tx.Scans(ctx, trackingStates)
		if err != nil {
			return err
		}
		var heard []ship.Scan
		for range 1 + w.rng.IntN(3) {
			heard = append(heard, ship.Scan{Code: fmt.Sprint("C", scanCount.Add(1)), At: time.Now(), Status: ship.InTransit})
		}
		c := store.Change{State: trackingStates[0]}
		fresh, events := c.State.Apply(known[subject], heard, ship.EventContext{Now: time.Now()})
		for _, s := range fresh {
			c.Scans = append(c.Scans, store.NewScan{Scan: s})
		}
		for _, e := range events {
			d[e.ID.Raw()] = fact{n, e.Kind}
		}
		c.Events = events
		if err := tx.Apply(ctx, []store.Change{c}); err != nil {
			return err
		}
		w.wait()
		if w.rng.IntN(10) == 0 {
			return errRollback
		}
		return nil
	})
	return w.conclude(d, err)
}
