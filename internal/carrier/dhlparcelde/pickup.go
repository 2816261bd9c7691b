package dhlparcelde

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// The wire format of the pickup API, reduced to the fields that are used.
type (
	pickupOrder struct {
		Customer  pickupCustomer  `json:"customerDetails"`
		Location  pickupLocation  `json:"pickupLocation"`
		Hours     []hours         `json:"businessHours"`
		Contacts  []pickupContact `json:"contactPerson,omitempty"`
		Details   pickupDetails   `json:"pickupDetails"`
		Shipments pickupShipments `json:"shipmentDetails"`
	}
	pickupCustomer struct {
		BillingNumber string `json:"billingNumber"`
	}
	pickupLocation struct {
		Type    string        `json:"type"`
		Address pickupAddress `json:"pickupAddress"`
	}
	pickupAddress struct {
		Name1      string `json:"name1"`
		Name2      string `json:"name2,omitempty"`
		Street     string `json:"addressStreet"`
		House      string `json:"addressHouse"`
		PostalCode string `json:"postalCode"`
		City       string `json:"city"`
		Country    string `json:"country"`
	}
	hours struct {
		From  string `json:"timeFrom"`
		Until string `json:"timeUntil"`
	}
	pickupContact struct {
		Name  string `json:"name,omitempty"`
		Phone string `json:"phone,omitempty"`
		Email string `json:"email,omitempty"`
	}
	pickupDetails struct {
		Date    pickupDate `json:"pickupDate"`
		Weight  *weight    `json:"totalWeight,omitempty"`
		Comment string     `json:"comment,omitempty"`
	}
	pickupDate struct {
		Type  string `json:"type"`
		Value string `json:"value"`
	}
	pickupShipments struct {
		List []pickupParcel `json:"shipments"`
	}
	pickupParcel struct {
		Type      string `json:"transportationType"`
		Number    string `json:"shipmentNo,omitempty"`
		Reference string `json:"customerReference"`
	}

	pickupAnswer struct {
		Confirmation struct {
			Value struct {
				OrderID    string `json:"orderID"`
				PickupDate string `json:"pickupDate"`
			} `json:"value"`
		} `json:"confirmation"`
	}
	pickupShown struct {
		Order struct {
			ID    string `json:"orderID"`
			State string `json:"orderState"`
		} `json:"orderDetails"`
		Details struct {
			Date pickupDate `json:"pickupDate"`
		} `json:"pickupDetails"`
		Shipments struct {
			List []shownParcel `json:"shipments"`
		} `json:"shipmentDetails"`
	}
	shownParcel struct {
		Shipment pickupParcel `json:"shipment"`
	}
	cancelAnswer struct {
		Confirmed []cancelled `json:"confirmedCancellations"`
		Failed    []cancelled `json:"failedCancellations"`
	}
	cancelled struct {
		ID      string `json:"orderID"`
		State   string `json:"orderState"`
		Message string `json:"message"`
	}
	pickupError struct {
		Code     text   `json:"errorCode"`
		Title    string `json:"title"`
		Instance string `json:"instance"`
		Detail   string `json:"detail"`
	}
)

// States of a pickup in which nobody comes.
var endedStates = []string{"STORNIERT", "ABGELEHNT"}

// The most that DHL takes.
const (
	maxPickupReference = 20
	maxComment         = 100
)

// BookPickup asks for a driver. DHL books another one for each request, so a
// booking whose answer is lost is looked up.
func (d *driver) BookPickup(ctx context.Context, request carrier.PickupRequest) (ship.PickupBooking, error) {
	body, err := d.pickupOrder(request)
	if err != nil {
		return ship.PickupBooking{}, err
	}

	var answer pickupAnswer
	err = d.call(ctx, carrierkit.Call{
		Method: http.MethodPost,
		URL:    d.address(pickupPath+"/orders", nil),
		Body:   body,
		Effect: true,
	}, &answer)
	if err != nil {
		return ship.PickupBooking{}, err
	}
	booked := answer.Confirmation.Value
	return ship.PickupBooking{
		Confirmation: booked.OrderID,
		Window:       movedTo(request.Order.Window, booked.PickupDate),
	}, nil
}

// movedTo returns the window on the day that DHL confirmed; the zero value if that
// is the day that was asked for.
func movedTo(window ship.TimeWindow, day string) ship.TimeWindow {
	confirmed, err := time.Parse(time.DateOnly, day)
	if err != nil || day == string(window.Date()) {
		return ship.TimeWindow{}
	}

	move := func(t time.Time) time.Time {
		return time.Date(confirmed.Year(), confirmed.Month(), confirmed.Day(), t.Hour(), t.Minute(), 0, 0, t.Location())
	}
	return ship.TimeWindow{ReadyAt: move(window.ReadyAt), CloseAt: move(window.CloseAt)}
}

// pickupOrder returns the body of the request that books a driver. Every parcel
// has our reference, by which the booking is found again.
func (d *driver) pickupOrder(request carrier.PickupRequest) (pickupOrder, error) {
	if d.pickupBilling == "" {
		return pickupOrder{}, ship.Errorf(ship.Forbidden, "the connection has no billing number for pickups; add it under Carriers if your DHL contract includes them")
	}

	var c checker
	order := request.Order
	address := c.pickupAddress(order.Address)
	if utf8.RuneCountInString(order.Instructions) > maxComment {
		c.refuse("/instructions", "too_long", "is longer than the 100 characters that the carrier accepts")
	}
	body := pickupOrder{
		Customer: pickupCustomer{d.pickupBilling},
		Location: pickupLocation{Type: "Address", Address: address},
		Hours:    []hours{{order.Window.ReadyAt.Format("15:04"), order.Window.CloseAt.In(order.Window.ReadyAt.Location()).Format("15:04")}},
		Details: pickupDetails{
			Date:    pickupDate{Type: "Date", Value: string(order.Window.Date())},
			Comment: order.Instructions,
		},
	}

	contact := pickupContact{
		Name:  order.Address.Name,
		Phone: order.Address.Phone,
		Email: order.Address.Email,
	}
	if contact != (pickupContact{}) {
		body.Contacts = []pickupContact{contact}
	}
	if order.WeightGrams > 0 {
		total := grams(order.WeightGrams)
		body.Details.Weight = &total
	}
	for i := range max(order.Count(), 1) {
		parcel := pickupParcel{Type: "PAKET", Reference: pickupReference(request.Reference)}
		if i < len(order.TrackingNumbers) {
			parcel.Number = order.TrackingNumbers[i]
		}
		body.Shipments.List = append(body.Shipments.List, parcel)
	}
	return body, carrierkit.InvalidOrder(title, c.invalid)
}

// pickupReference returns the end of our reference, which is random, as far as it
// fits.
func pickupReference(reference string) string {
	return reference[max(0, len(reference)-maxPickupReference):]
}

// houseNumber is the end of a German street line: "12", "12a", "12-14", "12 a".
var houseNumber = regexp.MustCompile(`^(.*\D)\s+(\d+\s?[a-zA-Z]?(?:\s?[-/]\s?\d+\s?[a-zA-Z]?)?)$`)

// pickupAddress returns where the parcels are. DHL asks for the house number by
// itself.
func (c *checker) pickupAddress(given ship.Address) pickupAddress {
	if given.Country != "DE" {
		c.refuse("/address/country", "invalid", "must be DE: DHL Parcel DE collects parcels only in Germany")
	}

	fitted, _ := c.address(given, "/address")
	lines := append(slices.Clone(fitted.Lines), "", "")
	split := houseNumber.FindStringSubmatch(lines[0])
	if split == nil || len(split[2]) > maxHouse {
		c.refuse("/address/address1", "invalid", "must end with the house number, such as Am Hof 1")
		split = []string{"", "", ""}
	}
	address := pickupAddress{
		Name1:      cmp.Or(fitted.Company, fitted.Name),
		Street:     strings.TrimSpace(split[1]),
		House:      split[2],
		PostalCode: fitted.Zip,
		City:       fitted.City,
		Country:    given.Country,
	}
	if fitted.Company != "" {
		address.Name2 = fitted.Name
	}
	return address
}

// laterDays is on how many days after the one that was asked for DHL may come instead:
// it moves pickups past weekends and holidays.
const laterDays = 5

// FindPickup looks for a booking at its place by our reference. DHL lists bookings by
// the day on which it comes, which may be another than the one that was asked for.
func (d *driver) FindPickup(ctx context.Context, request carrier.PickupRequest) (ship.PickupBooking, error) {
	for later := range laterDays + 1 {
		day := request.Order.Window.ReadyAt.AddDate(0, 0, later)
		booking, err := d.findPickupOn(ctx, request, day.Format(time.DateOnly))
		if ship.KindOf(err) != ship.NotFound {
			return booking, err
		}
	}
	return ship.PickupBooking{}, ship.Errorf(ship.NotFound, "DHL Parcel DE has no pickup under the reference")
}

// findPickupOn looks for a booking on a day; ship.NotFound if it is not there.
func (d *driver) findPickupOn(ctx context.Context, request carrier.PickupRequest, day string) (ship.PickupBooking, error) {
	query := url.Values{
		"pickupDate":       {day},
		"pickupPostalCode": {request.Order.Address.Zip},
	}
	var shown []pickupShown
	err := d.call(ctx, carrierkit.Call{
		Method: http.MethodGet,
		URL:    d.address(pickupPath+"/orders", query),
	}, &shown)
	if err != nil {
		return ship.PickupBooking{}, notFromDHL(err)
	}
	if shown == nil {
		return ship.PickupBooking{}, ship.Errorf(ship.Unavailable, "DHL Parcel DE did not list its pickups")
	}

	ours := pickupReference(request.Reference)
	for _, order := range shown {
		isOurs := slices.ContainsFunc(order.Shipments.List, func(p shownParcel) bool { return p.Shipment.Reference == ours })
		if isOurs && !slices.Contains(endedStates, strings.ToUpper(order.Order.State)) {
			return ship.PickupBooking{
				Confirmation: order.Order.ID,
				Window:       movedTo(request.Order.Window, order.Details.Date.Value),
			}, nil
		}
	}
	return ship.PickupBooking{}, ship.Errorf(ship.NotFound, "DHL Parcel DE has no pickup under the reference on %s", day)
}

// notFromDHL turns "not found" into another error: DHL answers with an empty list,
// so it came from a proxy or a wrong address.
func notFromDHL(err error) error {
	failure, ok := errors.AsType[*ship.Error](err)
	if !ok || failure.Kind != ship.NotFound {
		return err
	}
	unsure := *failure
	unsure.Kind = ship.Unavailable
	unsure.Message = "the response did not come from DHL Parcel DE; check the configured URL"
	return &unsure
}

// CancelPickup cancels a booking. DHL answers with two lists, whatever happened.
func (d *driver) CancelPickup(ctx context.Context, _ carrier.PickupRequest, booking ship.PickupBooking) error {
	var answer cancelAnswer
	err := d.call(ctx, carrierkit.Call{
		Method: http.MethodDelete,
		URL:    d.address(pickupPath+"/orders", url.Values{"orderID": {booking.Confirmation}}),
		Effect: true,
	}, &answer)
	if err != nil {
		return err
	}

	isThis := func(c cancelled) bool { return c.ID == booking.Confirmation }
	if slices.ContainsFunc(answer.Confirmed, isThis) {
		return nil
	}
	i := slices.IndexFunc(answer.Failed, isThis)
	switch {
	case i < 0:
		return ship.Errorf(ship.Uncertain, "DHL Parcel DE did not confirm whether the pickup was cancelled")
	case strings.EqualFold(answer.Failed[i].State, "STORNIERT"):
		return nil // it was cancelled before
	}
	return &ship.Error{
		Kind:    ship.Invalid,
		Message: "DHL Parcel DE does not cancel the pickup",
		Refusal: ship.Refusal{Code: answer.Failed[i].State, Message: answer.Failed[i].Message},
	}
}
