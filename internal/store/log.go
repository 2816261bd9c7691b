package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// A Position is a place in the log: the event behind which to read on. Without
// an event it is the log's beginning.
type Position struct {
	Tx uint64
	ID ship.RawID
	At time.Time // the log was complete up to here when the position was made
}

// A LogEvent is a log event with what it speaks of.
type LogEvent struct {
	Event    ship.Event
	Shipment ship.Shipment // empty for a followed parcel
	Position Position
}

// horizon is the oldest transaction that still runs. As a subquery it is unknown
// to the planner, which otherwise looks at it: where one that lasts holds it
// below all that the statistics know, no row is expected, and a plan may be
// kept that reads the log of all tenants.
const horizon = `(SELECT pg_snapshot_xmin(pg_current_snapshot()))`

const logColumns = `e.account_id, e.livemode, e.txid::text, e.id, e.subject_id, e.is_tracker, e.kind::text, e.sequence, e.late, e.body_version, e.snapshot,
  s.duplicate_of_id, s.request, s.purchase`

// sqlLog reads a tenant's events behind a position. Only transactions below
// the oldest one that still runs are shown: what commits late has a higher
// number, so no reader passes it.
const sqlLog = `
SELECT ` + logColumns + `
FROM events e
LEFT JOIN shipments s ON NOT e.is_tracker AND s.account_id = e.account_id AND s.livemode = e.livemode AND s.id = e.subject_id
WHERE e.account_id = $1 AND e.livemode = $2 AND (e.txid, e.id) > ($3::text::xid8, $4) AND e.txid < ` + horizon + `
  AND ($5::text[] IS NULL OR e.kind::text = ANY ($5))
ORDER BY e.txid, e.id LIMIT $6`

// sqlHorizon says whether a position is one that this log can have given.
const sqlHorizon = `SELECT $1::text::xid8 < pg_snapshot_xmin(pg_current_snapshot()), now()`

// sqlLogEnd is the last event behind a position, of whatever kind.
const sqlLogEnd = `
SELECT e.txid::text, e.id FROM events e
WHERE e.account_id = $1 AND e.livemode = $2 AND (e.txid, e.id) > ($3::text::xid8, $4) AND e.txid < ` + horizon + `
ORDER BY e.txid DESC, e.id DESC LIMIT 1`

// Log reads up to limit events of the tenant behind a position, in the order
// of transactions, and says where to read on. It is ship.Gone if the position
// is older than what is kept, or from another database.
func (s *Store) Log(ctx context.Context, t ship.Tenant, after Position, kinds []ship.EventKind, limit int) ([]LogEvent, Position, error) {
	var (
		list  []LogEvent
		known bool
		now   time.Time
		end   = after
	)
	b := s.newBatch(t)
	account, tx := [16]byte(t.Account.Raw()), strconv.FormatUint(after.Tx, 10)
	b.Queue(sqlHorizon, tx).QueryRow(func(r pgx.Row) error { return r.Scan(&known, &now) })
	if len(kinds) > 0 {
		// Read first, so that the list holds all up to there.
		b.Queue(sqlLogEnd, account, t.Livemode, tx, [16]byte(after.ID)).Query(func(rows pgx.Rows) error {
			return each(rows, func(r pgx.Rows) error { return scanPosition(r, &end) })
		})
	}
	b.Queue(sqlLog, account, t.Livemode, tx, [16]byte(after.ID), toStrings(kinds), limit).Query(func(rows pgx.Rows) error {
		return each(rows, func(r pgx.Rows) error {
			e, err := scanLogEvent(r)
			list = append(list, e)
			return err
		})
	})
	if err := s.send(ctx, b); err != nil {
		return nil, after, fmt.Errorf("read the log: %w", err)
	}
	if !known || !after.At.IsZero() && after.At.Before(now.Add(-EventRetention)) {
		return nil, after, ship.Coded(ship.Gone, "cursor_expired", "the cursor is older than the log; begin without one")
	}
	if len(list) == limit {
		return list, list[limit-1].Position, nil
	}
	return list, end.after(list, now), nil
}

// after is the position behind a list with which nothing more was there to
// read. It is that of an event and not the horizon: after a crash the server
// gives out again the numbers of the last transactions that came to nothing.
func (p Position) after(list []LogEvent, now time.Time) Position {
	if n := len(list); n > 0 {
		last := list[n-1].Position
		if p.Before(last) {
			p = last
		}
	}
	p.At = now.UTC()
	return p
}

func scanPosition(r pgx.Row, p *Position) (err error) {
	var tx string
	var id [16]byte
	if err := r.Scan(&tx, &id); err != nil {
		return err
	}
	p.ID = id
	p.Tx, err = strconv.ParseUint(tx, 10, 64)
	return err
}

func scanLogEvent(r pgx.Row) (LogEvent, error) {
	var (
		tx, kind                string
		account, id, subject    [16]byte
		t                       ship.Tenant
		followed                bool
		duplicate               *[16]byte
		snapshot, ordered, deal []byte
	)
	e := LogEvent{}
	err := r.Scan(&account, &t.Livemode, &tx, &id, &subject, &followed, &kind, &e.Event.Sequence, &e.Event.Late, &e.Event.Version, &snapshot, &duplicate, &ordered, &deal)
	if err != nil {
		return e, err
	}
	t.Account = ship.AccountIDOf(account)
	e.Event.Tenant, e.Event.ID, e.Event.Kind = t, ship.EventIDOf(id), ship.EventKind(kind)
	e.Position = Position{ID: id, At: e.Event.At()}
	if e.Position.Tx, err = strconv.ParseUint(tx, 10, 64); err != nil {
		return e, fmt.Errorf("transaction number: %w", err)
	}
	if err := json.Unmarshal(snapshot, &e.Event.Snapshot); err != nil {
		return e, fmt.Errorf("read the snapshot of %s: %w", e.Event.ID, err)
	}
	if followed {
		e.Event.Tracker = ship.TrackerIDOf(subject)
		return e, nil
	}
	e.Event.Shipment = ship.ShipmentIDOf(subject)
	e.Shipment = ship.Shipment{ID: e.Event.Shipment, Tenant: t}
	if duplicate != nil {
		e.Shipment.DuplicateOf = ship.ShipmentIDOf(*duplicate)
	}
	if err := json.Unmarshal(ordered, &e.Shipment.Order); err != nil {
		return e, fmt.Errorf("read the order of %s: %w", e.Shipment.ID, err)
	}
	if err := json.Unmarshal(deal, &e.Shipment.Deal); err != nil {
		return e, fmt.Errorf("read the deal of %s: %w", e.Shipment.ID, err)
	}
	return e, nil
}

const sqlHorizonAge = `
SELECT coalesce(extract(epoch FROM max(now() - xact_start)), 0)::float8 FROM pg_stat_activity WHERE backend_xid IS NOT NULL`

// HorizonAge is for how long the oldest writer holds up the log's readers.
func (s *Store) HorizonAge(ctx context.Context) (time.Duration, error) {
	var seconds float64
	b := &pgx.Batch{}
	// Only the role that signed in may see what its sessions are at.
	b.Queue("SELECT set_config('role', 'none', true)")
	b.Queue(sqlHorizonAge).QueryRow(func(r pgx.Row) error { return r.Scan(&seconds) })
	err := s.sys.SendBatch(ctx, b).Close()
	return time.Duration(seconds * float64(time.Second)), explain(err)
}
