// Package approvals has the page on which people approve or deny purchases that cost
// more than an API key may spend by itself.
package approvals

import (
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/web/site"
)

// Routes lists the routes of approvals.
func Routes() []site.Route {
	return []site.Route{
		site.Get("/app/{account}/{mode}/approvals", member.ViewShipments, listApprovals),
		site.Post("/app/{account}/{mode}/approvals/{id}/approve", member.BuyShipments, approve),
		site.Post("/app/{account}/{mode}/approvals/{id}/deny", member.BuyShipments, deny),
	}
}
