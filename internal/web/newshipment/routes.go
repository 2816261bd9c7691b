package newshipment

import (
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/web/site"
)

// Routes lists the routes of the form for a new shipment, its rates, the
// purchase, and the saved boxes that it offers.
func Routes() []site.Route {
	return []site.Route{
		site.Get("/app/{account}/{mode}/shipments/new", member.BuyShipments, getForm),
		site.Keeping(site.Post(site.PurchasePath, member.BuyShipments, buyShipment)),
		site.Keeping(site.Post("/app/{account}/{mode}/shipments/rates", member.BuyShipments, getRates)),

		site.Keeping(site.Post("/app/{account}/{mode}/shipments/address", member.BuyShipments, getVerdict)),
		site.Keeping(site.Post("/app/{account}/{mode}/shipments/points", member.BuyShipments, getPoints)),
		site.Keeping(site.Post("/app/{account}/{mode}/shipments/duties", member.BuyShipments, getDuties)),
		site.Keeping(site.Post("/app/{account}/{mode}/shipments/fields", member.BuyShipments, getFields)),
		site.Get("/app/{account}/{mode}/boxes", member.BuyShipments, listBoxes),
		site.Keeping(site.Post("/app/{account}/{mode}/boxes", member.BuyShipments, addBox)),
		site.Post("/app/{account}/{mode}/boxes/{id}/remove", member.BuyShipments, removeBox),
	}
}
