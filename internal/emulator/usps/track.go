package usps

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A scan is a step of a parcel in the carrier's code.
type scan struct {
	part     int // time within the transit, in hundredths
	code     string
	text     string
	category string
	there    bool // at the destination
}

// usual is the usual history of a parcel.
var usual = []scan{
	{0, "GX", "Shipping Label Created, USPS Awaiting Item", "Pre-Shipment", false},
	{10, "03", "Accepted at USPS Origin Facility", "Accepted", false},
	{30, "10", "Processed Through USPS Facility", "In Transit", false},
	{70, "07", "Arrived at Post Office", "In Transit", true},
	{90, "OF", "Out for Delivery", "Out for Delivery", true},
	{100, "01", "Delivered, In/At Mailbox", "Delivered", true},
}

// categories are the status categories of codes outside the usual history.
var categories = map[string]string{
	"02": "Delivery Attempt: Action Needed",
	"04": "Alert",
	"05": "Alert",
	"08": "Alert",
	"09": "Return to Sender",
	"14": "Available for Pickup",
	"16": "Available for Pickup",
	"21": "Return to Sender",
	"22": "Return to Sender",
	"55": "Delivery Attempt",
	"MA": "Pre-Shipment",
}

// categoryOf returns the status category of a code.
func categoryOf(code string) string {
	if i := slices.IndexFunc(usual, func(s scan) bool { return s.code == code }); i >= 0 {
		return usual[i].category
	}
	if category, ok := categories[code]; ok {
		return category
	}
	return "In Transit"
}

// timeThere is the time zone of every place in the emulator; the carrier
// reports local time.
var timeThere = time.FixedZone("EST", -5*3600)

// A step is something that happens to a parcel.
type step struct {
	at                           time.Time
	code, text, city, state, zip string
}

// steps returns everything that happens to a sale, in order.
func (s *service) steps(at time.Time, sale kept) []step {
	var list []step
	if script := s.Faults().Tracking; script != nil {
		for _, scripted := range script {
			list = append(list, step{
				at:   at.Add(time.Duration(scripted.After)),
				code: scripted.Code,
				text: scripted.Text,
				city: scripted.City,
			})
		}
		return list
	}

	class, _ := classOf(sale.Request.PackageDescription.MailClass)
	life := time.Duration(max(class.days, 1)+int(sale.Zone)/4) * 24 * time.Hour
	for _, scanned := range usual {
		place := sale.Request.FromAddress
		if scanned.there {
			place = sale.Request.ToAddress
		}
		list = append(list, step{
			at:    at.Add(life * time.Duration(scanned.part) / 100),
			code:  scanned.code,
			text:  scanned.text,
			city:  place.City,
			state: place.State,
			zip:   place.ZIPCode,
		})
	}
	return list
}

// event returns a step as the carrier reports it.
func (t step) event() map[string]any {
	local := t.at.In(timeThere)
	return map[string]any{
		"eventType":      t.text,
		"eventCode":      t.code,
		"eventCity":      strings.ToUpper(t.city),
		"eventState":     t.state,
		"eventZIP":       t.zip,
		"eventTimestamp": local.Format("2006-01-02T15:04:05") + "Z", // local time, despite the Z
		"GMTTimestamp":   t.at.UTC().Format("2006-01-02T15:04:05Z"),
		"GMTOffset":      local.Format("-07:00"),
	}
}

// details are everything that the carrier knows of a number; nil if it knows
// nothing.
func (s *service) details(number string) map[string]any {
	number = strings.ToUpper(strings.ReplaceAll(number, " ", ""))
	if len(number) > 26 && strings.HasPrefix(number, "420") {
		number = number[len(number)-22:]
	}

	sold, voided, known := s.Ledger.Sold(number)
	var sale kept
	if !known || voided || json.Unmarshal(sold.Kept, &sale) != nil {
		return nil
	}
	return s.trackingDetails(number, sale, s.happened(sold.At, sale, time.Now()))
}

// happened returns the steps of a sale until now.
func (s *service) happened(at time.Time, sale kept, now time.Time) []step {
	return slices.DeleteFunc(s.steps(at, sale), func(t step) bool { return t.at.After(now) })
}

// trackingDetails returns the carrier's answer about a number and some of its
// steps, the last of which is its state; nil if there are none.
func (s *service) trackingDetails(number string, sale kept, steps []step) map[string]any {
	if len(steps) == 0 {
		return nil
	}

	var events []map[string]any
	for _, done := range slices.Backward(steps) {
		events = append(events, done.event())
	}
	from := sale.Request.FromAddress
	to := sale.Request.ToAddress
	details := map[string]any{
		"trackingNumber":  number,
		"status":          events[0]["eventType"],
		"statusCategory":  categoryOf(steps[len(steps)-1].code),
		"statusSummary":   events[0]["eventType"],
		"originCity":      strings.ToUpper(from.City),
		"originState":     from.State,
		"originZIP":       from.ZIPCode,
		"destinationCity": strings.ToUpper(to.City),
		"trackingEvents":  events,
		"accessControl":   "FREE",
	}
	if sale.Abroad {
		details["destinationCountryCode"] = to.CountryCode
		return details
	}

	class, _ := classOf(sale.Request.PackageDescription.MailClass)
	day := class.commitment(sale.Request.PackageDescription.MailingDate, sale.Zone)["expectedDeliveryDate"].(string)
	details["destinationState"] = to.State
	details["destinationZIP"] = to.ZIPCode
	details["serviceTypeCode"] = class.mark
	details["expectedDeliveryTimeStamp"] = day + "T20:00:00Z"
	return details
}

var unknown = problem{"150001", "trackingNumber", "A status update is not yet available on your package. It will be available when the shipper provides an update or the package is delivered to USPS."}

func (s *service) track(w http.ResponseWriter, r *http.Request) {
	details := s.details(r.PathValue("number"))
	if details == nil {
		refuse(w, "/tracking/v3", unknown)
		return
	}
	if r.URL.Query().Get("expand") == "DETAIL" {
		reply(w, details)
		return
	}
	reply(w, map[string]any{"trackingNumber": details["trackingNumber"], "eventSummaries": []any{details["statusSummary"]}})
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

	for i, asked := range in {
		if asked.TrackingNumber == "" {
			refuse(w, "/tracking/v3r2", problem{"", "[" + strconv.Itoa(i) + "].trackingNumber", "OASValidation: trackingNumber is required"})
			return
		}
	}

	status := http.StatusOK
	var list []any
	for _, asked := range in {
		details := newer(s.details(asked.TrackingNumber))
		if details == nil {
			status = http.StatusMultiStatus
			details = map[string]any{
				"trackingNumber": asked.TrackingNumber,
				"statusCode":     "400",
				"error":          json.RawMessage(errorBody("/tracking/v3r2", http.StatusBadRequest, unknown)),
			}
		}
		list = append(list, details)
	}
	body, _ := json.Marshal(list) // of strings
	send(w, status, body)
}

// newer converts the tracking details to the names of the newer API.
func newer(details map[string]any) map[string]any {
	if details == nil {
		return nil
	}

	if day, ok := details["expectedDeliveryTimeStamp"].(string); ok {
		delete(details, "expectedDeliveryTimeStamp")
		details["deliveryDateExpectation"] = map[string]any{"expectedDeliveryDate": day[:len(time.DateOnly)]}
	}
	events, _ := details["trackingEvents"].([]map[string]any)
	for _, event := range events {
		event["eventZIPCode"] = event["eventZIP"]
		delete(event, "eventZIP")
	}
	return details
}
