// Package endofday has the pages for the end of a shipping day: labels are handed
// over to their carriers, and drivers are asked to come.
package endofday

import (
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/web/site"
)

// Routes lists the routes of the end of a day.
func Routes() []site.Route {
	return []site.Route{
		site.Get("/app/{account}/{mode}/end-of-day", member.ViewShipments, getDay),
		site.Post("/app/{account}/{mode}/end-of-day/manifests", member.BuyShipments, closeManifest),
		site.Get("/app/{account}/{mode}/end-of-day/manifests/{id}", member.PrintLabels, printManifest),
		site.Post("/app/{account}/{mode}/end-of-day/manifests/{id}/resolve", member.BuyShipments, resolveManifest),
		site.Post("/app/{account}/{mode}/end-of-day/pickups", member.BuyShipments, bookPickup),
		site.Post("/app/{account}/{mode}/end-of-day/pickups/{id}/cancel", member.BuyShipments, cancelPickup),
		site.Post("/app/{account}/{mode}/end-of-day/pickups/{id}/resolve", member.BuyShipments, resolvePickup),
	}
}
