package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// A Tally counts shipments that have a day, a carrier, a status and a state in
// common.
type Tally struct {
	Day      time.Time // UTC
	Carrier  string
	Status   ship.Status
	State    ship.State
	Count    int
	Price    ship.Money // of all together
	Promised int        // delivered ones that had an estimate
	OnTime   int        // of those, the ones that arrived by that day
}

// sqlTallies counts days, without those shipments that are counted by their
// rows instead.
const sqlTallies = `
WITH lines AS (
  SELECT d.day, d.carrier, d.status, d.state, d.currency, d.shipments AS n, d.minor, d.promised, d.on_time
  FROM shipment_days d WHERE d.account_id = $1 AND d.livemode = $2 AND d.day >= $3 AND d.day < $4
  UNION ALL
  SELECT f.day, f.carrier, f.status, f.state, f.currency, -1, -f.minor, -f.promised::int, -f.on_time::int
  FROM shipment_facts f WHERE f.account_id = $1 AND f.livemode = $2 AND f.id = ANY ($5::uuid[]) AND f.day >= $3 AND f.day < $4
)
SELECT day, carrier, status, state, currency, sum(n)::bigint, sum(minor)::bigint, sum(promised)::bigint, sum(on_time)::bigint
FROM lines GROUP BY 1, 2, 3, 4, 5 HAVING sum(n) <> 0`

const sqlTailTallies = `
SELECT x.day, x.carrier, x.status, x.state, x.currency, count(*), sum(x.minor)::bigint, count(*) FILTER (WHERE x.promised), count(*) FILTER (WHERE x.on_time)
FROM (
  SELECT ` + factColumns + `
  FROM unnest($5::uuid[]) AS k (id)
  JOIN shipments s ON s.account_id = $1 AND s.livemode = $2 AND s.id = k.id
  JOIN journeys j ON j.account_id = $1 AND j.livemode = $2 AND j.id = k.id
  ` + ofDeal + `
  WHERE j.sequence > 0
) x WHERE x.day >= $3 AND x.day < $4
GROUP BY 1, 2, 3, 4, 5`

// Tallies counts the tenant's shipments that were made from one day to before
// another. It reports whether the past is all counted. Days and carriers may
// come more than once.
func (s *Store) Tallies(ctx context.Context, t ship.Tenant, from, until time.Time) (list []Tally, ready bool, err error) {
	tail, ready, err := s.tail(ctx, t)
	if err != nil {
		return nil, false, err
	}
	read := func(r pgx.Rows) error {
		var a Tally
		err := r.Scan(&a.Day, &a.Carrier, (*string)(&a.Status), (*string)(&a.State), &a.Price.Currency, &a.Count, &a.Price.Minor, &a.Promised, &a.OnTime)
		list = append(list, a)
		return err
	}
	args := []any{[16]byte(t.Account.Raw()), t.Livemode, from, until, tail}
	b := s.newBatch(t)
	b.Queue(sqlPlanAnew)
	b.Queue(sqlTallies, args...).Query(func(rows pgx.Rows) error { return each(rows, read) })
	if len(tail) > 0 {
		b.Queue(sqlPlanOnce)
		b.Queue(sqlTailTallies, args...).Query(func(rows pgx.Rows) error { return each(rows, read) })
	}
	return list, ready, s.send(ctx, b)
}
