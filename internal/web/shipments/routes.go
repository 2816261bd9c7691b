package shipments

import (
	"github.com/waybillhq/waybill/internal/budget"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/site"
)

// Routes lists the routes of the list of shipments and of one shipment.
func Routes() []site.Route {
	upload := site.Post("/app/{account}/{mode}/shipments/{id}/documents", member.BuyShipments, uploadDocument)
	upload.MaxBytes = ship.MaxUploadBytes + site.MaxForm
	upload.Memory = budget.Upload

	return []site.Route{
		upload,
		site.Get("/app/{account}/{mode}/shipments", member.ViewShipments, listShipments),
		site.Get("/app/{account}/{mode}/shipments.csv", member.ExportShipments, exportShipments),
		site.Post("/app/{account}/{mode}/shipments.csv", member.ExportShipments, exportSelected),
		site.Post("/app/{account}/{mode}/shipments/labels.pdf", member.PrintLabels, printSelectedPDF),
		site.Post("/app/{account}/{mode}/shipments/labels.zpl", member.PrintLabels, printSelectedZPL),
		site.Get("/app/{account}/{mode}/label-files/{id}", member.PrintLabels, getLabelFile),
		site.Get("/app/{account}/{mode}/shipments/{id}", member.ViewShipments, getShipment),
		site.Get("/app/{account}/{mode}/shipments/{id}/print", member.PrintLabels, printLabel),
		site.Get("/app/{account}/{mode}/shipments/{id}/label/{file}", member.PrintLabels, downloadLabel),
		site.Get("/app/{account}/{mode}/shipments/{id}/documents/{n}", member.PrintLabels, downloadDocument),
		site.Get("/app/{account}/{mode}/shipments/{id}/proof-of-delivery", member.PrintLabels, downloadProof),
		site.Post("/app/{account}/{mode}/shipments/{id}/documents/{n}/resolve", member.BuyShipments, resolveDocument),
		site.Post("/app/{account}/{mode}/shipments/{id}/void", member.VoidShipments, voidShipment),
		site.Post("/app/{account}/{mode}/shipments/{id}/advance", member.ControlSandbox, advanceShipment),

		site.Get("/app/{account}/{mode}/shipments/{id}/packing-slip", member.PrintLabels, printPackingSlip),
		site.Post("/app/{account}/{mode}/shipments/packing-slips.pdf", member.PrintLabels, printSelectedSlips),

		site.Get("/app/{account}/{mode}/views", member.ViewShipments, listViews),
		site.Post("/app/{account}/{mode}/views", member.ViewShipments, saveView),
		site.Post("/app/{account}/{mode}/views/{id}/delete", member.ViewShipments, deleteView),

		site.Get("/app/{account}/{mode}/bulk", member.ViewShipments, listBulk),
		site.Get("/app/{account}/{mode}/bulk/{id}", member.ViewShipments, getBulk),
		site.Post("/app/{account}/{mode}/bulk/void", member.VoidShipments, voidSelected),
		site.Post("/app/{account}/{mode}/bulk/manifest", member.BuyShipments, manifestSelected),
		site.Post("/app/{account}/{mode}/bulk/return", member.BuyShipments, returnSelected),

		site.Get("/app/{account}/{mode}/shipments/{id}/exchanges", member.ViewRequests, listExchanges),
	}
}
