package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// Calls is how the calls of one operation of a connection went in one slot.
type Calls struct {
	Tenant     ship.Tenant
	Connection ship.ConnectionID
	Operation  string
	Slot       time.Time // its beginning
	Calls      int
	Refused    int     // declined by the carrier
	Failed     int     // not answered, limited, or not let in
	Times      []int32 // how many took how long; the caller knows what each bucket means
}

// sqlAddCalls adds to what other copies of the program wrote.
const sqlAddCalls = `
INSERT INTO carrier_calls AS c (account_id, livemode, interval_id, connection_id, operation,
  calls, declined, failed, duration_histogram)
VALUES (@account, @livemode, @id, @connection, @operation,
  @calls, @declined, @failed, @histogram)
ON CONFLICT (account_id, livemode, interval_id, connection_id, operation) DO UPDATE SET
  calls = c.calls + excluded.calls,
  declined = c.declined + excluded.declined,
  failed = c.failed + excluded.failed,
  duration_histogram = ARRAY(
    SELECT coalesce(a, 0) + coalesce(b, 0)
    FROM unnest(c.duration_histogram, excluded.duration_histogram) WITH ORDINALITY AS v (a, b, n)
    ORDER BY n)`

// AddCalls adds to the counts of any tenants, in one round trip.
func (s *Store) AddCalls(ctx context.Context, list []Calls) error {
	if len(list) == 0 {
		return nil
	}

	// In one order, so that copies that write at once cannot deadlock.
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b Calls) int { return strings.Compare(a.sortKey(), b.sortKey()) })

	err := s.sendUnsynced(ctx, func(batch *pgx.Batch) {
		for _, calls := range list {
			batch.Queue(sqlAddCalls, pgx.NamedArgs{
				"account":    calls.Tenant.Account,
				"livemode":   calls.Tenant.Livemode,
				"id":         ship.RawIDAt(calls.Slot),
				"connection": calls.Connection,
				"operation":  calls.Operation,
				"calls":      calls.Calls,
				"declined":   calls.Refused,
				"failed":     calls.Failed,
				"histogram":  calls.Times,
			})
		}
	})
	if err != nil {
		return fmt.Errorf("count calls: %w", err)
	}
	return nil
}

func (c Calls) sortKey() string {
	return string(c.Connection) + c.Operation + c.Slot.Format(time.RFC3339)
}

const sqlCalls = `
SELECT interval_id, connection_id, operation, calls, declined, failed, duration_histogram
FROM carrier_calls
WHERE account_id = $1 AND livemode = $2 AND interval_id >= $3
ORDER BY interval_id`

// Calls lists how the calls of the tenant's connections went since then, the
// oldest slot first.
func (s *Store) Calls(ctx context.Context, t ship.Tenant, since time.Time) ([]Calls, error) {
	scan := func(r pgx.CollectableRow) (Calls, error) {
		calls := Calls{Tenant: t}
		var slot ship.RawID
		err := r.Scan(&slot, &calls.Connection, &calls.Operation, &calls.Calls, &calls.Refused, &calls.Failed, &calls.Times)
		calls.Slot = slot.Time()
		return calls, err
	}
	list, err := queryList(ctx, s, t, scan, sqlCalls, t.Account, t.Livemode, ship.RawIDAt(since))
	if err != nil {
		return nil, fmt.Errorf("calls of connections: %w", err)
	}
	return list, nil
}
