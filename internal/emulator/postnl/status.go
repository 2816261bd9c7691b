package postnl

import (
	"encoding/base64"
	"net/http"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

// step is one status in the usual history of a parcel.
type step struct {
	after      time.Duration
	code, text string
}

var usualStatuses = []step{
	{0, "1", "Shipment pre-alerted"},
	{4 * time.Hour, "3", "Shipment collected"},
	{10 * time.Hour, "5", "Shipment sorted"},
	{20 * time.Hour, "7", "Shipment out for delivery"},
	{24 * time.Hour, "11", "Shipment delivered"},
}

// dutch is the clock of the Netherlands.
var dutch = func() *time.Location {
	if zone, err := time.LoadLocation("Europe/Amsterdam"); err == nil {
		return zone
	}
	return time.FixedZone("", 3600)
}()

// statuses returns what has happened to a sale by now, oldest first.
func (s *standIn) statuses(sale emulator.Entry) []object {
	steps := usualStatuses
	if script := s.Faults().Tracking; len(script) > 0 {
		steps = nil
		for _, scan := range script {
			steps = append(steps, step{time.Duration(scan.After), scan.Code, scan.Text})
		}
	}

	var list []object
	for _, step := range steps {
		at := sale.At.Add(step.after)
		if at.After(time.Now()) {
			continue
		}
		list = append(list, object{
			"TimeStamp":         at.In(dutch).Format("02-01-2006 15:04:05"),
			"StatusCode":        step.code,
			"StatusDescription": step.text,
			"PhaseCode":         "1",
			"PhaseDescription":  "{}",
		})
	}
	return list
}

// unknown is the answer about a parcel that PostNL does not have.
func unknown(w http.ResponseWriter) {
	reply(w, http.StatusOK, object{"Warnings": []object{{"Code": "2", "Message": "No shipment found"}}})
}

func (s *standIn) showBarcode(w http.ResponseWriter, r *http.Request) {
	sale, _, ok := s.Ledger.Sold(r.PathValue("barcode"))
	if !ok {
		unknown(w)
		return
	}
	s.show(w, r, sale)
}

// showReference shows the parcel with a reference that a look-up can see.
func (s *standIn) showReference(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if !isAccount(query.Get("customerCode"), query.Get("customerNumber")) {
		s.Fail(w, http.StatusBadRequest)
		return
	}
	found := s.Find(r.PathValue("reference"))
	if len(found) == 0 {
		unknown(w)
		return
	}
	s.show(w, r, found[0])
}

// show answers with a parcel. One status is an object, several are a list.
func (s *standIn) show(w http.ResponseWriter, r *http.Request, sale emulator.Entry) {
	shown := object{
		"MainBarcode":        sale.Number,
		"Barcode":            sale.Number,
		"ShipmentAmount":     "1",
		"ShipmentCounter":    "1",
		"ProductCode":        "00" + sale.Service,
		"ProductDescription": "{}",
		"Reference":          sale.Reference,
		"DeliveryDate":       sale.At.In(dutch).AddDate(0, 0, 1).Format(time.DateOnly),
	}
	statuses := s.statuses(sale)
	if len(statuses) == 0 {
		shown["Status"] = "{}"
	} else {
		shown["Status"] = statuses[len(statuses)-1]
	}
	if r.URL.Query().Get("detail") != "true" {
		reply(w, http.StatusOK, object{"CurrentStatus": object{"Shipment": shown}})
		return
	}

	switch {
	case len(statuses) == 2:
		shown["OldStatus"] = statuses[0]
	case len(statuses) > 2:
		shown["OldStatus"] = statuses[:len(statuses)-1]
	default:
		shown["OldStatus"] = "{}"
	}
	reply(w, http.StatusOK, object{"CompleteStatus": object{"Shipment": shown}})
}

// showSignature shows the signature of a parcel that was delivered.
func (s *standIn) showSignature(w http.ResponseWriter, r *http.Request) {
	sale, _, ok := s.Ledger.Sold(r.PathValue("barcode"))
	statuses := s.statuses(sale)
	if !ok || len(statuses) == 0 || statuses[len(statuses)-1]["StatusCode"] != "11" {
		reply(w, http.StatusOK, object{"Warnings": []object{{"Code": "2", "Message": "No signature found"}}})
		return
	}
	reply(w, http.StatusOK, object{"Signature": object{
		"Barcode":        sale.Number,
		"SignatureDate":  sale.At.In(dutch).Format("2006-01-02T15:04:05"),
		"SignatureImage": base64.StdEncoding.EncodeToString([]byte(signature)),
	}})
}

// signature is a picture of one white point.
const signature = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x00\x00\x00\x00:~\x9bU\x00\x00\x00\nIDATx\x9cc\xf8\x0f\x00\x01\x01\x01\x00\x1b\xb6\xeeV\x00\x00\x00\x00IEND\xaeB`\x82"
