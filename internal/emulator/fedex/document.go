package fedex

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/waybillhq/waybill/internal/emulator"
)

// FedEx's codes of the documents that it takes, as its answers write them.
var documentCodes = map[string]string{
	"COMMERCIAL_INVOICE":    "CI",
	"CERTIFICATE_OF_ORIGIN": "CO",
	"PRO_FORMA_INVOICE":     "PRO",
	"OTHER":                 "OTHER",
}

// uploadDocument takes a document about a shipment that was bought. Two equal
// requests make two documents. Errors have numbers here, unlike elsewhere.
func (f *fedex) uploadDocument(w http.ResponseWriter, r *http.Request) {
	var request struct {
		WorkflowName           string
		CarrierCode            string
		OriginCountryCode      string
		DestinationCountryCode string
		ShipmentDate           string
		TrackingNumber         string
		MetaData               []struct {
			FileReferenceID   string
			ContentType       string
			ShipDocumentType  string
			FileContentBase64 []byte
		}
	}
	if !read(w, r, &request) {
		return
	}
	bad := func(why string) {
		refuse(w, r, http.StatusBadRequest, "1001", "Invalid request: invalid input : "+why)
	}

	sale, voided, isSold := f.Ledger.Sold(request.TrackingNumber)
	sold := memory(sale)
	switch {
	case request.WorkflowName != "ETDPostshipment" || !slices.Contains(companies, request.CarrierCode):
		bad("workflowName or carrierCode")
		return
	case request.OriginCountryCode == "" || request.DestinationCountryCode == "":
		bad("originCountryCode and destinationCountryCode are Required")
		return
	case len(request.MetaData) != 1 || len(request.MetaData[0].FileContentBase64) == 0:
		bad("no file information")
		return
	case !isSold || voided || request.ShipmentDate != sold.ShipDate+"T00:00:00":
		bad("ETD shipment validation failure : trackingNumber and shipmentDate")
		return
	case !sold.DocumentsFollow:
		bad("ETD shipment validation failure : post-shipment upload was not requested")
		return
	case request.OriginCountryCode != sold.From.CountryCode || request.DestinationCountryCode != sold.To.CountryCode:
		refuse(w, r, http.StatusBadRequest, "1024", "ETD shipment validation failure : Invalid destination country code")
		return
	}
	file := request.MetaData[0]
	code, isKnown := documentCodes[file.ShipDocumentType]
	media := []string{"application/pdf", "image/png", "image/jpeg"}
	if !isKnown || !slices.Contains(media, file.ContentType) {
		bad("shipDocumentType or contentType")
		return
	}
	if f.RefusesDay() {
		bad("the document is refused")
		return
	}

	filed, err := f.Ledger.Append(emulator.Entry{
		Kind:      emulator.DocumentFiled,
		Number:    fmt.Sprintf("090493e1%08d", f.Ledger.Next()),
		ID:        request.TrackingNumber,
		Reference: file.FileReferenceID,
		Service:   file.ShipDocumentType,
		Account:   sale.Account,
	})
	if err != nil {
		f.Fail(w, http.StatusInternalServerError)
		return
	}
	f.answerDay(w, r, http.StatusCreated, object{"documentResponses": []object{{
		"fileReferenceId": file.FileReferenceID,
		"metaData":        object{"documentType": code, "docId": filed.Number, "folderId": []string{"0b0493e1812f8921"}},
	}}})
}
