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
// before. Lines that are alike may come more than once.
type Counts struct {
	Ready   bool // the past is all counted
	Days    []DayCount
	Tallies []Tally
	Before  []Tally
}

// sqlTallies counts days, without those shipments that are counted by their
// rows instead.
const sqlTallies = `
WITH lines AS (
  SELECT d.day, d.carrier, d.status, d.state, d.currency, d.shipments AS n, d.amount_minor, d.had_estimate, d.on_time
  FROM daily_shipment_counts d WHERE d.account_id = $1 AND d.livemode = $2 AND d.day >= $3 AND d.day < $5
  UNION ALL
  SELECT f.day, f.carrier, f.status, f.state, f.currency, -1, -f.amount_minor, -f.had_estimate::int, -f.on_time::int
  FROM shipment_facts f WHERE f.account_id = $1 AND f.livemode = $2 AND f.shipment_id = ANY ($6::uuid[]) AND f.day >= $3 AND f.day < $5
)` + tallied

const sqlTailTallies = `
WITH facts AS (
  SELECT ` + factColumns + `
  FROM unnest($6::uuid[]) AS k (id)
  JOIN shipments s ON s.account_id = $1 AND s.livemode = $2 AND s.id = k.id
  JOIN shipment_states st ON st.account_id = $1 AND st.livemode = $2 AND st.id = k.id
  ` + ofDeal + `
  WHERE st.sequence > 0
), lines AS (
  SELECT f.day, f.carrier, f.status, f.state, f.currency, 1 AS n, f.amount_minor, f.had_estimate::int AS had_estimate, f.on_time::int AS on_time FROM facts f WHERE f.day >= $3 AND f.day < $5
)` + tallied

// tallied adds lines up: by day and state, and by all else before and from the
// day $4.
const tallied = `
SELECT x.day, x.inside, x.carrier, x.status, x.state, x.currency, sum(x.n)::bigint, sum(x.amount_minor)::bigint, sum(x.had_estimate)::bigint, sum(x.on_time)::bigint
FROM (SELECT l.*, l.day >= $4 AS inside FROM lines l) x
GROUP BY GROUPING SETS ((x.day, x.state), (x.inside, x.carrier, x.status, x.state, x.currency)) HAVING sum(x.n) <> 0`

// Tallies counts the tenant's shipments that were made from one day to before
// another, and those since a day before the first.
func (s *Store) Tallies(ctx context.Context, t ship.Tenant, since, from, until time.Time) (c Counts, err error) {
	tail, ready, err := s.tail(ctx, t)
	if err != nil {
		return c, err
	}
	c.Ready = ready
	read := func(rows pgx.Rows) error {
		return each(rows, func(r pgx.Rows) error { return c.add(r, from) })
	}
	args := []any{[16]byte(t.Account.Raw()), t.Livemode, since, from, until, tail}
	b := s.newBatch(t)
	b.Queue(sqlPlanAnew)
	b.Queue(sqlTallies, args...).Query(read)
	if len(tail) > 0 {
		b.Queue(sqlPlanOnce)
		b.Queue(sqlTailTallies, args...).Query(read)
	}
	return c, s.send(ctx, b)
}

// add takes one line of tallied.
func (c *Counts) add(r pgx.Row, from time.Time) error {
	var a Tally
	var day *time.Time
	var inside *bool
	var carrier, status, state, currency *string
	if err := r.Scan(&day, &inside, &carrier, &status, &state, &currency, &a.Count, &a.Price.Minor, &a.Promised, &a.OnTime); err != nil {
		return err
	}
	a.Carrier, a.Status, a.State, a.Price.Currency = value(carrier), ship.Status(value(status)), ship.State(value(state)), value(currency)
	switch {
	case day != nil:
		if !day.Before(from) && a.State == ship.StatePurchased {
			c.Days = append(c.Days, DayCount{day.UTC(), a.Count})
		}
	case value(inside):
		c.Tallies = append(c.Tallies, a)
	default:
		c.Before = append(c.Before, a)
	}
	return nil
}
