package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// A Watch is a parcel that its carrier is polled for.
type Watch struct {
	ship.Subject
	Connection  ship.ConnectionID
	PushedUntil time.Time // until then the carrier pushes updates; zero if it does not
	Due         time.Time // before it was claimed
}

// sqlDueWatches claims parcels that are due by moving their time on: if this
// process dies, they are due again then. They are found in the index alone:
// however many are due of connections that are skipped, no row of theirs is
// read. What another copy is claiming is skipped, and more is found than is
// claimed, so that something remains. Each row is looked up and locked for
// itself, and updated by its ctid, because joins would be planned for a tenth
// of the table.
const sqlDueWatches = `
WITH claimed AS MATERIALIZED (
  SELECT array_agg(p.ctid) AS row_ids, array_agg(p.due_at) AS dues FROM (
    SELECT p.ctid, p.due_at FROM (
      SELECT account_id, livemode, subject_id FROM carrier_polls
      WHERE due_at <= $1 AND connection_id <> ALL ($4::uuid[])
      ORDER BY due_at LIMIT 4 * $3::int
    ) d CROSS JOIN LATERAL (
      SELECT ctid, due_at FROM carrier_polls p
      WHERE p.account_id = d.account_id AND p.livemode = d.livemode AND p.subject_id = d.subject_id AND p.due_at <= $1
      LIMIT 1 FOR UPDATE SKIP LOCKED
    ) p LIMIT $3) p
)
UPDATE carrier_polls p SET due_at = $2
FROM claimed, unnest(claimed.row_ids, claimed.dues) AS k (row_id, due_at)
WHERE p.ctid = k.row_id
RETURNING p.account_id, p.livemode, p.subject_id, p.connection_id, p.push_subscribed_until, k.due_at`

// DueWatches claims up to limit parcels that are due at now, but for those of
// the connections to skip; each is due again at again unless it is moved.
func (s *Store) DueWatches(ctx context.Context, now, again time.Time, limit int, skip []ship.ConnectionID) ([]Watch, error) {
	list, err := selectList(ctx, s.sys, scanWatch, sqlDueWatches, now, again, limit, rawIDs(skip))
	if err != nil {
		return nil, fmt.Errorf("claim watches: %w", err)
	}
	return list, nil
}

func scanWatch(r pgx.CollectableRow) (Watch, error) {
	var watch Watch
	var pushedUntil *time.Time
	err := r.Scan(
		&watch.Tenant.Account, &watch.Tenant.Livemode, &watch.ID,
		&watch.Connection, &pushedUntil, &watch.Due,
	)
	watch.PushedUntil = timeOrZero(pushedUntil)
	return watch, err
}

const sqlMoveWatches = `
UPDATE carrier_polls p SET due_at = k.due_at
FROM unnest(@accounts::uuid[], @livemodes::boolean[], @ids::uuid[], @due::timestamptz[])
  AS k (account_id, livemode, id, due_at)
WHERE p.account_id = k.account_id AND p.livemode = k.livemode AND p.subject_id = k.id`

const sqlEndWatches = `
DELETE FROM carrier_polls p USING ` + subjectKeys + `
WHERE p.account_id = k.account_id AND p.livemode = k.livemode AND p.subject_id = k.id`

// MoveWatches sets when the carriers are next polled for the parcels; the zero
// time means never again.
func (s *Store) MoveWatches(ctx context.Context, due map[ship.Subject]time.Time) error {
	var moved, ended []ship.Subject
	var times []time.Time
	for parcel, at := range due {
		if at.IsZero() {
			ended = append(ended, parcel)
			continue
		}
		moved = append(moved, parcel)
		times = append(times, at)
	}

	batch := &pgx.Batch{}
	if len(moved) > 0 {
		args := subjectArgs(moved)
		args["due"] = times
		batch.Queue(sqlMoveWatches, args)
	}
	if len(ended) > 0 {
		batch.Queue(sqlEndWatches, subjectArgs(ended))
	}
	if batch.Len() == 0 {
		return nil
	}

	if s.tx != nil {
		return explain(s.tx.SendBatch(ctx, batch).Close())
	}
	return explain(s.sys.SendBatch(ctx, batch).Close())
}

const sqlWatch = `
INSERT INTO carrier_polls (account_id, livemode, subject_id, connection_id, due_at)
VALUES (@account, @livemode, @id, @connection, @due)
ON CONFLICT DO NOTHING`

// Watch begins to poll the carrier for a parcel.
func (s *Store) Watch(ctx context.Context, parcel ship.Subject, c ship.ConnectionID, due time.Time) error {
	args := tenantArgs(parcel.Tenant, parcel.ID, pgx.NamedArgs{"connection": c, "due": due})
	_, err := s.exec(ctx, parcel.Tenant, sqlWatch, args)
	return err
}

const sqlUnsubscribed = `
UPDATE carrier_polls SET push_subscribed_until = $3
WHERE ctid = ANY (ARRAY(
  SELECT ctid FROM carrier_polls
  WHERE connection_id = $1 AND (push_subscribed_until IS NULL OR push_subscribed_until < $2)
  ORDER BY due_at LIMIT $4 FOR UPDATE SKIP LOCKED))
RETURNING account_id, livemode, subject_id`

// Unsubscribed claims parcels of a connection that have no push subscription
// beyond a moment. They count as subscribed until the given time; if the process
// dies, they are only polled until then.
func (s *Store) Unsubscribed(ctx context.Context, c ship.ConnectionID, beyond, until time.Time, limit int) ([]ship.Subject, error) {
	list, err := selectList(ctx, s.sys, scanSubject, sqlUnsubscribed, c, beyond, until, limit)
	if err != nil {
		return nil, fmt.Errorf("claim subscriptions: %w", err)
	}
	return list, nil
}

const sqlSetPushed = `
UPDATE carrier_polls p SET push_subscribed_until = @until FROM ` + subjectKeys + `
WHERE p.account_id = k.account_id AND p.livemode = k.livemode AND p.subject_id = k.id`

// SetPushed records until when a carrier pushes updates of the parcels; the zero
// time means that it does not.
func (s *Store) SetPushed(ctx context.Context, parcels []ship.Subject, until time.Time) error {
	args := subjectArgs(parcels)
	args["until"] = nullTime(until)
	_, err := s.sys.Exec(ctx, sqlSetPushed, args)
	return explain(err)
}

const sqlWatchedConnections = `SELECT DISTINCT account_id, livemode, connection_id FROM carrier_polls`

// WatchedConnections lists the connections over which carriers are polled.
func (s *Store) WatchedConnections(ctx context.Context) ([]Watch, error) {
	scan := func(r pgx.CollectableRow) (Watch, error) {
		var watch Watch
		err := r.Scan(&watch.Tenant.Account, &watch.Tenant.Livemode, &watch.Connection)
		return watch, err
	}
	list, err := selectList(ctx, s.sys, scan, sqlWatchedConnections)
	if err != nil {
		return nil, fmt.Errorf("watched connections: %w", err)
	}
	return list, nil
}
