package dhlexpress

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

// area is one of DHL's service areas.
type area struct {
	Code        string `json:"code"`
	Description string `json:"description"`
}

// areaOf names the area of a place by the first letters of its city.
func areaOf(country, city string) area {
	letters := strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r
		}
		return -1
	}, strings.ToUpper(city))

	// A code has three letters even if the city has fewer.
	code := letters + "XXX"
	return area{code[:3], strings.ToUpper(city) + "-" + country}
}

type event struct {
	Date        string `json:"date"`
	Time        string `json:"time"`
	GMTOffset   string `json:"GMTOffset,omitempty"`
	TypeCode    string `json:"typeCode"`
	Description string `json:"description"`
	ServiceArea []area `json:"serviceArea"`
	SignedBy    string `json:"signedBy,omitempty"`
}

// step is one scan in the usual history of a parcel.
type step struct {
	after       time.Duration
	code, text  string
	destination bool // happens at the destination, not at the origin
	border      bool // happens only on the way across a border
}

var usualScans = []step{
	{time.Hour, "PU", "Shipment picked up", false, false},
	{2 * time.Hour, "PL", "Processed at", false, false},
	{4 * time.Hour, "DF", "Shipment has departed from a DHL facility", false, false},
	{18 * time.Hour, "AF", "Arrived at DHL Sort Facility", true, false},
	{19 * time.Hour, "IC", "Processed for clearance at", true, true},
	{20 * time.Hour, "CR", "Clearance processing complete at", true, true},
	{22 * time.Hour, "AR", "Arrived at DHL Delivery Facility", true, false},
	{23 * time.Hour, "WC", "Shipment is out with courier for delivery", true, false},
	{26 * time.Hour, "OK", "Delivered", true, false},
}

// events returns what has happened to a sale by now, oldest first.
func (s standIn) events(sale emulator.Entry, k kept, now time.Time, offsets bool) []event {
	var list []event
	add := func(after time.Duration, code, text string, where area) {
		at := sale.At.Add(after)
		if at.After(now) {
			return
		}

		scanned := event{
			Date:        at.Format(time.DateOnly),
			Time:        at.Format(time.TimeOnly),
			TypeCode:    code,
			Description: text,
			ServiceArea: []area{where},
		}
		if offsets {
			scanned.GMTOffset = "+00:00"
		}
		if code == "OK" {
			scanned.SignedBy = "J DOE"
		}
		list = append(list, scanned)
	}

	from := areaOf(k.From.CountryCode, k.From.CityName)
	to := areaOf(k.To.CountryCode, k.To.CityName)
	if script := s.Faults().Tracking; len(script) > 0 {
		for _, scan := range script {
			where := to
			if scan.City != "" {
				where = areaOf(k.To.CountryCode, scan.City)
			}
			add(time.Duration(scan.After), scan.Code, scan.Text, where)
		}
		return list
	}

	for _, scan := range usualScans {
		where := from
		if scan.destination {
			where = to
		}
		if !scan.border || k.Dutiable {
			add(scan.after, scan.code, scan.text+" "+where.Description, where)
		}
	}
	return list
}

// view is the part of a sale that a request asks for.
type view struct {
	advance, pieces, offsets, details, last bool
}

func viewOf(r *http.Request) view {
	query := r.URL.Query()
	return view{
		advance: query.Get("trackingView") == "advance-shipment",
		details: query.Get("trackingView") == "shipment-details-only",
		last:    query.Get("trackingView") == "last-checkpoint",
		pieces:  query.Get("levelOfDetail") == "all" || query.Get("levelOfDetail") == "piece",
		offsets: query.Get("requestGMTOffsetPerEvent") == "true",
	}
}

// trackingOf returns a sale as tracking shows it. Before its first scan a sale
// is visible only if the view asks for it.
func (s standIn) trackingOf(sale emulator.Entry, v view) (shown any, isVisible bool) {
	k := keptOf(sale)
	events := s.events(sale, k, time.Now(), v.offsets)
	if len(events) == 0 && !v.advance {
		return nil, false
	}

	switch {
	case v.details:
		events = nil
	case v.last:
		events = events[len(events)-1:]
	}
	if events == nil { // an empty list in JSON, not null
		events = []event{}
	}

	total := 0.0
	pieces := []any{}
	for i, weight := range k.Weights {
		total += weight
		pieces = append(pieces, map[string]any{
			"number":                 i + 1,
			"shipmentTrackingNumber": sale.Number,
			"trackingNumber":         k.Pieces[i],
			"weight":                 weight,
			"unitOfMeasurements":     "metric",
			"events":                 events,
		})
	}

	body := map[string]any{
		"shipmentTrackingNumber": sale.Number,
		"status":                 "Success",
		"shipmentTimestamp":      sale.At.Format("2006-01-02T15:04:05"),
		"productCode":            k.Product,
		"description":            k.Content,
		"totalWeight":            total,
		"unitOfMeasurements":     "metric",
		"shipperDetails":         partyOf(k.From),
		"receiverDetails":        partyOf(k.To),
		"shipperReferences":      k.References,
		"events":                 events,
		"numberOfPieces":         len(k.Pieces),
		"estimatedDeliveryDate":  k.Arrival[:len(time.DateOnly)],
	}
	if v.pieces {
		body["pieces"] = pieces
	}
	return body, true
}

// partyOf returns a party of a shipment. Its name is left empty for privacy.
func partyOf(p place) map[string]any {
	return map[string]any{
		"name":          "",
		"postalAddress": map[string]any{"cityName": "", "postalCode": "", "countryCode": p.CountryCode},
		"serviceArea":   []area{areaOf(p.CountryCode, p.CityName)},
	}
}

// trackOne answers GET /shipments/{number}/tracking.
func (s standIn) trackOne(w http.ResponseWriter, r *http.Request) {
	s.track(w, r, []string{r.PathValue("number")})
}

// trackMany answers GET /tracking, by numbers or by the client's reference.
func (s standIn) trackMany(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	numbers := append(query["shipmentTrackingNumber"], query["pieceTrackingNumber"]...)

	switch {
	case len(numbers) > 200:
		refuse(w, r, http.StatusBadRequest, "A maximum of 200 tracking numbers is allowed")
	case len(numbers) > 0:
		s.track(w, r, numbers)
	case query.Get("shipmentReference") != "":
		s.lookUp(w, r)
	default:
		refuse(w, r, http.StatusBadRequest, "Missing mandatory parameters: shipmentTrackingNumber")
	}
}

func (s standIn) track(w http.ResponseWriter, r *http.Request, numbers []string) {
	var shipments []any
	shown := map[int]bool{} // a shipment is listed once, however many of its pieces are requested
	for _, number := range numbers {
		sale, _, ok := s.Ledger.Sold(number)
		if !ok || shown[sale.Line] {
			continue
		}
		shown[sale.Line] = true
		if shipment, isVisible := s.trackingOf(sale, viewOf(r)); isVisible {
			shipments = append(shipments, shipment)
		}
	}

	if len(shipments) == 0 {
		refuse(w, r, http.StatusNotFound, "No data found")
		return
	}
	reply(w, http.StatusOK, map[string]any{"shipments": shipments})
}

// lookUp finds sales by reference. DHL requires the account and a range of days.
func (s standIn) lookUp(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	var absent []string
	for _, name := range []string{"shipperAccountNumber", "dateRangeFrom", "dateRangeTo"} {
		if query.Get(name) == "" {
			absent = append(absent, name)
		}
	}
	if absent != nil {
		refuse(w, r, http.StatusBadRequest, "Missing mandatory parameters: "+strings.Join(absent, ", "))
		return
	}

	var shipments []any
	value := query.Get("shipmentReference")
	for _, sale := range s.Find(value) {
		day := sale.At.Format(time.DateOnly)
		if sale.Account != query.Get("shipperAccountNumber") || day < query.Get("dateRangeFrom") || day > query.Get("dateRangeTo") {
			continue
		}
		if kind := query.Get("shipmentReferenceType"); kind != "" && !slices.Contains(keptOf(sale).References, reference{value, kind}) {
			continue
		}
		if shipment, isVisible := s.trackingOf(sale, viewOf(r)); isVisible {
			shipments = append(shipments, shipment)
		}
	}

	if len(shipments) == 0 {
		refuse(w, r, http.StatusNotFound, "No Shipments Found for ReferenceID | "+value)
		return
	}
	reply(w, http.StatusOK, map[string]any{"shipments": shipments})
}
