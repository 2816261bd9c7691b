package postnl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// newRequest returns the request for a label, without its barcode. Everything
// that PostNL would refuse for sure is refused here, all at once.
func (d driver) newRequest(request carrier.BuyOrder, now time.Time) (_ labelRequest, warnings []string, _ error) {
	chosen, ok := serviceByCode(request.Service)
	if !ok {
		return labelRequest{}, nil, ship.InvalidFields([]ship.FieldError{{
			Pointer: "/service",
			Code:    "unknown_service",
			Detail:  "is not a service of PostNL; GET /v1/carriers lists them",
		}})
	}

	var c checker
	order := request.Order
	to := c.addressOf(order.Destination, "/destination", receiver)
	from := c.addressOf(order.Origin, "/origin", sender)
	c.lane(order, chosen)
	c.options(order.Options, chosen)
	c.rest(order)

	sold := d.productOf(chosen, order)
	sent := shipment{
		Addresses:           []address{to, from},
		Dimension:           c.parcel(order),
		ProductCodeDelivery: sold.code,
		ProductOptions:      sold.options,
		Reference:           request.Reference,
		CustomerOrderNumber: order.OrderID,
	}
	if chosen.mailbox > 0 {
		c.letterbox(order, chosen)
		sent.DeliveryDate = deliveryDay(order.ShipDate, now, chosen.mailbox)
	}
	// A number that is too short for PostNL is left out: the parcel arrives without
	// it.
	if len(c.phone) < minPhone {
		c.phone = ""
	}
	if email, phone := order.Destination.Email, c.phone; email != "" || phone != "" {
		sent.Contacts = []contact{{ContactType: "01", Email: email, TelNr: phone}}
	}
	if chosen.insured {
		insured := order.Options.InsuredValue
		sent.Amounts = []amount{{AmountType: insuredAmount, Value: json.Number(insured.Amount()), Currency: insured.Currency}}
	}

	printer := printers[order.LabelFormat]
	if printer == "" {
		printer = printers["pdf"]
	}
	return labelRequest{
		Customer: customer{
			Address:            from,
			CollectionLocation: d.location,
			CustomerCode:       d.customerCode,
			CustomerNumber:     d.customerNumber,
			Name:               from.CompanyName,
		},
		Message: message{
			MessageID:        "1",
			MessageTimeStamp: now.In(dutch).Format(timeLayout),
			Printertype:      printer,
		},
		Shipments: []shipment{sent},
	}, c.warnings, carrierkit.InvalidOrder("PostNL", c.invalid)
}

// prepare returns the request for a label with the address of the pickup point, if the
// parcel goes to one: the order has only its number.
func (d driver) prepare(ctx context.Context, request carrier.BuyOrder, now time.Time) (labelRequest, []string, error) {
	sent, warnings, err := d.newRequest(request, now)
	id := request.Order.Options.ServicePoint
	if err != nil || id == "" {
		return sent, warnings, err
	}

	point, err := d.fetchPoint(ctx, id, request.Order.Destination.Country)
	if err != nil {
		return labelRequest{}, nil, err
	}
	sent.Shipments[0].Addresses = append(sent.Shipments[0].Addresses, point.addressOfPoint())
	return sent, warnings, nil
}

// deliveryDay returns when a mailbox parcel arrives, which PostNL needs for the codes
// on its label. Nothing is delivered on Sundays.
func deliveryDay(shipDate ship.Date, now time.Time, days int) string {
	sentOn := now.In(dutch)
	if asked := shipDate.Time(); shipDate != "" && asked.After(sentOn) {
		sentOn = asked
	}
	day := sentOn.AddDate(0, 0, days)
	if day.Weekday() == time.Sunday {
		day = day.AddDate(0, 0, 1)
	}
	return day.Format("02-01-2006") + " 00:00:00"
}

// minPhone is how many characters a phone number has at least.
// fact: phone-limits
const minPhone = 10

// checker collects the invalid fields of an order.
type checker struct {
	invalid  []ship.FieldError
	warnings []string
	phone    string // of the recipient, as PostNL takes it
}

func (c *checker) refuse(pointer, code, detail string) {
	c.invalid = append(c.invalid, ship.FieldError{Pointer: pointer, Code: code, Detail: detail})
}

func (c *checker) limitLength(pointer, value string, limit int) {
	if utf8.RuneCountInString(value) > limit {
		c.refuse(pointer, "too_long", fmt.Sprintf("is longer than the %d characters that PostNL accepts", limit))
	}
}

// fit returns an address within PostNL's limits.
func (c *checker) fit(given ship.Address, pointer string) carrierkit.FittedAddress {
	fitted, warnings, err := carrierkit.Fit(Spec.Address, given, pointer)
	if unfit, ok := errors.AsType[*ship.Error](err); ok {
		c.invalid = append(c.invalid, unfit.Fields...)
		return carrierkit.FittedAddress{Country: given.Country}
	}
	c.warnings = append(c.warnings, warnings...)
	if pointer == "/destination" {
		c.phone = fitted.Phone
	}

	party := carrierkit.PartyName(pointer)
	if len(fitted.Lines) == 0 {
		c.refuse(pointer+"/address1", "required", "PostNL needs the street of "+party)
	}
	if fitted.City == "" {
		c.refuse(pointer+"/city", "required", "PostNL needs the city of "+party)
	}
	if slices.Contains(benelux, fitted.Country) && fitted.Zip == "" {
		c.refuse(pointer+"/zip", "required", "PostNL needs the postal code of "+party)
	}
	return fitted
}

// lane checks where the parcel goes.
func (c *checker) lane(order ship.Order, chosen service) {
	switch {
	case order.IsReturn != chosen.isReturn:
		c.refuseReturn(order, chosen)
	case order.Origin.Country != "NL":
		c.refuse("/origin/country", "invalid", "PostNL takes parcels only in the Netherlands")
	case carrierkit.NeedsCustoms(order.Origin, order.Destination):
		c.refuse("/destination/country", "unsupported", "PostNL delivers outside of the European Union only with GlobalPack, which is not supported")
	case order.Options.ServicePoint != "":
		c.point(order, chosen)
	case order.Destination.Country == "NL" && chosen.products.home == "":
		c.refuse("/service", "invalid", chosen.name+" goes abroad; choose a service within the Netherlands")
	case order.Destination.Country == "BE" && chosen.products.belgium == "":
		c.refuse("/service", "invalid", chosen.name+" does not go to Belgium; choose standard, home_only, signature or insured")
	case order.Destination.Country != "NL" && order.Destination.Country != "BE" && chosen.products.union == "":
		c.refuse("/service", "invalid", chosen.name+" goes to addresses in the Netherlands and Belgium; choose eu_parcel")
	}
}

// refuseReturn refuses a service that does not go the way of the order.
func (c *checker) refuseReturn(order ship.Order, chosen service) {
	if order.IsReturn {
		c.refuse("/service", "invalid", chosen.name+" does not bring parcels back; choose smart_return for a return")
		return
	}
	c.refuse("/service", "invalid", chosen.name+" is for returns only")
}

// point checks a parcel that is collected at a pickup point.
func (c *checker) point(order ship.Order, chosen service) {
	const field = "/destination/servicePoint"
	switch {
	case !slices.Contains(pointCountries, order.Destination.Country):
		c.refuse(field, "unsupported", "PostNL has pickup points in the Netherlands and Belgium only")
	case chosen.products.usualOf(order) == "":
		c.refuse(field, "unsupported", chosen.name+" does not go to pickup points; choose standard")
	case !pointID.MatchString(order.Options.ServicePoint):
		c.refuse(field, "invalid", "must be the number of a pickup point, such as 163043")
	}
	// Without one, nobody would know that the parcel has arrived.
	if order.Destination.Email == "" {
		c.refuse("/destination/email", "required", "PostNL needs the e-mail address of a recipient who collects the parcel")
	}
}

// rest refuses what PostNL has no field for.
func (c *checker) rest(order ship.Order) {
	// PostNL confirms to it that the parcel was handed in. fact: return-email
	if order.IsReturn && order.Destination.Email == "" {
		c.refuse("/destination/email", "required", "PostNL needs the e-mail address of whoever a return goes to")
	}
	if order.IsReturn && order.Destination.Country != "NL" {
		c.refuse("/destination/country", "invalid", "must be NL: PostNL brings parcels back within the Netherlands")
	}
	if order.Billing != nil && order.Billing.Type != "sender" {
		c.refuse("/billing", "unsupported", "PostNL bills the account of the connection alone")
	}
	c.limitLength("/orderId", order.OrderID, maxShort)
}
