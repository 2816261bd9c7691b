package shipments

import (
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/web/site"
)

// Routes lists the routes of the list of shipments and of one shipment.
func Routes() []site.Route {
	return []site.Route{
		site.Get("/app/{account}/{mode}/shipments", member.ViewShipments, listShipments),
		site.Get("/app/{account}/{mode}/shipments.csv", member.ExportShipments, exportShipments),
		site.Get("/app/{account}/{mode}/shipments/{id}", member.ViewShipments, getShipment),
		site.Get("/app/{account}/{mode}/shipments/{id}/print", member.PrintLabels, printLabel),
		site.Get("/app/{account}/{mode}/shipments/{id}/label/{file}", member.PrintLabels, downloadLabel),
		site.Get("/app/{account}/{mode}/shipments/{id}/documents/{n}", member.PrintLabels, downloadDocument),
		site.Post("/app/{account}/{mode}/shipments/{id}/void", member.VoidShipments, voidShipment),
		site.Post("/app/{account}/{mode}/shipments/{id}/advance", member.ControlSandbox, advanceShipment),

		site.Get("/app/{account}/{mode}/shipments/{id}/exchanges", member.ViewRequests, listExchanges),
	}
}
