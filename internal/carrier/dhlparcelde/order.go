package dhlparcelde

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// fact: reference-length, cost-center-length
const (
	title         = "DHL Parcel DE"
	minReference  = 8
	maxReference  = 35
	maxCostCenter = 50
)

// fact: return-shipper
const (
	maxHouse       = 10
	maxReturnEmail = 70
)

// checker collects the invalid fields of an order.
type checker struct{ invalid []ship.FieldError }

func (c *checker) refuse(pointer, code, detail string) {
	c.invalid = append(c.invalid, ship.FieldError{Pointer: pointer, Code: code, Detail: detail})
}

// shipmentOf returns an order in DHL's terms. Everything that DHL would refuse for
// sure is refused here, all at once.
func (d *driver) shipmentOf(request carrier.BuyOrder, now time.Time) (shipment, []string, error) {
	// A person finds a lost purchase by this reference, so it must reach DHL
	// unchanged.
	if n := len(request.Reference); n < minReference || n > maxReference {
		return shipment{}, nil, ship.Errorf(ship.Internal, "a reference of %d characters does not fit DHL Parcel DE", n)
	}

	order := request.Order
	var c checker
	chosen := c.service(request.Service, order)
	billing := d.billing[chosen.product]
	if billing == "" && chosen.product != "" {
		c.refuse("/service", "unsupported", "this connection has no billing number for "+chosen.name+"; add it under Carriers if your DHL contract includes the product")
	}

	from, warnings := c.address(order.Origin, "/origin")
	recipient := order.Destination
	if order.Options.ServicePoint != "" {
		recipient.Address1, recipient.Address2, recipient.Address3 = "", "", "" // a Packstation has no street
	}
	to, more := c.address(recipient, "/destination")
	warnings = append(warnings, more...)

	body := shipment{
		Product:       chosen.product,
		BillingNumber: billing,
		RefNo:         request.Reference,
		CostCenter:    printedReference(order),
		ShipDate:      c.shipDate(order.ShipDate, now),
		Shipper:       c.contact(order.Origin, from, "/origin"),
		Consignee:     c.consignee(order, to),
		Details:       c.details(order),
		Services:      c.services(order, chosen),
		Customs:       c.customs(order, chosen),
	}
	c.unsupported(order)
	return body, warnings, carrierkit.InvalidOrder(title, c.invalid)
}

// service returns the service of the code, if it serves the lane.
func (c *checker) service(code string, order ship.Order) service {
	chosen, ok := serviceByCode(code)
	if !ok {
		c.refuse("/service", "invalid", "DHL Parcel DE has no service \""+code+"\"; GET /v1/carriers lists its services")
		return service{}
	}

	isDomestic := order.Destination.Country == "DE"
	switch {
	case chosen.isReturn:
		c.refuse("/service", "invalid", chosen.name+" is for returns only")
	case order.Origin.Country != "DE":
		c.refuse("/origin/country", "invalid", "must be DE: DHL Parcel DE takes parcels only in Germany")
	case chosen.domestic && !isDomestic:
		c.refuse("/service", "invalid", chosen.name+" delivers only within Germany")
	case !chosen.domestic && isDomestic:
		c.refuse("/service", "invalid", chosen.name+" delivers only outside Germany")
	}
	return chosen
}

// unsupported refuses what DHL's API for shipments cannot do.
func (c *checker) unsupported(order ship.Order) {
	if order.Billing != nil && order.Billing.Type != "" && order.Billing.Type != "sender" {
		c.refuse("/billing/type", "unsupported", "DHL Parcel DE bills only the account of the connection")
	}
}

func (c *checker) address(given ship.Address, pointer string) (carrierkit.FittedAddress, []string) {
	fitted, warnings, err := carrierkit.Fit(Spec.Address, given, pointer)
	if unfit, ok := errors.AsType[*ship.Error](err); ok {
		c.invalid = append(c.invalid, unfit.Fields...)

		// A field that was given is not also reported as missing.
		fitted = carrierkit.FittedAddress{
			Name:  cmp.Or(given.Name, given.Company),
			City:  given.City,
			Zip:   given.Zip,
			Lines: []string{given.Address1},
		}
	}
	return fitted, warnings
}

// contact returns a party at an address. The company comes first, as it is
// printed; a second line of the street follows the names.
func (c *checker) contact(given ship.Address, fitted carrierkit.FittedAddress, pointer string) contact {
	party := contact{
		Name1:      cmp.Or(fitted.Company, fitted.Name),
		PostalCode: fitted.Zip,
		City:       fitted.City,
		Country:    countryOf(carrierkit.PlaceOf(given)),
	}
	if fitted.Company != "" && fitted.Name != "" {
		party.Name2 = fitted.Name
	}
	if len(fitted.Email) >= 3 {
		party.Email = fitted.Email
	}

	lines := append(slices.Clone(fitted.Lines), "", "")
	party.Street = lines[0]
	isAbroad := given.Country != "DE"
	switch {
	case isAbroad: // where DHL prints this member
		party.MoreAddress = lines[1]
	default:
		party.Name3 = lines[1]
	}
	if pointer == "/destination" {
		party.Phone = fitted.Phone
		party.State = stateOf(given.Country, fitted.State)
	}

	name := carrierkit.PartyName(pointer)
	if party.Name1 == "" {
		c.refuse(pointer+"/name", "required", "DHL Parcel DE needs the name of "+name)
	}
	if party.Street == "" {
		c.refuse(pointer+"/address1", "required", "DHL Parcel DE needs the street of "+name)
	}
	if party.City == "" {
		c.refuse(pointer+"/city", "required", "DHL Parcel DE needs the city of "+name)
	}
	if given.Country == "DE" && len(party.PostalCode) != 5 {
		c.refuse(pointer+"/zip", "invalid", "must be a German postal code of five digits, such as 53113")
	}
	return party
}

// shipDate returns the day on which DHL gets the parcel, in Germany.
func (c *checker) shipDate(asked ship.Date, now time.Time) string {
	today := now.In(germany()).Format(time.DateOnly)
	if asked == "" || string(asked) < today && asked.Time().After(now.AddDate(0, 0, -2)) {
		return today // also if the day ended while the purchase was under way
	}
	if string(asked) < today {
		c.refuse("/shipDate", "invalid", "must be today or later for DHL Parcel DE")
	}
	return string(asked)
}

// details returns the weight and the size of the only parcel.
func (c *checker) details(order ship.Order) details {
	if len(order.Parcels) != 1 {
		c.refuse("/parcels", "invalid", fmt.Sprintf("DHL Parcel DE sells a label for each parcel: create one shipment per parcel instead of one with %d", len(order.Parcels)))
		return details{}
	}
	return c.parcel(order.Parcels[0])
}

// returnOf returns a return in DHL's terms. The destination is the receiver's: DHL
// does not ask for it.
func (d *driver) returnOf(request carrier.BuyOrder) (returnOrder, []string, error) {
	order := request.Order
	var c checker
	if chosen, ok := serviceByCode(request.Service); !ok || !chosen.isReturn {
		c.refuse("/service", "invalid", "DHL Parcel DE brings parcels back with "+returnService+" only")
	}
	const within = "must be DE: Waybill buys returns of DHL Parcel DE only within Germany"
	if order.Origin.Country != "DE" {
		c.refuse("/origin/country", "invalid", within)
	}
	if order.Destination.Country != "DE" {
		c.refuse("/destination/country", "invalid", within)
	}

	body := returnOrder{
		Receiver:          d.receiver,
		CustomerReference: printedReference(order),
		Reference:         request.Reference,
	}
	fitted, warnings := c.address(order.Origin, "/origin")
	body.Shipper = c.returnSender(order.Origin, fitted)
	if parcels := order.Parcels; len(parcels) == 1 {
		body.Weight = c.parcel(parcels[0]).Weight
	} else {
		c.refuse("/parcels", "invalid", "DHL Parcel DE sells a label for each parcel: create one return per parcel")
	}
	if order.Options.CarbonNeutral {
		body.Services = &returnServices{GoGreenPlus: true}
	}
	c.returnOptions(order.Options)
	c.unsupported(order)
	return body, warnings, carrierkit.InvalidOrder(title, c.invalid)
}

// returnSender returns the customer. DHL asks for the house number by itself.
// fact: return-shipper
func (c *checker) returnSender(given ship.Address, fitted carrierkit.FittedAddress) returnShipper {
	party := c.contact(given, fitted, "/origin")
	split := houseNumber.FindStringSubmatch(party.Street)
	if split == nil || len(split[2]) > maxHouse {
		if party.Street != "" {
			c.refuse("/origin/address1", "invalid", "must end with the house number for a return with DHL Parcel DE, such as Am Hof 1")
		}
		split = []string{"", "", ""}
	}

	sender := returnShipper{
		Name1:      party.Name1,
		Name2:      party.Name2,
		Name3:      party.Name3,
		Street:     strings.TrimSpace(split[1]),
		House:      split[2],
		PostalCode: party.PostalCode,
		City:       party.City,
		Phone:      fitted.Phone,
	}
	if len(party.Email) <= maxReturnEmail {
		sender.Email = party.Email
	}
	return sender
}

// returnOptions refuses what a return cannot have. The day on which it is handed in
// is the customer's choice.
func (c *checker) returnOptions(options ship.Options) {
	if options.Signature != "" {
		c.refuse("/options/signature", "unsupported", "DHL Parcel DE has no signature for returns")
	}
	if options.InsuredValue.Minor > 0 {
		c.refuse("/options/insuredValue", "unsupported", "DHL Parcel DE does not insure returns")
	}
	if options.SaturdayDelivery {
		c.refuse("/options/saturdayDelivery", "unsupported", "DHL Parcel DE has no Saturday delivery for returns")
	}
}

// printedReference returns what identifies the parcel to the people who pack it:
// the order number, then the client's reference.
func printedReference(order ship.Order) string {
	printed := order.OrderID
	if order.Reference != "" && order.Reference != order.OrderID {
		printed = strings.TrimSpace(printed + " / " + order.Reference)
	}
	letters := []rune(printed)
	return string(letters[:min(len(letters), maxCostCenter)])
}
