package store

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// A PushID identifies a push. It is derived from the body, so a repeated push has
// the same id.
type PushID = ship.RawID

// A Push is a request that a carrier sent, as it came.
type Push struct {
	ID         PushID
	Tenant     ship.Tenant
	Connection ship.ConnectionID
	Header     http.Header
	Body       []byte
}

// sqlAddPushes stores pushes and schedules those that are new. A push that is
// stored already is neither stored nor scheduled again.
const sqlAddPushes = `
WITH new_pushes AS (
  INSERT INTO pushes (account_id, livemode, id, connection_id, headers, body)
  SELECT account_id, livemode, id, connection_id, headers::json, body
  FROM unnest(@accounts::uuid[], @livemodes::boolean[], @ids::uuid[], @connections::uuid[], @headers::text[], @bodies::bytea[])
    AS v (account_id, livemode, id, connection_id, headers, body)
  ON CONFLICT DO NOTHING RETURNING account_id, livemode, id, length(body) AS body_bytes
)
INSERT INTO pending_pushes (account_id, livemode, push_id, due_at, body_bytes)
SELECT account_id, livemode, id, @due, body_bytes FROM new_pushes
RETURNING account_id, livemode, push_id`

// AddPushes stores pushes of any tenants, to be processed from due on, and
// reports which are new.
func (s *Store) AddPushes(ctx context.Context, list []Push, due time.Time) (fresh map[ship.Subject]bool, err error) {
	// In one order, so that batches with the same pushes cannot deadlock.
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b Push) int {
		return cmp.Or(a.Tenant.Compare(b.Tenant), bytes.Compare(a.ID[:], b.ID[:]))
	})

	ids := make(idArray, len(list))
	connections := make(idArray, len(list))
	headers := make([]string, len(list))
	bodies := make([][]byte, len(list))
	for i, push := range list {
		header, err := json.Marshal(push.Header)
		if err != nil {
			return nil, fmt.Errorf("write a header: %w", err)
		}
		ids[i] = push.ID
		connections[i] = push.Connection.Raw()
		headers[i] = string(header)
		bodies[i] = push.Body
	}

	args := tenantsArgs(len(list), func(i int) ship.Tenant { return list[i].Tenant })
	args["ids"] = ids
	args["connections"] = connections
	args["headers"] = headers
	args["bodies"] = bodies
	args["due"] = due

	fresh = make(map[ship.Subject]bool, len(list))
	var subject subjectReader
	err = selectEach(ctx, s.sys, subject.targets(), func() error {
		fresh[subject.read()] = true
		return nil
	}, sqlAddPushes, args)
	if err != nil {
		return nil, fmt.Errorf("store pushes: %w", err)
	}
	return fresh, nil
}

// A PendingPush is a push that is still to be processed.
type PendingPush struct {
	ship.Subject     // whose it is, and its id
	Bytes        int // of the body
	Looks        int // how often it was claimed, this time included
}

// sqlDuePushes claims pushes by moving their time on: if this process dies,
// they are due again then. Another copy skips what is claimed.
const sqlDuePushes = `
UPDATE pending_pushes SET due_at = $2, attempts = least(attempts + 1, 32000)
WHERE ctid = ANY (ARRAY(
  SELECT ctid FROM pending_pushes
  WHERE due_at <= $1
  ORDER BY due_at LIMIT $3 FOR UPDATE SKIP LOCKED))
RETURNING account_id, livemode, push_id, body_bytes, attempts`

// DuePushes claims up to limit pushes that are due at now; each is due again
// at again unless it is processed or postponed.
func (s *Store) DuePushes(ctx context.Context, now, again time.Time, limit int) ([]PendingPush, error) {
	var list []PendingPush
	batch := newBatchByKeys()
	batch.Queue(sqlDuePushes, now, again, limit).Query(collectInto(&list, scanPendingPush))
	if err := s.sys.SendBatch(ctx, batch).Close(); err != nil {
		return nil, fmt.Errorf("claim pushes: %w", explain(err))
	}
	return list, nil
}

func scanPendingPush(r pgx.CollectableRow) (PendingPush, error) {
	var pending PendingPush
	err := r.Scan(&pending.Tenant.Account, &pending.Tenant.Livemode, &pending.ID, &pending.Bytes, &pending.Looks)
	return pending, err
}

// The tables of pushes are empty at one moment and full at the next, and a
// statement is planned for whichever they were. So their rows are looked up one
// by one, and never by reading the whole table.

const sqlKeysOnly = `SELECT set_config('enable_seqscan', 'off', true)`

// KeysOnly has the rest of the transaction find rows by their keys, whatever
// the size of the tables was when its statements were planned.
func (s *Store) KeysOnly(ctx context.Context) error {
	_, err := s.tx.Exec(ctx, sqlKeysOnly)
	return explain(err)
}

// newBatchByKeys begins a batch that finds rows by their keys, as KeysOnly does.
func newBatchByKeys() *pgx.Batch {
	batch := &pgx.Batch{}
	batch.Queue(sqlKeysOnly)
	return batch
}

// sqlPushes looks each push up for itself: OFFSET 0 keeps the planner from
// turning the look-ups into a join.
const sqlPushes = `
SELECT k.account_id, k.livemode, k.id, p.connection_id, p.headers, p.body
FROM ` + subjectKeys + ` CROSS JOIN LATERAL (
  SELECT connection_id, headers, body FROM pushes
  WHERE account_id = k.account_id AND livemode = k.livemode AND id = k.id OFFSET 0) p`

// Pushes returns pushes of any tenants; those past their retention are left out.
func (s *Store) Pushes(ctx context.Context, ids []ship.Subject) ([]Push, error) {
	list, err := selectList(ctx, s.sys, scanPush, sqlPushes, subjectArgs(ids))
	if err != nil {
		return nil, fmt.Errorf("read pushes: %w", err)
	}
	return list, nil
}

func scanPush(r pgx.CollectableRow) (Push, error) {
	var push Push
	err := r.Scan(&push.Tenant.Account, &push.Tenant.Livemode, &push.ID, &push.Connection, &push.Header, &push.Body)
	return push, err
}

const pendingPushRows = `ctid = ANY (ARRAY(
  SELECT u.ctid FROM ` + subjectKeys + ` CROSS JOIN LATERAL (
    SELECT ctid FROM pending_pushes
    WHERE account_id = k.account_id AND livemode = k.livemode AND push_id = k.id OFFSET 0) u))`

const sqlDeletePendingPushes = `
DELETE FROM pending_pushes WHERE ` + pendingPushRows

// DeletePushes records that pushes were processed. It works only inside the
// transaction that stores their updates, after KeysOnly.
func (s *Store) DeletePushes(ctx context.Context, ids []ship.Subject) error {
	_, err := s.tx.Exec(ctx, sqlDeletePendingPushes, subjectArgs(ids))
	return explain(err)
}

const sqlForgetPushes = `
DELETE FROM pushes p USING ` + subjectKeys + `
WHERE p.account_id = k.account_id AND p.livemode = k.livemode AND p.id = k.id`

// ForgetPushes deletes the content of pushes before their retention ends. It
// works only inside a transaction, after KeysOnly.
func (s *Store) ForgetPushes(ctx context.Context, ids []ship.Subject) error {
	_, err := s.tx.Exec(ctx, sqlForgetPushes, subjectArgs(ids))
	return explain(err)
}

const sqlErasedAmong = `
SELECT st.account_id, st.livemode, st.id
FROM ` + subjectKeys + ` JOIN shipment_states st USING (account_id, livemode, id)
WHERE st.erased_at IS NOT NULL`

// ErasedAmong returns which of the parcels have no personal data any more.
func (s *Store) ErasedAmong(ctx context.Context, parcels []ship.Subject) (map[ship.Subject]bool, error) {
	erased := map[ship.Subject]bool{}
	if len(parcels) == 0 {
		return erased, nil
	}

	var subject subjectReader
	err := selectEach(ctx, s.sys, subject.targets(), func() error {
		erased[subject.read()] = true
		return nil
	}, sqlErasedAmong, subjectArgs(parcels))
	if err != nil {
		return nil, fmt.Errorf("read which parcels are erased: %w", err)
	}
	return erased, nil
}

const sqlPostponePushes = `
UPDATE pending_pushes SET due_at = @due WHERE ` + pendingPushRows

// PostponePushes has pushes processed later.
func (s *Store) PostponePushes(ctx context.Context, ids []ship.Subject, due time.Time) error {
	args := subjectArgs(ids)
	args["due"] = due
	batch := newBatchByKeys()
	batch.Queue(sqlPostponePushes, args)
	return explain(s.sys.SendBatch(ctx, batch).Close())
}

const sqlSubscriptionUntil = `
SELECT subscribed_until FROM push_subscriptions
WHERE account_id = @account AND livemode = @livemode AND connection_id = @connection`

// SubscribedUntil returns until when a carrier pushes for an entire connection;
// the zero time if it does not.
func (s *Store) SubscribedUntil(ctx context.Context, t ship.Tenant, c ship.ConnectionID) (time.Time, error) {
	var until *time.Time
	args := tenantArgs(t, nil, pgx.NamedArgs{"connection": c})
	err := s.queryRow(ctx, t, func(r pgx.Row) error { return r.Scan(&until) }, sqlSubscriptionUntil, args)
	if ship.KindOf(err) == ship.NotFound {
		return time.Time{}, nil
	}
	return timeOrZero(until), err
}

const sqlSetSubscription = `
INSERT INTO push_subscriptions (account_id, livemode, connection_id, subscribed_until)
VALUES (@account, @livemode, @connection, @until)
ON CONFLICT (account_id, livemode, connection_id) DO UPDATE SET subscribed_until = excluded.subscribed_until`

// SetSubscription records until when a carrier pushes for an entire connection.
func (s *Store) SetSubscription(ctx context.Context, t ship.Tenant, c ship.ConnectionID, until time.Time) error {
	args := tenantArgs(t, nil, pgx.NamedArgs{"connection": c, "until": until})
	_, err := s.exec(ctx, t, sqlSetSubscription, args)
	return err
}
