package shipments

import (
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/site"
)

// printPackingSlip handles GET /app/{account}/{mode}/shipments/{id}/packing-slip.
func printPackingSlip(v *site.Visit) error {
	id, ok := ship.ParseShipmentID(v.Request.PathValue("id"))
	if !ok {
		return ship.Coded(ship.NotFound, "shipment_not_found", "no such shipment")
	}
	return sendSlips(v, []ship.ShipmentID{id}, paperOf(v.Query("paper")), string(id)+"-packing-slip")
}

// printSelectedSlips handles POST /app/{account}/{mode}/shipments/packing-slips.pdf.
func printSelectedSlips(v *site.Visit) error {
	return withSelection(v, func(list []ship.Shipment) error {
		return sendSlips(v, idsOf(list), paperOf(v.Form("paper")), "packing-slips")
	})
}

func sendSlips(v *site.Visit, ids []ship.ShipmentID, paper label.Size, name string) error {
	data, err := v.Shipping.PackingSlips(v.Context(), v.Tenant(), ids, paper)
	if err != nil {
		return err
	}

	header := v.Writer.Header()
	header.Set("Content-Type", label.PDF.ContentType())
	header.Set("Content-Disposition", `inline; filename="`+name+`.pdf"`)
	v.Writer.Write(data) // the client may have disconnected
	return nil
}
