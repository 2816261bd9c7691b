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

// A Position is a place in the log: the event after which to read on. Without
// an event it is the log's beginning.
type Position struct {
	Tx uint64
	ID ship.RawID
	At time.Time // the log was complete up to here when the position was made
}

// A LogEvent is a log event with the shipment that it is about.
type LogEvent struct {
	Event    ship.Event
	Shipment ship.Shipment // empty for a followed parcel
	Position Position
}

// horizon is the oldest transaction that still runs. It is a subquery so that the
// planner cannot see its value: while a long transaction holds it below all that
// the statistics know, the planner would expect no row, and might keep a plan
// that reads the log of all tenants.
const horizon = `(SELECT log_horizon())`

const logColumns = `e.account_id, e.livemode, e.txid::text, e.id, e.subject_id, e.is_tracker, e.kind::text,
  e.sequence, e.late, e.body_version, e.snapshot,
  s.duplicate_of_id, s.request, s.purchase`

// isKept leaves out the events of shipments that are kept no longer: what they say is
// rendered from the shipment.
const isKept = `(e.is_tracker OR s.id IS NOT NULL)`

// sqlLog reads a tenant's events after a position. Only transactions below
// the oldest one that still runs are shown: what commits late has a higher
// number, so no reader passes it.
const sqlLog = `
SELECT ` + logColumns + `
FROM events e
LEFT JOIN shipments s ON NOT e.is_tracker AND s.account_id = e.account_id AND s.livemode = e.livemode AND s.id = e.subject_id
WHERE e.account_id = $1 AND e.livemode = $2 AND (e.txid, e.id) > ($3::text::xid8, $4) AND e.txid < ` + horizon + `
  AND ($5::text[] IS NULL OR e.kind::text = ANY ($5)) AND ` + isKept + `
ORDER BY e.txid, e.id LIMIT $6`

// sqlHorizon reports whether a position is one that this log can have given.
const sqlHorizon = `SELECT $1::text::xid8 < log_horizon(), now()`

// sqlLogEnd finds the last event after a position, of whatever kind.
const sqlLogEnd = `
SELECT e.txid::text, e.id FROM events e
WHERE e.account_id = $1 AND e.livemode = $2 AND (e.txid, e.id) > ($3::text::xid8, $4) AND e.txid < ` + horizon + `
ORDER BY e.txid DESC, e.id DESC LIMIT 1`

// Log reads up to limit events of the tenant after a position, in the order
// of transactions, and returns where to read on. It is ship.Gone if the position
// is older than what is kept, or from another database.
func (s *Store) Log(ctx context.Context, t ship.Tenant, after Position, kinds []ship.EventKind, limit int) ([]LogEvent, Position, error) {
	var (
		list    []LogEvent
		isKnown bool
		now     time.Time
		end     = after
		account = t.Account
		tx      = strconv.FormatUint(after.Tx, 10)
	)
	batch := s.newBatch(t)
	batch.Queue(sqlHorizon, tx).QueryRow(func(r pgx.Row) error { return r.Scan(&isKnown, &now) })
	if len(kinds) > 0 {
		// The end is read before the list, so that the list holds all events of
		// these kinds up to it.
		batch.Queue(sqlLogEnd, account, t.Livemode, tx, after.ID).Query(end.readFrom)
	}
	batch.Queue(sqlLog, account, t.Livemode, tx, after.ID, toStrings(kinds), limit).Query(collectInto(&list, scanLogEvent))
	if err := s.send(ctx, batch); err != nil {
		return nil, after, fmt.Errorf("read the log: %w", err)
	}

	// Transaction numbers begin again lower after a restore, so a position above
	// the horizon is from another history of the database.
	if !isKnown || !after.At.IsZero() && after.At.Before(now.Add(-EventRetention)) {
		return nil, after, ship.Coded(ship.Gone, "cursor_expired", "the cursor is older than the event log; start again without a cursor")
	}
	if len(list) == limit {
		return list, list[limit-1].Position, nil
	}
	return list, end.advance(list, now), nil
}

// advance returns the position after a list that holds all there was to read. It
// is that of an event and not the horizon: after a crash the server gives out
// again the numbers of the last transactions that came to nothing.
func (p Position) advance(list []LogEvent, now time.Time) Position {
	if n := len(list); n > 0 {
		last := list[n-1].Position
		if p.Before(last) {
			p = last
		}
	}
	p.At = now.UTC()
	return p
}

// readFrom sets the transaction and the id from the row, if there is one.
func (p *Position) readFrom(rows pgx.Rows) error {
	var tx string
	_, err := pgx.ForEachRow(rows, []any{&tx, &p.ID}, func() (err error) {
		p.Tx, err = strconv.ParseUint(tx, 10, 64)
		return err
	})
	return err
}

func scanLogEvent(r pgx.CollectableRow) (LogEvent, error) {
	var (
		found                       LogEvent
		id, subject                 ship.RawID
		tx, kind                    string
		isTracker                   bool
		duplicate                   ship.ShipmentID
		snapshot, request, purchase []byte
	)
	event := &found.Event
	err := r.Scan(
		&event.Tenant.Account, &event.Tenant.Livemode, &tx, &id, &subject, &isTracker, &kind,
		&event.Sequence, &event.Late, &event.Version, &snapshot,
		&duplicate, &request, &purchase,
	)
	if err != nil {
		return found, err
	}

	event.ID = ship.EventIDOf(id)
	event.Kind = ship.EventKind(kind)
	if err := json.Unmarshal(snapshot, &event.Snapshot); err != nil {
		return found, fmt.Errorf("read the snapshot of %s: %w", event.ID, err)
	}

	found.Position = Position{ID: id, At: event.At()}
	if found.Position.Tx, err = strconv.ParseUint(tx, 10, 64); err != nil {
		return found, fmt.Errorf("transaction number: %w", err)
	}

	// A followed parcel has no shipment: its snapshot has all there is.
	if isTracker {
		event.Tracker = ship.TrackerIDOf(subject)
		return found, nil
	}

	event.Shipment = ship.ShipmentIDOf(subject)
	found.Shipment = ship.Shipment{ID: event.Shipment, Tenant: event.Tenant, DuplicateOf: duplicate}
	if err := json.Unmarshal(request, &found.Shipment.Order); err != nil {
		return found, fmt.Errorf("read the order of %s: %w", event.Shipment, err)
	}
	if err := json.Unmarshal(purchase, &found.Shipment.Purchase); err != nil {
		return found, fmt.Errorf("read the purchase of %s: %w", event.Shipment, err)
	}
	return found, nil
}

// A LogHead is what the dispatcher must know of every event to decide which
// endpoints get it.
type LogHead struct {
	Position Position
	Subject  ship.RawID
	Tenant   ship.Tenant
	Kind     ship.EventKind
}

// sqlLogHeads reads only below the oldest transaction that still runs: an event
// that commits later has a higher number, so no reader passes it.
const sqlLogHeads = `
SELECT e.txid::text, e.id, e.subject_id, e.account_id, e.livemode, e.kind::text
FROM events e
WHERE (e.txid, e.id) > ($1::text::xid8, $2) AND e.txid < log_horizon()
ORDER BY e.txid, e.id LIMIT $3`

// LogHeads reads the log of all tenants behind a position, in order. Fewer
// than limit means that there is no more for now.
func (s *Store) LogHeads(ctx context.Context, after Position, limit int) ([]LogHead, error) {
	return s.readHeads(ctx, sqlLogHeads, after, limit)
}

func (s *Store) readHeads(ctx context.Context, sql string, after Position, limit int, more ...any) ([]LogHead, error) {
	args := append([]any{strconv.FormatUint(after.Tx, 10), after.ID, limit}, more...)
	list, err := selectList(ctx, s.sys, scanHead, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("follow the log: %w", err)
	}
	return list, nil
}

func scanHead(r pgx.CollectableRow) (LogHead, error) {
	var head LogHead
	var tx string
	err := r.Scan(&tx, &head.Position.ID, &head.Subject, &head.Tenant.Account, &head.Tenant.Livemode, (*string)(&head.Kind))
	if err != nil {
		return head, err
	}

	head.Position.At = head.Position.ID.Time()
	head.Position.Tx, err = strconv.ParseUint(tx, 10, 64)
	return head, err
}

// Before reports whether p is before q in the log.
func (p Position) Before(q Position) bool {
	if p.Tx != q.Tx {
		return p.Tx < q.Tx
	}
	return string(p.ID[:]) < string(q.ID[:])
}

// Previous is the position just before p.
func (p Position) Previous() Position {
	for i := len(p.ID) - 1; i >= 0; i-- {
		p.ID[i]--
		if p.ID[i] != 0xff {
			return p
		}
	}
	p.Tx--
	return p
}

const sqlLogEvents = `
SELECT ` + logColumns + `
FROM unnest($1::text[], $2::uuid[]) AS k (txid, id)
JOIN events e ON e.txid = k.txid::xid8 AND e.id = k.id
LEFT JOIN shipments s ON NOT e.is_tracker AND s.account_id = e.account_id AND s.livemode = e.livemode AND s.id = e.subject_id
WHERE ` + isKept

// LogEvents returns the events at the positions, in any order; those that are
// kept no longer are left out.
func (s *Store) LogEvents(ctx context.Context, at []Position) ([]LogEvent, error) {
	txs := make([]string, len(at))
	ids := make(idArray, len(at))
	for i, position := range at {
		txs[i] = fmt.Sprint(position.Tx)
		ids[i] = position.ID
	}

	list, err := selectList(ctx, s.sys, scanLogEvent, sqlLogEvents, txs, ids)
	if err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	return list, nil
}

// sqlTenantHeads reads one tenant's log, for an endpoint that is behind.
const sqlTenantHeads = `
SELECT e.txid::text, e.id, e.subject_id, e.account_id, e.livemode, e.kind::text
FROM events e
WHERE e.account_id = $4 AND e.livemode = $5 AND (e.txid, e.id) > ($1::text::xid8, $2) AND e.txid < ` + horizon + `
ORDER BY e.txid, e.id LIMIT $3`

// TenantHeads reads the log of one tenant behind a position, in order. Fewer
// than limit means that there is no more for now.
func (s *Store) TenantHeads(ctx context.Context, t ship.Tenant, after Position, limit int) ([]LogHead, error) {
	return s.readHeads(ctx, sqlTenantHeads, after, limit, t.Account, t.Livemode)
}
