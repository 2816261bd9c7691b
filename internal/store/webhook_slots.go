package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// Slots: the leases by which copies of the program share the webhook endpoints.

// WebhookSlots is the number of slots that the endpoints of a cell are divided
// into. Each slot is served by one copy of the program at a time.
const WebhookSlots = 16

// A SlotLease is the right to serve a slot until somebody else takes it.
type SlotLease struct {
	Slot   int
	Token  int64
	Cursor Position // everything before it is delivered, or scheduled to be
}

const sqlRenewWorker = `
INSERT INTO webhook_workers (worker, alive_until) VALUES ($1, now() + $2::interval)
ON CONFLICT (worker) DO UPDATE SET alive_until = excluded.alive_until`

const sqlDeleteDeadWorkers = `DELETE FROM webhook_workers WHERE alive_until < now() - interval '1 minute'`

const sqlCountWorkers = `SELECT count(*) FROM webhook_workers WHERE alive_until > now()`

// SeeCopy records that the owner is alive, and returns how many owners are.
func (s *Store) SeeCopy(ctx context.Context, owner string, lease time.Duration) (copies int, err error) {
	batch := &pgx.Batch{}
	batch.Queue(sqlRenewWorker, owner, lease)
	batch.Queue(sqlDeleteDeadWorkers)
	batch.Queue(sqlCountWorkers).QueryRow(func(r pgx.Row) error { return r.Scan(&copies) })
	err = s.sys.SendBatch(ctx, batch).Close()
	return copies, explain(err)
}

const sqlRenewSlots = `
UPDATE webhook_slots SET lease_until = now() + $2::interval
WHERE worker = $1 AND slot = ANY ($3) AND lease_until > now()
RETURNING slot`

// RenewSlots prolongs the owner's leases, and returns those that it still has.
func (s *Store) RenewSlots(ctx context.Context, owner string, lease time.Duration, slots []int) ([]int, error) {
	kept, err := selectList(ctx, s.sys, pgx.RowTo[int], sqlRenewSlots, owner, lease, slots)
	if err != nil {
		return nil, fmt.Errorf("renew slots: %w", err)
	}
	return kept, nil
}

// sqlTakeSlots takes slots that nobody serves. A new token makes whatever the
// last owner still writes fail.
const sqlTakeSlots = `
UPDATE webhook_slots SET worker = $1, lease_until = now() + $2::interval, fencing_token = fencing_token + 1
WHERE slot IN (
  SELECT slot FROM webhook_slots
  WHERE worker IS NULL OR lease_until < now()
  ORDER BY random() LIMIT $3 FOR UPDATE SKIP LOCKED)
RETURNING slot, fencing_token, cursor_txid::text, cursor_id, cursor_at`

// TakeSlots takes up to n slots that nobody serves.
func (s *Store) TakeSlots(ctx context.Context, owner string, lease time.Duration, n int) ([]SlotLease, error) {
	list, err := selectList(ctx, s.sys, scanLease, sqlTakeSlots, owner, lease, n)
	if err != nil {
		return nil, fmt.Errorf("take slots: %w", err)
	}
	return list, nil
}

func scanLease(r pgx.CollectableRow) (SlotLease, error) {
	var lease SlotLease
	var cursor positionRow
	err := r.Scan(&lease.Slot, &lease.Token, &cursor.tx, &cursor.id, &cursor.at)
	lease.Cursor = cursor.position()
	return lease, err
}

const sqlReleaseSlots = `
UPDATE webhook_slots SET worker = NULL, lease_until = NULL
WHERE worker = $1 AND slot = ANY ($2)`

// ReleaseSlots gives slots back at once, so that nobody waits until the leases
// end.
func (s *Store) ReleaseSlots(ctx context.Context, owner string, slots []int) error {
	_, err := s.sys.Exec(ctx, sqlReleaseSlots, owner, slots)
	return explain(err)
}

const sqlDeleteWorker = `DELETE FROM webhook_workers WHERE worker = $1`

// RemoveCopy records that the owner has stopped, so that the others share its
// slots at once.
func (s *Store) RemoveCopy(ctx context.Context, owner string) error {
	_, err := s.sys.Exec(ctx, sqlDeleteWorker, owner)
	return explain(err)
}

// positionRow is a position as stored.
type positionRow struct {
	tx *string
	id ship.RawID
	at *time.Time
}

func (r positionRow) position() Position {
	p := Position{ID: r.id, At: timeOrZero(r.at)}
	if r.tx != nil {
		_, _ = fmt.Sscan(*r.tx, &p.Tx)
	}
	return p
}
