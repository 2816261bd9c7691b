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

// sqlTallies counts the newest shipments since a time. The reach bounds what
// it reads in an account of any size.
const sqlTallies = `
WITH newest AS MATERIALIZED (
  SELECT s.id, s.carrier, s.deal FROM shipments s
  WHERE s.account_id = $1 AND s.livemode = $2 AND s.id >= $3 ORDER BY s.id DESC LIMIT $4
), known AS (
  SELECT date_trunc('day', to_timestamp(('x' || translate(left(n.id::text, 13), '-', ''))::bit(48)::bigint / 1000.0) AT TIME ZONE 'UTC') AS day,
    coalesce(n.carrier, '') AS carrier, j.status, j.state, coalesce(n.deal -> 'price' ->> 'Currency', '') AS currency,
    coalesce((n.deal -> 'price' ->> 'Minor')::bigint, 0) AS minor,
    j.status = 'delivered' AND n.deal ->> 'estimateAt' IS NOT NULL AS promised,
    j.status = 'delivered' AND (j.newest_at AT TIME ZONE 'UTC')::date <= (n.deal ->> 'estimateAt')::date AS on_time
  FROM newest n JOIN journeys j ON j.account_id = $1 AND j.livemode = $2 AND j.id = n.id
  WHERE j.sequence > 0
)
SELECT day, carrier, status::text, state::text, currency, count(*), sum(minor)::bigint, count(*) FILTER (WHERE promised), count(*) FILTER (WHERE on_time)
FROM known GROUP BY 1, 2, 3, 4, 5`

// Tallies counts the tenant's newest shipments since a time, at most reach of
// them.
func (s *Store) Tallies(ctx context.Context, t ship.Tenant, since time.Time, reach int) ([]Tally, error) {
	from, _ := idBounds(since, time.Time{}, ship.RawID{})
	var list []Tally
	err := s.queryRows(ctx, t, func(r pgx.Rows) error {
		var a Tally
		var status, state string
		err := r.Scan(&a.Day, &a.Carrier, &status, &state, &a.Price.Currency, &a.Count, &a.Price.Minor, &a.Promised, &a.OnTime)
		a.Status, a.State = ship.Status(status), ship.State(state)
		list = append(list, a)
		return err
	}, sqlTallies, [16]byte(t.Account.Raw()), t.Livemode, [16]byte(from), reach)
	return list, err
}

// sqlTroubled lists those of the newest shipments that need a look.
const sqlTroubled = `
SELECT ` + shipmentColumns + `
FROM (
  SELECT * FROM shipments WHERE account_id = $1 AND livemode = $2 AND id >= $3 ORDER BY id DESC LIMIT $4
) s
JOIN journeys j ON j.account_id = $1 AND j.livemode = $2 AND j.id = s.id
WHERE (j.status = 'exception' AND j.state NOT IN ('voided', 'failed') OR j.state IN ('needs_review', 'uncertain')) AND j.sequence > 0
ORDER BY s.id DESC LIMIT $5`

// Troubled lists the newest shipments that need a person: exceptions, and
// purchases whose outcome is not known.
func (s *Store) Troubled(ctx context.Context, t ship.Tenant, since time.Time, reach, limit int) ([]ship.Shipment, error) {
	from, _ := idBounds(since, time.Time{}, ship.RawID{})
	return s.shipmentList(ctx, t, sqlTroubled, [16]byte(t.Account.Raw()), t.Livemode, [16]byte(from), reach, limit)
}
