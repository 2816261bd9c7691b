package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// The events of one shipment, and how they were delivered.

// sqlShipmentEvents finds the events of one shipment. The log has no index for
// that, and needs none: an event is written in the transaction of the row that it
// reports, so the numbers of those transactions, which every row carries, lead
// into the log's own order. A row carries 32 bits of the number; the log's
// horizon has the rest.
const sqlShipmentEvents = `
WITH row_versions AS (
  SELECT xmin FROM shipments WHERE account_id = @account AND livemode = @livemode AND id = @id
  UNION SELECT xmin FROM labels WHERE account_id = @account AND livemode = @livemode AND shipment_id = @id
  UNION SELECT xmin FROM shipment_states WHERE account_id = @account AND livemode = @livemode AND id = @id
  UNION SELECT xmin FROM tracking_events WHERE account_id = @account AND livemode = @livemode AND subject_id = @id
), transactions AS (
  SELECT now.n - ((now.n - xmin::text::bigint) & 4294967295) AS n
  FROM row_versions, (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS n) now
)
SELECT ` + logColumns + `
FROM events e
LEFT JOIN shipments s ON s.account_id = e.account_id AND s.livemode = e.livemode AND s.id = e.subject_id
WHERE e.account_id = @account AND e.livemode = @livemode
  AND e.txid = ANY (ARRAY(SELECT (n | epoch)::text::xid8 FROM transactions, log_epochs() AS epoch))
  AND e.subject_id = @id AND e.id >= @since
ORDER BY e.sequence DESC LIMIT @limit`

// ShipmentEvents lists the events of a shipment, newest first, as far as they are kept.
// After the database was restored from a copy of its rows, or the account was moved to
// this cell, earlier events are not found.
func (s *Store) ShipmentEvents(ctx context.Context, t ship.Tenant, id ship.ShipmentID, limit int) ([]LogEvent, error) {
	args := tenantArgs(t, id, pgx.NamedArgs{"since": ship.RawIDAt(id.Raw().Time()), "limit": limit})
	list, err := queryList(ctx, s, t, scanLogEvent, sqlShipmentEvents, args)
	if err != nil {
		return nil, fmt.Errorf("read the events of %s: %w", id, err)
	}
	return list, nil
}

// An EventDelivery is how an event was delivered to an endpoint: its first attempt, or
// that it waits for another.
type EventDelivery struct {
	Event     ship.EventID
	Endpoint  ship.EndpointID
	Outcome   string // of the first try; "" if it is not known
	Status    int
	Took      time.Duration
	IsPending bool // waits for another attempt, or until its endpoint is enabled
	Tries     int  // so far, while it is pending
}

// firstAttemptWithin is how soon after its event a first attempt is looked for.
const firstAttemptWithin = time.Minute

// sqlDeliveries looks at the minute after each event, and at scheduled retries.
// The delivery log is ordered by endpoint and time: the number of attempts of a
// busy minute that are read is bounded.
const sqlDeliveries = `
SELECT k.event, p.id, a.outcome, a.response_status, a.total_ms, w.attempts
FROM unnest(@events::uuid[], @untils::uuid[]) AS k (event, until)
CROSS JOIN webhook_endpoints p
LEFT JOIN LATERAL (
  SELECT m.outcome, m.response_status, m.total_ms FROM (
    SELECT x.event_id, x.outcome, x.response_status, x.total_ms FROM webhook_attempts x
    WHERE x.account_id = @account AND x.livemode = @livemode AND x.endpoint_id = p.id AND x.id >= k.event AND x.id < k.until
    ORDER BY x.id LIMIT 1000) m
  WHERE m.event_id = k.event LIMIT 1) a ON true
LEFT JOIN webhook_retries w ON w.account_id = @account AND w.livemode = @livemode AND w.endpoint_id = p.id AND w.event_id = k.event
WHERE p.account_id = @account AND p.livemode = @livemode AND (a.outcome IS NOT NULL OR w.attempts IS NOT NULL)
ORDER BY k.event, p.id`

// EventDeliveries lists how the events were delivered to the tenant's endpoints.
func (s *Store) EventDeliveries(ctx context.Context, t ship.Tenant, events []ship.EventID) ([]EventDelivery, error) {
	untils := make(idArray, len(events))
	for i, event := range events {
		untils[i] = ship.RawIDAt(event.Raw().Time().Add(firstAttemptWithin))
	}

	list, err := queryList(ctx, s, t, scanDelivery, sqlDeliveries, pgx.NamedArgs{
		"account":  t.Account,
		"livemode": t.Livemode,
		"events":   rawIDs(events),
		"untils":   untils,
	})
	if err != nil {
		return nil, fmt.Errorf("deliveries: %w", err)
	}
	return list, nil
}

func scanDelivery(r pgx.CollectableRow) (EventDelivery, error) {
	var delivery EventDelivery
	var outcome *string
	var status, millis, tries *int
	err := r.Scan(&delivery.Event, &delivery.Endpoint, &outcome, &status, &millis, &tries)

	delivery.Outcome = value(outcome)
	delivery.Status = value(status)
	delivery.Took = time.Duration(value(millis)) * time.Millisecond
	delivery.IsPending = tries != nil
	delivery.Tries = value(tries)
	return delivery, err
}
