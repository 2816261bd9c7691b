package tracking

import (
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// deliveries counts how long the delivered among the parcels took, by lane.
// They are those whose watch ends, so that each is counted once. What was not
// sent for real says nothing.
func deliveries(journeys []ship.Journey, routes map[ship.Subject]store.Route) map[store.Lane]ship.TransitDays {
	took := map[store.Lane]ship.TransitDays{}
	for _, j := range journeys {
		r, known := routes[j.Subject]
		if !known || !j.Tenant.Livemode || j.Progress.Status != ship.Delivered || r.Sent == "" {
			continue
		}
		lane := store.Lane{Tenant: j.Tenant, Carrier: r.Carrier, Service: r.Service, Origin: r.From.Area(), Destination: r.To.Area()}
		there := j.NewestAt.UTC().Add(time.Duration(clockAt(r.To.Country, r.To.State).hours) * time.Hour)
		days := took[lane]
		days.Add(int(there.Truncate(day).Sub(r.Sent.Time()) / day))
		took[lane] = days
	}
	return took
}
