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

// sqlTallies adds to the counts of days what the tail changes in them: each of
// its shipments leaves the line of its facts and joins that of its rows.
const sqlTallies = `
WITH ` + tail + `, lines AS (
  SELECT d.day, d.carrier, d.status, d.state, d.currency, d.shipments AS n, d.minor, d.promised, d.on_time
  FROM shipment_days d WHERE d.account_id = $1 AND d.livemode = $2 AND d.day >= $3 AND d.day < $4
  UNION ALL
  SELECT x.day, x.carrier, x.status, x.state, x.currency, 1, x.minor, x.promised::int, x.on_time::int
  FROM (SELECT ` + factColumns + ` ` + ofTail + `) x WHERE x.day >= $3 AND x.day < $4
  UNION ALL
  SELECT f.day, f.carrier, f.status, f.state, f.currency, -1, -f.minor, -f.promised::int, -f.on_time::int
  FROM tail t JOIN shipment_facts f ON f.account_id = $1 AND f.livemode = $2 AND f.id = t.id WHERE f.day >= $3 AND f.day < $4
)
SELECT day, carrier, status::text, state::text, currency, sum(n)::bigint, sum(minor)::bigint, sum(promised)::bigint, sum(on_time)::bigint
FROM lines GROUP BY 1, 2, 3, 4, 5 HAVING sum(n) <> 0`

// Tallies counts the tenant's shipments that were made from one day to before
// another. It reports whether the past is all counted.
func (s *Store) Tallies(ctx context.Context, t ship.Tenant, from, until time.Time) (list []Tally, ready bool, err error) {
	b := s.newBatch(t)
	b.Queue(sqlRolledUp).QueryRow(func(r pgx.Row) error { return r.Scan(&ready) })
	b.Queue(sqlTallies, [16]byte(t.Account.Raw()), t.Livemode, from, until).Query(func(rows pgx.Rows) error {
		return each(rows, func(r pgx.Rows) error {
			var a Tally
			err := r.Scan(&a.Day, &a.Carrier, (*string)(&a.Status), (*string)(&a.State), &a.Price.Currency, &a.Count, &a.Price.Minor, &a.Promised, &a.OnTime)
			list = append(list, a)
			return err
		})
	})
	return list, ready, s.send(ctx, b)
}
