package ups

import (
	"context"
	"net/http"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// documentTypes are UPS's codes of the documents that clients upload.
var documentTypes = map[string]string{
	"commercial_invoice":    "002",
	"certificate_of_origin": "003",
	"export_license":        "005",
	"import_permit":         "006",
	"other":                 "008",
	"power_of_attorney":     "009",
	"packing_list":          "010",
	"declaration":           "013",
}

// UPS's codes in documents.
const (
	codeNoUploads = "9590018" // the account may not upload documents
	smallPackage  = "1"
)

// Documents, in two steps: one puts a file into the account's Forms History, the
// other attaches it to a shipment.
type (
	uploadRequest struct {
		UploadRequest upload
	}
	upload struct {
		Request         request
		ShipperNumber   string
		UserCreatedForm []uploadedForm
	}
	uploadedForm struct {
		UserCreatedFormFileName     string
		UserCreatedFormFileFormat   string
		UserCreatedFormDocumentType string
		UserCreatedFormFile         []byte // base64
	}
	uploadAnswer struct {
		UploadResponse struct {
			FormsHistoryDocumentID struct {
				DocumentID texts
			}
		}
	}
	attachRequest struct {
		PushToImageRepositoryRequest attachment
	}
	attachment struct {
		Request                request
		ShipperNumber          string
		FormsHistoryDocumentID struct {
			DocumentID []string
		}
		ShipmentIdentifier  string
		ShipmentDateAndTime string
		ShipmentType        string
		TrackingNumber      []string
	}
	attachAnswer struct {
		PushToImageRepositoryResponse struct {
			Response struct {
				ResponseStatus coded
			}
			FormsGroupID text
		}
	}
)

// UploadDocument uploads a document to the Forms History of the account and
// attaches it to the shipment. UPS shows neither, so an answer that is lost at
// either step leaves the outcome uncertain.
func (d *driver) UploadDocument(ctx context.Context, document carrier.DocumentRequest) (ship.DocumentReceipt, error) {
	if isPlaceholder(document.Purchase.TrackingNumber) {
		return ship.DocumentReceipt{}, ship.Errorf(ship.Unsupported, "UPS's test environment keeps no shipments to attach documents to")
	}

	var uploaded uploadAnswer
	err := d.call(ctx, carrierkit.Call{
		Method: http.MethodPost,
		URL:    d.base + "/paperlessdocuments/v2/upload",
		Header: http.Header{"ShipperNumber": {d.account}},
		Body:   uploadRequest{d.uploadOf(document)},
		Effect: true,
	}, &uploaded)
	if err != nil {
		return ship.DocumentReceipt{}, explainDocument(err)
	}
	ids := uploaded.UploadResponse.FormsHistoryDocumentID.DocumentID
	if len(ids) != 1 || ids[0] == "" {
		return ship.DocumentReceipt{}, ship.Errorf(ship.Uncertain, "UPS did not confirm whether it received the document")
	}

	var attached attachAnswer
	err = d.call(ctx, carrierkit.Call{
		Method: http.MethodPost,
		URL:    d.base + "/paperlessdocuments/v2/image",
		Header: http.Header{"ShipperNumber": {d.account}},
		Body:   attachRequest{d.attachmentOf(document, ids[0])},
		Effect: true,
	}, &attached)
	if err != nil {
		return ship.DocumentReceipt{}, explainDocument(err)
	}
	answer := attached.PushToImageRepositoryResponse
	switch status := answer.Response.ResponseStatus; {
	case status.Code == requestFailed:
		refused := ship.Errorf(ship.Invalid, "UPS did not attach the document to the shipment")
		refused.Refusal = ship.Refusal{Code: status.Code, Message: status.Description}
		return ship.DocumentReceipt{}, refused
	case status.Code != requestSucceeded:
		return ship.DocumentReceipt{}, ship.Errorf(ship.Uncertain, "UPS did not confirm whether the document was attached to the shipment")
	}
	return ship.DocumentReceipt{ID: ids[0]}, nil
}

// uploadOf returns the file as UPS takes it.
func (d *driver) uploadOf(document carrier.DocumentRequest) upload {
	file := document.Document
	return upload{
		Request:       request{TransactionReference: reference{CustomerContext: document.Reference}},
		ShipperNumber: d.account,
		UserCreatedForm: []uploadedForm{{
			UserCreatedFormFileName:     file.Type + "." + file.Format,
			UserCreatedFormFileFormat:   file.Format,
			UserCreatedFormDocumentType: documentTypes[file.Type],
			UserCreatedFormFile:         file.Data,
		}},
	}
}

// attachmentOf returns which shipment a document belongs to.
func (d *driver) attachmentOf(document carrier.DocumentRequest, id string) attachment {
	purchase := document.Purchase
	numbers := purchase.Pieces
	if len(numbers) == 0 {
		numbers = []string{purchase.TrackingNumber}
	}
	attached := attachment{
		Request:             request{TransactionReference: reference{CustomerContext: document.Reference}},
		ShipperNumber:       d.account,
		ShipmentIdentifier:  numbers[0],
		ShipmentDateAndTime: shippedAt(purchase.BoughtAt),
		ShipmentType:        smallPackage,
		TrackingNumber:      numbers,
	}
	attached.FormsHistoryDocumentID.DocumentID = []string{id}
	return attached
}

// shippedAt writes the moment of a purchase.
func shippedAt(at time.Time) string { return at.UTC().Format("2006-01-02-15.04.05") }

// explainDocument says what a refused document means.
func explainDocument(err error) error {
	if isRefusedWith(err, codeNoUploads) {
		return withKind(ship.Forbidden, "UPS does not allow this account to upload documents; ask UPS to enable \"Upload Forms Created Offline\" for it", err)
	}
	if ship.KindOf(err) == ship.NotFound {
		return withKind(ship.Unavailable, "the configured UPS URL does not take documents", err)
	}
	if ship.KindOf(err) == ship.Invalid {
		return withKind(ship.Invalid, "UPS did not accept the document", err)
	}
	return err
}
