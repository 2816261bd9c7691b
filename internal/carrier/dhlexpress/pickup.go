package dhlexpress

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// The wire format of pickups, reduced to the fields that are used.

type pickupBody struct {
	PlannedPickupDateAndTime string           `json:"plannedPickupDateAndTime"`
	CloseTime                string           `json:"closeTime"`
	LocationType             string           `json:"locationType,omitempty"`
	Accounts                 []account        `json:"accounts"`
	SpecialInstructions      []instruction    `json:"specialInstructions,omitempty"`
	Remark                   string           `json:"remark,omitempty"`
	CustomerDetails          pickupParties    `json:"customerDetails"`
	ShipmentDetails          []pickupShipment `json:"shipmentDetails"`
}

type instruction struct {
	Value string `json:"value"`
}

type pickupParties struct {
	ShipperDetails party `json:"shipperDetails"`
}

type pickupShipment struct {
	ProductCode         string `json:"productCode"`
	IsCustomsDeclarable bool   `json:"isCustomsDeclarable"`
	UnitOfMeasurement   string `json:"unitOfMeasurement"`
	Packages            []pack `json:"packages"`
}

type pickupAnswer struct {
	Numbers        []text `json:"dispatchConfirmationNumbers"`
	ReadyByTime    string `json:"readyByTime"`
	NextPickupDate string `json:"nextPickupDate"`
}

// The most that DHL takes.
const (
	maxPickupDays  = 10
	maxInstruction = 80 // characters in a line
	maxLines       = 4
)

// BookPickup asks for a courier. DHL cannot look bookings up and sends a second
// courier for a second request, so a booking whose answer is lost stays uncertain
// until a person decides.
func (d driver) BookPickup(ctx context.Context, request carrier.PickupRequest) (ship.PickupBooking, error) {
	body, err := d.pickupBody(request, time.Now())
	if err != nil {
		return ship.PickupBooking{}, err
	}

	call := d.call(http.MethodPost, "/pickups", nil, request.Reference)
	call.Body = body
	call.Effect = true

	var answer pickupAnswer
	details, err := d.send(ctx, call, &answer)
	if err != nil {
		return ship.PickupBooking{}, explainPickup(err, details)
	}
	return answer.booking(request.Order.Window), nil
}

// pickupBody returns the body of the request that books a courier. The remark is
// our reference, so that a person can ask DHL about a booking without a number.
func (d driver) pickupBody(request carrier.PickupRequest, now time.Time) (pickupBody, error) {
	var c checker
	order := request.Order
	ready, closes, err := c.pickupWindow(order.Window, now)
	if err != nil {
		return pickupBody{}, err
	}

	place := carrierkit.PlaceOf(order.Address)
	fitted, _ := c.address(order.Address, "/address")
	fitted.Country = countryOf(place)
	shipper := partyOf(fitted, "", "")
	shipper.TypeCode = "" // pickups have none

	body := pickupBody{
		PlannedPickupDateAndTime: formatTime(ready),
		CloseTime:                closes.Format("15:04"),
		Accounts:                 []account{{"shipper", d.account}},
		SpecialInstructions:      c.instructions(order.Instructions),
		Remark:                   request.Reference,
		CustomerDetails:          pickupParties{shipper},
		ShipmentDetails:          c.pickupShipments(order, place),
	}
	if home := order.Address.Residential; home != nil {
		body.LocationType = "business"
		if *home {
			body.LocationType = "residence"
		}
	}
	return body, carrierkit.InvalidOrder("DHL Express", c.invalid)
}

// pickupWindow returns from when until when the courier may come, by the clock of
// the place. Parcels that are ready already are ready in some minutes: DHL refuses
// a moment that is past when the request arrives.
func (c *checker) pickupWindow(window ship.TimeWindow, now time.Time) (ready, closes time.Time, _ error) {
	zone := window.ReadyAt.Location()
	ready = window.ReadyAt
	closes = window.CloseAt.In(zone)
	switch {
	case !closes.After(ready):
		c.refuse("/window/closeAt", "invalid", "must be later than readyAt")
	case closes.Format(time.DateOnly) != ready.Format(time.DateOnly):
		c.refuse("/window/closeAt", "invalid", "must be on the day of readyAt: DHL Express books one day at a time")
	case ready.After(now.AddDate(0, 0, maxPickupDays)):
		c.refuse("/window/readyAt", "invalid", fmt.Sprintf("must be within %d days from now for DHL Express", maxPickupDays))
	case ready.Before(now.Add(lead)):
		ready = now.Add(lead).In(zone)
		if !ready.Before(closes) {
			return ready, closes, carrier.TooLate(ship.Refusal{}, ship.TimeWindow{})
		}
	}
	return ready, closes, nil
}

// pickupShipments returns what the courier collects, which DHL plans by. It is
// not declared to customs here: the declarations came with the purchases.
func (c *checker) pickupShipments(order ship.PickupOrder, from carrierkit.Place) []pickupShipment {
	count := order.Count()
	if count < 1 || count > maxPieces {
		c.refuse("/parcels", "invalid", fmt.Sprintf("DHL Express collects 1 to %d parcels per pickup", maxPieces))
		return nil
	}
	if order.WeightGrams < 1 {
		c.refuse("/weight", "required", "DHL Express needs the weight of the parcels to collect")
		return nil
	}

	// Only the weight of all of them is known. Each has its share, rounded up.
	share := (order.WeightGrams + int64(count) - 1) / int64(count)
	var list []pickupShipment
	for _, parcels := range order.Parcels {
		if parcels.Count < 1 {
			continue
		}
		list = append(list, pickupShipment{
			ProductCode:       pickupProduct(parcels, from),
			UnitOfMeasurement: "metric",
			Packages:          slices.Repeat([]pack{{Weight: kilograms(share)}}, parcels.Count),
		})
	}
	return list
}

// pickupProduct returns DHL's code of the parcels' service. Where they go, or
// whether they are documents, may be unknown: then it is one that fits best.
func pickupProduct(parcels ship.PickupParcels, from carrierkit.Place) string {
	lanes := []lane{goods, union, papers, domestic}
	if parcels.Country != "" {
		to := carrierkit.Place{Country: parcels.Country}
		lanes = []lane{laneOf(from, to, carrierkit.CrossesCustoms(from, to)), papers}
	}

	for _, offered := range services {
		for _, lane := range lanes {
			if offered.code == parcels.Service && offered.product(lane) != "" {
				return offered.product(lane)
			}
		}
	}
	return usualProduct(lanes[0])
}

// instructions divides a text for the courier into lines, between words.
func (c *checker) instructions(given string) []instruction {
	var lines []instruction
	line := ""
	for _, word := range strings.Fields(given) {
		longer := strings.TrimPrefix(line+" "+word, " ")
		if line != "" && utf8.RuneCountInString(longer) > maxInstruction {
			lines = append(lines, instruction{line})
			longer = word
		}
		line = longer
	}
	if line != "" {
		lines = append(lines, instruction{line})
	}

	isTooLong := func(line instruction) bool { return utf8.RuneCountInString(line.Value) > maxInstruction }
	if len(lines) > maxLines || slices.ContainsFunc(lines, isTooLong) {
		c.refuse("/instructions", "too_long", "is longer than the carrier accepts: 4 lines of 80 characters")
	}
	return lines
}

// booking reads the answer.
func (a pickupAnswer) booking(asked ship.TimeWindow) ship.PickupBooking {
	booked := ship.PickupBooking{Window: a.window(asked)}
	if len(a.Numbers) > 0 {
		booked.Confirmation = string(a.Numbers[0])

		// Several numbers are cancelled together.
		var others []string
		for _, number := range a.Numbers[1:] {
			others = append(others, string(number))
		}
		booked.Details = strings.Join(others, " ")
	}
	return booked
}

// window returns when DHL comes; the zero value if that is as it was asked. After
// the last courier of a day, DHL books the next day that it can.
func (a pickupAnswer) window(asked ship.TimeWindow) ship.TimeWindow {
	zone := asked.ReadyAt.Location()
	confirmed := ship.TimeWindow{ReadyAt: asked.ReadyAt, CloseAt: asked.CloseAt.In(zone)}

	if day, err := time.ParseInLocation(time.DateOnly, a.NextPickupDate, zone); err == nil && day.After(asked.ReadyAt) {
		confirmed.ReadyAt = onDay(day, confirmed.ReadyAt)
		confirmed.CloseAt = onDay(day, confirmed.CloseAt)
	}
	if clock, err := time.ParseInLocation("15:04", a.ReadyByTime, zone); err == nil {
		ready := onDay(confirmed.ReadyAt, clock)
		if ready.Before(confirmed.CloseAt) {
			confirmed.ReadyAt = ready
		}
	}

	if confirmed.ReadyAt.Truncate(time.Minute).Equal(asked.ReadyAt.Truncate(time.Minute)) {
		return ship.TimeWindow{}
	}
	return confirmed
}

// onDay returns a time of day on another day of its place.
func onDay(day, clock time.Time) time.Time {
	return time.Date(day.Year(), day.Month(), day.Day(), clock.Hour(), clock.Minute(), 0, 0, day.Location())
}

// CancelPickup cancels a booking. DHL may have put several bookings of a place
// into one pickup, which then is cancelled as a whole.
func (d driver) CancelPickup(ctx context.Context, request carrier.PickupRequest, booking ship.PickupBooking) error {
	numbers := append([]string{booking.Confirmation}, strings.Fields(booking.Details)...)
	for _, number := range numbers {
		call := d.call(http.MethodDelete, "/pickups/"+url.PathEscape(number), cancellation(request.Order), request.Reference)
		call.Effect = true
		if err := call.Do(ctx, withoutBody{d.via}, &struct{}{}); err != nil {
			if err := explainCancellation(err); err != nil {
				return err
			}
		}
	}
	return nil
}

// cancellation returns the parameters of a cancellation. DHL requires both, and
// documents no list of reasons.
func cancellation(order ship.PickupOrder) url.Values {
	return url.Values{
		"requestorName": {cmp.Or(order.Address.Name, order.Address.Company, "Waybill")},
		"reason":        {"The pickup is no longer needed"},
	}
}

// explainCancellation returns nil if the pickup is not there any more: one that
// was cancelled before, or that DHL does not know. Only DHL's own words say so,
// because a proxy also answers 404.
func explainCancellation(err error) error {
	refused := *ship.ErrorOf(err)
	words := strings.ToLower(refused.Refusal.Message)
	isNotFound := errors.Is(err, carrierkit.Status(http.StatusNotFound))
	isDeclined := errors.Is(err, carrierkit.Status(http.StatusBadRequest))

	switch {
	case isNotFound && strings.Contains(words, "pickup"):
		return nil
	case isNotFound:
		refused.Kind = ship.Uncertain
		refused.Message = "the response did not come from DHL Express; check the configured URL"
	case isDeclined && strings.Contains(words, "already") && strings.Contains(words, "cancel"):
		return nil
	case slices.Contains(accountCodes, refused.Refusal.Code):
		refused.Kind = ship.Forbidden
		refused.Message = pickupsNotAllowed
	}
	return &refused
}

const pickupsNotAllowed = "DHL Express does not allow this account to book pickups with this API key; ask DHL to enable it"

// explainPickup says what a refused booking is about.
func explainPickup(err error, details []string) error {
	declined, ok := errors.AsType[*ship.Error](err)
	if !ok || declined.Kind != ship.Invalid {
		return err
	}

	refused := *declined
	if slices.ContainsFunc(details, isAccountProblem) {
		refused.Kind = ship.Forbidden
		refused.Message = pickupsNotAllowed
		return &refused
	}
	if slices.ContainsFunc(details, isTooLate) {
		tooLate := carrier.TooLate(refused.Refusal, ship.TimeWindow{})
		tooLate.Err = refused.Err
		return tooLate
	}

	var fields []ship.FieldError
	for _, text := range details {
		_, words := splitCode(text)
		if pointer := pickupPointer(words); pointer != "" {
			fields = append(fields, ship.FieldError{
				Pointer: pointer,
				Code:    "carrier_rejected",
				Detail:  "DHL Express answered: " + plainWords(words),
			})
		}
	}
	if named, ok := errors.AsType[*ship.Error](carrierkit.InvalidOrder("DHL Express", fields)); ok {
		refused.Message = named.Message
		refused.Fields = named.Fields
	}
	return &refused
}

// isTooLate reports whether a problem is a window that DHL cannot keep. Its code
// also stands for a date that cannot be read.
func isTooLate(problem string) bool {
	code, words := splitCode(problem)
	words = strings.ToLower(words)
	if code == codeBadDate {
		return !strings.Contains(words, "format")
	}
	plain := strings.NewReplacer("-", "", " ", "").Replace(words)
	return strings.Contains(plain, "cutoff")
}

// pickupFields are our fields by the first part of DHL's pointers.
var pickupFields = map[string]string{
	"plannedPickupDateAndTime": "/window/readyAt",
	"closeTime":                "/window/closeAt",
	"specialInstructions":      "/instructions",
	"shipmentDetails":          "/parcels",
}

// pickupPointer returns our field that a problem is about; empty if it names
// none.
func pickupPointer(words string) string {
	if party := pointerOf(words, ship.Order{}, nil); party != "" {
		return strings.Replace(party, "/origin", "/address", 1)
	}
	return pickupFields[pathOf(words)[0]]
}

// withoutBody is the Doer of calls that DHL confirms by the status alone: no body
// is read as an empty object. A body that is not JSON came from somebody else and
// confirms nothing.
type withoutBody struct{ via carrier.Doer }

// Do is carrier.Doer.
func (d withoutBody) Do(request *http.Request) (*http.Response, error) {
	response, err := d.via.Do(request)
	if err != nil {
		return nil, err
	}

	type body struct {
		io.Reader
		io.Closer
	}
	peeked := bufio.NewReader(response.Body)
	if _, err := peeked.Peek(1); errors.Is(err, io.EOF) {
		response.Body = body{strings.NewReader("{}"), response.Body}
	} else {
		response.Body = body{peeked, response.Body}
	}
	return response, nil
}
