package tracking

import (
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// transitDays counts how long the delivered parcels took, by route. The parcels
// are those whose polling ends, so that each is counted once. Test shipments
// are left out: they were never sent.
func transitDays(trackingStates []ship.TrackingState, routes map[ship.Subject]store.Route) map[store.Lane]ship.TransitDays {
	byLane := map[store.Lane]ship.TransitDays{}
	for _, trackingState := range trackingStates {
		route, known := routes[trackingState.Subject]
		if !known || !trackingState.Tenant.Livemode || trackingState.Progress.Status != ship.Delivered || route.Sent == "" {
			continue
		}

		lane := store.Lane{
			Tenant:      trackingState.Tenant,
			Carrier:     route.Carrier,
			Service:     route.Service,
			Origin:      route.From.Area(),
			Destination: route.To.Area(),
		}

		// The day of delivery is the one at the destination.
		delivered := clockAt(route.To.Country, route.To.State).date(trackingState.NewestAt)
		days := byLane[lane]
		days.Add(int(delivered.Time().Sub(route.Sent.Time()) / day))
		byLane[lane] = days
	}
	return byLane
}
