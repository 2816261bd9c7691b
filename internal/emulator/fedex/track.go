package fedex

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

// usual is the usual history of a parcel.
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

// script returns the scans that every parcel goes through.
func (f *fedex) script() []emulator.Scan {
	if script := f.Faults().Tracking; script != nil {
		return script
	}
	return usual
}

// life returns the scans of a parcel so far, newest first.
func (f *fedex) life(entry emulator.Entry) []emulator.Scan {
	var past []emulator.Scan
	for _, scan := range f.script() {
		if time.Since(entry.At) >= time.Duration(scan.After) {
			past = append(past, scan)
		}
	}
	slices.Reverse(past)
	return past
}

// isTendered reports whether FedEx has the parcel.
func (f *fedex) isTendered(entry emulator.Entry) bool {
	return slices.ContainsFunc(f.life(entry), func(s emulator.Scan) bool { return s.Code != "OC" && s.Code != "MD" })
}

// A search is by a reference of the client's.
type search struct {
	Type, Value, AccountNumber, ShipDateBegin, ShipDateEnd, ShipDateEndDate string
	DestinationCountryCode, DestinationPostalCode                           string
}

// referenceKinds are the types of references that FedEx searches for, as its
// OpenAPI file lists them.
var referenceKinds = strings.Fields("BILL_OF_LADING COD_RETURN_TRACKING_NUMBER CUSTOMER_AUTHORIZATION_NUMBER CUSTOMER_REFERENCE DEPARTMENT DOCUMENT_AIRWAY_BILL EXPRESS_ALTERNATE_REFERENCE FEDEX_OFFICE_JOB_ORDER_NUMBER FREE_FORM_REFERENCE GROUND_INTERNATIONAL GROUND_SHIPMENT_ID INTERNATIONAL_DISTRIBUTION INVOICE JOB_GLOBAL_TRACKING_NUMBER ORDER_GLOBAL_TRACKING_NUMBER ORDER_TO_PAY_NUMBER PART_NUMBER PARTNER_CARRIER_NUMBER PURCHASE_ORDER REROUTE_TRACKING_NUMBER RETURN_MATERIALS_AUTHORIZATION RETURNED_TO_SHIPPER_TRACKING_NUMBER SHIPPER_REFERENCE TRANSBORDER_DISTRIBUTION TRANSPORTATION_CONTROL_NUMBER VIRTUAL_CONSOLIDATION")

// check returns why FedEx refuses to search; nil if it accepts. It needs the value
// and the account, or the value with its type, the days and the destination.
func (q *search) check(today string) *problem {
	byDestination := q.DestinationCountryCode != "" && q.DestinationPostalCode != ""
	switch {
	case q.Value == "":
		return &problem{"TRACKING.REFERENCEVALUE.EMPTY", "Missing or invalid shipment. Please enter a valid shipment number."}
	case q.Type != "" && !slices.Contains(referenceKinds, q.Type):
		return &problem{"TRACKING.REFERENCETYPE.INVALID", "Please provide a valid reference/associated type."}
	case q.AccountNumber == "" && !byDestination:
		return &problem{"TRACKING.REFERENCEDATA.INCOMPLETE", "Please enter an account number or destination country/territory and postal code."}
	case q.AccountNumber == "" && q.Type == "":
		return &problem{"TRACKING.REFERENCETYPE.INVALID", "Please provide a valid reference/associated type."}
	case q.AccountNumber == "" && q.ShipDateBegin == "":
		return &problem{"TRACKING.SHIPDATERANGE.INVALID", "Invalid ship date range. Please provide valid ship begin and end date."}
	}
	return checkWindow(q.ShipDateBegin, q.end(), today)
}

// end returns the last day; FedEx has two names for it.
func (q *search) end() string {
	if q.ShipDateEnd != "" {
		return q.ShipDateEnd
	}
	return q.ShipDateEndDate
}

// matches reports whether a sale matches the search. The reference of a purchase
// is known under two names, or under the one that the settings choose.
func (q *search) matches(entry emulator.Entry, only string) bool {
	day := memory(entry).ShipDate
	names := []string{"CUSTOMER_REFERENCE", "SHIPPER_REFERENCE"}
	if only != "" {
		names = []string{only}
	}
	hasReference := entry.Reference == q.Value && (q.Type == "" || slices.Contains(names, q.Type))
	hasAccount := q.AccountNumber == "" || q.AccountNumber == entry.Account
	isInWindow := q.ShipDateBegin == "" || q.ShipDateBegin <= day && day <= q.end()
	return hasReference && hasAccount && isInWindow
}

// trackReference looks shipments up by a reference of the client's.
func (f *fedex) trackReference(w http.ResponseWriter, r *http.Request) {
	var request struct {
		IncludeDetailedScans bool
		Search               search `json:"referencesInformation"`
	}
	body, ok := readBody(w, r, &request)
	if !ok {
		return
	}

	// A window ends in the future by the day at the sender's place.
	known := f.Find(request.Search.Value)
	var sender place
	if len(known) > 0 {
		sender = memory(known[0]).From
	}
	bad := request.Search.check(sender.today(time.Now()))
	if bad == nil {
		bad = checkMembers("TrackReference", body)
	}
	if bad != nil {
		refuse(w, r, http.StatusBadRequest, bad.code, bad.message)
		return
	}

	only := f.settings.Load().ReferenceType
	var results []object
	for _, entry := range known {
		if !request.Search.matches(entry, only) {
			continue
		}
		for i := range entry.Pieces {
			results = append(results, object{"trackingNumber": entry.Pieces[i], "trackResults": []object{f.result(entry, i, request.IncludeDetailedScans)}})
		}
	}
	if results == nil {
		results = []object{unknown(request.Search.Value, "TRACKING.REFERENCENUMBER.NOTFOUND", "Reference number cannot be found. Please correct the reference number and try again.")}
	}
	answer(w, r, object{"completeTrackResults": results})
}

// trackNumbers answers about up to thirty numbers.
func (f *fedex) trackNumbers(w http.ResponseWriter, r *http.Request) {
	var request struct {
		IncludeDetailedScans bool
		Info                 []struct {
			Number struct{ TrackingNumber string } `json:"trackingNumberInfo"`
		} `json:"trackingInfo"`
	}
	body, ok := readBody(w, r, &request)
	if !ok {
		return
	}
	const most = 30
	if n := len(request.Info); n == 0 || n > most {
		refuse(w, r, http.StatusBadRequest, "TRACKING.TRACKINGNUMBER.EMPTY", "Please provide one to thirty tracking numbers.")
		return
	}
	if bad := checkMembers("TrackNumber", body); bad != nil {
		refuse(w, r, http.StatusBadRequest, bad.code, bad.message)
		return
	}

	var results []object
	for _, info := range request.Info {
		number := info.Number.TrackingNumber
		entry, _, known := f.Ledger.Sold(number)
		if !known {
			results = append(results, unknown(number, "TRACKING.TRACKINGNUMBER.NOTFOUND", "Tracking number cannot be found. Please correct the tracking number and try again."))
			continue
		}
		position := max(slices.Index(entry.Pieces, number), 0)
		results = append(results, object{"trackingNumber": number, "trackResults": []object{f.result(entry, position, request.IncludeDetailedScans)}})
	}
	answer(w, r, object{"completeTrackResults": results})
}

// unknown returns how FedEx reports an unknown number: inside a response with
// status 200.
func unknown(value, code, message string) object {
	return object{"trackingNumber": value, "trackResults": []object{{
		"trackingNumberInfo": object{"trackingNumber": value, "trackingNumberUniqueId": ""},
		"error":              object{"code": code, "message": message},
	}}}
}

func memory(entry emulator.Entry) (k kept) {
	_ = json.Unmarshal(entry.Kept, &k) // written by this package
	return k
}

// cancellation is the scan of a shipment that was cancelled.
var cancellation = emulator.Scan{Code: "CA", Text: "Shipment cancelled by sender"}

// result returns what FedEx knows of one piece, with its scans only if the
// request asks for them.
func (f *fedex) result(entry emulator.Entry, i int, detailed bool) object {
	scans := f.life(entry)
	if _, voided, _ := f.Ledger.Sold(entry.Number); voided {
		scans = slices.Insert(scans, 0, cancellation)
	}
	shown := history(entry, i, scans, detailed)
	if only := f.settings.Load().ReferenceType; only != "" {
		identifiers, _ := shown["additionalTrackingInfo"].(object)["packageIdentifiers"].([]object)
		identifiers[0]["type"] = only
	}
	return shown
}

// history returns what FedEx knows of one piece and its scans, newest first.
func history(entry emulator.Entry, i int, scans []emulator.Scan, detailed bool) object {
	sale := memory(entry)
	number := entry.Pieces[i]
	out := object{
		"trackingNumberInfo": object{
			"trackingNumber":         number,
			"carrierCode":            sale.Carrier,
			"trackingNumberUniqueId": strconv.Itoa(2460000000+entry.Line) + "~" + number + "~FX",
		},
		"additionalTrackingInfo": object{
			"hasAssociatedShipments": len(entry.Pieces) > 1,
			"nickname":               "",
			"packageIdentifiers":     identifiers(entry),
		},
		"serviceDetail": object{"type": entry.Service, "description": services[entry.Service].name},
		"packageDetails": object{
			"sequenceNumber":       strconv.Itoa(i + 1),
			"count":                strconv.Itoa(len(entry.Pieces)),
			"packagingDescription": object{"type": sale.Packaging},
		},
		"dateAndTimes": []object{
			{"type": "SHIP", "dateTime": sale.ShipDate + "T00:00:00-06:00"},
			{"type": "ESTIMATED_DELIVERY", "dateTime": sale.Commit + "-06:00"},
		},
	}
	if len(scans) == 0 {
		return out
	}

	// FedEx names the number of the way back.
	if slices.ContainsFunc(scans, func(s emulator.Scan) bool { return s.Code == "RS" }) {
		additional, _ := out["additionalTrackingInfo"].(object)
		additional["packageIdentifiers"] = append(identifiers(entry), object{"type": "RETURNED_TO_SHIPPER_TRACKING_NUMBER", "value": []string{number}, "trackingNumberUniqueId": ""})
	}

	last := scans[0]
	latest := object{
		"code":           last.Code,
		"derivedCode":    coarse(last.Code),
		"statusByLocale": last.Text,
		"description":    last.Text,
	}
	out["latestStatusDetail"] = latest
	if detailed {
		latest["scanLocation"] = scanned(sale, last)
		var events []object
		for _, scan := range scans {
			events = append(events, event(entry, sale, scan))
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

// identifiers returns the client's own references of a package.
func identifiers(entry emulator.Entry) []object {
	list := []object{{"type": "CUSTOMER_REFERENCE", "value": []string{entry.Reference}, "trackingNumberUniqueId": ""}}
	for _, given := range memory(entry).References {
		if kind := identifierTypes[given.Type]; kind != "" {
			list = append(list, object{"type": kind, "value": []string{given.Value}, "trackingNumberUniqueId": ""})
		}
	}
	if len(entry.Pieces) > 1 {
		list = append(list, object{"type": "STANDARD_MPS", "value": []string{entry.Number}, "trackingNumberUniqueId": ""})
	}
	return list
}

func event(entry emulator.Entry, sale kept, scan emulator.Scan) object {
	return object{
		"date":                 entry.At.Add(time.Duration(scan.After)).UTC().Format("2006-01-02T15:04:05-07:00"),
		"eventType":            scan.Code,
		"eventDescription":     scan.Text,
		"derivedStatusCode":    coarse(scan.Code),
		"derivedStatus":        scan.Text,
		"exceptionCode":        "",
		"exceptionDescription": "",
		"scanLocation":         scanned(sale, scan),
	}
}

func coarse(code string) string {
	if known, ok := derived[code]; ok {
		return known
	}
	return "IT"
}

// scanned returns the place of a scan: the sender's, the recipient's, or the
// one in the script.
func scanned(sale kept, scan emulator.Scan) object {
	at := sale.To
	if scan.Code == "OC" || scan.Code == "PU" || scan.Code == "DP" {
		at = sale.From
	}
	if scan.City != "" {
		at = place{City: scan.City, CountryCode: "US"}
	}

	return object{
		"streetLines":         []string{""},
		"city":                at.City,
		"stateOrProvinceCode": at.State,
		"postalCode":          at.PostalCode,
		"countryCode":         at.CountryCode,
		"residential":         false,
	}
}
