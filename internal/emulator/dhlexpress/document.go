package dhlexpress

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

// imageRequest is a document about a shipment.
type imageRequest struct {
	PlannedShippingDate string    `json:"originalPlannedShippingDate"`
	Accounts            []account `json:"accounts"`
	ProductCode         string    `json:"productCode"`
	Images              []image   `json:"documentImages"`
}

type image struct {
	TypeCode    string `json:"typeCode"`
	ImageFormat string `json:"imageFormat"`
	Content     []byte `json:"content"`
}

var (
	imageTypes   = []string{"INV", "PNV", "COO", "CIN", "DCL", "AWB", "NAF"}
	imageFormats = []string{"PDF", "PNG", "GIF", "TIFF", "JPEG"}
	imageNeeds   = []string{"originalPlannedShippingDate", "accounts[].number", "productCode", "documentImages[].content"}
)

// uploadImage answers PATCH /shipments/{number}/upload-image: with a status and no
// body.
func (s standIn) uploadImage(w http.ResponseWriter, r *http.Request) {
	var in imageRequest
	doc, invalid := read(r, &in)
	if invalid == nil {
		invalid = missing(doc, "#", imageNeeds...)
	}
	if invalid != nil {
		refuse(w, r, http.StatusUnprocessableEntity, invalid...)
		return
	}

	number := r.PathValue("number")
	sale, _, isSold := s.Ledger.Sold(number)
	if !isSold || !slices.Contains(in.Accounts, account{"shipper", Account}) {
		refuse(w, r, http.StatusNotFound, "Operation not possible since shipment information not found")
		return
	}
	sold := keptOf(sale)
	file := in.Images[0]
	switch {
	case len(in.Images) != 1 || !slices.Contains(imageTypes, file.TypeCode) || !slices.Contains(imageFormats, file.ImageFormat):
		invalid = []string{"#/documentImages/0: a value is not one of the enum"}
	case in.ProductCode != sold.Product || in.PlannedShippingDate != sold.Planned[:len(time.DateOnly)]:
		invalid = []string{"Operation not possible since the product or the date is not that of the shipment"}
	case !sold.Paperless:
		invalid = []string{"Operation not possible since the shipment does not contain the special service WY"}
	case s.isTooEarly(sale, time.Now()):
		invalid = []string{"Operation not possible since the last request is less than 10 minutes ago"}
	case s.RefusesDay():
		invalid = []string{"Operation not possible since the shipment was collected"}
	}
	if invalid != nil {
		refuse(w, r, http.StatusBadRequest, invalid...)
		return
	}

	_, err := s.Ledger.Append(emulator.Entry{
		Kind:      emulator.DocumentFiled,
		Number:    number + "-" + strconv.Itoa(s.Ledger.Next()),
		ID:        number,
		Reference: r.Header.Get("Message-Reference"),
		Service:   file.TypeCode,
		Account:   Account,
		Kept:      encode(file),
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	s.AnswerDay(w, r, emulator.Answer{Status: http.StatusOK, ContentType: "application/json"})
}

// isTooEarly reports whether DHL has not finished with what came before.
func (s standIn) isTooEarly(sale emulator.Entry, now time.Time) bool {
	last := sale.At
	for _, filed := range s.Ledger.Documents(sale.Number) {
		last = filed.At
	}
	return now.Sub(last) < time.Duration(s.Faults().DocumentsApart)
}

// showImages answers GET /shipments/{number}/get-image: with the invoices that
// were uploaded for a shipment.
func (s standIn) showImages(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	number := r.PathValue("number")
	sale, _, isSold := s.Ledger.Sold(number)
	if !isSold || query.Get("shipperAccountNumber") != Account || query.Get("typeCode") != "commercial-invoice" ||
		query.Get("pickupYearAndMonth") != keptOf(sale).Planned[:len("2006-01")] {
		refuse(w, r, http.StatusNotFound, "1504: No document images found for the provided search criteria.")
		return
	}

	var shown []any
	for _, filed := range s.Ledger.Documents(number) {
		file := imageOf(filed)
		if filed.Service != "CIN" && filed.Service != "INV" {
			continue
		}
		shown = append(shown, map[string]any{
			"shipmentTrackingNumber": number,
			"typeCode":               "commercial-invoice",
			"encodingFormat":         file.ImageFormat,
			"content":                file.Content,
		})
	}
	if len(shown) == 0 {
		refuse(w, r, http.StatusNotFound, "1504: No document images found for the provided search criteria.")
		return
	}
	reply(w, http.StatusOK, map[string]any{"documents": shown})
}

func imageOf(filed emulator.Entry) (file image) {
	if err := json.Unmarshal(filed.Kept, &file); err != nil {
		panic(err) // this package wrote the ledger entry
	}
	return file
}
