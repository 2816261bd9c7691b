package usps

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"
)

// A scan is a step of a parcel in the carrier's code.
type scan struct {
	part     int // of the way, in hundredths
	code     string
	text     string
	category string
	there    bool // at the destination
}

// usual is what a parcel goes through.
var usual = []scan{
	{0, "GX", "Shipping Label Created, USPS Awaiting Item", "Pre-Shipment", false},
	{10, "03", "Accepted at USPS Origin Facility", "Accepted", false},
	{30, "10", "Processed Through USPS Facility", "In Transit", false},
	{70, "07", "Arrived at Post Office", "In Transit", true},
	{90, "OF", "Out for Delivery", "Out for Delivery", true},
	{100, "01", "Delivered, In/At Mailbox", "Delivered", true},
}

// categories are the status categories of codes beside the usual.
var categories = map[string]string{
	"02": "Delivery Attempt: Action Needed", "04": "Alert", "05": "Alert", "08": "Alert", "09": "Return to Sender", "14": "Available for Pickup",
	"16": "Available for Pickup", "21": "Return to Sender", "22": "Return to Sender", "55": "Delivery Attempt", "MA": "Pre-Shipment",
}

// categoryOf is the status category of a code.
func categoryOf(code string) string {
	if i := slices.IndexFunc(usual, func(s scan) bool { return s.code == code }); i >= 0 {
		return usual[i].category
	}
	if category, ok := categories[code]; ok {
		return category
	}
	return "In Transit"
}

// timeThere is the clock of every place here: the carrier tells local time.
var timeThere = time.FixedZone("EST", -5*3600)

// A step is something that happens to a parcel.
type step struct {
	at                           time.Time
	code, text, city, state, zip string
}

// steps are all that happens to a sale, first to last.
func (s *service) steps(at time.Time, k kept) []step {
	var list []step
	if script := s.Knobs().Tracking; script != nil {
		for _, scan := range script {
			list = append(list, step{at: at.Add(time.Duration(scan.After)), code: scan.Code, text: scan.Text, city: scan.City})
		}
		return list
	}
	c, _ := classOf(k.Request.PackageDescription.MailClass)
	life := time.Duration(max(c.days, 1)+int(k.Zone)/4) * 24 * time.Hour
	for _, scan := range usual {
		place := k.Request.FromAddress
		if scan.there {
			place = k.Request.ToAddress
		}
		list = append(list, step{at.Add(life * time.Duration(scan.part) / 100), scan.code, scan.text, place.City, place.State, place.ZIPCode})
	}
	return list
}

// event is a step as the carrier tells it.
func (t step) event() map[string]any {
	local := t.at.In(timeThere)
	return map[string]any{
		"eventType": t.text, "eventCode": t.code, "eventCity": strings.ToUpper(t.city), "eventState": t.state, "eventZIP": t.zip,
		"eventTimestamp": local.Format("2006-01-02T15:04:05") + "Z", // local, whatever the letter says
		"GMTTimestamp":   t.at.UTC().Format("2006-01-02T15:04:05Z"), "GMTOffset": local.Format("-07:00"),
	}
}

// details are all that the carrier tells of a number; nil if it knows nothing.
func (s *service) details(number string) map[string]any {
	number = strings.ToUpper(strings.ReplaceAll(number, " ", ""))
	if len(number) > 26 && strings.HasPrefix(number, "420") {
		number = number[len(number)-22:]
	}
	e, voided, known := s.Ledger.Sold(number)
	var k kept
	if !known || voided || json.Unmarshal(e.Kept, &k) != nil {
		return nil
	}
	return s.tell(number, k, s.happened(e.At, k, time.Now()))
}

// happened are the steps of a sale until now.
func (s *service) happened(at time.Time, k kept, now time.Time) []step {
	return slices.DeleteFunc(s.steps(at, k), func(t step) bool { return t.at.After(now) })
}

// tell is what the carrier tells of a number and some steps of it, the last of
// which is its state; nil if there are none.
func (s *service) tell(number string, k kept, steps []step) map[string]any {
	if len(steps) == 0 {
		return nil
	}
	var events []map[string]any
	for _, t := range slices.Backward(steps) {
		events = append(events, t.event())
	}
	category := categoryOf(steps[len(steps)-1].code)
	from, to := k.Request.FromAddress, k.Request.ToAddress
	d := map[string]any{
		"trackingNumber": number, "status": events[0]["eventType"], "statusCategory": category, "statusSummary": events[0]["eventType"],
		"originCity": strings.ToUpper(from.City), "originState": from.State, "originZIP": from.ZIPCode,
		"destinationCity": strings.ToUpper(to.City), "trackingEvents": events, "accessControl": "FREE",
	}
	if k.Abroad {
		d["destinationCountryCode"] = to.CountryCode
		return d
	}
	c, _ := classOf(k.Request.PackageDescription.MailClass)
	day := c.commitment(k.Request.PackageDescription.MailingDate, k.Zone)["expectedDeliveryDate"].(string)
	d["destinationState"], d["destinationZIP"], d["serviceTypeCode"] = to.State, to.ZIPCode, c.mark
	d["expectedDeliveryTimeStamp"] = day + "T20:00:00Z"
	return d
}

var unknown = problem{"150001", "trackingNumber", "A status update is not yet available on your package. It will be available when the shipper provides an update or the package is delivered to USPS."}

func (s *service) track(w http.ResponseWriter, r *http.Request) {
	d := s.details(r.PathValue("number"))
	if d == nil {
		refuse(w, "/tracking/v3", unknown)
		return
	}
	if r.URL.Query().Get("expand") == "DETAIL" {
		reply(w, d)
		return
	}
	reply(w, map[string]any{"trackingNumber": d["trackingNumber"], "eventSummaries": []any{d["statusSummary"]}})
}

// trackMany is the newer API: up to 35 numbers at once.
func (s *service) trackMany(w http.ResponseWriter, r *http.Request) {
	var in []struct {
		TrackingNumber string `json:"trackingNumber"`
	}
	if _, p := read(r, &in); p.detail != "" || len(in) == 0 || len(in) > 35 {
		refuse(w, "/tracking/v3r2", problem{"", "body", "OASValidation: between 1 and 35 numbers are required"})
		return
	}
	status := http.StatusOK
	var list []any
	for _, one := range in {
		d := newer(s.details(one.TrackingNumber))
		if d == nil {
			status = http.StatusMultiStatus
			d = map[string]any{"trackingNumber": one.TrackingNumber, "statusCode": "400", "error": json.RawMessage(errorBody("/tracking/v3r2", http.StatusBadRequest, unknown))}
		}
		list = append(list, d)
	}
	body, _ := json.Marshal(list) // of strings
	send(w, status, body)
}

// newer is the same in the names of the newer API.
func newer(d map[string]any) map[string]any {
	if d == nil {
		return nil
	}
	if day, ok := d["expectedDeliveryTimeStamp"].(string); ok {
		delete(d, "expectedDeliveryTimeStamp")
		d["deliveryDateExpectation"] = map[string]any{"expectedDeliveryDate": day[:len(time.DateOnly)]}
	}
	events, _ := d["trackingEvents"].([]map[string]any)
	for _, e := range events {
		e["eventZIPCode"] = e["eventZIP"]
		delete(e, "eventZIP")
	}
	return d
}
