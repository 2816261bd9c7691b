package fedex

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

// kept is the part of a sale that tracking needs later.
type kept struct {
	ShipDate  string `json:"shipDate"`
	Commit    string `json:"commit"`
	Carrier   string `json:"carrier"`
	Packaging string `json:"packaging"`
	From      place  `json:"from"`
	To        place  `json:"to"`

	References []reference `json:"references,omitempty"`

	DocumentsFollow bool `json:"documentsFollow,omitempty"`
}

type shipRequest struct {
	AccountNumber        value
	LabelResponseOptions string
	ProcessingOptionType string
	Shipment             shipment `json:"requestedShipment"`
}

// check decodes a purchase and refuses it if FedEx would.
func check(w http.ResponseWriter, r *http.Request) (request shipRequest, ok bool) {
	body, ok := readBody(w, r, &request)
	if !ok {
		return request, false
	}

	bad := request.problem()
	if options := request.LabelResponseOptions; bad == nil && options != "LABEL" && options != "URL_ONLY" {
		bad = &problem{"LABELRESPONSEOPTIONS.REQUIRED", "Label response options are invalid or missing."}
	}
	if bad == nil {
		bad = checkMembers("Ship", body)
	}
	if bad != nil {
		refuse(w, r, http.StatusBadRequest, bad.code, bad.message)
	}
	return request, bad == nil
}

// problem returns why FedEx would not sell the shipment; nil if it would.
func (request *shipRequest) problem() *problem {
	if !knownAccount(request.AccountNumber.Value) {
		return &problem{"ACCOUNT.NUMBER.MISMATCH", "The account number is not valid for the credentials."}
	}
	if bad := request.Shipment.check(); bad != nil {
		return bad
	}
	if bad := request.Shipment.checkSale(); bad != nil {
		return bad
	}
	return request.Shipment.checkDeclaration(request.AccountNumber.Value)
}

// rehearse checks a shipment of one package and sells nothing.
func (f *fedex) rehearse(w http.ResponseWriter, r *http.Request) {
	var request shipRequest
	sent, ok := readBody(w, r, &request)
	if !ok {
		return
	}
	bad := request.problem()
	if bad == nil && len(request.Shipment.Pieces) != 1 {
		bad = &problem{"TOTALPACKAGECOUNT.EXCEEDS.LIMIT", "Only a shipment of one package can be validated."}
	}
	if bad == nil {
		bad = checkMembers("Rehearse", sent)
	}
	if bad != nil {
		refuse(w, r, http.StatusBadRequest, bad.code, bad.message)
		return
	}

	body := envelope(r)
	body["output"] = object{"alerts": []object{{
		"code":      "SHIPMENT.VALIDATION.SUCCESS",
		"message":   "Shipment validated successfully. No errors found.",
		"alertType": "NOTE",
	}}}
	send(w, http.StatusOK, body)
}

// buy sells a label for every package.
func (f *fedex) buy(w http.ResponseWriter, r *http.Request) {
	request, ok := check(w, r)
	if !ok {
		return
	}
	if f.Refuses() {
		f.Fail(w, http.StatusBadRequest)
		return
	}

	s := &request.Shipment
	ordered := services[s.ServiceType]
	quoted := ordered.price(s)
	memory, err := json.Marshal(kept{
		ShipDate:        s.day().Format(time.DateOnly),
		Commit:          quoted.commit.Format(local),
		Carrier:         ordered.carrier,
		Packaging:       s.PackagingType,
		From:            s.Shipper.Address,
		To:              s.to().Address,
		References:      s.Pieces[0].References,
		DocumentsFollow: s.isPaperless() && slices.Contains(s.Special.ETD.Attributes, "POST_SHIPMENT_UPLOAD_REQUESTED"),
	})
	if err != nil {
		f.Fail(w, http.StatusInternalServerError)
		return
	}

	sale := emulator.Entry{
		Account:   request.AccountNumber.Value,
		Reference: s.reference("CUSTOMER_REFERENCE"),
		Second:    r.Header.Get("X-Customer-Transaction-Id"),
		Service:   s.ServiceType,
		Amount:    quoted.net.String(),
		Currency:  quoted.currency,
		Kept:      memory,
	}
	for range s.Pieces {
		sale.Pieces = append(sale.Pieces, f.number())
	}
	sale.Number = sale.Pieces[0]
	f.Sell(w, r, sale, func(entry emulator.Entry) (int, string, []byte) {
		f.webhook.follow(entry)
		return http.StatusOK, "application/json", marshal(sold(r, &request, entry, quoted))
	})
}

// sold returns the answer to a purchase.
func sold(r *http.Request, request *shipRequest, entry emulator.Entry, quoted quote) object {
	s := &request.Shipment
	ordered := services[entry.Service]
	operational := object{"ineligibleForMoneyBackGuarantee": !quoted.guaranteed, "deliveryDate": "", "commitDate": ""}
	if !s.abroad() {
		at := quoted.commit.Format(local)
		operational["deliveryDate"] = at
		operational["commitDate"] = at
		operational["transitTime"] = days[quoted.transit]
	}

	completed := object{
		"usDomestic":        s.Shipper.Address.CountryCode == "US" && !s.abroad(),
		"carrierCode":       ordered.carrier,
		"masterTrackingId":  object{"trackingIdType": "FEDEX", "trackingNumber": entry.Number},
		"operationalDetail": operational,
		"shipmentRating":    object{"actualRateType": "PAYOR_ACCOUNT_SHIPMENT", "shipmentRateDetails": []object{charged(quoted)}},
	}
	if s.isPaperless() {
		completed["completedEtdDetail"] = object{
			"folderId":                       "0b0493e580dc1a1b",
			"type":                           "COMMERCIAL_INVOICE",
			"uploadDocumentReferenceDetails": []object{{"documentType": "COMMERCIAL_INVOICE", "documentId": "090927d680038c61"}},
		}
	}
	shipped := object{
		"serviceType":             entry.Service,
		"serviceName":             ordered.name,
		"shipDatestamp":           s.day().Format(time.DateOnly),
		"masterTrackingNumber":    entry.Number,
		"pieceResponses":          soldPieces(request, entry),
		"completedShipmentDetail": completed,
	}
	if slices.Contains(s.Papers.Types, "COMMERCIAL_INVOICE") && s.Customs != nil {
		shipped["shipmentDocuments"] = []object{{
			"contentType":    "COMMERCIAL_INVOICE",
			"copiesToPrint":  3,
			"docType":        "PDF",
			"trackingNumber": entry.Number,
			"encodedLabel":   invoice(entry.Number),
		}}
	}

	// A response with a wrong reference also repeats another transaction.
	body := envelope(r)
	if _, isRepeated := body["customerTransactionId"]; isRepeated && entry.Reference != s.reference("CUSTOMER_REFERENCE") {
		body["customerTransactionId"] = entry.Reference
	}
	body["output"] = object{"transactionShipments": []object{shipped}}
	return body
}

func soldPieces(request *shipRequest, entry emulator.Entry) (list []object) {
	for i, number := range entry.Pieces {
		var references []reference
		for _, given := range request.Shipment.Pieces[i].References {
			if given.Type == "CUSTOMER_REFERENCE" {
				given.Value = entry.Reference
			}
			references = append(references, given)
		}

		list = append(list, object{
			"masterTrackingNumber":  entry.Number,
			"packageSequenceNumber": i + 1,
			"trackingNumber":        number,
			"trackingIdType":        "FEDEX",
			"netChargeAmount":       0,
			"baseRateAmount":        0,
			"customerReferences":    references,
			"packageDocuments":      []object{labelOf(request, number, i, len(entry.Pieces))},
		})
	}
	return list
}

func charged(quoted quote) object {
	return object{
		"rateType":            "PAYOR_ACCOUNT_SHIPMENT",
		"rateZone":            decimal(int64(quoted.zone), 0).String(),
		"ratedWeightMethod":   "ACTUAL",
		"totalBaseCharge":     quoted.base,
		"totalSurcharges":     quoted.totalSurcharge,
		"totalNetFedExCharge": quoted.net,
		"totalNetCharge":      quoted.net,
		"currency":            quoted.currency,
	}
}

// labelOf returns the label of one piece, or its URL.
func labelOf(request *shipRequest, number string, i, total int) object {
	document := object{"contentType": "LABEL", "copiesToPrint": 1, "docType": request.Shipment.Label.ImageType}
	if request.LabelResponseOptions == "URL_ONLY" {
		document["url"] = "https://fedex.example/document/" + number
	} else {
		document["encodedLabel"] = picture(number, i+1, total, request.Shipment.Pieces[i].References)
	}
	return document
}

// cancel voids a shipment until the parcel is picked up.
func (f *fedex) cancel(w http.ResponseWriter, r *http.Request) {
	var request struct {
		AccountNumber                   value
		TrackingNumber, DeletionControl string
	}
	sent, ok := readBody(w, r, &request)
	if !ok {
		return
	}

	entry, voided, known := f.Ledger.Sold(request.TrackingNumber)
	var bad *problem
	switch {
	case !knownAccount(request.AccountNumber.Value):
		bad = &problem{"ACCOUNT.NUMBER.MISMATCH", "The account number is not valid for the credentials."}
	case request.DeletionControl != "" && request.DeletionControl != "DELETE_ALL_PACKAGES":
		bad = &problem{"DELETIONCONTROL.INVALID", "Deletion control is invalid."}
	case !known || entry.Number != request.TrackingNumber:
		bad = &problem{"TRACKINGNUMBER.NOT.FOUND", "The tracking number is not that of a shipment."}
	case !voided && f.isTendered(entry):
		bad = &problem{"SHIPMENT.CANCEL.NOTALLOWED", "The shipment has been tendered and cannot be cancelled."}
	case !voided && f.isClosed(entry):
		bad = &problem{"SHIPMENT.CANCEL.NOTALLOWED", "The shipment is on a manifest and cannot be cancelled."}
	default:
		bad = checkMembers("Cancel", sent)
	}
	if bad != nil {
		refuse(w, r, http.StatusBadRequest, bad.code, bad.message)
		return
	}

	f.TakeBack(w, r, request.TrackingNumber, func(again, _ bool) (int, string, []byte) {
		body := envelope(r)
		if again {
			body["errors"] = []object{{"code": "CANCELSHIPMENT.TRACKINGNUMBER.DELETED", "message": "Tracking number has already been deleted."}}
			return http.StatusBadRequest, "application/json", marshal(body)
		}
		f.webhook.cancelled(entry)
		body["output"] = object{"cancelledShipment": true, "cancelledHistory": true, "message": "Success"}
		return http.StatusOK, "application/json", marshal(body)
	})
}
