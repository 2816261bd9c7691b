package overview

import (
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/web/site"
)

// Routes lists the routes of the overview, of what needs attention, and of the
// search.
func Routes() []site.Route {
	return []site.Route{
		site.Get("/app/{account}/{mode}/search", member.ViewShipments, search),

		site.Get("/app/{account}/{mode}", member.ViewOverview, getOverview),

		site.Get("/app/{account}/{mode}/attention", member.ViewShipments, getAttention),
		site.Get("/app/{account}/{mode}/attention.csv", member.ExportShipments, exportAttention),
	}
}
