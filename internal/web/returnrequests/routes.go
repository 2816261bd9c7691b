// Package returnrequests has the pages about returns that recipients ask for: what
// waits for a decision, what became of the others, and the account's rule.
package returnrequests

import (
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/web/site"
)

// Routes lists the routes of returns.
func Routes() []site.Route {
	return []site.Route{
		site.Get("/app/{account}/{mode}/returns", member.ViewShipments, listRequests),
		site.Post("/app/{account}/{mode}/returns/{id}/approve", member.BuyShipments, approve),
		site.Post("/app/{account}/{mode}/returns/{id}/deny", member.BuyShipments, deny),
		site.Get("/app/{account}/{mode}/settings/returns", member.ViewSettings, getRule),
		site.Post("/app/{account}/{mode}/settings/returns", member.ManageSettings, saveRule),
	}
}
