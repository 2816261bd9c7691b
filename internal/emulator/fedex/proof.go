package fedex

import (
	"net/http"
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

// prove returns a letter about a delivery, once there is one.
func (f *fedex) prove(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Detail struct{ DocumentType, DocumentFormat string } `json:"trackDocumentDetail"`
		Of     []struct {
			Number        struct{ TrackingNumber string } `json:"trackingNumberInfo"`
			ShipDateBegin string
			ShipDateEnd   string
			AccountNumber string
		} `json:"trackDocumentSpecification"`
	}
	if !read(w, r, &request) {
		return
	}
	formats := []string{"", "PDF"}
	if request.Detail.DocumentType != "SIGNATURE_PROOF_OF_DELIVERY" || !slices.Contains(formats, request.Detail.DocumentFormat) || len(request.Of) != 1 {
		refuse(w, r, http.StatusBadRequest, "TRACKING.DOCUMENTTYPE.INVALID", "Please provide a valid document type and one tracking number.")
		return
	}

	asked := request.Of[0]
	entry, voided, known := f.Ledger.Sold(asked.Number.TrackingNumber)
	sale := memory(entry)
	if bad := checkWindow(asked.ShipDateBegin, asked.ShipDateEnd, sale.From.today(time.Now())); bad != nil {
		refuse(w, r, http.StatusBadRequest, bad.code, bad.message)
		return
	}
	isInWindow := asked.ShipDateBegin == "" || asked.ShipDateBegin <= sale.ShipDate && sale.ShipDate <= asked.ShipDateEnd
	if !known || !isInWindow {
		refuse(w, r, http.StatusBadRequest, "TRACKING.TRACKINGNUMBER.NOTFOUND", "Tracking number cannot be found. Please correct the tracking number and try again.")
		return
	}

	isDelivered := slices.ContainsFunc(f.life(entry), func(s emulator.Scan) bool { return s.Code == "DL" })
	if voided || !isDelivered {
		refuse(w, r, http.StatusBadRequest, "TRACKINGDOCUMENT.DOCUMENT.UNAVAILABLE", "Signature Proof of Delivery is not currently available for this Tracking Number. Availability of signature images may take up to 5 days after delivery date. Please try later.")
		return
	}

	output := object{
		"localization":   object{"localeCode": "US", "languageCode": "en"},
		"documentType":   "SIGNATURE_PROOF_OF_DELIVERY",
		"documentFormat": "PDF",
	}
	// The signature is only for the account that paid.
	title := "PROOF OF DELIVERY " + asked.Number.TrackingNumber
	if asked.AccountNumber == entry.Account {
		title = "SIGNATURE " + title
	}
	output["documents"] = [][]byte{page(title)}
	answer(w, r, output)
}
