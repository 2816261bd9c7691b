package dhlexpress

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// documentTypes are DHL's codes of the documents that clients upload. It takes no
// others.
var documentTypes = map[string]string{
	"commercial_invoice":    "CIN",
	"certificate_of_origin": "COO",
	"declaration":           "DCL",
}

// imageFormats are DHL's names of the formats that clients upload.
var imageFormats = map[string]string{
	"pdf": "PDF",
	"png": "PNG",
	"jpg": "JPEG",
}

// documentsApart is how long DHL wants between a purchase and a document, and
// between two documents.
const documentsApart = 10 * time.Minute

type imageRequest struct {
	PlannedShippingDate string    `json:"originalPlannedShippingDate"`
	Accounts            []account `json:"accounts"`
	ProductCode         string    `json:"productCode"`
	Images              []image   `json:"documentImages"`
}

type image struct {
	TypeCode    string `json:"typeCode"`
	ImageFormat string `json:"imageFormat"`
	Content     []byte `json:"content"` // base64
}

// UploadDocument adds a document to a shipment that was bought with paperless
// trade. DHL confirms it by the status of its answer alone.
func (d driver) UploadDocument(ctx context.Context, document carrier.DocumentRequest) (ship.DocumentReceipt, error) {
	if !readSelection(document.Purchase.Selection).paperless {
		return ship.DocumentReceipt{}, ship.Errorf(ship.Invalid, "DHL Express takes documents only for shipments with paperless trade, which was not offered for this one: print the document and attach it to the parcel")
	}
	product, err := productOf(document.Purchase.Service, soldLane(document.Order))
	if err != nil {
		return ship.DocumentReceipt{}, err
	}

	path := "/shipments/" + url.PathEscape(document.Purchase.TrackingNumber) + "/upload-image"
	call := d.call(http.MethodPatch, path, nil, document.Reference)
	call.Effect = true
	call.Body = imageRequest{
		PlannedShippingDate: plannedAt(document).Format(time.DateOnly),
		Accounts:            []account{{"shipper", d.account}},
		ProductCode:         product,
		Images: []image{{
			TypeCode:    documentTypes[document.Document.Type],
			ImageFormat: imageFormats[document.Document.Format],
			Content:     document.Document.Data,
		}},
	}

	var answer struct{}
	if err := call.Do(ctx, withoutBody{d.via}, &answer); err != nil {
		return ship.DocumentReceipt{}, explainDocument(err)
	}
	return ship.DocumentReceipt{}, nil
}

// explainDocument says what a refused document means.
func explainDocument(err error) error {
	refused := *ship.ErrorOf(err)
	switch {
	case refused.Kind == ship.NotFound && refused.Refusal.Message == "":
		refused.Kind = ship.Unavailable
		refused.Message = "the response did not come from DHL Express; check the configured URL"
	case refused.Kind == ship.NotFound, refused.Kind == ship.Invalid:
		refused.Kind = ship.Invalid
		refused.Message = "DHL Express did not accept the document"
	}
	return &refused
}

// shownInvoice is the type of invoices in a look-up, the only documents of clients
// that DHL shows.
const shownInvoice = "commercial-invoice"

// FindDocument looks for an invoice among those of the shipment. DHL shows its own
// invoice too, so only one with the same content is the client's: any other proves
// nothing. An answer with large files is not read, and the document needs review.
func (d driver) FindDocument(ctx context.Context, document carrier.DocumentRequest) (ship.DocumentReceipt, error) {
	if document.Document.Type != "commercial_invoice" {
		return ship.DocumentReceipt{}, ship.Errorf(ship.Unsupported, "DHL Express shows no documents of this type")
	}
	path := "/shipments/" + url.PathEscape(document.Purchase.TrackingNumber) + "/get-image"
	query := url.Values{
		"shipperAccountNumber": {d.account},
		"typeCode":             {shownInvoice},
		"pickupYearAndMonth":   {plannedAt(document).Format("2006-01")},
	}

	var answer proofAnswer
	if err := d.call(http.MethodGet, path, query, "").Do(ctx, d.via, &answer); err != nil {
		return ship.DocumentReceipt{}, lookupError(err)
	}
	if answer.Documents == nil {
		return ship.DocumentReceipt{}, ship.Errorf(ship.Unavailable, "DHL Express did not confirm whether it has the document")
	}
	for _, shown := range answer.Documents {
		if bytes.Equal(shown.Content, document.Document.Data) {
			return ship.DocumentReceipt{}, nil
		}
	}
	return ship.DocumentReceipt{}, ship.Errorf(ship.Unsupported, "DHL Express shows an invoice that is not this document, and does not say whether it has this one too")
}

// plannedAt returns when the shipment was to be handed over, as the purchase said.
func plannedAt(document carrier.DocumentRequest) time.Time {
	var c checker // the order was checked at the purchase
	return c.handover(document.Order, document.Purchase.BoughtAt)
}

// soldLane returns the lane of an order that was bought.
func soldLane(order ship.Order) lane {
	from := carrierkit.PlaceOf(order.Origin)
	to := carrierkit.PlaceOf(order.Destination)
	isPaper := order.Customs != nil && order.Customs.ContentsType == "documents"
	return laneOf(from, to, !isPaper && carrierkit.CrossesCustoms(from, to))
}
