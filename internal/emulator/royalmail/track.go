package royalmail

import (
	"encoding/base64"
	"net/http"
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

// step is one event in the usual history of a parcel.
type step struct {
	after            time.Duration
	code, text, city string
}

var usualEvents = []step{
	{time.Minute, "EVAIE", "Sender preparing item", ""},
	{4 * time.Hour, "EVDAC", "Item received at mail centre", "Gatwick MC"},
	{10 * time.Hour, "EVBAH", "Item at national parcel hub", "Midlands Super Hub"},
	{18 * time.Hour, "EVIMC", "Item at destination mail centre", "Leeds MC"},
	{22 * time.Hour, "EVGPD", "Ready for delivery", "Leeds City DO"},
	{26 * time.Hour, "EVKSP", "Delivered and signed", "Leeds City DO"},
}

// events returns what has happened to a sale by now, the newest first.
func (s *standIn) events(sale emulator.Entry) []object {
	steps := usualEvents
	if script := s.Faults().Tracking; len(script) > 0 {
		steps = nil
		for _, scan := range script {
			steps = append(steps, step{time.Duration(scan.After), scan.Code, scan.Text, scan.City})
		}
	}

	list := []object{}
	for _, step := range steps {
		at := sale.At.Add(step.after)
		if at.After(time.Now()) {
			continue
		}
		list = append(list, object{
			"eventCode":     step.code,
			"eventName":     step.text,
			"eventDateTime": at.In(time.FixedZone("", 3600)).Format(time.RFC3339),
			"locationName":  step.city,
		})
	}
	slices.Reverse(list)
	return list
}

// soldPiece returns the sale of a number and its events, or answers as the
// Tracking API does about a parcel that nobody has scanned.
func (s *standIn) soldPiece(w http.ResponseWriter, r *http.Request) (sale emulator.Entry, events []object, ok bool) {
	sale, _, ok = s.Ledger.Sold(r.PathValue("number"))
	if !ok {
		refuseTracking(w, http.StatusNotFound, "Not Found", "", "E1142", "Barcode reference mailPieceId isn't recognised")
		return sale, nil, false
	}
	if events = s.events(sale); len(events) == 0 {
		refuseTracking(w, http.StatusNotFound, "Not Found", "", "E1144", "There is no tracking data for the mailPieceId")
		return sale, nil, false
	}
	return sale, events, true
}

// showEvents shows the history of a parcel. "mailPieces" is an object, whatever
// its name says.
func (s *standIn) showEvents(w http.ResponseWriter, r *http.Request) {
	sale, events, ok := s.soldPiece(w, r)
	if !ok {
		return
	}
	arrival := sale.At.Add(26 * time.Hour)
	reply(w, http.StatusOK, object{"mailPieces": object{
		"mailPieceId":      sale.Number,
		"carrierShortName": "RM",
		"carrierFullName":  "Royal Mail Group Ltd",
		"summary": object{
			"uniqueItemId":      "09036757400" + sale.Number[3:11] + "1B",
			"oneDBarcode":       sale.Number,
			"productId":         sale.Service,
			"lastEventCode":     events[0]["eventCode"],
			"lastEventName":     events[0]["eventName"],
			"lastEventDateTime": events[0]["eventDateTime"],
			"statusCategory":    "IN TRANSIT",
		},
		"estimatedDelivery": object{
			"date":                   arrival.Format(time.DateOnly),
			"startOfEstimatedWindow": "08:00:00+00:00",
			"endOfEstimatedWindow":   "11:00:00+00:00",
		},
		"events": events,
	}})
}

// showSignature shows the signature of a parcel that was delivered.
func (s *standIn) showSignature(w http.ResponseWriter, r *http.Request) {
	sale, events, ok := s.soldPiece(w, r)
	if !ok {
		return
	}
	i := slices.IndexFunc(events, func(event object) bool { return event["eventCode"] == "EVKSP" })
	if i < 0 {
		refuseTracking(w, http.StatusNotFound, "Not Found", "", "E1145", "There is no proof of delivery for the mailPieceId")
		return
	}
	reply(w, http.StatusOK, object{"mailPieces": object{
		"mailPieceId": sale.Number,
		"signature": object{
			"uniqueItemId":      sale.Number,
			"oneDBarcode":       sale.Number,
			"recipientName":     "SIMON",
			"signatureDateTime": events[i]["eventDateTime"],
			"imageFormat":       "image/png",
			"image":             base64.StdEncoding.EncodeToString([]byte(signature)),
		},
	}})
}

// signature is a picture of one white point.
const signature = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x00\x00\x00\x00:~\x9bU\x00\x00\x00\nIDATx\x9cc\xf8\x0f\x00\x01\x01\x01\x00\x1b\xb6\xeeV\x00\x00\x00\x00IEND\xaeB`\x82"
