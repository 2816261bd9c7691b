package usps

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

const (
	pickupPath  = "/pickup/v3/carrier-pickup"
	pickupScope = "pickup carrier-pickup" // USPS's own file has both names
)

// What a request for a pickup holds.
const (
	maxInstructions = 255
	maxPickupEmail  = 50
)

// The codes of refusals of pickups that are handled differently.
const (
	codePickupExists  = "020001"
	codePickupUnknown = "020015"
)

// pickupTooLate are the codes of a day on which USPS does not collect: it is in
// the past, too far ahead, a Sunday, or today after 02:00 Central.
var pickupTooLate = []string{"020009", "020010", "020011", "020016", "020017", "020018"}

type pickupRequest struct {
	Date            string          `json:"pickupDate"`
	Address         pickupAddress   `json:"pickupAddress"`
	Packages        []pickupPackage `json:"packages"`
	EstimatedWeight json.Number     `json:"estimatedWeight"` // pounds
	Location        pickupLocation  `json:"pickupLocation"`
}

type pickupAddress struct {
	FirstName string          `json:"firstName"`
	LastName  string          `json:"lastName"`
	Firm      string          `json:"firm,omitempty"`
	Address   pickupStreet    `json:"address"`
	Contact   []pickupContact `json:"contact"`
}

type pickupStreet struct {
	StreetAddress    string `json:"streetAddress"`
	SecondaryAddress string `json:"secondaryAddress,omitempty"`
	City             string `json:"city,omitempty"`
	State            string `json:"state,omitempty"`
	ZIPCode          string `json:"ZIPCode,omitempty"`
}

type pickupContact struct {
	Email      string `json:"email,omitempty"`
	CellNumber string `json:"cellNumber,omitempty"`
}

type pickupPackage struct {
	Type  string `json:"packageType"`
	Count int    `json:"packageCount"`
}

type pickupLocation struct {
	PackageLocation     string `json:"packageLocation"`
	SpecialInstructions string `json:"specialInstructions,omitempty"`
}

type pickupAnswer struct {
	ConfirmationNumber text `json:"confirmationNumber"`
	Date               text `json:"pickupDate"`
}

// BookPickup asks for the parcels to be taken along with the mail of the day.
// USPS takes a day and no hours, and one pickup for an address and a day: when
// it has one, it says so and does not name its number.
func (d *driver) BookPickup(ctx context.Context, request carrier.PickupRequest) (ship.PickupBooking, error) {
	body, err := pickupOf(request.Order)
	if err != nil {
		return ship.PickupBooking{}, err
	}

	reader := &tagReader{via: d.via}
	var answer pickupAnswer
	err = d.callWithScope(ctx, pickupScope, reader, carrierkit.Call{
		Method: http.MethodPost,
		URL:    d.base + pickupPath,
		Body:   body,
		Effect: true,
	}, &answer)

	switch {
	case isRefusedWith(err, codePickupExists):
		return ship.PickupBooking{Existed: true}, nil
	case isRefusedWith(err, pickupTooLate...):
		// USPS does not say which day it would take.
		return ship.PickupBooking{}, carrier.TooLate(ship.ErrorOf(err).Refusal, ship.TimeWindow{})
	case err != nil:
		return ship.PickupBooking{}, err
	}
	return ship.PickupBooking{
		Confirmation: string(answer.ConfirmationNumber),
		Details:      reader.tag,
		Window:       movedTo(request.Order.Window, string(answer.Date)),
	}, nil
}

// movedTo returns the window on the day that USPS chose; the zero value if that
// is the day that was asked for.
func movedTo(window ship.TimeWindow, day string) ship.TimeWindow {
	chosen, err := time.Parse(time.DateOnly, day)
	if err != nil || ship.Date(day) == window.Date() {
		return ship.TimeWindow{}
	}

	days := int(chosen.Sub(window.Date().Time()) / (24 * time.Hour))
	return ship.TimeWindow{
		ReadyAt: window.ReadyAt.AddDate(0, 0, days),
		CloseAt: window.CloseAt.AddDate(0, 0, days),
	}
}

// pickupOf writes a pickup in USPS's terms.
func pickupOf(order ship.PickupOrder) (pickupRequest, error) {
	if isAbroad(order.Address) {
		return pickupRequest{}, ship.Errorf(ship.Unsupported,
			"USPS collects parcels only in the United States and its territories")
	}

	place := draft{order: ship.Order{Origin: order.Address}}
	invalid := place.fit(order.Address, "/address", &place.from)
	contact, problem := pickupContactOf(place.from)
	if problem != nil {
		invalid = append(invalid, *problem)
	}
	location, problem := pickupLocationOf(order.Instructions)
	if problem != nil {
		invalid = append(invalid, *problem)
	}
	packages := pickupPackages(order.Parcels)
	if len(packages) == 0 {
		invalid = append(invalid, ship.FieldError{Pointer: "/parcels", Code: "required", Detail: "USPS needs the number of parcels"})
	}
	if err := carrierkit.InvalidOrder("USPS", invalid); err != nil {
		return pickupRequest{}, err
	}

	address := place.addressOf(place.from, true)
	return pickupRequest{
		Date: string(order.Window.Date()),
		Address: pickupAddress{
			FirstName: firstNameOf(place.from.Name),
			LastName:  lastNameOf(place.from.Name),
			Firm:      place.from.Company,
			Address: pickupStreet{
				StreetAddress:    address.StreetAddress,
				SecondaryAddress: address.SecondaryAddress,
				City:             address.City,
				State:            address.State,
				ZIPCode:          address.ZIPCode,
			},
			Contact: contact,
		},
		Packages:        packages,
		EstimatedWeight: pickupWeight(order),
		Location:        location,
	}, nil
}

// firstNameOf and lastNameOf split the contact's name. USPS needs both halves:
// a name of one word is sent twice, and a place without a person has its
// shipping department.
func firstNameOf(name string) string {
	switch i := strings.LastIndexByte(name, ' '); {
	case name == "":
		return "Shipping"
	case i > 0:
		return name[:i]
	}
	return name
}

func lastNameOf(name string) string {
	if name == "" {
		return "Department"
	}
	return name[strings.LastIndexByte(name, ' ')+1:]
}

// pickupContactOf returns how USPS reaches the contact: by e-mail, or by a phone
// number of ten digits.
func pickupContactOf(place carrierkit.FittedAddress) ([]pickupContact, *ship.FieldError) {
	var list []pickupContact
	if place.Email != "" && len(place.Email) <= maxPickupEmail {
		list = append(list, pickupContact{Email: place.Email})
	}

	digits := strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, place.Phone)
	if len(digits) == 11 {
		digits = strings.TrimPrefix(digits, "1")
	}
	if len(digits) == 10 {
		list = append(list, pickupContact{CellNumber: digits})
	}

	if len(list) == 0 {
		return nil, &ship.FieldError{
			Pointer: "/address/email",
			Code:    "required",
			Detail: fmt.Sprintf("USPS needs an e-mail address of at most %d characters or a phone number of ten digits for a pickup",
				maxPickupEmail),
		}
	}
	return list, nil
}

// pickupLocationOf says where the parcels are. Instructions may name any place,
// so they are sent as one that is not on USPS's list.
func pickupLocationOf(instructions string) (pickupLocation, *ship.FieldError) {
	if strings.TrimSpace(instructions) == "" {
		return pickupLocation{PackageLocation: "FRONT_DOOR"}, nil
	}

	// The rules for references are those for any text that may be left out.
	fitted, _, err := carrierkit.FitTexts(ship.Order{Reference: instructions}, addressLimits.Charset, addressLimits.Charset)
	written := fitted.Reference
	switch {
	case err != nil || written == "":
		return pickupLocation{}, &ship.FieldError{
			Pointer: "/instructions",
			Code:    "unsupported_characters",
			Detail:  "has characters that the carrier cannot print and that have no transliteration",
		}
	case len(written) > maxInstructions:
		return pickupLocation{}, &ship.FieldError{
			Pointer: "/instructions",
			Code:    "too_long",
			Detail:  fmt.Sprintf("is longer than the %d characters that the carrier accepts", maxInstructions),
		}
	}
	return pickupLocation{PackageLocation: "OTHER", SpecialInstructions: written}, nil
}

// pickupPackages counts the parcels by what USPS calls them, in the order in
// which they were listed.
func pickupPackages(parcels []ship.PickupParcels) []pickupPackage {
	var list []pickupPackage
	for _, group := range parcels {
		if group.Count <= 0 {
			continue
		}

		kind := packageTypeOf(group)
		added := false
		for i := range list {
			if list[i].Type == kind {
				list[i].Count += group.Count
				added = true
			}
		}
		if !added {
			list = append(list, pickupPackage{Type: kind, Count: group.Count})
		}
	}
	return list
}

func packageTypeOf(group ship.PickupParcels) string {
	mailClass, known := serviceBy(func(s service) bool { return s.code == group.Service })
	switch {
	case known && mailClass.abroad:
		return "INTERNATIONAL"
	case known:
		return mailClass.class // domestic classes have the same names here
	case group.Country != "" && isAbroad(ship.Address{Country: group.Country}):
		return "INTERNATIONAL"
	}
	return "OTHER"
}

// pickupWeight is an estimate: a pound for each parcel if the weight is unknown.
func pickupWeight(order ship.PickupOrder) json.Number {
	const gramsPerPound = 453.59237
	if order.WeightGrams > 0 {
		return decimal(float64(order.WeightGrams)/gramsPerPound, 1)
	}
	return decimal(float64(order.Count()), 1)
}

// CancelPickup cancels a pickup. USPS takes the ETag of the booking for an hour,
// and once: with a stale one nothing is cancelled, and the pickup is read for
// its present one. A pickup that USPS does not know any more was cancelled.
func (d *driver) CancelPickup(ctx context.Context, _ carrier.PickupRequest, booking ship.PickupBooking) error {
	tag := booking.Details
	if tag != "" {
		err := d.deletePickup(ctx, booking.Confirmation, tag)
		if !errors.Is(err, carrierkit.Status(http.StatusPreconditionFailed)) {
			return unlessUnknown(err)
		}
	}

	reader := &tagReader{via: d.via}
	var pickup json.RawMessage // an object or a list of one: only the ETag matters
	err := d.callWithScope(ctx, pickupScope, reader, carrierkit.Call{
		Method: http.MethodGet,
		URL:    d.base + pickupPath + "/" + url.PathEscape(booking.Confirmation),
	}, &pickup)
	if err != nil {
		return unlessUnknown(err)
	}
	if reader.tag == "" {
		return ship.Errorf(ship.Unavailable, "the carrier did not say which version of the pickup it has")
	}
	return unlessUnknown(d.deletePickup(ctx, booking.Confirmation, reader.tag))
}

// unlessUnknown returns the error, unless it says that there is no such pickup.
func unlessUnknown(err error) error {
	if isRefusedWith(err, codePickupUnknown) {
		return nil
	}
	return err
}

func (d *driver) deletePickup(ctx context.Context, number, tag string) error {
	var confirmation json.RawMessage
	return d.callWithScope(ctx, pickupScope, emptyAllowed{d.via}, carrierkit.Call{
		Method: http.MethodDelete,
		URL:    d.base + pickupPath + "/" + url.PathEscape(number),
		Header: http.Header{"If-Match": {tag}},
		Effect: true,
	}, &confirmation)
}

// emptyAllowed turns a 2xx answer without a body into an empty JSON object: USPS
// confirms a cancellation by the status alone. A web page is still no answer.
type emptyAllowed struct{ via carrier.Doer }

// Do is carrier.Doer.
func (e emptyAllowed) Do(r *http.Request) (*http.Response, error) {
	response, err := e.via.Do(r)
	if err != nil || response.StatusCode < 200 || response.StatusCode > 299 {
		return response, err
	}

	body := bufio.NewReader(response.Body)
	var from io.Reader = body
	if _, err := body.Peek(1); errors.Is(err, io.EOF) {
		from = strings.NewReader("{}")
	}
	response.Body = readCloser{from, response.Body}
	return response, nil
}

type readCloser struct {
	io.Reader
	io.Closer
}
