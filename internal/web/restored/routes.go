// Package restored has the page on which people decide about live purchases that a restore
// of the database lost.
package restored

import (
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/web/site"
)

// Routes lists the routes of missing purchases.
func Routes() []site.Route {
	return []site.Route{
		site.Get("/app/{account}/{mode}/restored", member.ViewShipments, listMissing),
		site.Get("/app/{account}/{mode}/restored/review", member.DecideMissing, review),
		site.Post("/app/{account}/{mode}/restored", member.DecideMissing, decide),
	}
}
