package ups

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// pickupLimits are what UPS takes of the place of a pickup. It is not printed.
var pickupLimits = carrier.AddressLimits{
	Name:    22,
	Company: 27,
	City:    50,
	State:   50,
	Zip:     8,
	Phone:   15,
	Lines:   1,
	Line:    73,
	Charset: "latin1",
}

// How much UPS takes in one booking.
const (
	maxInstructions = 57
	maxOfService    = 999 // parcels
	maxParcels      = 9999
	heavyGrams      = 32_000 // a parcel above it is overweight
)

// UPS's codes in pickups.
const (
	codePickupDate    = "9560131" // the date or the time is not possible
	pickupCancelled   = "007"
	pickupIsRated     = "01"
	inPackages        = "01"
	payByAccount      = "01"
	cancelByNumber    = "02"
	requestSucceeded  = "1"
	requestFailed     = "0"
	groundPickup      = "003"
	standardPickup    = "011"
	indicated, absent = "Y", "N"
)

// A pickup.
type (
	pickupRequest struct {
		PickupCreationRequest pickupCreation
	}
	pickupCreation struct {
		Request                   request
		RatePickupIndicator       string
		Shipper                   pickupShipper
		PickupDateInfo            pickupDate
		PickupAddress             pickupAddress
		AlternateAddressIndicator string
		PickupPiece               []pickupPiece
		TotalWeight               *pickupWeight `json:",omitempty"`
		OverweightIndicator       string        `json:",omitempty"`
		PaymentMethod             string
		SpecialInstruction        string `json:",omitempty"`
		ReferenceNumber           string
		ShippingLabelsAvailable   string
	}
	pickupShipper struct {
		Account pickupAccount
	}
	pickupAccount struct {
		AccountNumber      string
		AccountCountryCode string
	}
	pickupDate struct {
		CloseTime  string
		ReadyTime  string
		PickupDate string
	}
	pickupAddress struct {
		CompanyName          string
		ContactName          string
		AddressLine          []string
		City                 string
		StateProvince        string `json:",omitempty"`
		PostalCode           string `json:",omitempty"`
		CountryCode          string
		ResidentialIndicator string
		Phone                phone
	}
	pickupPiece struct {
		ServiceCode            string
		Quantity               string
		DestinationCountryCode string
		ContainerCode          string
	}
	pickupWeight struct {
		Weight            string
		UnitOfMeasurement string
	}
	pickupAnswer struct {
		PickupCreationResponse struct {
			PRN        text
			RateStatus coded
			RateResult struct {
				CurrencyCode                  string
				GrandTotalOfAllCharge         text
				GrandTotalOfAllIncentedCharge text
			}
		}
	}
	pickupStatusAnswer struct {
		PickupPendingStatusResponse *struct {
			PendingStatus some[pendingPickup]
		}
	}
	pendingPickup struct {
		ServiceDate      text
		PRN              text
		OnCallStatusCode text
		ReferenceNumber  text
	}
	pickupCancelAnswer struct {
		PickupCancelResponse struct {
			Response struct {
				ResponseStatus coded
			}
		}
	}
)

// BookPickup asks for a driver. UPS keeps one pickup for a place and a day: it
// answers a second request for them with the number of the first, and does not
// say that it did.
func (d *driver) BookPickup(ctx context.Context, request carrier.PickupRequest) (ship.PickupBooking, error) {
	body, err := d.pickupRequest(request)
	if err != nil {
		return ship.PickupBooking{}, err
	}

	var answer pickupAnswer
	err = d.call(ctx, carrierkit.Call{
		Method: http.MethodPost,
		URL:    d.base + "/pickupcreation/v2409/pickup",
		Body:   body,
		Effect: true,
	}, &answer)
	if err != nil {
		return ship.PickupBooking{}, explainPickup(err)
	}

	booked := answer.PickupCreationResponse
	booking := ship.PickupBooking{Confirmation: string(booked.PRN)}
	if booked.RateStatus.Code == pickupIsRated {
		result := booked.RateResult
		total := cmp.Or(result.GrandTotalOfAllIncentedCharge, result.GrandTotalOfAllCharge)
		booking.Price, _ = ship.ParseMoney(string(total), result.CurrencyCode)
	}
	return booking, nil
}

// pickupRequest returns the body of a booking. The tracking numbers of the
// parcels are not sent: UPS refuses those that it has seen with another booking,
// and then a booking could not be repeated after a lost answer.
func (d *driver) pickupRequest(booking carrier.PickupRequest) (pickupRequest, error) {
	if booking.Reference == "" || len(booking.Reference) > maxReference {
		return pickupRequest{}, ship.Errorf(ship.Internal, "a UPS reference has 1 to %d characters", maxReference)
	}

	order := booking.Order
	given := localized(order.Address)
	if isUnitedStates(given.Country) && len(given.Zip) > 5 {
		given.Zip = given.Zip[:5]
	}

	var problems []ship.FieldError
	refuse := func(pointer, code, detail string, args ...any) {
		problems = append(problems, ship.FieldError{Pointer: pointer, Code: code, Detail: fmt.Sprintf(detail, args...)})
	}
	place, _, err := carrierkit.Fit(pickupLimits, given, "/address")
	if err != nil {
		problems = append(problems, ship.ErrorOf(err).Fields...)
	}
	if order.Address.Name == "" {
		refuse("/address/name", "required", "UPS needs the name of a contact at the place of the pickup")
	}
	if digits(order.Address.Phone) == "" {
		refuse("/address/phone", "required", "UPS needs the phone number of the contact at the place of the pickup")
	}
	if utf8.RuneCountInString(order.Instructions) > maxInstructions {
		refuse("/instructions", "too_long", "is longer than the %d characters that UPS accepts", maxInstructions)
	}
	if order.Window.CloseAt.Format(time.DateOnly) != string(order.Window.Date()) || !order.Window.CloseAt.After(order.Window.ReadyAt) {
		refuse("/closeAt", "invalid", "must be later than readyAt and on the same day for UPS")
	}
	pieces := pickupPieces(order, given.Country, refuse)
	if err := carrierkit.InvalidOrder("UPS", problems); err != nil {
		return pickupRequest{}, err
	}

	body := pickupCreation{
		RatePickupIndicator: indicated,
		Shipper:             pickupShipper{Account: pickupAccount{AccountNumber: d.account, AccountCountryCode: given.Country}},
		PickupDateInfo: pickupDate{
			CloseTime:  order.Window.CloseAt.Format("1504"),
			ReadyTime:  order.Window.ReadyAt.Format("1504"),
			PickupDate: compact(order.Window.ReadyAt),
		},
		PickupAddress:             newPickupAddress(place),
		AlternateAddressIndicator: d.alternateAddress(order.Address),
		PickupPiece:               pieces,
		PaymentMethod:             payByAccount,
		SpecialInstruction:        order.Instructions,
		ReferenceNumber:           booking.Reference,
		ShippingLabelsAvailable:   indicated,
	}
	body.Request.SubVersion = "2007"
	body.Request.TransactionReference.CustomerContext = booking.Reference
	body.addWeight(order, given.Country)
	return pickupRequest{PickupCreationRequest: body}, nil
}

// alternateAddress tells UPS whether its driver is to come to another address than
// the account's own. Where that is not known, it is another: UPS's default is the
// address of the account, and the driver would go there.
//
// fact: pickup-alternate-address
func (d *driver) alternateAddress(given ship.Address) string {
	zip := given.Zip
	if isUnitedStates(given.Country) && len(zip) > 5 {
		zip = zip[:5]
	}
	switch d.pickupAddress {
	case "":
		return indicated
	case comparableAddress(given.Address1 + zip), comparableAddress(given.Address1 + given.Zip):
		return absent
	}
	return indicated
}

// comparableAddress drops everything from an address but its letters and digits.
func comparableAddress(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToUpper(r)
	}, text)
}

func newPickupAddress(place carrierkit.FittedAddress) pickupAddress {
	residential := absent
	if place.Residential {
		residential = indicated
	}
	var contact phone
	if number := partyOf(place).Phone; number != nil {
		contact = *number
	}
	return pickupAddress{
		CompanyName:          cmp.Or(place.Company, place.Name),
		ContactName:          place.Name,
		AddressLine:          place.Lines,
		City:                 place.City,
		StateProvince:        place.State,
		PostalCode:           place.Zip,
		CountryCode:          place.Country,
		ResidentialIndicator: residential,
		Phone:                contact,
	}
}

// addWeight adds the weight of all parcels. UPS also asks whether one of them is
// heavy, which the weight of all does not always say.
func (p *pickupCreation) addWeight(order ship.PickupOrder, country string) {
	if order.WeightGrams <= 0 {
		return
	}

	system := metric
	if isUnitedStates(country) {
		system = imperial
	}
	p.TotalWeight = &pickupWeight{
		Weight:            system.weigh(system.tenths(order.WeightGrams)).Weight,
		UnitOfMeasurement: system.weight.Code,
	}
	switch {
	case order.WeightGrams <= heavyGrams:
		p.OverweightIndicator = absent
	case order.WeightGrams > heavyGrams*int64(order.Count()):
		p.OverweightIndicator = indicated
	}
}

// pickupPieces returns the parcels by service and country.
func pickupPieces(order ship.PickupOrder, from string, refuse func(pointer, code, detail string, args ...any)) []pickupPiece {
	var pieces []pickupPiece
	counts := map[pickupPiece]int{}
	for i, parcels := range order.Parcels {
		to := cmp.Or(parcels.Country, from)
		code, ok := pickupService(parcels.Service, from, to)
		if !ok {
			refuse(fmt.Sprintf("/parcels/%d/service", i), "unknown_service", "%q is not a service of UPS", parcels.Service)
			continue
		}

		piece := pickupPiece{ServiceCode: code, DestinationCountryCode: to, ContainerCode: inPackages}
		if counts[piece] == 0 {
			pieces = append(pieces, piece)
		}
		counts[piece] += parcels.Count
	}

	total := 0
	for i := range pieces {
		count := counts[pieces[i]]
		total += count
		if count > maxOfService {
			refuse("/parcels", "too_many", "UPS collects at most %d parcels of a service; these are %d", maxOfService, count)
		}
		pieces[i].Quantity = strconv.Itoa(count)
	}
	switch {
	case total < 1:
		refuse("/parcels", "required", "UPS needs the number of parcels")
	case total > maxParcels:
		refuse("/parcels", "too_many", "UPS collects at most %d parcels; these are %d", maxParcels, total)
	}
	return pieces
}

// pickupService returns UPS's code of a service with three digits, which pickups
// have. Parcels of an unknown service are counted as the most usual one.
func pickupService(code, from, to string) (string, bool) {
	if code == "" {
		if isUnitedStates(from) {
			return groundPickup, true
		}
		return standardPickup, true
	}

	sold, ok := serviceByCode(code)
	if !ok {
		return "", false
	}
	digits := cmp.Or(sold.codeOn(laneOf(from, to)), sold.us, sold.abroad, sold.home, sold.ca)
	return "0" + digits, true
}

// windowWords are in refusals that are about the day or the time, without spaces
// and hyphens. UPS publishes only one of their codes.
var windowWords = []string{
	"pickupdate", "pickuptime", "servicedate", "readytime", "closetime", "leadtime", "callbytime", "cutoff", "sameday",
}

// explainPickup says whether a refused booking is about the window.
func explainPickup(err error) error {
	declined := ship.ErrorOf(err)
	if declined.Kind != ship.Invalid {
		return pickupsNotAllowed(err)
	}

	words := strings.ToLower(strings.NewReplacer(" ", "", "-", "").Replace(declined.Refusal.Message))
	isWindow := slices.ContainsFunc(windowWords, func(word string) bool { return strings.Contains(words, word) })
	if declined.Refusal.Code == codePickupDate || isWindow {
		late := carrier.TooLate(declined.Refusal, ship.TimeWindow{})
		late.Err = declined.Err
		return late
	}
	return err
}

// pickupsNotAllowed says what to do if the app lacks the product.
func pickupsNotAllowed(err error) error { return lacksProduct(err, "Pickup", "book pickups") }

// noPickups are the words by which UPS may decline to list nothing.
var noPickups = regexp.MustCompile(`(?i)\bno (pending |open |on-?call )*pick-?ups?\b`)

// FindPickup reads the account's open pickups, which UPS lists for today and
// tomorrow only. A pickup that was cancelled is not found: a lost answer may not
// be settled with it.
func (d *driver) FindPickup(ctx context.Context, request carrier.PickupRequest) (ship.PickupBooking, error) {
	day := request.Order.Window.Date()
	today := time.Now().In(request.Order.Window.ReadyAt.Location())
	if day != ship.Date(today.Format(time.DateOnly)) && day != ship.Date(today.AddDate(0, 0, 1).Format(time.DateOnly)) {
		return ship.PickupBooking{}, ship.Errorf(ship.Unsupported, "UPS lists only pickups of today and tomorrow")
	}

	var answer pickupStatusAnswer
	err := d.call(ctx, carrierkit.Call{
		Method: http.MethodGet,
		URL:    d.base + "/shipments/v2409/pickup/oncall",
		Header: http.Header{"AccountNumber": {d.account}},
	}, &answer)
	declined := ship.ErrorOf(err)
	switch {
	case err == nil && answer.PickupPendingStatusResponse == nil:
		return ship.PickupBooking{}, ship.Errorf(ship.Unavailable, "UPS sent no list of pickups")
	case err == nil:
		return answer.find(request)
	case declined.Kind == ship.Invalid && noPickups.MatchString(declined.Refusal.Message):
		return ship.PickupBooking{}, withKind(ship.NotFound, "UPS has no pickup under this reference", err)
	case declined.Kind == ship.NotFound:
		// A bare 404 is about the path, and says nothing about the pickup.
		return ship.PickupBooking{}, withKind(ship.Unavailable, "the configured UPS URL has no list of pickups", err)
	}
	return ship.PickupBooking{}, pickupsNotAllowed(err)
}

// find returns the pickup that has the reference and is not cancelled.
func (a pickupStatusAnswer) find(request carrier.PickupRequest) (ship.PickupBooking, error) {
	day := compact(request.Order.Window.ReadyAt)
	for _, listed := range a.PickupPendingStatusResponse.PendingStatus {
		isOurs := strings.EqualFold(strings.TrimSpace(string(listed.ReferenceNumber)), request.Reference)
		if isOurs && string(listed.ServiceDate) == day && listed.OnCallStatusCode != pickupCancelled {
			return ship.PickupBooking{Confirmation: string(listed.PRN)}, nil
		}
	}
	return ship.PickupBooking{}, ship.Errorf(ship.NotFound, "UPS has no pickup under this reference")
}

// cancelledBefore are the words by which UPS declines to cancel a pickup again.
// UPS publishes no code for it. A pickup that "has already been completed" is a
// refusal.
var cancelledBefore = regexp.MustCompile(`(?i)\balready (been |was )?cancell?ed\b|\bpreviously cancell?ed\b`)

// CancelPickup cancels a booking by its number. Cancelling twice is not an error
// where UPS says in words that the pickup was cancelled before. Other refusals
// stay refusals: the look-up shows whether the pickup is still there, and an
// effect sends one request only.
func (d *driver) CancelPickup(ctx context.Context, _ carrier.PickupRequest, booking ship.PickupBooking) error {
	var answer pickupCancelAnswer
	err := d.call(ctx, carrierkit.Call{
		Method: http.MethodDelete,
		URL:    d.base + "/shipments/v2409/pickup/" + cancelByNumber,
		Header: http.Header{"Prn": {booking.Confirmation}},
		Effect: true,
	}, &answer)
	if declined := ship.ErrorOf(err); err != nil {
		if declined.Kind == ship.Invalid && cancelledBefore.MatchString(declined.Refusal.Message) {
			return nil
		}
		return pickupsNotAllowed(err)
	}

	status := answer.PickupCancelResponse.Response.ResponseStatus
	switch status.Code {
	case requestSucceeded:
		return nil
	case requestFailed:
		refused := ship.Errorf(ship.Invalid, "UPS did not cancel the pickup")
		refused.Refusal = ship.Refusal{Code: status.Code, Message: status.Description}
		return refused
	}
	return ship.Errorf(ship.Uncertain, "UPS did not confirm whether the pickup was cancelled")
}
