package easypost

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/tracking"
)

// trackerObject is a parcel that is followed, whoever sold its label.
type trackerObject struct {
	head
	TrackingCode    string           `json:"tracking_code"`
	Status          string           `json:"status"`
	StatusDetail    string           `json:"status_detail"`
	SignedBy        *string          `json:"signed_by"`
	Weight          *decimal         `json:"weight"`
	EstDeliveryDate *string          `json:"est_delivery_date"`
	ShipmentID      *string          `json:"shipment_id"`
	Carrier         string           `json:"carrier"`
	TrackingDetails []trackingDetail `json:"tracking_details"`
	Fees            []feeObject      `json:"fees"`
	CarrierDetail   *struct{}        `json:"carrier_detail"`
	PublicURL       *string          `json:"public_url"`
	Finalized       bool             `json:"finalized"`
	IsReturn        bool             `json:"is_return"`
}

// trackingDetail is one scan.
type trackingDetail struct {
	Object           string           `json:"object"`
	Message          string           `json:"message"`
	Description      *string          `json:"description"`
	Status           string           `json:"status"`
	StatusDetail     string           `json:"status_detail"`
	Datetime         string           `json:"datetime"`
	Source           string           `json:"source"`
	CarrierCode      *string          `json:"carrier_code"`
	TrackingLocation trackingLocation `json:"tracking_location"`
}

type trackingLocation struct {
	Object  string  `json:"object"`
	City    *string `json:"city"`
	State   *string `json:"state"`
	Country *string `json:"country"`
	Zip     *string `json:"zip"`
}

// theirStatus translates a status and its reason. There is no general exception
// there: some end the parcel's way, others are a detail of its transit.
func theirStatus(status ship.Status, reason string) (theirs, detail string) {
	switch status {
	case ship.LabelGenerated:
		return "pre_transit", "label_created"
	case ship.PickedUp:
		return "in_transit", "received_at_origin_facility"
	case ship.InTransit:
		if reason == "available_for_pickup" {
			return "available_for_pickup", "arrived_at_pickup_location"
		}
		return "in_transit", "in_transit"
	case ship.OutForDelivery:
		return "out_for_delivery", "out_for_delivery"
	case ship.Delivered:
		return "delivered", "arrived_at_destination"
	case ship.Exception:
		if known, ok := exceptions[reason]; ok {
			return known[0], known[1]
		}
		return "in_transit", "delivery_exception"
	}
	return "unknown", "unknown"
}

// exceptions are the reasons of an exception that mean more than a delay.
var exceptions = map[string][2]string{
	"return_to_sender":     {"return_to_sender", "return"},
	"returned":             {"return_to_sender", "return"},
	"weather_delay":        {"in_transit", "weather_delay"},
	"customs_hold":         {"in_transit", "held"},
	"held":                 {"in_transit", "held"},
	"delayed":              {"in_transit", "delayed"},
	"delivery_attempted":   {"in_transit", "delivery_exception"},
	"missorted":            {"in_transit", "missorted"},
	"lost":                 {"failure", "lost"},
	"damaged":              {"failure", "damaged"},
	"refused":              {"failure", "refused"},
	"address_not_found":    {"failure", "address_correction"},
	"undeliverable":        {"failure", "failure"},
	"voided":               {"cancelled", "cancelled"},
	"purchase_failed":      {"error", "failure"},
	"purchase_unconfirmed": {"unknown", "awaiting_information"},
}

// detailOf is a scan as clients see it.
func detailOf(scan ship.Scan, carrier string) trackingDetail {
	status, detail := theirStatus(scan.Status, scan.Reason)
	out := trackingDetail{
		Object:           "TrackingDetail",
		Message:          scan.Description,
		Status:           status,
		StatusDetail:     detail,
		Datetime:         timestamp(scan.At),
		Source:           theirCarrier(carrier),
		TrackingLocation: locationOf(scan.Location),
	}
	// The codes of scans that the service itself makes begin with a dot.
	if !strings.HasPrefix(scan.Code, ".") {
		out.CarrierCode = orNull(scan.Code)
	}
	return out
}

// locationOf reads "Louisville, KY, US", which is how scans say where they were made.
func locationOf(text string) trackingLocation {
	out := trackingLocation{Object: "TrackingLocation"}
	parts := strings.Split(text, ", ")
	switch {
	case text == "":
	case len(parts) >= 3:
		out.City = orNull(strings.Join(parts[:len(parts)-2], ", "))
		out.State = orNull(parts[len(parts)-2])
		out.Country = orNull(parts[len(parts)-1])
	case len(parts) == 2:
		out.City = orNull(parts[0])
		out.Country = orNull(parts[1])
	default:
		out.City = orNull(text)
	}
	return out
}

// tracker is a parcel as clients see it. The shipment is nil for a parcel that was
// not bought here.
func (s *server) tracker(ctx context.Context, t ship.Tenant, tracked tracking.Tracked, shipment *ship.Shipment) (*trackerObject, error) {
	id := tracked.Tracker.Raw()
	if tracked.Shipment != "" {
		id = tracked.Shipment.Raw()
		if shipment == nil {
			found, err := s.Shipping.Shipment(ctx, t, tracked.Shipment)
			if err != nil {
				return nil, err
			}
			shipment = &found
		}
	}

	out := trackerOf(t, id, tracked, shipment)
	if shipment != nil && shipment.Purchase.TrackingNumber != "" {
		path, err := s.Tracking.CurrentPagePath(ctx, *shipment)
		if err != nil {
			return nil, err
		}
		out.PublicURL = new(s.BaseURL + path)
	}
	return out, nil
}

// trackerOf translates a parcel.
func trackerOf(t ship.Tenant, id ship.RawID, tracked tracking.Tracked, shipment *ship.Shipment) *trackerObject {
	out := &trackerObject{
		head:            headOf(t, "Tracker", prefixTracker, id),
		TrackingCode:    tracked.TrackingNumber,
		EstDeliveryDate: timeOrNull(tracked.Progress.EstimateAt),
		Carrier:         theirCarrier(tracked.Carrier),
		TrackingDetails: []trackingDetail{},
		Fees:            []feeObject{},
		Finalized:       true,
	}
	out.Status, out.StatusDetail = theirStatus(tracked.Progress.Status, tracked.Progress.Reason)

	// There, the oldest scan comes first.
	for _, scan := range slices.Backward(tracked.Scans) {
		if scan.Status != ship.Created {
			out.TrackingDetails = append(out.TrackingDetails, detailOf(scan, tracked.Carrier))
		}
	}
	if !tracked.CheckedAt.IsZero() {
		out.UpdatedAt = new(timestamp(tracked.CheckedAt))
	}

	if shipment != nil {
		out.ShipmentID = new(theirShipmentID(*shipment))
		out.IsReturn = shipment.Order.IsReturn
		if len(shipment.Order.Parcels) > 0 {
			out.Weight = new(decimal(ouncesOf(shipment.Order.Parcels[0])))
		}
		if shipment.State == ship.StateVoided {
			out.Status, out.StatusDetail = "cancelled", "cancelled"
		}
	}
	playTestCode(t, out)
	return out
}

// ouncesOf returns a weight as the client wrote it, if it wrote ounces: grams are
// rounded up.
func ouncesOf(parcel ship.Parcel) float64 {
	if parcel.WeightUnit == ship.Ounce {
		return parcel.Weight
	}
	return ship.Ounce.Of(parcel.WeightGrams)
}

// testCodes are the statuses of EasyPost's test tracking codes, by their number.
var testCodes = []struct{ status, detail string }{
	1: {"pre_transit", "label_created"},
	2: {"in_transit", "in_transit"},
	3: {"out_for_delivery", "out_for_delivery"},
	4: {"delivered", "arrived_at_destination"},
	5: {"return_to_sender", "return"},
	6: {"failure", "failure"},
	7: {"unknown", "unknown"},
}

// testCode returns the number of a test tracking code: EZ1000000001 is 1.
func testCode(t ship.Tenant, code string) (number int, ok bool) {
	digits, isTest := strings.CutPrefix(strings.ToUpper(code), "EZ")
	if t.Livemode || !isTest || len(digits) != 10 || digits[1:9] != "00000000" || digits[0] != digits[9] {
		return 0, false
	}
	number, err := strconv.Atoi(digits[:1])
	return number, err == nil && number >= 1 && number < len(testCodes)
}

// playTestCode gives the tracker of a test code the status that the code stands for.
func playTestCode(t ship.Tenant, out *trackerObject) {
	number, ok := testCode(t, out.TrackingCode)
	if !ok {
		return
	}
	out.Status = testCodes[number].status
	out.StatusDetail = testCodes[number].detail
	if number == 4 {
		out.SignedBy = new("John Tester")
	}
	out.TrackingDetails = []trackingDetail{}
	for step := 1; step <= min(number, 4); step++ {
		out.TrackingDetails = append(out.TrackingDetails, trackingDetail{
			Object:           "TrackingDetail",
			Message:          "Test tracking code: " + testCodes[step].status,
			Status:           testCodes[step].status,
			StatusDetail:     testCodes[step].detail,
			Datetime:         out.CreatedAt,
			Source:           out.Carrier,
			TrackingLocation: locationOf(""),
		})
	}
}

func (s *server) createTracker(ctx context.Context, in *request) (answer, error) {
	given := in.body.object("tracker")
	code := given.text("tracking_code")
	if code == "" {
		return answer{}, required("tracking_code")
	}
	out, err := s.follow(ctx, in, code, given.text("carrier"))
	return answer{status: http.StatusCreated, body: out}, err
}

// follow begins to follow a parcel, or finds one that is followed already: bought
// here or not.
func (s *server) follow(ctx context.Context, in *request, code, theirs string) (*trackerObject, error) {
	carrier := ownCarrier(theirs)
	if _, isTest := testCode(in.tenant, code); isTest && carrier == "" {
		carrier = serviceNames()[0].carrier
	}

	tracked, err := s.Tracking.Track(ctx, in.tenant, code, carrier)
	if ship.KindOf(err) == ship.NotFound {
		tracked, _, err = s.Tracking.Follow(ctx, in.tenant, in.caller.Key, code, carrier)
	}
	if err != nil {
		return nil, err
	}
	return s.tracker(ctx, in.tenant, tracked, nil)
}

// createTrackers follows a list of parcels. There it answers with an empty object
// at once. With tracking codes alone, it answers with the trackers that there are.
func (s *server) createTrackers(ctx context.Context, in *request) (answer, error) {
	if codes := in.body.names("tracking_codes"); len(codes) > 0 {
		in.query = url.Values{"tracking_codes[]": codes}
		return s.listTrackers(ctx, in)
	}

	given := in.body["trackers"]
	list, ok := given.([]any)
	if !ok {
		for _, item := range objectOf(given) { // an older form: numbered from "0"
			list = append(list, item)
		}
	}
	if len(list) == 0 {
		return answer{}, required("trackers")
	}
	if len(list) > maxTrackers {
		return answer{}, invalid("trackers", "must have at most "+strconv.Itoa(maxTrackers)+" trackers")
	}

	for _, item := range list {
		one := objectOf(item)
		if _, err := s.follow(ctx, in, one.text("tracking_code"), one.text("carrier")); err != nil {
			return answer{}, err
		}
	}
	return answer{status: http.StatusOK, body: struct{}{}}, nil
}

const maxTrackers = 100

func (s *server) getTracker(ctx context.Context, in *request) (answer, error) {
	tracked, err := s.findTracker(ctx, in)
	if err != nil {
		return answer{}, err
	}
	out, err := s.tracker(ctx, in.tenant, tracked, nil)
	return answer{status: http.StatusOK, body: out}, err
}

// findTracker finds a parcel by the id of its tracker or by its number. The tracker
// of a shipment has the shipment's id under its own prefix.
func (s *server) findTracker(ctx context.Context, in *request) (tracking.Tracked, error) {
	name := in.id
	if _, ok := parseID(name, prefixTracker); !ok && strings.HasPrefix(name, prefixTracker) {
		return tracking.Tracked{}, notFound()
	}
	return s.Tracking.Track(ctx, in.tenant, name, "")
}

func (s *server) deleteTracker(ctx context.Context, in *request) (answer, error) {
	tracked, err := s.findTracker(ctx, in)
	if err != nil {
		return answer{}, err
	}
	if tracked.Tracker == "" {
		return answer{}, ship.Coded(ship.Invalid, "conflict", "the tracker belongs to a shipment and cannot be deleted")
	}
	out, err := s.tracker(ctx, in.tenant, tracked, nil)
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, body: out}, s.Tracking.Unfollow(ctx, in.tenant, tracked.Tracker)
}

func (s *server) listTrackers(ctx context.Context, in *request) (answer, error) {
	// A list can be narrowed to one code or to several.
	codes := in.query["tracking_codes[]"]
	if code := in.query.Get("tracking_code"); code != "" {
		codes = append(codes, code)
	}
	if len(codes) > maxTrackers {
		return answer{}, invalid("tracking_codes", "must have at most "+strconv.Itoa(maxTrackers)+" codes")
	}
	out := []*trackerObject{}
	if len(codes) > 0 {
		for _, code := range codes {
			tracked, err := s.Tracking.Track(ctx, in.tenant, code, ownCarrier(in.query.Get("carrier")))
			if ship.KindOf(err) == ship.NotFound {
				continue
			}
			if err != nil {
				return answer{}, err
			}
			one, err := s.tracker(ctx, in.tenant, tracked, nil)
			if err != nil {
				return answer{}, err
			}
			out = append(out, one)
		}
		return answer{status: http.StatusOK, body: map[string]any{"trackers": out, "has_more": false}}, nil
	}

	page := ship.Page{}
	var err error
	if page.Limit, err = pageSize(in); err != nil {
		return answer{}, err
	}
	if given := in.query.Get("before_id"); given != "" {
		id, ok := parseID(given, prefixTracker)
		if !ok {
			return answer{}, invalid("before_id", "is not the id of a tracker")
		}
		page.Before = id
	}
	list, more, err := s.Tracking.Trackers(ctx, in.tenant, page)
	if err != nil {
		return answer{}, err
	}
	for _, tracked := range list {
		out = append(out, trackerOf(in.tenant, tracked.Tracker.Raw(), tracked, nil))
	}
	return answer{status: http.StatusOK, body: map[string]any{"trackers": out, "has_more": more}}, nil
}

// pageSize reads how many items a page has.
func pageSize(in *request) (int, error) {
	given := in.query.Get("page_size")
	if given == "" {
		return 20, nil
	}
	size, err := strconv.Atoi(given)
	if err != nil || size < 1 {
		return 0, invalid("page_size", "must be a whole number from 1 to 100")
	}
	return min(size, 100), nil
}

// parseTime reads a time in one of the forms that clients send. It keeps the offset
// that the client wrote: carriers are sent the time and the day at the place of the
// parcel.
func parseTime(text string) (time.Time, error) {
	for _, layout := range []string{
		time.RFC3339Nano, "2006-01-02T15:04:05Z0700", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 -0700",
		"2006-01-02T15:04:05", "2006-01-02 15:04:05", time.DateOnly,
	} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	return time.Parse(time.RFC3339, text)
}
