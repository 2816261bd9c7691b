package shipments

import (
	"errors"
	"net/http"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
)

// uploadDocument handles POST /app/{account}/{mode}/shipments/{id}/documents: a
// file that is kept with the shipment.
func uploadDocument(v *site.Visit) error {
	id, ok := ship.ParseShipmentID(v.Request.PathValue("id"))
	if !ok {
		return site.ErrNoPage
	}

	var data []byte
	file, header, err := v.Request.FormFile("file")
	if err == nil {
		defer file.Close()
		data, err = site.ReadFile(file, header)
	}
	switch _, isTooLarge := errors.AsType[*http.MaxBytesError](err); {
	case isTooLarge:
		return ship.Coded(ship.Invalid, "too_long", "the file is larger than 10 MiB")
	case err != nil:
		data = nil // the service says what it expects
	}

	if _, err := v.Shipping.AddDocument(v.Context(), v.Tenant(), id, v.Form("type"), data); err != nil {
		return err
	}
	return v.Redirect(v.To("shipments", string(id)), "")
}

// uploadChoices are the types of documents to choose from.
func uploadChoices() []parts.Choice {
	list := make([]parts.Choice, len(ship.UploadTypes))
	for i, kind := range ship.UploadTypes {
		list[i] = parts.Choice{Value: kind, Title: parts.Plain(kind)}
	}
	return list
}

// documents are the types of all documents of the shipment, in their order.
func (p shipmentView) documents() []string {
	return append(append([]string{}, p.Purchase.Documents...), p.Uploads...)
}
