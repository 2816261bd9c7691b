package fedex

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

const (
	pickupPath       = "/pickup/v1/pickups"
	cancelPickupPath = "/pickup/v1/pickups/cancel"
)

// The two companies of FedEx that collect parcels, each on its own.
const (
	fedexExpress = "FDXE"
	fedexGround  = "FDXG"
)

// The booking of a pickup.
type (
	pickupRequest struct {
		AccountNumber        account      `json:"associatedAccountNumber"`
		Origin               pickupOrigin `json:"originDetail"`
		CarrierCode          string       `json:"carrierCode"`
		PackageCount         int          `json:"packageCount"`
		TotalWeight          *weight      `json:"totalWeight,omitempty"`
		Remarks              string       `json:"remarks,omitempty"`
		CountryRelationships string       `json:"countryRelationships,omitempty"`
	}
	pickupOrigin struct {
		Location        pickupLocation `json:"pickupLocation"`
		PackageLocation string         `json:"packageLocation,omitempty"`
		ReadyAt         string         `json:"readyDateTimestamp"`
		CloseAt         string         `json:"customerCloseTime"`
	}
	pickupLocation struct {
		Contact contact `json:"contact"`
		Address address `json:"address"`
	}
	pickupAnswer struct {
		Output struct {
			Confirmation string `json:"pickupConfirmationCode"`
			Location     string `json:"location"`
		} `json:"output"`
	}
)

// The cancellation of a pickup.
type (
	cancelPickupRequest struct {
		AccountNumber account `json:"associatedAccountNumber"`
		Confirmation  string  `json:"pickupConfirmationCode"`
		pickupDetails
	}
	cancelPickupAnswer struct {
		Output struct {
			Confirmation string `json:"pickupConfirmationCode"`
			Message      string `json:"cancelConfirmationMessage"`
		} `json:"output"`
	}
)

// pickupDetails are what FedEx needs to cancel a pickup: its confirmation codes
// count anew for each day, company and location.
type pickupDetails struct {
	CarrierCode   string `json:"carrierCode"`
	ScheduledDate string `json:"scheduledDate"`
	Location      string `json:"location,omitempty"` // of Express
}

// BookPickup asks for a driver. Two equal requests make two pickups, and FedEx
// shows none of them, so it is never repeated.
func (d *driver) BookPickup(ctx context.Context, request carrier.PickupRequest) (ship.PickupBooking, error) {
	body, err := d.pickupRequest(&request)
	if err != nil {
		return ship.PickupBooking{}, err
	}

	var answer pickupAnswer
	err = d.call(ctx, d.ship, carrierkit.Call{
		Method: http.MethodPost,
		URL:    d.base + pickupPath,
		Body:   body,
		Effect: true,
		Header: http.Header{"X-Customer-Transaction-Id": {request.Reference}},
	}, &answer)
	if err != nil {
		return ship.PickupBooking{}, explainPickup(err)
	}

	details, err := json.Marshal(pickupDetails{
		CarrierCode:   body.CarrierCode,
		ScheduledDate: string(request.Order.Window.Date()),
		Location:      answer.Output.Location,
	})
	if err != nil {
		return ship.PickupBooking{}, err
	}
	return ship.PickupBooking{
		Confirmation: answer.Output.Confirmation,
		Details:      string(details),
	}, nil
}

func (d *driver) pickupRequest(request *carrier.PickupRequest) (pickupRequest, error) {
	var bad problems
	order := &request.Order
	company := companyOf(order.Parcels, &bad)
	place, _ := partyOf(order.Address, "/address", &bad)

	switch n := len(digits(order.Address.Phone)); {
	case n == 0:
		bad.add("/address/phone", "required", "FedEx needs a phone number for the pickup")
	case n < 8 || n > 13:
		bad.add("/address/phone", "invalid_phone", "must have 8 to 13 digits for a pickup by FedEx, such as 4155550100")
	}
	if order.Window.CloseAt.Format(time.DateOnly) != string(order.Window.Date()) {
		bad.add("/window/closeAt", "invalid", "must be on the same day as readyAt")
	}
	remarks := pickupRemarks(request, &bad)
	if err := bad.err(); err != nil {
		return pickupRequest{}, err
	}

	body := pickupRequest{
		AccountNumber: account{d.account},
		Origin: pickupOrigin{
			Location: pickupLocation{Contact: place.Contact, Address: place.Address},
			// FedEx takes the time of the place, and ignores the zone that its
			// own examples write.
			ReadyAt: order.Window.ReadyAt.Format("2006-01-02T15:04:05Z"),
			CloseAt: order.Window.CloseAt.Format("15:04:05"),
		},
		CarrierCode:          company,
		PackageCount:         order.Count(),
		Remarks:              remarks,
		CountryRelationships: countryRelationship(order),
	}
	body.Origin.Location.Contact.EmailAddress = "" // a pickup has none
	if company == fedexGround {
		body.Origin.PackageLocation = "FRONT" // Ground requires one
	}
	if order.WeightGrams > 0 {
		pounds := measure{weight: "LB"}
		total := pounds.weigh(pounds.hundredths(order.WeightGrams))
		body.TotalWeight = &total
	}
	return body, nil
}

// companyOf returns which company of FedEx collects the parcels.
func companyOf(parcels []ship.PickupParcels, bad *problems) string {
	var companies []string
	for _, collected := range parcels {
		if collected.Service == "" {
			continue // collected with the others
		}
		chosen, ok := serviceByCode(collected.Service)
		if !ok {
			bad.add("/parcels", "invalid", "FedEx has no service %q", collected.Service)
			return ""
		}
		if company := chosen.company(); !slices.Contains(companies, company) {
			companies = append(companies, company)
		}
	}

	switch len(companies) {
	case 0:
		bad.add("/parcels", "required", "FedEx Express and FedEx Ground collect separately: send shipmentIds, so that the services are known")
		return ""
	case 1:
		return companies[0]
	}
	bad.add("/parcels", "invalid", "FedEx Express and FedEx Ground collect separately: book two pickups, one for the Ground services and one for the others")
	return ""
}

// PickupDivision implements carrier.PickupDivider: FedEx Ground has drivers of its own.
func (d *driver) PickupDivision(parcels []ship.PickupParcels) string {
	if company := companyOf(parcels, &problems{}); company != fedexExpress {
		return company
	}
	return ""
}

// company returns which company of FedEx carries the service.
func (s service) company() string {
	switch s.kind {
	case ground, homeDelivery, groundEconomy:
		return fedexGround
	}
	return fedexExpress
}

// maxRemarks is how much FedEx passes on to its driver.
const maxRemarks = 60

// pickupRemarks returns what the driver reads: the instructions, and our reference
// where there is room for it. FedEx finds no pickup by it, but a person who calls
// FedEx about a pickup can name it.
func pickupRemarks(request *carrier.PickupRequest, bad *problems) string {
	given := request.Order.Instructions
	fitted, _, _ := carrierkit.FitTexts(ship.Order{Reference: given}, Spec.Address.Charset, Spec.Address.Charset)
	instructions := fitted.Reference

	switch {
	case instructions == "" && strings.TrimSpace(given) != "":
		bad.add("/instructions", "invalid", "must be in Latin letters: FedEx cannot print the characters")
	case !fits(instructions, maxRemarks):
		bad.add("/instructions", "too_long", "must be at most %d characters, which is what FedEx shows its driver", maxRemarks)
	}

	if both := instructions + ", " + request.Reference; instructions != "" && fits(both, maxRemarks) {
		return both
	}
	return cmp.Or(instructions, request.Reference)
}

// countryRelationship returns whether parcels leave the country, for which FedEx
// may come earlier; empty if it is not known where they go.
func countryRelationship(order *ship.PickupOrder) string {
	from := countryOf(carrierkit.PlaceOf(order.Address))
	relationship := "DOMESTIC"
	for _, collected := range order.Parcels {
		switch {
		case collected.Country == "":
			return ""
		case collected.Country != from:
			relationship = "INTERNATIONAL"
		}
	}
	return relationship
}

// explainPickup says what a refused booking means.
func explainPickup(err error) error {
	failed, ok := errors.AsType[*ship.Error](err)
	if !ok {
		return err
	}
	refused := *failed
	switch {
	case isForbidden(err):
		refused.Message = "FedEx does not allow this project to book pickups; add the Pickup Request API to it in the developer portal"
	case refused.Kind == ship.Invalid && slices.Contains(tooLateCodes, refused.Refusal.Code):
		return carrier.TooLate(refused.Refusal, ship.TimeWindow{})
	case refused.Kind == ship.Invalid:
		refused.Fields = nil // they are those of an order
		refused.Message = "FedEx declined to book the pickup"
	}
	return &refused
}

// tooLateCodes are the refusals of FedEx's list which mean that no driver can come
// in the window: its day is over, it is too short, or it closes too early.
//
// fact: code-pickup-too-late
var tooLateCodes = []string{
	"PICKUP.REQUESTED.PREVIOUS.DAY",
	"FDSDMINIMUM.HOUR.REQUIRED",
	"READY.TIME.INVALID",
	"LATEST.TIME.INVALID",
	"PACKAGE.ACCESS.NEEDED",
	"UNABLE.TO.PICKUP",
}

// CancelPickup cancels a pickup until its driver is on the way. One that is
// cancelled already stays so. FedEx's NOT.FOUND.ERROR proves nothing: it is the
// answer to a wrong path or a wrong detail too, and the driver may still come.
func (d *driver) CancelPickup(ctx context.Context, _ carrier.PickupRequest, booking ship.PickupBooking) error {
	var details pickupDetails
	if err := json.Unmarshal([]byte(booking.Details), &details); err != nil {
		return ship.Errorf(ship.Unsupported, "the pickup cannot be cancelled here: FedEx needs its date and company, which are not known")
	}
	if details.CarrierCode == fedexExpress && details.Location == "" {
		return ship.Errorf(ship.Unsupported, "the pickup cannot be cancelled here: FedEx did not name its location; call FedEx to cancel it")
	}

	var answer cancelPickupAnswer
	err := d.call(ctx, d.ship, carrierkit.Call{
		Method: http.MethodPut,
		URL:    d.base + cancelPickupPath,
		Effect: true,
		Body: cancelPickupRequest{
			AccountNumber: account{d.account},
			Confirmation:  booking.Confirmation,
			pickupDetails: details,
		},
	}, &answer)
	if err != nil {
		return explainCancelledPickup(err)
	}
	if answer.Output.Confirmation == "" && answer.Output.Message == "" {
		return uncertain("FedEx did not confirm whether the pickup was cancelled")
	}
	return nil
}

// explainCancelledPickup says what a refused cancellation means; nil if the pickup
// was cancelled before.
func explainCancelledPickup(err error) error {
	failed, ok := errors.AsType[*ship.Error](err)
	if !ok {
		return err
	}
	refused := *failed
	switch {
	case isForbidden(err):
		refused.Message = "FedEx does not allow this project to cancel pickups; add the Pickup Request API to it in the developer portal"
	case refused.Kind == ship.Invalid && refused.Refusal.Code == cancelledBefore:
		return nil
	case refused.Refusal.Code == notFound, refused.Refusal.Code == noDispatch:
		refused.Kind = ship.Invalid
		refused.Fields = nil
		refused.Message = "FedEx did not find the pickup, so its driver may still come: call FedEx to make sure"
	case refused.Kind != ship.Invalid:
		return err
	case errors.Is(err, carrierkit.Status(http.StatusNotFound)):
		// FedEx would have said what it did not find: this is a proxy.
		refused.Kind = ship.Unavailable
		refused.Message = "FedEx does not cancel pickups at the configured URL"
	default:
		refused.Fields = nil
		refused.Message = "FedEx did not cancel the pickup"
	}
	return &refused
}

// FedEx's codes about a pickup that is to be cancelled. Others say that it is too
// late: PICKUPCONFIRMATION.CODE.ALREADYEXIST ("Pickup already made, cannot cancel or
// update"), PICKUP.CANCELLATION.NOTALLOWED and PICKUP.NUMBER.EXPIRED.
//
// fact: code-pickup-cancelled
const (
	cancelledBefore = "DUPLICATE.REQUEST.CANCEL"
	noDispatch      = "NO.DISPATCH.FOUND"

	// notFound is the code of something that FedEx does not have, which may be
	// the path of the request.
	notFound = "NOT.FOUND.ERROR"
)
