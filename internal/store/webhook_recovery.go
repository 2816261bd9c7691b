package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// A WaitingEvent is an event that waits for a parked endpoint.
type WaitingEvent struct {
	Event    LogEvent
	Row      bool // it is a scheduled retry; else it is after the cursor
	Attempts int  // so far
	First    bool // the first after the cursor
}

const sqlWaitingRows = `
SELECT event_txid::text, event_id, attempts FROM webhook_retries
WHERE account_id = $1 AND livemode = $2 AND endpoint_id = $3
ORDER BY event_txid, event_id LIMIT 20`

// sqlWaitingLog respects the horizon: the cursor may move to its first event.
const sqlWaitingLog = `
SELECT e.txid::text, e.id, 0 FROM events e
WHERE e.account_id = $1 AND e.livemode = $2 AND (e.txid, e.id) > ($3::text::xid8, $4) AND e.txid < ` + horizon + `
  AND (cardinality($5::text[]) = 0 OR e.kind::text = ANY ($5))
ORDER BY e.txid, e.id LIMIT 20`

const sqlWaitingNewest = `
SELECT e.txid::text, e.id, 0 FROM events e
WHERE e.account_id = $1 AND e.livemode = $2 AND (e.txid, e.id) > ($3::text::xid8, $4)
  AND (cardinality($5::text[]) = 0 OR e.kind::text = ANY ($5))
ORDER BY e.txid DESC, e.id DESC LIMIT 1`

// Waiting returns the event to try a parked endpoint with at its nth probe,
// counted from 0: the oldest, the newest, then in turn. It is empty if none
// waits.
func (s *Store) Waiting(ctx context.Context, e Endpoint, n int) (WaitingEvent, error) {
	account := e.Tenant.Account
	logArgs := []any{
		account,
		e.Tenant.Livemode,
		fmt.Sprint(e.Cursor.Tx),
		e.Cursor.ID,
		append([]string{}, toStrings(e.Kinds)...),
	}

	var retries, log, newest []waitingAt
	batch := &pgx.Batch{}
	batch.Queue(sqlWaitingRows, account, e.Tenant.Livemode, e.ID).Query(collectInto(&retries, scanWaiting))
	batch.Queue(sqlWaitingLog, logArgs...).Query(collectInto(&log, scanWaiting))
	batch.Queue(sqlWaitingNewest, logArgs...).Query(collectInto(&newest, scanWaiting))
	if err := s.sys.SendBatch(ctx, batch).Close(); err != nil {
		return WaitingEvent{}, fmt.Errorf("read pending events of %s: %w", e.ID, explain(err))
	}

	for i := range retries {
		retries[i].isRetry = true
	}
	if len(log) > 0 {
		log[0].isFirst = true
	}
	candidates := append(retries, log...)
	if len(candidates) == 0 {
		return WaitingEvent{}, nil
	}

	chosen := candidates[max(n-1, 0)%len(candidates)]
	if n == 1 && len(newest) > 0 {
		chosen = newest[0]
		chosen.isFirst = len(log) == 1
	}

	events, err := s.LogEvents(ctx, []Position{chosen.at})
	if err != nil || len(events) == 0 {
		return WaitingEvent{}, err
	}
	return WaitingEvent{
		Event:    events[0],
		Row:      chosen.isRetry,
		Attempts: chosen.attempts,
		First:    chosen.isFirst,
	}, nil
}

// waitingAt is where a waiting event is.
type waitingAt struct {
	at       Position
	attempts int
	isRetry  bool // it is a scheduled retry
	isFirst  bool // it is the first after the cursor
}

func scanWaiting(r pgx.CollectableRow) (waitingAt, error) {
	var waiting waitingAt
	var tx string
	if err := r.Scan(&tx, &waiting.at.ID, &waiting.attempts); err != nil {
		return waiting, err
	}
	waiting.at.At = waiting.at.ID.Time()
	_, err := fmt.Sscan(tx, &waiting.at.Tx)
	return waiting, err
}

// sqlUnpark lets a parked endpoint go on. The dispatcher notices it by the
// version.
const sqlUnpark = `
UPDATE webhook_endpoints SET
  parked = false,
  verified = true,
  failures = 0,
  failing_since = NULL,
  probes = 0,
  last_success_at = now(),
  version = version + 1,
  changed_at = clock_timestamp(),
  catching_up = true,
  cursor_txid = coalesce(@tx::text::xid8, cursor_txid),
  cursor_id = coalesce(@cursor, cursor_id),
  cursor_at = coalesce(@at, cursor_at)
WHERE account_id = @account AND livemode = @livemode AND id = @id AND parked`

// Unpark lets a parked endpoint go on after a probe that arrived. The event of
// the probe is not sent again if it was a retry, or the first after the cursor;
// any other would need a list of events to skip.
func (s *Store) Unpark(ctx context.Context, e Endpoint, w WaitingEvent) error {
	cursor := positionArgs{}
	if w.First {
		cursor = positionArgsOf(w.Event.Position)
	}

	return s.InSystemTx(ctx, func(tx *Store) error {
		batch := &pgx.Batch{}
		batch.Queue(sqlUnpark, tenantArgs(e.Tenant, e.ID, pgx.NamedArgs{"tx": cursor.tx, "cursor": cursor.id, "at": cursor.at}))
		if w.Row {
			batch.Queue(sqlSettleRetries, retryArgs([]Retry{{Tenant: e.Tenant, Endpoint: e.ID, Event: w.Event.Position}}))
		}
		return tx.tx.SendBatch(ctx, batch).Close()
	})
}

const sqlProbeFailed = `
UPDATE webhook_endpoints SET
  probes = probes + 1,
  failures = failures + 1,
  enabled = enabled AND @reason::text IS NULL,
  disabled_reason = coalesce(@reason, disabled_reason),
  version = version + CASE WHEN @reason::text IS NULL THEN 0 ELSE 1 END,
  changed_at = CASE WHEN @reason::text IS NULL THEN changed_at ELSE clock_timestamp() END
WHERE account_id = @account AND livemode = @livemode AND id = @id AND parked`

// ProbeFailed records a probe that did not arrive; a reason disables the
// endpoint.
func (s *Store) ProbeFailed(ctx context.Context, e Endpoint, reason string) error {
	_, err := s.sys.Exec(ctx, sqlProbeFailed, tenantArgs(e.Tenant, e.ID, pgx.NamedArgs{"reason": null(reason)}))
	return explain(err)
}

// sqlRedeliver schedules an event for the endpoints that want its kind, or for
// one endpoint whatever it wants. A parked endpoint gets it once it goes on.
const sqlRedeliver = `
INSERT INTO webhook_retries (account_id, livemode, endpoint_id, event_id, event_txid, slot, attempts, next_attempt_at)
SELECT w.account_id, w.livemode, w.id, e.id, e.txid, w.slot, 0, CASE WHEN w.parked THEN 'infinity' ELSE now() END
FROM events e
JOIN webhook_endpoints w ON w.account_id = e.account_id AND w.livemode = e.livemode
WHERE e.account_id = @account AND e.livemode = @livemode AND e.id = @id AND w.enabled
  AND CASE
    WHEN @only::uuid IS NULL THEN cardinality(w.event_kinds) = 0 OR e.kind::text = ANY (w.event_kinds)
    ELSE w.id = @only END
ON CONFLICT (account_id, livemode, endpoint_id, event_id) DO UPDATE SET
  attempts = 0,
  next_attempt_at = excluded.next_attempt_at`

// Redeliver schedules an event, due now, and reports for how many endpoints.
func (s *Store) Redeliver(ctx context.Context, t ship.Tenant, event ship.EventID, only ship.EndpointID) (int, error) {
	entry := EntryOf(t, "event.redelivered", string(event))
	args := tenantArgs(t, event, pgx.NamedArgs{"only": null(only)})
	n, err := s.change(ctx, t, entry, sqlRedeliver, args)
	return int(n), err
}

// sqlRecover switches the endpoint on and moves its cursor back to just before
// the first transaction with an event since the time. A backlog that begins
// earlier stays: without a cursor of its own it begins at the slot's, from which
// a copy would go on after a crash. Retries of events since then are behind the
// cursor now, and would be sent twice. The horizon is respected, because
// everything before the cursor must be committed.
const sqlRecover = `
WITH first_event AS (
  SELECT (min(txid::text::bigint) - 1)::text::xid8 AS txid FROM events
  WHERE account_id = @account AND livemode = @livemode AND id >= @since
    AND txid < log_horizon()
), dropped_retries AS (
  DELETE FROM webhook_retries r USING first_event
  WHERE first_event.txid IS NOT NULL
    AND r.account_id = @account AND r.livemode = @livemode AND r.endpoint_id = @id AND r.event_id >= @since
), new_cursor AS (
  SELECT c.txid, c.id
  FROM first_event, webhook_endpoints e JOIN webhook_slots s ON s.slot = e.slot, LATERAL (
    SELECT coalesce(e.cursor_txid, s.cursor_txid) AS txid, coalesce(e.cursor_id, s.cursor_id) AS id
    UNION ALL
    SELECT first_event.txid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid WHERE first_event.txid IS NOT NULL) c
  WHERE e.account_id = @account AND e.livemode = @livemode AND e.id = @id
  ORDER BY c.txid, c.id LIMIT 1
)
UPDATE webhook_endpoints e SET
  recover_since = @at,
  catching_up = true,
  version = e.version + 1,
  changed_at = clock_timestamp(),
  enabled = true,
  disabled_reason = NULL,
  parked = false,
  failures = 0,
  failing_since = NULL,
  probes = 0,
  notified_at = NULL,
  cursor_txid = new_cursor.txid,
  cursor_id = new_cursor.id,
  cursor_at = @at
FROM new_cursor
WHERE e.account_id = @account AND e.livemode = @livemode AND e.id = @id
RETURNING ` + endpointColumns

// Recover moves the endpoint's cursor back to a time, so that it gets the events
// that it missed since then.
func (s *Store) Recover(ctx context.Context, t ship.Tenant, id ship.EndpointID, since time.Time) (Endpoint, error) {
	entry := EntryOf(t, "webhook.recovered", string(id))
	entry.Details = map[string]string{"since": since.UTC().Format(time.RFC3339)}

	args := tenantArgs(t, id, pgx.NamedArgs{"since": ship.RawIDAt(since), "at": since})
	endpoint, err := changeOne(ctx, s, t, entry, scanEndpoint, sqlRecover, args)
	if err != nil {
		return endpoint, fmt.Errorf("recover %s: %w", id, err)
	}
	return endpoint, nil
}

const sqlDeliveredSince = `
SELECT event_id FROM webhook_attempts
WHERE account_id = $1 AND livemode = $2 AND endpoint_id = $3 AND id >= $4 AND outcome = 'delivered'`

// DeliveredSince returns the events since a time that the endpoint has got.
func (s *Store) DeliveredSince(ctx context.Context, t ship.Tenant, id ship.EndpointID, since time.Time) (map[ship.EventID]bool, error) {
	delivered := map[ship.EventID]bool{}
	var event ship.EventID
	err := selectEach(ctx, s.sys, []any{&event}, func() error {
		delivered[event] = true
		return nil
	}, sqlDeliveredSince, t.Account, t.Livemode, id, ship.RawIDAt(since))
	if err != nil {
		return nil, fmt.Errorf("read deliveries to %s: %w", id, err)
	}
	return delivered, nil
}
