package tracking

import (
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// transitDays counts how long the delivered among the parcels took, by lane.
// The parcels are those whose polling ends, so that each is counted once. Test
// shipments are left out: they were never sent.
func transitDays(journeys []ship.Journey, routes map[ship.Subject]store.Route) map[store.Lane]ship.TransitDays {
	byLane := map[store.Lane]ship.TransitDays{}
	for _, journey := range journeys {
		route, known := routes[journey.Subject]
		if !known || !journey.Tenant.Livemode || journey.Progress.Status != ship.Delivered || route.Sent == "" {
			continue
		}

		lane := store.Lane{
			Tenant:      journey.Tenant,
			Carrier:     route.Carrier,
			Service:     route.Service,
			Origin:      route.From.Area(),
			Destination: route.To.Area(),
		}

		// The day of delivery is the one at the destination.
		ahead := clockAt(route.To.Country, route.To.State).hours
		delivered := journey.NewestAt.UTC().Add(time.Duration(ahead) * time.Hour)
		days := byLane[lane]
		days.Add(int(delivered.Truncate(day).Sub(route.Sent.Time()) / day))
		byLane[lane] = days
	}
	return byLane
}
