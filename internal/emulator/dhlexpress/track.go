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

// areaOf names the area of a place by its first letters.
func areaOf(country, city string) area {
	code := strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r
		}
		return -1
	}, strings.ToUpper(city)) + "XXX"
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

// step is one scan of the usual life of a parcel.
type step struct {
	after       time.Duration
	code, text  string
	destination bool // it happens there, not at the origin
	border      bool // it happens on the way across one alone
}

var life = []step{
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

// events are what has happened to a sale by now, oldest first.
func (s stand) events(e emulator.Entry, k kept, now time.Time, offsets bool) []event {
	var list []event
	add := func(after time.Duration, code, text string, at area) {
		t := e.At.Add(after)
		if t.After(now) {
			return
		}
		v := event{Date: t.Format(time.DateOnly), Time: t.Format(time.TimeOnly), TypeCode: code, Description: text, ServiceArea: []area{at}}
		if offsets {
			v.GMTOffset = "+00:00"
		}
		if code == "OK" {
			v.SignedBy = "J DOE"
		}
		list = append(list, v)
	}
	from, to := areaOf(k.From.CountryCode, k.From.CityName), areaOf(k.To.CountryCode, k.To.CityName)
	if script := s.Knobs().Tracking; len(script) > 0 {
		for _, scan := range script {
			at := to
			if scan.City != "" {
				at = areaOf(k.To.CountryCode, scan.City)
			}
			add(time.Duration(scan.After), scan.Code, scan.Text, at)
		}
		return list
	}
	for _, st := range life {
		at := from
		if st.destination {
			at = to
		}
		if !st.border || k.Dutiable {
			add(st.after, st.code, st.text+" "+at.Description, at)
		}
	}
	return list
}

// view is what of a sale a request wants to see.
type view struct {
	advance, pieces, offsets, details, last bool
}

func viewOf(r *http.Request) view {
	q := r.URL.Query()
	return view{
		advance: q.Get("trackingView") == "advance-shipment",
		details: q.Get("trackingView") == "shipment-details-only",
		last:    q.Get("trackingView") == "last-checkpoint",
		pieces:  q.Get("levelOfDetail") == "all" || q.Get("levelOfDetail") == "piece",
		offsets: q.Get("requestGMTOffsetPerEvent") == "true",
	}
}

// show is a sale as tracking shows it; not at all before its first scan, unless
// the view says so.
func (s stand) show(e emulator.Entry, v view) (any, bool) {
	k := keptOf(e)
	events := s.events(e, k, time.Now(), v.offsets)
	if len(events) == 0 && !v.advance {
		return nil, false
	}
	switch {
	case v.details:
		events = nil
	case v.last:
		events = events[len(events)-1:]
	}
	if events == nil {
		events = []event{}
	}
	total, pieces := 0.0, []any{}
	for i, w := range k.Weights {
		total += w
		pieces = append(pieces, map[string]any{
			"number": i + 1, "shipmentTrackingNumber": e.Number, "trackingNumber": k.Pieces[i], "weight": w,
			"unitOfMeasurements": "metric", "events": events,
		})
	}
	shown := map[string]any{
		"shipmentTrackingNumber": e.Number, "status": "Success", "shipmentTimestamp": e.At.Format("2006-01-02T15:04:05"),
		"productCode": k.Product, "description": k.Content, "totalWeight": total, "unitOfMeasurements": "metric",
		"shipperDetails":    side(k.From),
		"receiverDetails":   side(k.To),
		"shipperReferences": k.References, "events": events, "numberOfPieces": len(k.Pieces),
		"estimatedDeliveryDate": k.Arrival[:len(time.DateOnly)],
	}
	if v.pieces {
		shown["pieces"] = pieces
	}
	return shown, true
}

// side is a party of a shipment. Its name is left empty, as privacy demands.
func side(p place) map[string]any {
	return map[string]any{
		"name": "", "postalAddress": map[string]any{"cityName": "", "postalCode": "", "countryCode": p.CountryCode},
		"serviceArea": []area{areaOf(p.CountryCode, p.CityName)},
	}
}

// trackOne answers GET /shipments/{number}/tracking.
func (s stand) trackOne(w http.ResponseWriter, r *http.Request) {
	s.track(w, r, []string{r.PathValue("number")})
}

// trackMany answers GET /tracking, by numbers or by the client's reference.
func (s stand) trackMany(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	numbers := append(q["shipmentTrackingNumber"], q["pieceTrackingNumber"]...)
	switch {
	case len(numbers) > 200:
		refuse(w, r, http.StatusBadRequest, "A maximum of 200 tracking numbers is allowed")
	case len(numbers) > 0:
		s.track(w, r, numbers)
	case q.Get("shipmentReference") != "":
		s.lookUp(w, r)
	default:
		refuse(w, r, http.StatusBadRequest, "Missing mandatory parameters: shipmentTrackingNumber")
	}
}

func (s stand) track(w http.ResponseWriter, r *http.Request, numbers []string) {
	var shipments []any
	shown := map[int]bool{} // a shipment stands once, however many of its pieces are asked for
	for _, n := range numbers {
		e, _, ok := s.Ledger.Sold(n)
		if !ok || shown[e.Line] {
			continue
		}
		shown[e.Line] = true
		if one, visible := s.show(e, viewOf(r)); visible {
			shipments = append(shipments, one)
		}
	}
	if len(shipments) == 0 {
		refuse(w, r, http.StatusNotFound, "No data found")
		return
	}
	reply(w, http.StatusOK, map[string]any{"shipments": shipments})
}

// lookUp finds sales by reference. DHL wants the account and a range of days.
func (s stand) lookUp(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	var absent []string
	for _, name := range []string{"shipperAccountNumber", "dateRangeFrom", "dateRangeTo"} {
		if q.Get(name) == "" {
			absent = append(absent, name)
		}
	}
	if absent != nil {
		refuse(w, r, http.StatusBadRequest, "Missing mandatory parameters: "+strings.Join(absent, ", "))
		return
	}
	var shipments []any
	for _, e := range s.Find(q.Get("shipmentReference")) {
		day := e.At.Format(time.DateOnly)
		if e.Account != q.Get("shipperAccountNumber") || day < q.Get("dateRangeFrom") || day > q.Get("dateRangeTo") {
			continue
		}
		if kind := q.Get("shipmentReferenceType"); kind != "" && !slices.Contains(keptOf(e).References, reference{q.Get("shipmentReference"), kind}) {
			continue
		}
		if one, visible := s.show(e, viewOf(r)); visible {
			shipments = append(shipments, one)
		}
	}
	if len(shipments) == 0 {
		refuse(w, r, http.StatusNotFound, "No Shipments Found for ReferenceID | "+q.Get("shipmentReference"))
		return
	}
	reply(w, http.StatusOK, map[string]any{"shipments": shipments})
}
