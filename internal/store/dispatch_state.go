package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

const sqlSlotEndpoints = `
SELECT ` + endpointColumns + ` FROM webhook_endpoints e WHERE e.slot = ANY ($1) AND e.changed_at >= $2`

// SlotEndpoints returns the endpoints of the slots whose settings changed
// since; the zero time means all.
func (s *Store) SlotEndpoints(ctx context.Context, slots []int, since time.Time) ([]Endpoint, error) {
	rows, err := s.sys.Query(ctx, sqlSlotEndpoints, slots, since)
	if err != nil {
		return nil, fmt.Errorf("endpoints of slots: %w", explain(err))
	}
	var list []Endpoint
	err = each(rows, func(r pgx.Rows) error {
		e, err := scanEndpoint(r)
		list = append(list, e)
		return err
	})
	return list, explain(err)
}

const sqlSlotEndpointIDs = `SELECT id FROM webhook_endpoints WHERE slot = ANY ($1)`

// SlotEndpointIDs returns which endpoints the slots have: what is gone is
// noticed by its absence.
func (s *Store) SlotEndpointIDs(ctx context.Context, slots []int) (map[ship.EndpointID]bool, error) {
	rows, err := s.sys.Query(ctx, sqlSlotEndpointIDs, slots)
	if err != nil {
		return nil, fmt.Errorf("endpoints of slots: %w", explain(err))
	}
	ids := map[ship.EndpointID]bool{}
	err = each(rows, func(r pgx.Rows) error {
		var id [16]byte
		err := r.Scan(&id)
		ids[ship.EndpointIDOf(id)] = true
		return err
	})
	return ids, explain(err)
}

// sqlTenantHeads reads one tenant's log, for an endpoint that is behind.
const sqlTenantHeads = `
SELECT e.txid::text, e.id, e.subject, e.account_id, e.livemode, e.kind::text FROM events e
WHERE e.account_id = $4 AND e.livemode = $5 AND (e.txid, e.id) > ($1::text::xid8, $2) AND e.txid < pg_snapshot_xmin(pg_current_snapshot())
ORDER BY e.txid, e.id LIMIT $3`

// TenantHeads reads the log of one tenant behind a position, in order. Fewer
// than limit means that there is no more for now.
func (s *Store) TenantHeads(ctx context.Context, t ship.Tenant, after Position, limit int) ([]LogHead, error) {
	return s.heads(ctx, sqlTenantHeads, after, limit, [16]byte(t.Account.Raw()), t.Livemode)
}

// A Retry is a delivery that failed and is due again.
type Retry struct {
	Tenant   ship.Tenant
	Endpoint ship.EndpointID
	Event    Position // its time and id are the event's
	Slot     int
	Attempts int // so far
	NextAt   time.Time
}

// sqlDueRetries reads the index alone.
const sqlDueRetries = `
SELECT account_id, livemode, endpoint_id, event_id, event_tx::text, slot, attempts FROM webhook_retries
WHERE slot = ANY ($1) AND next_at <= now() ORDER BY next_at LIMIT $2`

// DueRetries returns deliveries of the slots that are due. It claims nothing:
// whoever holds the slot is alone.
func (s *Store) DueRetries(ctx context.Context, slots []int, limit int) ([]Retry, error) {
	rows, err := s.sys.Query(ctx, sqlDueRetries, slots, limit)
	if err != nil {
		return nil, fmt.Errorf("due deliveries: %w", explain(err))
	}
	var list []Retry
	err = each(rows, func(r pgx.Rows) error {
		var d Retry
		var account, endpoint, event [16]byte
		var tx string
		if err := r.Scan(&account, &d.Tenant.Livemode, &endpoint, &event, &tx, &d.Slot, &d.Attempts); err != nil {
			return err
		}
		d.Tenant.Account, d.Endpoint = ship.AccountIDOf(account), ship.EndpointIDOf(endpoint)
		d.Event = Position{ID: event, At: ship.RawID(event).Time()}
		_, err := fmt.Sscan(tx, &d.Event.Tx)
		list = append(list, d)
		return err
	})
	return list, explain(err)
}

// A Record is what a dispatcher writes down in one transaction: if that does
// not happen, nothing of it did, and it is sent again.
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
	Park      bool // it was parked just now: rows stop, a job probes it
	Resume    bool // it has joined again: rows that were stopped go on
}

const sqlFenceSlot = `
UPDATE webhook_slots SET cursor_tx = $3::text::xid8, cursor_id = $4, cursor_at = $5 WHERE slot = $1 AND token = $2`

const sqlSaveRetries = `
INSERT INTO webhook_retries (account_id, livemode, endpoint_id, event_id, event_tx, slot, attempts, next_at)
SELECT v.account_id, v.livemode, v.endpoint_id, v.event_id, v.event_tx::xid8, v.slot, v.attempts, v.next_at
FROM unnest(@accounts::uuid[], @livemodes::boolean[], @endpoints::uuid[], @events::uuid[], @txs::text[], @slots::smallint[], @attempts::smallint[], @nexts::timestamptz[])
  AS v (account_id, livemode, endpoint_id, event_id, event_tx, slot, attempts, next_at)
WHERE EXISTS (SELECT FROM webhook_endpoints e WHERE e.account_id = v.account_id AND e.livemode = v.livemode AND e.id = v.endpoint_id)
ON CONFLICT (account_id, livemode, endpoint_id, event_id) DO UPDATE SET attempts = excluded.attempts, next_at = excluded.next_at`

const sqlSettleRetries = `
DELETE FROM webhook_retries r
USING unnest(@accounts::uuid[], @livemodes::boolean[], @endpoints::uuid[], @events::uuid[]) AS v (account_id, livemode, endpoint_id, event_id)
WHERE r.account_id = v.account_id AND r.livemode = v.livemode AND r.endpoint_id = v.endpoint_id AND r.event_id = v.event_id`

const sqlSaveEndpoint = `
UPDATE webhook_endpoints SET verified = @verified, failures = @failures, failing_since = @failing, last_success_at = greatest(last_success_at, @success),
  parked = @parked, joining = @own, recover_since = CASE WHEN @own THEN recover_since END, cursor_tx = @tx::text::xid8, cursor_id = @cursor, cursor_at = @at,
  enabled = enabled AND @enabled, disabled_reason = CASE WHEN @enabled THEN disabled_reason ELSE coalesce(disabled_reason, @reason) END
WHERE account_id = @account AND livemode = @livemode AND id = @id`

const sqlStopRetries = `
UPDATE webhook_retries SET next_at = 'infinity' WHERE account_id = @account AND livemode = @livemode AND endpoint_id = @id`

const sqlResumeRetries = `
UPDATE webhook_retries SET next_at = now() WHERE account_id = @account AND livemode = @livemode AND endpoint_id = @id AND next_at = 'infinity'`

// Record writes down what a dispatcher did. It is ship.Conflict when the slot
// is somebody else's by now. The commit is not waited for on the disk: what a
// crash loses is sent again.
func (s *Store) Record(ctx context.Context, r Record, probe func(EndpointRecord) Job) error {
	return s.InSystemTx(ctx, func(tx *Store) error {
		if _, err := tx.tx.Exec(ctx, "SET LOCAL synchronous_commit = off"); err != nil {
			return err
		}
		tag, err := tx.tx.Exec(ctx, sqlFenceSlot, r.Lease.Slot, r.Lease.Token, fmt.Sprint(r.Lease.Cursor.Tx), [16]byte(r.Lease.Cursor.ID), r.Lease.Cursor.At)
		if err != nil {
			return fmt.Errorf("move the slot's cursor: %w", err)
		}
		if tag.RowsAffected() == 0 {
			return ship.Errorf(ship.Conflict, "slot %d is served by another copy", r.Lease.Slot)
		}
		b := &pgx.Batch{}
		if len(r.Attempts) > 0 {
			b.Queue(sqlAddAttempts, attemptColumns(r.Attempts)...)
		}
		if len(r.Settled) > 0 {
			b.Queue(sqlSettleRetries, retryArgs(r.Settled))
		}
		if len(r.Retries) > 0 {
			b.Queue(sqlSaveRetries, retryArgs(r.Retries))
		}
		for _, e := range r.Endpoints {
			queueEndpoint(b, e)
		}
		if err := tx.tx.SendBatch(ctx, b).Close(); err != nil {
			return fmt.Errorf("record deliveries: %w", err)
		}
		for _, e := range r.Endpoints {
			if e.Park {
				if err := tx.Enqueue(ctx, probe(e), 0); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func queueEndpoint(b *pgx.Batch, e EndpointRecord) {
	at := positionArgs{}
	if e.OwnCursor {
		at = argsOf(e.Cursor)
	}
	b.Queue(sqlSaveEndpoint, tenantArgs(e.Tenant, e.ID.Raw(), pgx.NamedArgs{
		"verified": e.Verified, "failures": e.Failures, "failing": nullTime(e.FailingSince), "success": nullTime(e.LastSuccessAt), "parked": e.Parked,
		"own": e.OwnCursor, "tx": at.tx, "cursor": at.id, "at": at.at, "enabled": e.Enabled, "reason": null(e.DisabledReason),
	}))
	switch {
	case e.Park, !e.Enabled:
		b.Queue(sqlStopRetries, tenantArgs(e.Tenant, e.ID.Raw(), nil))
	case e.Resume:
		b.Queue(sqlResumeRetries, tenantArgs(e.Tenant, e.ID.Raw(), nil))
	}
}

// positionArgs is a position as the driver takes it; nil for none.
type positionArgs struct {
	tx *string
	id *[16]byte
	at *time.Time
}

func argsOf(p Position) positionArgs {
	tx, id := fmt.Sprint(p.Tx), [16]byte(p.ID)
	return positionArgs{tx: &tx, id: &id, at: nullTime(p.At)}
}

func retryArgs(list []Retry) pgx.NamedArgs {
	c := columns{}
	for _, r := range list {
		c.add("accounts", [16]byte(r.Tenant.Account.Raw()))
		c.add("livemodes", r.Tenant.Livemode)
		c.add("endpoints", [16]byte(r.Endpoint.Raw()))
		c.add("events", [16]byte(r.Event.ID))
		c.add("txs", fmt.Sprint(r.Event.Tx))
		c.add("slots", r.Slot)
		c.add("attempts", r.Attempts)
		c.add("nexts", r.NextAt)
	}
	return c.args()
}
