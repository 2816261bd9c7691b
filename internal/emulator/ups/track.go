package ups

import (
	"encoding/base64"
	"html"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

// A scan in UPS's three codes: kind, activity, status.
type scanCode struct{ kind, activity, status, text string }

// usual is the usual history of a parcel, with the time of each step in
// hundredths of the whole transit time.
var usual = []struct {
	part int
	scanCode
	there bool // at the destination
}{
	{0, scanCode{"M", "MP", "003", "Shipper created a label, UPS has not received the package yet. "}, false},
	{10, scanCode{"I", "OR", "038", "Origin Scan"}, false},
	{20, scanCode{"I", "DP", "005", "Departed from Facility"}, false},
	{80, scanCode{"I", "AR", "005", "Arrived at Facility"}, true},
	{90, scanCode{"I", "OT", "021", "Out For Delivery Today"}, true},
	{100, scanCode{"D", "F4", "011", "DELIVERED "}, true},
}

// codeOf reads the code of a fault: an activity of the usual history, or all
// three as "X/48/022".
func codeOf(given emulator.Scan) scanCode {
	if parts := strings.Split(given.Code, "/"); len(parts) == 3 {
		return scanCode{parts[0], parts[1], parts[2], given.Text}
	}
	for _, u := range usual {
		if u.activity == given.Code {
			known := u.scanCode
			if given.Text != "" {
				known.text = given.Text
			}
			return known
		}
	}
	return scanCode{"I", given.Code, "005", given.Text}
}

// A step is a scan that has been made.
type step struct {
	scanCode
	at                   time.Time
	city, state, country string
}

// plan returns all steps of a parcel, in the order of the script.
func (s *server) plan(e emulator.Entry) (list []step) {
	k := keptOf(e)
	if script := s.Faults().Tracking; len(script) > 0 {
		for _, one := range script {
			list = append(list, step{codeOf(one), e.At.Add(time.Duration(one.After)), one.City, "", k.Country})
		}
		return list
	}
	life := time.Duration(max(k.Days, 1)) * 24 * time.Hour
	for _, u := range usual {
		one := step{u.scanCode, e.At.Add(life * time.Duration(u.part) / 100), k.From, k.Province, k.Start}
		if u.there {
			one.city, one.state, one.country = k.To, k.State, k.Country
		}
		if u.kind == "M" {
			one.city, one.state = "", "" // a label has no place
		}
		list = append(list, one)
	}
	return list
}

// steps returns the scans of a parcel until now.
func (s *server) steps(entry emulator.Entry, now time.Time) []step {
	return slices.DeleteFunc(s.plan(entry), func(one step) bool { return one.at.After(now) })
}

// voiding returns the last step of a parcel that was never sent.
func voiding(entry emulator.Entry, at time.Time) step {
	return step{scanCode{"MV", "VP", "007", "Shipment Canceled"}, at, "", "", keptOf(entry).Start}
}

// track responds with everything about one parcel.
func (s *server) track(w http.ResponseWriter, r *http.Request) {
	number := r.PathValue("number")
	if !named(w, r) {
		return
	}
	if len(number) < 7 || len(number) > 34 {
		refuse(w, refusal{"TV1002", "Invalid inquiry number"})
		return
	}
	if s.settings.Load().TestEnvironment {
		tell(w, number, []any{s.parcel(sample, number, false)})
		return
	}
	e, voided, ok := s.Ledger.Sold(number)
	if !ok || !s.isTracked(e) {
		tell(w, number, nil)
		return
	}
	parcel := s.parcel(e, number, voided)
	if r.URL.Query().Get("returnPOD") == "true" {
		s.addProof(parcel, e, number)
	}
	tell(w, number, []any{parcel})
}

// addProof adds the proof of delivery, a web page, to a parcel that is delivered.
func (s *server) addProof(parcel map[string]any, entry emulator.Entry, number string) {
	steps := s.steps(entry, time.Now())
	if len(steps) == 0 || steps[len(steps)-1].kind != "D" {
		return
	}

	page := "<!DOCTYPE html>\n<html><head><title>Delivery Notification</title></head><body><h1>Delivery Notification</h1>" +
		"<div>Tracking Number : " + html.EscapeString(number) + "</div>" +
		"<div>Delivered on : " + steps[len(steps)-1].at.UTC().Format("01/02/2006 15:04") + "</div></body></html>\n"
	parcel["deliveryInformation"] = map[string]any{
		"location":   "Front Door",
		"receivedBy": "DOE",
		"pod":        map[string]string{"content": base64.StdEncoding.EncodeToString([]byte(page))},
	}
}

// sample is the parcel that the test environment shows, whatever number is
// requested: it was delivered long ago.
var sample = emulator.Entry{
	Number: placeholder,
	At:     time.Date(2024, 4, 2, 9, 0, 0, 0, time.UTC),
	Kept:   encode(kept{From: "ATLANTA", Start: "US", Province: "GA", To: "TIMONIUM", State: "MD", Country: "US", Days: 2}),
}

// trackShipment shows all parcels of the shipment that a number belongs to.
func (s *server) trackShipment(w http.ResponseWriter, r *http.Request) {
	number := r.PathValue("number")
	if !named(w, r) {
		return
	}
	entry, voided, ok := s.Ledger.Sold(number)
	if !ok || !s.isTracked(entry) || s.settings.Load().TestEnvironment {
		tell(w, number, nil)
		return
	}
	var list []any
	for _, piece := range pieces(entry) {
		list = append(list, s.parcel(entry, piece, voided))
	}
	tell(w, number, list)
}

// trackReference responds with the parcels that have a reference.
func (s *server) trackReference(w http.ResponseWriter, r *http.Request) {
	reference := r.PathValue("reference")
	if !named(w, r) {
		return
	}
	var list []any
	if account := r.URL.Query().Get("shipperNum"); account != "" && account != Account || s.settings.Load().TestEnvironment {
		tell(w, reference, nil)
		return
	}
	for _, entry := range s.Find(reference) {
		if !s.isTracked(entry) {
			continue
		}
		numbers := pieces(entry)
		if s.settings.Load().LeadOnly {
			numbers = numbers[:1]
		}
		for _, number := range numbers {
			list = append(list, s.parcel(entry, number, false))
		}
	}
	tell(w, reference, list)
}

// named reports whether the request has the headers that tracking requires.
func named(w http.ResponseWriter, r *http.Request) bool {
	if r.Header.Get("transId") == "" || r.Header.Get("transactionSrc") == "" {
		refuse(w, refusal{"TV1001", "Missing transId or transactionSrc"})
		return false
	}
	return true
}

// tell responds with the parcels, or that there are none.
func tell(w http.ResponseWriter, inquiry string, parcels []any) {
	shipment := map[string]any{"inquiryNumber": inquiry, "package": parcels}
	if len(parcels) == 0 {
		shipment = map[string]any{"inquiryNumber": inquiry, "warnings": []map[string]string{{"code": "TW0001", "message": "Tracking Information Not Found"}}}
	}
	answer(w, http.StatusOK, encode(map[string]any{"trackResponse": map[string]any{"shipment": []any{shipment}}}))
}

// parcel returns one parcel with its scans, the newest first.
func (s *server) parcel(entry emulator.Entry, number string, voided bool) map[string]any {
	steps := s.steps(entry, time.Now())
	if voided {
		steps = append(steps, voiding(entry, s.voidedAt(entry.Number)))
	}
	var activity []any
	for i := len(steps) - 1; i >= 0; i-- {
		activity = append(activity, activityOf(steps[i]))
	}

	sale := keptOf(entry)
	parcel := map[string]any{"trackingNumber": number, "activity": activity, "packageCount": len(pieces(entry))}
	var references []map[string]string
	for _, value := range sale.References {
		references = append(references, map[string]string{"type": "SHIPMENT", "number": value})
	}
	if len(references) > 0 {
		parcel["referenceNumber"] = references
	}
	if sale.Zip != "" {
		parcel["packageAddress"] = []any{map[string]any{
			"type":    "DESTINATION",
			"address": map[string]string{"city": sale.To, "stateProvince": sale.State, "postalCode": sale.Zip, "countryCode": sale.Country, "country": sale.Country},
		}}
	}

	due := arrives(entry.At, sale.Days)
	parcel["deliveryDate"] = []map[string]string{{"type": "SDD", "date": due.Format("20060102")}}
	parcel["deliveryTime"] = map[string]string{"type": "EOD", "endTime": "230000"}
	if len(steps) == 0 {
		return parcel
	}

	last := steps[len(steps)-1]
	parcel["currentStatus"] = statusOf(last)
	if last.kind == "D" {
		parcel["deliveryDate"] = []map[string]string{{"type": "DEL", "date": last.at.Format("20060102")}}
		parcel["deliveryTime"] = map[string]string{"type": "DEL", "endTime": last.at.Format("150405")}
	}
	return parcel
}

// voidedAt returns when the shipment was voided.
func (s *server) voidedAt(number string) (at time.Time) {
	for _, entry := range s.Ledger.Entries() {
		if entry.Kind == "voided" && entry.Number == number {
			at = entry.At
		}
	}
	return at
}

func statusOf(s step) map[string]string {
	return map[string]string{"type": s.kind, "code": s.activity, "statusCode": s.status, "description": s.text}
}

// activityOf returns one scan. The emulator's clocks all show UTC.
func activityOf(s step) map[string]any {
	address := map[string]string{"countryCode": s.country, "country": s.country}
	if s.city != "" {
		address["city"] = s.city
	}
	if s.state != "" {
		address["stateProvince"] = s.state
	}

	when := s.at.UTC()
	date := when.Format("20060102")
	clock := when.Format("150405")
	return map[string]any{
		"location":  map[string]any{"address": address},
		"status":    statusOf(s),
		"date":      date,
		"time":      clock,
		"gmtDate":   date,
		"gmtTime":   clock,
		"gmtOffset": "+00:00",
	}
}
