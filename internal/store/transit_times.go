package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// A Route is how a shipment was sent.
type Route struct {
	Carrier, Service string
	From, To         ship.Address
	Sent             ship.Date
}

const sqlRoutes = `
SELECT s.account_id, s.livemode, s.id, coalesce(s.carrier, ''), coalesce(s.purchase->>'service', ''),
  s.request->'origin', s.request->'destination', coalesce(s.request->>'shipDate', '')
FROM ` + subjectKeys + ` JOIN shipments s USING (account_id, livemode, id)`

// Routes returns how the parcels were sent; those that were not bought here are
// left out.
func (s *Store) Routes(ctx context.Context, parcels []ship.Subject) (map[ship.Subject]Route, error) {
	routes := make(map[ship.Subject]Route, len(parcels))
	var parcel ship.Subject
	var route Route
	targets := append(subjectTargets(&parcel), &route.Carrier, &route.Service, &route.From, &route.To, &route.Sent)
	err := selectEach(ctx, s.sys, targets, func() error {
		routes[parcel] = route
		return nil
	}, sqlRoutes, subjectArgs(parcels))
	if err != nil {
		return nil, fmt.Errorf("read routes: %w", err)
	}
	return routes, nil
}

// A Lane is a service of a carrier from one area to another, of a tenant.
type Lane struct {
	Tenant              ship.Tenant
	Carrier, Service    string
	Origin, Destination string // areas
}

func (l Lane) compare(other Lane) int {
	return cmp.Or(
		l.Tenant.Compare(other.Tenant),
		strings.Compare(l.Origin, other.Origin),
		strings.Compare(l.Destination, other.Destination),
		strings.Compare(l.Carrier, other.Carrier),
		strings.Compare(l.Service, other.Service),
	)
}

// sqlCountDeliveries halves the counts of a lane once they pass 500 deliveries,
// so that recent ones weigh more.
const sqlCountDeliveries = `
INSERT INTO transit_times AS t (account_id, livemode, carrier, service, origin_area, destination_area,
  deliveries, deliveries_by_day)
SELECT account_id, livemode, carrier, service, origin_area, destination_area,
  deliveries, deliveries_by_day::int[]
FROM unnest(@accounts::uuid[], @livemodes::boolean[], @carriers::text[], @services::text[],
  @origins::text[], @destinations::text[], @deliveries::int[], @days::text[])
  AS v (account_id, livemode, carrier, service, origin_area, destination_area, deliveries, deliveries_by_day)
ON CONFLICT (account_id, livemode, origin_area, destination_area, carrier, service) DO UPDATE SET
  deliveries = (t.deliveries + excluded.deliveries) / CASE WHEN t.deliveries > 500 THEN 2 ELSE 1 END,
  deliveries_by_day = (
    SELECT array_agg((a + b) / CASE WHEN t.deliveries > 500 THEN 2 ELSE 1 END ORDER BY n)
    FROM unnest(t.deliveries_by_day, excluded.deliveries_by_day) WITH ORDINALITY AS v (a, b, n))`

// CountDeliveries adds to what is known of lanes, in one statement. The rows are
// locked in one order, so that batches that overlap cannot deadlock.
func (s *Store) CountDeliveries(ctx context.Context, took map[Lane]ship.TransitDays) error {
	if len(took) == 0 {
		return nil
	}
	lanes := slices.SortedFunc(maps.Keys(took), Lane.compare)

	list := columns{}
	for _, lane := range lanes {
		delivered := 0
		for _, n := range took[lane] {
			delivered += n
		}

		list.addTenant(lane.Tenant)
		list.add("carriers", lane.Carrier)
		list.add("services", lane.Service)
		list.add("origins", lane.Origin)
		list.add("destinations", lane.Destination)
		list.add("deliveries", delivered)
		list.add("days", "{"+strings.Trim(strings.ReplaceAll(fmt.Sprint(took[lane]), " ", ","), "[]")+"}")
	}

	_, err := s.sys.Exec(ctx, sqlCountDeliveries, list.args())
	return explain(err)
}

const sqlLanes = `
SELECT carrier, service, deliveries_by_day FROM transit_times
WHERE account_id = @account AND livemode = @livemode AND origin_area = @origin AND destination_area = @destination`

// Lanes returns how long the tenant's parcels took from one area to another.
func (s *Store) Lanes(ctx context.Context, t ship.Tenant, origin, destination string) (map[Lane]ship.TransitDays, error) {
	lanes := map[Lane]ship.TransitDays{}
	lane := Lane{Tenant: t, Origin: origin, Destination: destination}
	var counts []int
	err := s.queryEach(ctx, t, []any{&lane.Carrier, &lane.Service, &counts}, func() error {
		var days ship.TransitDays
		copy(days[:], counts)
		lanes[lane] = days
		return nil
	}, sqlLanes, tenantArgs(t, nil, pgx.NamedArgs{"origin": origin, "destination": destination}))
	return lanes, err
}
