package store

import (
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// The horizon of the log is the oldest transaction that still runs, in any database of
// the server: readers stop there. How long it has stood still is measured without any
// privilege, by the numbers of transactions and the age of the events that wait.

// A HorizonHolder is what the horizon stands still for: a session, or a prepared
// transaction.
type HorizonHolder struct {
	PID         int // zero for a prepared transaction
	Login       string
	Database    string
	Application string
	Since       time.Time // zero if the owner of the tables may not see it
	Prepared    string    // name of a prepared transaction
}

// horizonSample is what one look at the horizon shows.
type horizonSample struct {
	number  string        // of the oldest transaction that still runs
	next    string        // that the next transaction gets; the same if none runs
	held    time.Duration // since the transaction began, as far as that can be seen
	waiting ship.RawID    // the first event that readers do not see yet; zero if there is none
}

const sqlHorizonSample = `
SELECT pg_snapshot_xmin(s.now)::text, pg_snapshot_xmax(s.now)::text,
  coalesce((SELECT extract(epoch FROM clock_timestamp() - min(since)) FROM log_horizon_holders()), 0)::float8,
  (SELECT id FROM events WHERE txid >= log_horizon() ORDER BY txid, id LIMIT 1)
FROM (SELECT pg_current_snapshot() AS now) s`

func (h *horizonSample) scan(row pgx.Row) error {
	var held float64
	var waiting *ship.RawID
	if err := row.Scan(&h.number, &h.next, &held, &waiting); err != nil {
		return err
	}
	h.held = seconds(held)
	if waiting != nil {
		h.waiting = *waiting
	}
	return nil
}

// age is for how long the horizon has stood still, as far as one look can tell.
func (h *horizonSample) age(now time.Time) time.Duration {
	if h.number == h.next {
		return 0
	}

	age := h.held
	if !h.waiting.IsZero() {
		age = max(age, now.Sub(h.waiting.Time()))
	}
	return age
}

const sqlHorizonHolders = `
SELECT coalesce(pid, 0), coalesce(login, ''), coalesce(database, ''), coalesce(application, ''), since, coalesce(prepared, '')
FROM log_horizon_holders()
ORDER BY since NULLS LAST LIMIT 5`

func scanHolder(row pgx.CollectableRow) (h HorizonHolder, err error) {
	var since *time.Time
	err = row.Scan(&h.PID, &h.Login, &h.Database, &h.Application, &since, &h.Prepared)
	h.Since = timeOrZero(since)
	return h, err
}

// horizonWatch remembers the horizon from look to look: since when it has been where
// it is.
type horizonWatch struct {
	mu     sync.Mutex
	number string
	since  time.Time
}

// note returns for how long the horizon has stood still, in the looks of this
// process.
func (w *horizonWatch) note(sample horizonSample, now time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()

	if sample.number == sample.next {
		w.number = ""
		return 0
	}
	if sample.number != w.number {
		w.number = sample.number
		w.since = now
	}
	return now.Sub(w.since)
}
