package fedex

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

// kept is what tracking tells of a sale later.
type kept struct {
	ShipDate  string `json:"shipDate"`
	Commit    string `json:"commit"`
	Carrier   string `json:"carrier"`
	Packaging string `json:"packaging"`
	From      place  `json:"from"`
	To        place  `json:"to"`

	References []reference `json:"references,omitempty"`
}

type shipRequest struct {
	AccountNumber        value
	LabelResponseOptions string
	ProcessingOptionType string
	Shipment             shipment `json:"requestedShipment"`
}

// check reads a purchase, and refuses what FedEx refuses.
func check(w http.ResponseWriter, r *http.Request) (req shipRequest, ok bool) {
	if !read(w, r, &req) {
		return req, false
	}
	var bad *problem
	switch {
	case !knownAccount(req.AccountNumber.Value):
		bad = &problem{"ACCOUNT.NUMBER.MISMATCH", "The account number is not valid for the credentials."}
	case req.LabelResponseOptions != "LABEL" && req.LabelResponseOptions != "URL_ONLY":
		bad = &problem{"LABELRESPONSEOPTIONS.REQUIRED", "Label response options are invalid or missing."}
	default:
		if bad = req.Shipment.wrong(); bad == nil {
			bad = req.Shipment.unsellable()
		}
		if bad == nil {
			bad = req.Shipment.undeclarable(req.AccountNumber.Value)
		}
	}
	if bad != nil {
		refuse(w, r, http.StatusBadRequest, bad.code, bad.message)
	}
	return req, bad == nil
}

// buy sells a label for every package.
func (f *fedex) buy(w http.ResponseWriter, r *http.Request) {
	req, ok := check(w, r)
	if !ok {
		return
	}
	if f.Refuses() {
		f.Fail(w, http.StatusBadRequest)
		return
	}
	s := &req.Shipment
	v := services[s.ServiceType]
	q := v.price(s)
	memory, err := json.Marshal(kept{
		ShipDate: s.day().Format(time.DateOnly), Commit: q.commit.Format(local), Carrier: v.carrier, Packaging: s.PackagingType,
		From: s.Shipper.Address, To: s.to().Address, References: s.Pieces[0].References,
	})
	if err != nil {
		f.Fail(w, http.StatusInternalServerError)
		return
	}
	sale := emulator.Entry{
		Account: req.AccountNumber.Value, Reference: s.reference("CUSTOMER_REFERENCE"), Second: r.Header.Get("X-Customer-Transaction-Id"), Service: s.ServiceType,
		Amount: q.net.String(), Currency: q.currency, Kept: memory,
	}
	for range s.Pieces {
		sale.Pieces = append(sale.Pieces, f.number())
	}
	sale.Number = sale.Pieces[0]
	f.Sell(w, r, sale, func(e emulator.Entry) (int, string, []byte) {
		f.webhook.follow(e)
		return http.StatusOK, "application/json", marshal(sold(r, &req, e, q))
	})
}

// sold is the answer to a purchase.
func sold(r *http.Request, req *shipRequest, e emulator.Entry, q quote) object {
	s := &req.Shipment
	v := services[e.Service]
	operational := object{"ineligibleForMoneyBackGuarantee": !q.guaranteed, "deliveryDate": "", "commitDate": ""}
	if !s.abroad() {
		at := q.commit.Format(local)
		operational["deliveryDate"], operational["commitDate"], operational["transitTime"] = at, at, days[q.transit]
	}
	one := object{
		"serviceType": e.Service, "serviceName": v.name, "shipDatestamp": s.day().Format(time.DateOnly), "masterTrackingNumber": e.Number,
		"pieceResponses": soldPieces(req, e),
		"completedShipmentDetail": object{
			"usDomestic": s.Shipper.Address.CountryCode == "US" && !s.abroad(), "carrierCode": v.carrier,
			"masterTrackingId":  object{"trackingIdType": "FEDEX", "trackingNumber": e.Number},
			"operationalDetail": operational,
			"shipmentRating":    object{"actualRateType": "PAYOR_ACCOUNT_SHIPMENT", "shipmentRateDetails": []object{charged(q)}},
		},
	}
	if s.isPaperless() {
		one["completedShipmentDetail"].(object)["completedEtdDetail"] = object{
			"folderId": "0b0493e580dc1a1b", "type": "COMMERCIAL_INVOICE",
			"uploadDocumentReferenceDetails": []object{{"documentType": "COMMERCIAL_INVOICE", "documentId": "090927d680038c61"}},
		}
	}
	if slices.Contains(s.Papers.Types, "COMMERCIAL_INVOICE") && s.Customs != nil {
		one["shipmentDocuments"] = []object{{
			"contentType": "COMMERCIAL_INVOICE", "copiesToPrint": 3, "docType": "PDF", "trackingNumber": e.Number, "encodedLabel": invoice(e.Number),
		}}
	}
	body := envelope(r)
	if _, told := body["customerTransactionId"]; told && e.Reference != s.reference("CUSTOMER_REFERENCE") {
		body["customerTransactionId"] = e.Reference
	}
	body["output"] = object{"transactionShipments": []object{one}}
	return body
}

func soldPieces(req *shipRequest, e emulator.Entry) (list []object) {
	for i, number := range e.Pieces {
		var refs []reference
		for _, ref := range req.Shipment.Pieces[i].References {
			if ref.Type == "CUSTOMER_REFERENCE" {
				ref.Value = e.Reference
			}
			refs = append(refs, ref)
		}
		list = append(list, object{
			"masterTrackingNumber": e.Number, "packageSequenceNumber": i + 1, "trackingNumber": number, "trackingIdType": "FEDEX",
			"netChargeAmount": 0, "baseRateAmount": 0, "customerReferences": refs,
			"packageDocuments": []object{paper(req, number, i, len(e.Pieces))},
		})
	}
	return list
}

func charged(q quote) object {
	return object{
		"rateType": "PAYOR_ACCOUNT_SHIPMENT", "rateZone": decimal(int64(q.zone), 0).String(), "ratedWeightMethod": "ACTUAL",
		"totalBaseCharge": q.base, "totalSurcharges": q.totalSurcharge, "totalNetFedExCharge": q.net, "totalNetCharge": q.net, "currency": q.currency,
	}
}

// paper is the label of one piece, or where it lies.
func paper(req *shipRequest, number string, i, of int) object {
	out := object{"contentType": "LABEL", "copiesToPrint": 1, "docType": req.Shipment.Label.ImageType}
	if req.LabelResponseOptions == "URL_ONLY" {
		out["url"] = "https://fedex.example/document/" + number
	} else {
		out["encodedLabel"] = picture(number, i+1, of, req.Shipment.Pieces[i].References)
	}
	return out
}

// cancel takes a shipment back until the parcel is picked up.
func (f *fedex) cancel(w http.ResponseWriter, r *http.Request) {
	var req struct {
		AccountNumber                   value
		TrackingNumber, DeletionControl string
	}
	if !read(w, r, &req) {
		return
	}
	e, voided, known := f.Ledger.Sold(req.TrackingNumber)
	var bad *problem
	switch {
	case !knownAccount(req.AccountNumber.Value):
		bad = &problem{"ACCOUNT.NUMBER.MISMATCH", "The account number is not valid for the credentials."}
	case req.DeletionControl != "" && req.DeletionControl != "DELETE_ALL_PACKAGES":
		bad = &problem{"DELETIONCONTROL.INVALID", "Deletion control is invalid."}
	case !known || e.Number != req.TrackingNumber:
		bad = &problem{"TRACKINGNUMBER.NOT.FOUND", "The tracking number is not that of a shipment."}
	case !voided && f.tendered(e):
		bad = &problem{"SHIPMENT.CANCEL.NOTALLOWED", "The shipment has been tendered and cannot be cancelled."}
	}
	if bad != nil {
		refuse(w, r, http.StatusBadRequest, bad.code, bad.message)
		return
	}
	f.TakeBack(w, r, req.TrackingNumber, func(again, _ bool) (int, string, []byte) {
		body := envelope(r)
		if again {
			body["errors"] = []object{{"code": "SHIPMENT.ALREADY.CANCELLED", "message": "The shipment has already been cancelled."}}
			return http.StatusBadRequest, "application/json", marshal(body)
		}
		f.webhook.cancelled(e)
		body["output"] = object{"cancelledShipment": true, "cancelledHistory": true, "message": "Success"}
		return http.StatusOK, "application/json", marshal(body)
	})
}
