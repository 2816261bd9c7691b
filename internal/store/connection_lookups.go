package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// A ConnectionLookup is how far the look-up of a connection can be trusted.
type ConnectionLookup struct {
	Tenant     ship.Tenant
	Connection ship.ConnectionID

	Raised   time.Duration // the visibility delay since a purchase was found late; zero if none was
	RaisedAt time.Time
	Measured []time.Duration // live measurements since then, newest last

	ControlAt    time.Time // of the last search for a purchase that is known to exist; zero if there was none
	ControlFound bool
	FailingSince time.Time // the first control in a row that was not found; zero if the last was
}

const lookupColumns = `l.account_id, l.livemode, l.connection_id, l.raised_ms, l.raised_at, l.measured_ms,
  l.control_at, l.control_found, l.failing_since`

func scanConnectionLookup(r pgx.CollectableRow) (ConnectionLookup, error) {
	var (
		lookup                            ConnectionLookup
		raised                            *int64
		measured                          []int64
		raisedAt, controlAt, failingSince *time.Time
		found                             *bool
	)
	err := r.Scan(
		&lookup.Tenant.Account, &lookup.Tenant.Livemode, &lookup.Connection, &raised, &raisedAt, &measured,
		&controlAt, &found, &failingSince,
	)

	lookup.Raised = time.Duration(value(raised)) * time.Millisecond
	lookup.RaisedAt = timeOrZero(raisedAt)
	for _, ms := range measured {
		lookup.Measured = append(lookup.Measured, time.Duration(ms)*time.Millisecond)
	}
	lookup.ControlAt = timeOrZero(controlAt)
	lookup.ControlFound = value(found)
	lookup.FailingSince = timeOrZero(failingSince)
	return lookup, err
}

const sqlConnectionLookups = `
SELECT ` + lookupColumns + ` FROM connection_lookups l
WHERE l.account_id = $1 AND l.livemode = $2
ORDER BY l.connection_id`

// ConnectionLookups returns what is known of the look-ups of the tenant's
// connections.
func (s *Store) ConnectionLookups(ctx context.Context, t ship.Tenant) (map[ship.ConnectionID]ConnectionLookup, error) {
	list, err := queryList(ctx, s, t, scanConnectionLookup, sqlConnectionLookups, t.Account, t.Livemode)
	if err != nil {
		return nil, err
	}

	lookups := make(map[ship.ConnectionID]ConnectionLookup, len(list))
	for _, lookup := range list {
		lookups[lookup.Connection] = lookup
	}
	return lookups, nil
}

const sqlConnectionLookup = `
SELECT ` + lookupColumns + ` FROM connection_lookups l
WHERE l.account_id = $1 AND l.livemode = $2 AND l.connection_id = $3`

// ConnectionLookup returns what is known of the look-up of a connection, which may
// be nothing.
func (s *Store) ConnectionLookup(ctx context.Context, t ship.Tenant, id ship.ConnectionID) (ConnectionLookup, error) {
	lookup, err := queryOne(ctx, s, t, scanConnectionLookup, sqlConnectionLookup, t.Account, t.Livemode, id)
	if ship.KindOf(err) == ship.NotFound {
		return ConnectionLookup{Tenant: t, Connection: id}, nil
	}
	return lookup, err
}

// sqlFailingLookups lists the connections of all accounts whose last control was not
// found.
const sqlFailingLookups = `
SELECT ` + lookupColumns + ` FROM connection_lookups l
JOIN connections c USING (account_id, livemode)
WHERE l.failing_since IS NOT NULL AND c.id = l.connection_id AND c.removed_at IS NULL
ORDER BY l.failing_since`

// sqlRaiseDelay forgets the measurements: they are refuted.
const sqlRaiseDelay = `
INSERT INTO connection_lookups (account_id, livemode, connection_id, raised_ms, raised_at, raised_by)
VALUES (@account, @livemode, @connection, @delay, now(), @id)
ON CONFLICT (account_id, livemode, connection_id) DO UPDATE SET
  raised_ms = excluded.raised_ms, raised_at = now(), raised_by = excluded.raised_by, measured_ms = '{}', measured_at = NULL
WHERE coalesce(connection_lookups.raised_ms, 0) < excluded.raised_ms`

// RaiseDelay raises the visibility delay of a connection, because of a shipment that
// was found late. It is never lowered by this.
func (s *Store) RaiseDelay(ctx context.Context, t ship.Tenant, connection ship.ConnectionID, delay time.Duration, found ship.ShipmentID) error {
	_, err := s.exec(ctx, t, sqlRaiseDelay, tenantArgs(t, found, pgx.NamedArgs{
		"connection": connection,
		"delay":      delay.Milliseconds(),
	}))
	if err != nil {
		return fmt.Errorf("raise the visibility delay of %s: %w", connection, err)
	}
	return nil
}

const sqlMeasureDelay = `
INSERT INTO connection_lookups AS l (account_id, livemode, connection_id, measured_ms, measured_at)
VALUES (@account, @livemode, @connection, ARRAY[@delay::bigint], now())
ON CONFLICT (account_id, livemode, connection_id) DO UPDATE SET
  measured_ms = (array_append(l.measured_ms, @delay::bigint))[greatest(1, cardinality(l.measured_ms) - 1):],
  measured_at = now()`

// MeasureDelay adds a measurement of how late a live purchase was found. The last
// three are kept.
func (s *Store) MeasureDelay(ctx context.Context, t ship.Tenant, connection ship.ConnectionID, delay time.Duration) error {
	_, err := s.exec(ctx, t, sqlMeasureDelay, pgx.NamedArgs{
		"account":    t.Account,
		"livemode":   t.Livemode,
		"connection": connection,
		"delay":      delay.Milliseconds(),
	})
	return err
}

const sqlRecordControl = `
INSERT INTO connection_lookups AS l (account_id, livemode, connection_id, control_at, control_shipment_id, control_found, failing_since)
VALUES (@account, @livemode, @connection, now(), @id, @found, CASE WHEN NOT @found THEN now() END)
ON CONFLICT (account_id, livemode, connection_id) DO UPDATE SET
  control_at = now(), control_shipment_id = @id, control_found = @found,
  failing_since = CASE WHEN NOT @found THEN coalesce(l.failing_since, now()) END`

// RecordControl records whether the look-up of a connection found a shipment that is
// known to exist.
func (s *Store) RecordControl(ctx context.Context, t ship.Tenant, connection ship.ConnectionID, control ship.ShipmentID, found bool) error {
	_, err := s.exec(ctx, t, sqlRecordControl, tenantArgs(t, control, pgx.NamedArgs{
		"connection": connection,
		"found":      found,
	}))
	return err
}

// sqlControlPurchase looks at the newest attempts of the tenant only: a connection
// that sold none of them has no control, and its purchases go to a person.
const sqlControlPurchase = `
SELECT a.shipment_id, a.attempt
FROM (
  SELECT account_id, livemode, shipment_id, attempt, connection_id, outcome, started_at
  FROM purchase_attempts
  WHERE account_id = @account AND livemode = @livemode AND shipment_id >= @from AND shipment_id < @to
  ORDER BY shipment_id DESC LIMIT 50000
) a
JOIN shipment_states s ON s.account_id = a.account_id AND s.livemode = a.livemode AND s.id = a.shipment_id
WHERE a.connection_id = @connection AND a.outcome = 'purchased' AND a.started_at < @before
  AND s.state = 'purchased' AND s.voided_at IS NULL
ORDER BY a.shipment_id DESC LIMIT 1`

// ControlPurchase returns the newest shipment of a connection that is recorded, not
// voided, and was bought in a span of time, with the attempt that bought it. It is
// ship.NotFound if there is none.
func (s *Store) ControlPurchase(ctx context.Context, t ship.Tenant, connection ship.ConnectionID, from, to time.Time) (id ship.ShipmentID, attempt int, err error) {
	type control struct {
		shipment ship.ShipmentID
		attempt  int
	}
	found, err := queryOne(ctx, s, t, func(r pgx.CollectableRow) (control, error) {
		var c control
		err := r.Scan(&c.shipment, &c.attempt)
		return c, err
	}, sqlControlPurchase, pgx.NamedArgs{
		"account":    t.Account,
		"livemode":   t.Livemode,
		"connection": connection,
		"from":       ship.RawIDAt(from),
		"to":         ship.RawIDAt(to),
		"before":     to,
	})
	return found.shipment, found.attempt, err
}
