package ups

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

// A scan in UPS's three codes: kind, activity, status.
type scanCode struct{ kind, activity, status, text string }

// usual is the life of a parcel; the part of its days at which each step
// comes, in hundredths.
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

// codeOf reads the code of a knob: an activity of the usual life, or all three
// as "X/48/022".
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

// plan is all that becomes of a parcel, first to last as the script has it.
func (s *server) plan(e emulator.Entry) (list []step) {
	k := keptOf(e)
	if script := s.Knobs().Tracking; len(script) > 0 {
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

// steps are the scans of a parcel until now.
func (s *server) steps(e emulator.Entry, now time.Time) []step {
	return slices.DeleteFunc(s.plan(e), func(one step) bool { return one.at.After(now) })
}

// voiding is the end of a parcel that was never sent.
func voiding(e emulator.Entry, at time.Time) step {
	return step{scanCode{"MV", "VP", "007", "Shipment Canceled"}, at, "", "", keptOf(e).Start}
}

// track tells all of one parcel.
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
	if !ok {
		tell(w, number, nil)
		return
	}
	tell(w, number, []any{s.parcel(e, number, voided)})
}

// sample is the parcel that the test environment shows, whatever it is asked
// for: it was delivered long ago.
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
	e, voided, ok := s.Ledger.Sold(number)
	if !ok || s.settings.Load().TestEnvironment {
		tell(w, number, nil)
		return
	}
	var list []any
	for _, n := range pieces(e) {
		list = append(list, s.parcel(e, n, voided))
	}
	tell(w, number, list)
}

// trackReference tells of the parcels under a reference.
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
	for _, e := range s.Find(reference) {
		numbers := pieces(e)
		if s.settings.Load().LeadOnly {
			numbers = numbers[:1]
		}
		for _, n := range numbers {
			list = append(list, s.parcel(e, n, false))
		}
	}
	tell(w, reference, list)
}

// named reports whether the request has the headers that tracking demands.
func named(w http.ResponseWriter, r *http.Request) bool {
	if r.Header.Get("transId") == "" || r.Header.Get("transactionSrc") == "" {
		refuse(w, refusal{"TV1001", "Missing transId or transactionSrc"})
		return false
	}
	return true
}

// tell answers with the parcels, or that there are none.
func tell(w http.ResponseWriter, inquiry string, parcels []any) {
	shipment := map[string]any{"inquiryNumber": inquiry, "package": parcels}
	if len(parcels) == 0 {
		shipment = map[string]any{"inquiryNumber": inquiry, "warnings": []map[string]string{{"code": "TW0001", "message": "Tracking Information Not Found"}}}
	}
	answer(w, http.StatusOK, encode(map[string]any{"trackResponse": map[string]any{"shipment": []any{shipment}}}))
}

// parcel is one parcel with its scans, the newest first.
func (s *server) parcel(e emulator.Entry, number string, voided bool) map[string]any {
	steps := s.steps(e, time.Now())
	if voided {
		steps = append(steps, voiding(e, s.voidedAt(e.Number)))
	}
	var activity []any
	for i := len(steps) - 1; i >= 0; i-- {
		activity = append(activity, activityOf(steps[i]))
	}
	p := map[string]any{"trackingNumber": number, "activity": activity, "packageCount": len(pieces(e))}
	var references []map[string]string
	for _, value := range keptOf(e).References {
		references = append(references, map[string]string{"type": "SHIPMENT", "number": value})
	}
	if len(references) > 0 {
		p["referenceNumber"] = references
	}
	if k := keptOf(e); k.Zip != "" {
		p["packageAddress"] = []any{map[string]any{
			"type":    "DESTINATION",
			"address": map[string]string{"city": k.To, "stateProvince": k.State, "postalCode": k.Zip, "countryCode": k.Country, "country": k.Country},
		}}
	}
	if len(steps) > 0 {
		p["currentStatus"] = statusOf(steps[len(steps)-1])
	}
	due := arrives(e.At, keptOf(e).Days)
	p["deliveryDate"] = []map[string]string{{"type": "SDD", "date": due.Format("20060102")}}
	p["deliveryTime"] = map[string]string{"type": "EOD", "endTime": "230000"}
	if n := len(steps); n > 0 && steps[n-1].kind == "D" {
		p["deliveryDate"] = []map[string]string{{"type": "DEL", "date": steps[n-1].at.Format("20060102")}}
		p["deliveryTime"] = map[string]string{"type": "DEL", "endTime": steps[n-1].at.Format("150405")}
	}
	return p
}

// voidedAt is when the shipment was voided.
func (s *server) voidedAt(number string) (at time.Time) {
	for _, e := range s.Ledger.Entries() {
		if e.Kind == "voided" && e.Number == number {
			at = e.At
		}
	}
	return at
}

func statusOf(s step) map[string]string {
	return map[string]string{"type": s.kind, "code": s.activity, "statusCode": s.status, "description": s.text}
}

// activityOf is one scan. The stand-in's clocks all show UTC.
func activityOf(s step) map[string]any {
	at := map[string]string{"countryCode": s.country, "country": s.country}
	if s.city != "" {
		at["city"] = s.city
	}
	if s.state != "" {
		at["stateProvince"] = s.state
	}
	when := s.at.UTC()
	return map[string]any{
		"location": map[string]any{"address": at}, "status": statusOf(s),
		"date": when.Format("20060102"), "time": when.Format("150405"),
		"gmtDate": when.Format("20060102"), "gmtTime": when.Format("150405"), "gmtOffset": "+00:00",
	}
}
