package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// What the webhook dispatcher reads of its slots, and records after deliveries.

const sqlSlotEndpoints = `
SELECT ` + endpointColumns + ` FROM webhook_endpoints e WHERE e.slot = ANY ($1) AND e.changed_at >= $2`

// sqlSeenUpTo looks back a little, because a change may be committed after a
// later one. It is the database's clock that stamps changes.
const sqlSeenUpTo = `SELECT now() - interval '20 seconds'`

// SlotEndpoints returns the endpoints of the slots whose settings changed
// since, and since when to ask next; the zero time means all.
func (s *Store) SlotEndpoints(ctx context.Context, slots []int, since time.Time) (list []Endpoint, seen time.Time, err error) {
	batch := &pgx.Batch{}
	batch.Queue(sqlSeenUpTo).QueryRow(func(r pgx.Row) error { return r.Scan(&seen) })
	batch.Queue(sqlSlotEndpoints, slots, since).Query(collectInto(&list, scanEndpoint))
	if err := s.sys.SendBatch(ctx, batch).Close(); err != nil {
		return nil, seen, fmt.Errorf("endpoints of slots: %w", explain(err))
	}
	return list, seen, nil
}

const sqlSlotEndpointIDs = `SELECT id FROM webhook_endpoints WHERE slot = ANY ($1)`

// SlotEndpointIDs returns the ids of all endpoints of the slots. A deleted
// endpoint leaves no trace, so it is noticed by its absence.
func (s *Store) SlotEndpointIDs(ctx context.Context, slots []int) (map[ship.EndpointID]bool, error) {
	ids := map[ship.EndpointID]bool{}
	var id ship.EndpointID
	err := selectEach(ctx, s.sys, []any{&id}, func() error {
		ids[id] = true
		return nil
	}, sqlSlotEndpointIDs, slots)
	if err != nil {
		return nil, fmt.Errorf("endpoints of slots: %w", err)
	}
	return ids, nil
}

// A Retry is a delivery that failed and is due again.
type Retry struct {
	Tenant   ship.Tenant
	Endpoint ship.EndpointID
	Event    Position // its time and id are the event's
	Slot     int
	Attempts int           // so far
	Wait     time.Duration // until the next
}

// sqlDueRetries reads the index alone, and of each slot no more than is asked
// for.
const sqlDueRetries = `
SELECT r.account_id, r.livemode, r.endpoint_id, r.event_id, r.event_txid::text, r.slot, r.attempts
FROM unnest($1::smallint[]) AS s (slot), LATERAL (
  SELECT account_id, livemode, endpoint_id, event_id, event_txid, slot, attempts, next_attempt_at
  FROM webhook_retries
  WHERE slot = s.slot AND next_attempt_at <= now() AND NOT endpoint_id = ANY ($3)
  ORDER BY next_attempt_at LIMIT $2) r
ORDER BY r.next_attempt_at LIMIT $2`

// DueRetries returns deliveries of the slots that are due, without those of
// some endpoints. It claims nothing: only the copy that holds a slot reads it.
func (s *Store) DueRetries(ctx context.Context, slots []int, without []ship.EndpointID, limit int) ([]Retry, error) {
	list, err := selectList(ctx, s.sys, scanRetry, sqlDueRetries, slots, limit, rawIDs(without))
	if err != nil {
		return nil, fmt.Errorf("due deliveries: %w", err)
	}
	return list, nil
}

func scanRetry(r pgx.CollectableRow) (Retry, error) {
	var retry Retry
	var tx string
	err := r.Scan(
		&retry.Tenant.Account, &retry.Tenant.Livemode, &retry.Endpoint, &retry.Event.ID, &tx,
		&retry.Slot, &retry.Attempts,
	)
	if err != nil {
		return retry, err
	}

	retry.Event.At = retry.Event.ID.Time()
	_, err = fmt.Sscan(tx, &retry.Event.Tx)
	return retry, err
}

// A Record is what a dispatcher records in one transaction: if that does not
// happen, none of it did, and everything in it is sent again.
type Record struct {
	Lease     SlotLease // with the new cursor
	Attempts  []WebhookAttempt
	Retries   []Retry // failed, to be tried again
	Settled   []Retry // delivered, or given up
	Endpoints []EndpointRecord
}

// An EndpointRecord is how an endpoint does.
type EndpointRecord struct {
	Endpoint
	OwnCursor bool // the cursor is kept in the row
	Park      bool // it was parked just now: its retries stop, a job probes it
	Resume    bool // it has caught up: retries that were stopped go on
	Lasting   bool // more than the cursor has moved: it must be on disk
}

// sqlFenceSlot moves the slot's cursor, unless another copy has taken the slot
// since: then the token is another one, and no row changes.
const sqlFenceSlot = `
UPDATE webhook_slots SET cursor_txid = $3::text::xid8, cursor_id = $4, cursor_at = $5
WHERE slot = $1 AND fencing_token = $2`

// sqlSaveRetries leaves out retries of endpoints that were deleted meanwhile.
const sqlSaveRetries = `
INSERT INTO webhook_retries (account_id, livemode, endpoint_id, event_id, event_txid, slot, attempts, next_attempt_at)
SELECT DISTINCT ON (v.account_id, v.livemode, v.endpoint_id, v.event_id)
  v.account_id, v.livemode, v.endpoint_id, v.event_id, v.event_txid::xid8, v.slot, v.attempts, now() + v.wait * interval '1 second'
FROM unnest(@accounts::uuid[], @livemodes::boolean[], @endpoints::uuid[], @events::uuid[],
  @txs::text[], @slots::smallint[], @attempts::smallint[], @waits::float8[])
  AS v (account_id, livemode, endpoint_id, event_id, event_txid, slot, attempts, wait)
WHERE EXISTS (
  SELECT FROM webhook_endpoints e
  WHERE e.account_id = v.account_id AND e.livemode = v.livemode AND e.id = v.endpoint_id)
ON CONFLICT (account_id, livemode, endpoint_id, event_id) DO UPDATE SET
  attempts = excluded.attempts,
  next_attempt_at = excluded.next_attempt_at`

const sqlSettleRetries = `
DELETE FROM webhook_retries r
USING unnest(@accounts::uuid[], @livemodes::boolean[], @endpoints::uuid[], @events::uuid[])
  AS v (account_id, livemode, endpoint_id, event_id)
WHERE r.account_id = v.account_id AND r.livemode = v.livemode AND r.endpoint_id = v.endpoint_id AND r.event_id = v.event_id`

// sqlSaveEndpoint writes how an endpoint does, unless somebody else has changed
// it: the dispatcher reads that change soon.
const sqlSaveEndpoint = `
UPDATE webhook_endpoints SET
  verified = @verified,
  failures = @failures,
  failing_since = @failing,
  last_success_at = greatest(last_success_at, @success),
  parked = @parked,
  catching_up = @own,
  recover_since = CASE WHEN @own THEN recover_since END,
  cursor_txid = @tx::text::xid8,
  cursor_id = @cursor,
  cursor_at = @at,
  enabled = enabled AND @enabled,
  disabled_reason = CASE WHEN @enabled THEN disabled_reason ELSE coalesce(disabled_reason, @reason) END
WHERE account_id = @account AND livemode = @livemode AND id = @id AND version = @version`

// sqlKeepCursor keeps the cursor of an endpoint that somebody has changed while
// it read with the others: the slot's cursor is about to move past it.
const sqlKeepCursor = `
UPDATE webhook_endpoints SET
  catching_up = true,
  cursor_txid = @tx::text::xid8,
  cursor_id = @cursor,
  cursor_at = @at
WHERE account_id = @account AND livemode = @livemode AND id = @id AND version <> @version AND NOT catching_up`

// sqlStopRetries checks the row of the endpoint again: sqlSaveEndpoint may have
// left it as somebody else changed it.
const sqlStopRetries = `
UPDATE webhook_retries SET next_attempt_at = 'infinity'
WHERE account_id = @account AND livemode = @livemode AND endpoint_id = @id AND next_attempt_at <> 'infinity'
  AND EXISTS (
    SELECT FROM webhook_endpoints
    WHERE account_id = @account AND livemode = @livemode AND id = @id AND (parked OR NOT enabled))`

const sqlResumeRetries = `
UPDATE webhook_retries SET next_attempt_at = now()
WHERE account_id = @account AND livemode = @livemode AND endpoint_id = @id AND next_attempt_at = 'infinity'
  AND EXISTS (
    SELECT FROM webhook_endpoints
    WHERE account_id = @account AND livemode = @livemode AND id = @id AND enabled AND NOT parked)`

// mustBeDurable reports whether the record must be on disk before it counts.
// The dispatcher outlives a crash of the database, and would not send again
// what it believes to be stored. Attempts, and cursors that stay behind, are
// not waited for.
func (r *Record) mustBeDurable() bool {
	return len(r.Retries) > 0 || slices.ContainsFunc(r.Endpoints, func(e EndpointRecord) bool { return e.Lasting })
}

// Record stores what a dispatcher did. It is ship.Conflict when another copy
// has taken the slot.
func (s *Store) Record(ctx context.Context, r Record, probe func(EndpointRecord) Job) error {
	return s.InSystemTx(ctx, func(tx *Store) error {
		// If the database crashes and loses this record, the cursor is where it
		// was, and the events are sent again under the same ids.
		if !r.mustBeDurable() {
			if _, err := tx.tx.Exec(ctx, "SET LOCAL synchronous_commit = off"); err != nil {
				return err
			}
		}

		// The fence comes first: a copy that was paused for longer than its
		// lease must write nothing.
		cursor := r.Lease.Cursor
		tag, err := tx.tx.Exec(ctx, sqlFenceSlot, r.Lease.Slot, r.Lease.Token, fmt.Sprint(cursor.Tx), cursor.ID, cursor.At)
		if err != nil {
			return fmt.Errorf("move the slot's cursor: %w", err)
		}
		if tag.RowsAffected() == 0 {
			return ship.Errorf(ship.Conflict, "slot %d is served by another copy", r.Lease.Slot)
		}

		if err := tx.tx.SendBatch(ctx, r.statements()).Close(); err != nil {
			return fmt.Errorf("record deliveries: %w", err)
		}

		for _, endpoint := range r.Endpoints {
			if !endpoint.Park {
				continue
			}
			if err := tx.Enqueue(ctx, probe(endpoint), 0); err != nil {
				return err
			}
		}
		return nil
	})
}

// statements returns the statements that store the record, behind the fence.
func (r *Record) statements() *pgx.Batch {
	batch := &pgx.Batch{}
	if len(r.Attempts) > 0 {
		batch.Queue(sqlAddAttempts, attemptArgs(r.Attempts))
	}
	if len(r.Settled) > 0 {
		batch.Queue(sqlSettleRetries, retryArgs(r.Settled))
	}
	if len(r.Retries) > 0 {
		batch.Queue(sqlSaveRetries, retryArgs(r.Retries))
	}
	for _, endpoint := range r.Endpoints {
		endpoint.queue(batch)
	}
	return batch
}

// queue adds the statements that store how the endpoint does.
func (e EndpointRecord) queue(batch *pgx.Batch) {
	cursor := positionArgs{}
	if e.OwnCursor {
		cursor = positionArgsOf(e.Cursor)
	}

	batch.Queue(sqlSaveEndpoint, tenantArgs(e.Tenant, e.ID, pgx.NamedArgs{
		"version":  e.Version,
		"verified": e.Verified,
		"failures": e.Failures,
		"failing":  nullTime(e.FailingSince),
		"success":  nullTime(e.LastSuccessAt),
		"parked":   e.Parked,
		"own":      e.OwnCursor,
		"tx":       cursor.tx,
		"cursor":   cursor.id,
		"at":       cursor.at,
		"enabled":  e.Enabled,
		"reason":   null(e.DisabledReason),
	}))
	if e.OwnCursor {
		batch.Queue(sqlKeepCursor, tenantArgs(e.Tenant, e.ID, pgx.NamedArgs{
			"version": e.Version,
			"tx":      cursor.tx,
			"cursor":  cursor.id,
			"at":      cursor.at,
		}))
	}

	switch {
	case e.Parked, !e.Enabled:
		batch.Queue(sqlStopRetries, tenantArgs(e.Tenant, e.ID, nil))
	case e.Resume:
		batch.Queue(sqlResumeRetries, tenantArgs(e.Tenant, e.ID, nil))
	}
}

// positionArgs is a position as the driver takes it; nil for none.
type positionArgs struct {
	tx *string
	id *ship.RawID
	at *time.Time
}

func positionArgsOf(p Position) positionArgs {
	return positionArgs{
		tx: new(fmt.Sprint(p.Tx)),
		id: &p.ID,
		at: nullTime(p.At),
	}
}

func retryArgs(list []Retry) pgx.NamedArgs {
	c := columns{}
	for _, retry := range list {
		c.addTenant(retry.Tenant)
		c.add("endpoints", retry.Endpoint)
		c.add("events", retry.Event.ID)
		c.add("txs", fmt.Sprint(retry.Event.Tx))
		c.add("slots", retry.Slot)
		c.add("attempts", retry.Attempts)
		c.add("waits", retry.Wait.Seconds())
	}
	return c.args()
}
