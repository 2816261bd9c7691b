package batches

import (
	"github.com/waybillhq/waybill/internal/batch"
	"github.com/waybillhq/waybill/internal/budget"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/web/site"
)

// Routes lists the routes of batches.
func Routes() []site.Route {
	upload := site.Post("/app/{account}/{mode}/batches", member.BuyShipments, uploadBatch)
	upload.MaxBytes = batch.MaxBytes + site.MaxForm
	upload.Memory = budget.Orders

	return []site.Route{
		upload,
		site.Get("/app/{account}/{mode}/batches", member.ViewShipments, listBatches),
		site.Get("/app/{account}/{mode}/batches.csv", member.ExportShipments, exportBatches),
		site.Get("/app/{account}/{mode}/batches/template.csv", member.ViewShipments, downloadTemplate),
		site.Get("/app/{account}/{mode}/batches/{id}", member.ViewShipments, getBatch),
		site.Keeping(site.Post("/app/{account}/{mode}/batches/{id}", member.BuyShipments, changeBatch)),
		site.Keeping(site.Post("/app/{account}/{mode}/batches/{id}/columns", member.BuyShipments, mapBatch)),
		site.Get("/app/{account}/{mode}/batches/{id}/rows/{n}", member.BuyShipments, getRow),
		site.Keeping(site.Post("/app/{account}/{mode}/batches/{id}/rows/{n}", member.BuyShipments, changeRow)),
		site.Get("/app/{account}/{mode}/batches/{id}/labels.pdf", member.PrintLabels, downloadPDF),
		site.Get("/app/{account}/{mode}/batches/{id}/labels.zpl", member.PrintLabels, downloadZPL),
		site.Get("/app/{account}/{mode}/batches/{id}/packing-slips.pdf", member.PrintLabels, downloadSlips),
		site.Get("/app/{account}/{mode}/batches/{id}/documents.pdf", member.PrintLabels, downloadDocuments),
		site.Get("/app/{account}/{mode}/batches/{id}/results.csv", member.ExportShipments, exportResults),
	}
}
