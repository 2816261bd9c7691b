package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// A Tally counts shipments that have a carrier, a status and a state in common.
type Tally struct {
	Carrier  string
	Status   ship.Status
	State    ship.State
	Count    int
	Price    ship.Money // of all together
	Promised int        // delivered ones that had an estimate
	OnTime   int        // of those, the ones that arrived by that day
}

// A DayCount is how many shipments with a live label were made on a day.
type DayCount struct {
	Day   time.Time // UTC
	Count int
}

// Counts are a tenant's shipments from one day to another, and those of a time
// before. Several tallies may have the same carrier, status and state.
type Counts struct {
	Ready   bool // all older shipments are counted
	Days    []DayCount
	Tallies []Tally
	Before  []Tally
}

// sqlTallies adds up the counts of days, and takes off the shipments of the tail:
// sqlTailTallies counts those as they are now.
const sqlTallies = `
WITH lines AS (
  SELECT d.day, d.carrier, d.status, d.state, d.currency, d.shipments AS n, d.amount_minor, d.had_estimate, d.on_time
  FROM daily_shipment_counts d
  WHERE d.account_id = $1 AND d.livemode = $2 AND d.day >= $3 AND d.day < $5
  UNION ALL
  SELECT f.day, f.carrier, f.status, f.state, f.currency, -1, -f.amount_minor, -f.had_estimate::int, -f.on_time::int
  FROM shipment_facts f
  WHERE f.account_id = $1 AND f.livemode = $2 AND f.shipment_id = ANY ($6::uuid[]) AND f.day >= $3 AND f.day < $5
)` + sumOfLines

const sqlTailTallies = `
WITH facts AS (
  SELECT ` + factColumns + `
  FROM unnest($6::uuid[]) AS k (id)
  JOIN shipments s ON s.account_id = $1 AND s.livemode = $2 AND s.id = k.id
  JOIN shipment_states st ON st.account_id = $1 AND st.livemode = $2 AND st.id = k.id
  ` + purchaseColumns + `
  WHERE st.sequence > 0
), lines AS (
  SELECT f.day, f.carrier, f.status, f.state, f.currency, 1 AS n, f.amount_minor,
    f.had_estimate::int AS had_estimate, f.on_time::int AS on_time
  FROM facts f
  WHERE f.day >= $3 AND f.day < $5
)` + sumOfLines

// sumOfLines adds lines up twice: by day and state, and by everything else for
// the time before the day $4 and the time from it on.
const sumOfLines = `
SELECT x.day, x.inside, x.carrier, x.status, x.state, x.currency,
  sum(x.n)::bigint, sum(x.amount_minor)::bigint, sum(x.had_estimate)::bigint, sum(x.on_time)::bigint
FROM (SELECT l.*, l.day >= $4 AS inside FROM lines l) x
GROUP BY GROUPING SETS ((x.day, x.state), (x.inside, x.carrier, x.status, x.state, x.currency))
HAVING sum(x.n) <> 0`

// Tallies counts the tenant's shipments that were made from one day to before
// another, and those since a day before the first.
func (s *Store) Tallies(ctx context.Context, t ship.Tenant, since, from, until time.Time) (c Counts, err error) {
	tail, ready, err := s.tail(ctx, t)
	if err != nil {
		return c, err
	}
	c.Ready = ready

	read := func(rows pgx.Rows) error { return c.addSums(rows, from) }
	args := []any{t.Account, t.Livemode, since, from, until, tail}
	batch := s.newBatch(t)
	batch.Queue(sqlPlanAnew)
	batch.Queue(sqlTallies, args...).Query(read)
	if len(tail) > 0 {
		batch.Queue(sqlPlanOnce)
		batch.Queue(sqlTailTallies, args...).Query(read)
	}
	err = s.send(ctx, batch)
	return c, err
}

// addSums takes the rows of sumOfLines: each is the sum of a day if it has one,
// else a tally.
func (c *Counts) addSums(rows pgx.Rows, from time.Time) error {
	var (
		tally                            Tally
		day                              *time.Time
		inside                           *bool
		carrier, status, state, currency *string
	)
	targets := []any{
		&day, &inside, &carrier, &status, &state, &currency,
		&tally.Count, &tally.Price.Minor, &tally.Promised, &tally.OnTime,
	}
	_, err := pgx.ForEachRow(rows, targets, func() error {
		tally.Carrier = value(carrier)
		tally.Status = ship.Status(value(status))
		tally.State = ship.State(value(state))
		tally.Price.Currency = value(currency)

		switch {
		case day != nil:
			if !day.Before(from) && tally.State == ship.StatePurchased {
				c.Days = append(c.Days, DayCount{day.UTC(), tally.Count})
			}
		case value(inside):
			c.Tallies = append(c.Tallies, tally)
		default:
			c.Before = append(c.Before, tally)
		}
		return nil
	})
	return err
}
