package fedex

import (
	"context"
	"errors"
	"net/http"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

const documentPath = "/documents/v1/etds/encodedmultiupload"

// FedEx takes documents on hosts of their own.
const (
	liveDocuments = "https://documentapi.prod.fedex.com"
	testDocuments = "https://documentapitest.prod.fedex.com/sandbox"
)

// documentsAfter announces at the purchase that documents follow.
const documentsAfter = "POST_SHIPMENT_UPLOAD_REQUESTED"

// documentTypes are FedEx's names of the documents that clients upload; it has no
// other ones.
var documentTypes = map[string]string{
	"commercial_invoice":    commercialInvoice,
	"certificate_of_origin": "CERTIFICATE_OF_ORIGIN",
	"packing_list":          "OTHER",
	"export_license":        "OTHER",
	"import_permit":         "OTHER",
	"declaration":           "OTHER",
	"power_of_attorney":     "OTHER",
	"other":                 "OTHER",
}

// contentTypes are the media types of the formats that clients upload.
var contentTypes = map[string]string{
	"pdf": "application/pdf",
	"png": "image/png",
	"jpg": "image/jpeg",
}

// A document for customs.
type (
	documentRequest struct {
		WorkflowName           string         `json:"workflowName"`
		CarrierCode            string         `json:"carrierCode"`
		OriginCountryCode      string         `json:"originCountryCode"`
		DestinationCountryCode string         `json:"destinationCountryCode"`
		ShipmentDate           string         `json:"shipmentDate"`
		TrackingNumber         string         `json:"trackingNumber"`
		Files                  []documentFile `json:"metaData"`
	}
	documentFile struct {
		Reference   string `json:"fileReferenceId"`
		ContentType string `json:"contentType"`
		Type        string `json:"shipDocumentType"`
		Content     []byte `json:"fileContentBase64"`
	}
	documentAnswer struct {
		Output struct {
			Responses []struct {
				Reference string `json:"fileReferenceId"`
				MetaData  struct {
					DocID string `json:"docId"`
				} `json:"metaData"`
			} `json:"documentResponses"`
		} `json:"output"`
	}
)

// UploadDocument sends a document about a shipment whose purchase announced it.
// FedEx keeps a second copy of a document that is sent twice, and shows none, so
// it is never repeated.
func (d *driver) UploadDocument(ctx context.Context, document carrier.DocumentRequest) (ship.DocumentReceipt, error) {
	body, err := documentOf(document)
	if err != nil {
		return ship.DocumentReceipt{}, err
	}

	var answer documentAnswer
	err = d.call(ctx, d.ship, carrierkit.Call{
		Method: http.MethodPost,
		URL:    documentHost(d.base) + documentPath,
		Body:   body,
		Effect: true,
		Header: http.Header{"X-Customer-Transaction-Id": {document.Reference}},
	}, &answer)
	if err != nil {
		return ship.DocumentReceipt{}, explainDocument(err)
	}
	for _, response := range answer.Output.Responses {
		if id := response.MetaData.DocID; id != "" {
			return ship.DocumentReceipt{ID: id}, nil
		}
	}
	return ship.DocumentReceipt{}, ship.Errorf(ship.Uncertain, "FedEx did not confirm whether it received the document")
}

// documentHost returns where documents go: FedEx's own hosts, or the address that
// the connection was given instead of FedEx's.
func documentHost(base string) string {
	switch base {
	case Spec.LiveURL:
		return liveDocuments
	case Spec.TestURL:
		return testDocuments
	}
	return base
}

// documentOf returns a document as FedEx takes it after the purchase.
func documentOf(document carrier.DocumentRequest) (documentRequest, error) {
	order := document.Order
	chosen, ok := serviceByCode(document.Purchase.Service)
	if !ok {
		return documentRequest{}, ship.Errorf(ship.Invalid, "FedEx has no service %q", document.Purchase.Service)
	}

	// FedEx wants the ship date of the purchase, at midnight.
	day := order.ShipDate
	if day == "" {
		day = ship.DateOf(document.Purchase.BoughtAt)
	}
	lane := laneOf(&order)
	return documentRequest{
		WorkflowName:           "ETDPostshipment",
		CarrierCode:            chosen.company(),
		OriginCountryCode:      countryOf(lane.from),
		DestinationCountryCode: countryOf(lane.to),
		ShipmentDate:           string(day) + "T00:00:00",
		TrackingNumber:         document.Purchase.TrackingNumber,
		Files: []documentFile{{
			Reference:   document.Reference,
			ContentType: contentTypes[document.Document.Format],
			Type:        documentTypes[document.Document.Type],
			Content:     document.Document.Data,
		}},
	}, nil
}

// explainDocument says what a refused document means.
func explainDocument(err error) error {
	failed, ok := errors.AsType[*ship.Error](err)
	if !ok {
		return err
	}
	refused := *failed
	switch {
	case isForbidden(err):
		refused.Message = "FedEx does not allow this project to upload documents; add the Trade Documents Upload API to it in the developer portal"
	case errors.Is(err, carrierkit.Status(http.StatusNotFound)) && refused.Refusal.Code == "":
		// FedEx would have said what it did not find: this is a proxy.
		refused.Kind = ship.Unavailable
		refused.Message = "FedEx does not take documents at the configured URL"
	case refused.Kind == ship.Invalid || refused.Kind == ship.NotFound:
		refused.Kind = ship.Invalid
		refused.Fields = nil // they are those of an order
		refused.Message = "FedEx did not accept the document"
	}
	return &refused
}
