package fedex

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

// usual is what a parcel goes through.
var usual = []emulator.Scan{
	{After: 0, Code: "OC", Text: "Shipment information sent to FedEx"},
	{After: emulator.Duration(3 * time.Hour), Code: "PU", Text: "Picked up"},
	{After: emulator.Duration(8 * time.Hour), Code: "DP", Text: "Left FedEx origin facility"},
	{After: emulator.Duration(18 * time.Hour), Code: "AR", Text: "Arrived at FedEx hub", City: "MEMPHIS"},
	{After: emulator.Duration(30 * time.Hour), Code: "AF", Text: "At local FedEx facility"},
	{After: emulator.Duration(42 * time.Hour), Code: "OD", Text: "On FedEx vehicle for delivery"},
	{After: emulator.Duration(47 * time.Hour), Code: "DL", Text: "Delivered"},
}

// derived are the coarser codes that FedEx adds.
var derived = map[string]string{"OC": "IN", "PU": "PU", "DL": "DL", "DE": "DE", "DY": "DY", "CA": "CA"}

// script is what every parcel goes through.
func (f *fedex) script() []emulator.Scan {
	if script := f.Knobs().Tracking; script != nil {
		return script
	}
	return usual
}

// life is what a parcel went through so far, newest first.
func (f *fedex) life(e emulator.Entry) []emulator.Scan {
	var past []emulator.Scan
	for _, s := range f.script() {
		if time.Since(e.At) >= time.Duration(s.After) {
			past = append(past, s)
		}
	}
	slices.Reverse(past)
	return past
}

// tendered reports whether FedEx has the parcel.
func (f *fedex) tendered(e emulator.Entry) bool {
	return slices.ContainsFunc(f.life(e), func(s emulator.Scan) bool { return s.Code != "OC" && s.Code != "MD" })
}

// A search is by a reference of the client's.
type search struct {
	Type, Value, AccountNumber, ShipDateBegin, ShipDateEnd, ShipDateEndDate string
	DestinationCountryCode, DestinationPostalCode                           string
}

// wrong is why FedEx does not begin to search; nil if it does.
func (q *search) wrong() *problem {
	switch {
	case q.Value == "":
		return &problem{"TRACKING.REFERENCEVALUE.EMPTY", "Please provide a valid reference number."}
	case q.AccountNumber == "" && (q.DestinationCountryCode == "" || q.DestinationPostalCode == ""):
		return &problem{"TRACKING.REFERENCETYPE.INVALID", "Please provide an account number or a destination."}
	case q.ShipDateBegin == "" || q.end() == "" || q.ShipDateBegin > q.end():
		return &problem{"TRACKING.SHIPDATE.INVALID", "Please provide a valid range of ship dates."}
	}
	return nil
}

// end is the last day; FedEx has two names for it.
func (q *search) end() string {
	if q.ShipDateEnd != "" {
		return q.ShipDateEnd
	}
	return q.ShipDateEndDate
}

// hits reports whether a sale is what is searched for.
func (q *search) hits(e emulator.Entry) bool {
	day := memory(e).ShipDate
	ours := e.Reference == q.Value && (q.Type == "" || q.Type == "CUSTOMER_REFERENCE")
	return ours && (q.AccountNumber == "" || q.AccountNumber == e.Account) && q.ShipDateBegin <= day && day <= q.end()
}

// trackReference looks shipments up by a reference of the client's.
func (f *fedex) trackReference(w http.ResponseWriter, r *http.Request) {
	var req struct {
		IncludeDetailedScans bool
		Search               search `json:"referencesInformation"`
	}
	if !read(w, r, &req) {
		return
	}
	if bad := req.Search.wrong(); bad != nil {
		refuse(w, r, http.StatusBadRequest, bad.code, bad.message)
		return
	}
	var results []object
	for _, e := range f.Find(req.Search.Value) {
		if !req.Search.hits(e) {
			continue
		}
		for i := range e.Pieces {
			results = append(results, object{"trackingNumber": e.Pieces[i], "trackResults": []object{f.result(e, i, req.IncludeDetailedScans)}})
		}
	}
	if results == nil {
		results = []object{unknown(req.Search.Value, "TRACKING.REFERENCENUMBER.NOTFOUND", "Reference number cannot be found. Please correct the reference number and try again.")}
	}
	answer(w, r, object{"completeTrackResults": results})
}

// trackNumbers tells of up to thirty numbers.
func (f *fedex) trackNumbers(w http.ResponseWriter, r *http.Request) {
	var req struct {
		IncludeDetailedScans bool
		Info                 []struct {
			Number struct{ TrackingNumber string } `json:"trackingNumberInfo"`
		} `json:"trackingInfo"`
	}
	if !read(w, r, &req) {
		return
	}
	const most = 30
	if n := len(req.Info); n == 0 || n > most {
		refuse(w, r, http.StatusBadRequest, "TRACKING.TRACKINGNUMBER.EMPTY", "Please provide one to thirty tracking numbers.")
		return
	}
	var results []object
	for _, info := range req.Info {
		number := info.Number.TrackingNumber
		e, _, known := f.Ledger.Sold(number)
		if !known {
			results = append(results, unknown(number, "TRACKING.TRACKINGNUMBER.NOTFOUND", "Tracking number cannot be found. Please correct the tracking number and try again."))
			continue
		}
		results = append(results, object{"trackingNumber": number, "trackResults": []object{f.result(e, max(slices.Index(e.Pieces, number), 0), req.IncludeDetailedScans)}})
	}
	answer(w, r, object{"completeTrackResults": results})
}

// unknown is how FedEx says that there is nothing: inside of a good answer.
func unknown(value, code, message string) object {
	return object{"trackingNumber": value, "trackResults": []object{{
		"trackingNumberInfo": object{"trackingNumber": value, "trackingNumberUniqueId": ""},
		"error":              object{"code": code, "message": message},
	}}}
}

func memory(e emulator.Entry) (k kept) {
	_ = json.Unmarshal(e.Kept, &k) // written by this package
	return k
}

// cancellation is the scan of a shipment that was taken back.
var cancellation = emulator.Scan{Code: "CA", Text: "Shipment cancelled by sender"}

// result is what FedEx tells of one piece: where it was scanned only if the
// request wants to know.
func (f *fedex) result(e emulator.Entry, i int, detailed bool) object {
	scans := f.life(e)
	if _, voided, _ := f.Ledger.Sold(e.Number); voided {
		scans = slices.Insert(scans, 0, cancellation)
	}
	return story(e, i, scans, detailed)
}

// story is what FedEx tells of one piece and its scans, newest first.
func story(e emulator.Entry, i int, scans []emulator.Scan, detailed bool) object {
	k := memory(e)
	out := object{
		"trackingNumberInfo": object{
			"trackingNumber": e.Pieces[i], "carrierCode": k.Carrier, "trackingNumberUniqueId": strconv.Itoa(2460000000+e.Line) + "~" + e.Pieces[i] + "~FX",
		},
		"additionalTrackingInfo": object{"hasAssociatedShipments": len(e.Pieces) > 1, "nickname": "", "packageIdentifiers": identifiers(e)},
		"serviceDetail":          object{"type": e.Service, "description": services[e.Service].name},
		"packageDetails":         object{"sequenceNumber": strconv.Itoa(i + 1), "count": strconv.Itoa(len(e.Pieces)), "packagingDescription": object{"type": k.Packaging}},
		"dateAndTimes":           []object{{"type": "SHIP", "dateTime": k.ShipDate + "T00:00:00-06:00"}, {"type": "ESTIMATED_DELIVERY", "dateTime": k.Commit + "-06:00"}},
	}
	if len(scans) == 0 {
		return out
	}
	latest := object{"code": scans[0].Code, "derivedCode": coarse(scans[0].Code), "statusByLocale": scans[0].Text, "description": scans[0].Text}
	out["latestStatusDetail"] = latest
	if detailed {
		latest["scanLocation"] = scanned(k, scans[0])
		var events []object
		for _, s := range scans {
			events = append(events, event(e, k, s))
		}
		out["scanEvents"] = events
	}
	return out
}

// identifierTypes are how tracking calls the references of a purchase.
var identifierTypes = map[string]string{
	"P_O_NUMBER":        "PURCHASE_ORDER",
	"INVOICE_NUMBER":    "INVOICE",
	"DEPARTMENT_NUMBER": "DEPARTMENT",
}

// identifiers are the client's own names of a package.
func identifiers(e emulator.Entry) []object {
	list := []object{{"type": "CUSTOMER_REFERENCE", "value": []string{e.Reference}, "trackingNumberUniqueId": ""}}
	for _, r := range memory(e).References {
		if kind := identifierTypes[r.Type]; kind != "" {
			list = append(list, object{"type": kind, "value": []string{r.Value}, "trackingNumberUniqueId": ""})
		}
	}
	if len(e.Pieces) > 1 {
		list = append(list, object{"type": "STANDARD_MPS", "value": []string{e.Number}, "trackingNumberUniqueId": ""})
	}
	return list
}

func event(e emulator.Entry, k kept, s emulator.Scan) object {
	return object{
		"date": e.At.Add(time.Duration(s.After)).UTC().Format("2006-01-02T15:04:05-07:00"), "eventType": s.Code, "eventDescription": s.Text,
		"derivedStatusCode": coarse(s.Code), "derivedStatus": s.Text, "exceptionCode": "", "exceptionDescription": "", "scanLocation": scanned(k, s),
	}
}

func coarse(code string) string {
	if d, ok := derived[code]; ok {
		return d
	}
	return "IT"
}

// scanned is where something happened: at the sender's, at the recipient's,
// or where the script says.
func scanned(k kept, s emulator.Scan) object {
	at := k.To
	if s.Code == "OC" || s.Code == "PU" || s.Code == "DP" {
		at = k.From
	}
	if s.City != "" {
		at = place{City: s.City, CountryCode: "US"}
	}
	return object{
		"streetLines": []string{""}, "city": at.City, "stateOrProvinceCode": at.State, "postalCode": at.PostalCode, "countryCode": at.CountryCode, "residential": false,
	}
}
