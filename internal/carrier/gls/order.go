package gls

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

const (
	title        = "GLS"
	maxReference = 40
	maxParcels   = 99
)

// checker collects the invalid fields of an order.
type checker struct{ invalid []ship.FieldError }

func (c *checker) refuse(pointer, code, detail string) {
	c.invalid = append(c.invalid, ship.FieldError{Pointer: pointer, Code: code, Detail: detail})
}

// shipmentOf returns an order in GLS's terms. Everything that GLS would refuse for
// sure is refused here, all at once.
func (d *driver) shipmentOf(request carrier.BuyOrder, now time.Time) (shipment, []string, error) {
	// A lost purchase is looked up by this reference, so it must reach GLS
	// unchanged.
	if n := len(request.Reference); n == 0 || n > maxReference {
		return shipment{}, nil, ship.Errorf(ship.Internal, "a reference of %d characters does not fit GLS", n)
	}

	var c checker
	order := request.Order
	chosen, ok := serviceByCode(request.Service)
	if !ok {
		c.refuse("/service", "invalid", "GLS has no service \""+request.Service+"\"; GET /v1/carriers lists its services")
	}
	from, warnings := c.address(order.Origin, "/origin")
	to, more := c.address(order.Destination, "/destination")

	body := shipment{
		References:   []string{request.Reference},
		ShippingDate: c.shippingDate(order, now),
		IncotermCode: incotermOf(order),
		Identifier:   "Waybill",
		Middleware:   d.middleware,
		Product:      chosen.product,
		Consignee:    consignee{Category: "PRIVATE", Address: to},
		Shipper:      shipper{ContactID: d.contact, Printed: &from},
		Units:        c.units(request),
		Services:     c.services(order, chosen, d.isFlexible),
	}
	if order.Destination.Company != "" || order.Destination.Type == "business" {
		body.Consignee.Category = "BUSINESS"
	}
	warnings = append(warnings, more...)
	if order.IsReturn {
		warnings = append(warnings, c.bringBack(order, &body, from)...)
	}
	c.unsupported(order, chosen)
	return body, warnings, carrierkit.InvalidOrder(title, c.invalid)
}

// bringBack makes a shipment a return. GLS names the customer as the consignee of a
// return too, and brings the parcel to the shipper of the contact id.
// fact: shop-return-consignee
func (c *checker) bringBack(order ship.Order, body *shipment, customer address) (warnings []string) {
	if len(order.Parcels) != 1 {
		c.refuse("/parcels", "invalid", "GLS sells a return label for each parcel: create one return per parcel")
	}
	body.Consignee = consignee{Category: "PRIVATE", Address: customer}
	if order.Origin.Company != "" || order.Origin.Type == "business" {
		body.Consignee.Category = "BUSINESS"
	}
	body.Shipper.Printed = nil
	return []string{"GLS brings the parcel to the address that it has for the contact ID of the connection; it does not read the destination of a return"}
}

// unsupported refuses what ShipIT cannot do.
func (c *checker) unsupported(order ship.Order, chosen service) {
	switch {
	case order.IsReturn && !chosen.isReturn && chosen.code != "":
		c.refuse("/service", "invalid", chosen.name+" does not bring parcels back; choose shop_return for a return")
	case !order.IsReturn && chosen.isReturn:
		c.refuse("/service", "invalid", chosen.name+" is for returns only")
	}
	switch {
	case !carrierkit.PlaceOf(order.Origin).InEU():
		c.refuse("/origin/country", "unsupported", "Waybill sends parcels with GLS only within the European Union")
	case !carrierkit.PlaceOf(order.Destination).InEU():
		c.refuse("/destination/country", "unsupported", "GLS takes customs declarations by another system: Waybill sends parcels with GLS only within the European Union")
	}
	if order.Billing != nil && order.Billing.Type != "" && order.Billing.Type != "sender" {
		c.refuse("/billing/type", "unsupported", "GLS bills only the account of the connection")
	}
}

// address returns a party. The company comes first, as it is printed; a second
// line of the street follows the names.
func (c *checker) address(given ship.Address, pointer string) (address, []string) {
	fitted, warnings, err := carrierkit.Fit(Spec.Address, given, pointer)
	if unfit, ok := errors.AsType[*ship.Error](err); ok {
		c.invalid = append(c.invalid, unfit.Fields...)

		// A field that was given is not also reported as missing.
		fitted = carrierkit.FittedAddress{
			Name:  cmp.Or(given.Name, given.Company),
			City:  given.City,
			Lines: []string{given.Address1},
		}
	}

	lines := append(slices.Clone(fitted.Lines), "", "")
	party := address{
		Name1:       cmp.Or(fitted.Company, fitted.Name),
		Name3:       lines[1],
		CountryCode: given.Country,
		Province:    fitted.State,
		ZIPCode:     fitted.Zip,
		City:        fitted.City,
		Street:      lines[0],
		Phone:       fitted.Phone,
		Email:       fitted.Email,
	}
	if fitted.Company != "" && fitted.Name != "" {
		party.Name2 = fitted.Name
	}

	name := carrierkit.PartyName(pointer)
	if party.Name1 == "" {
		c.refuse(pointer+"/name", "required", "GLS needs the name of "+name)
	}
	if party.Street == "" {
		c.refuse(pointer+"/address1", "required", "GLS needs the street of "+name)
	}
	if party.City == "" {
		c.refuse(pointer+"/city", "required", "GLS needs the city of "+name)
	}
	return party, warnings
}

// incoterm says that the recipient pays what the border costs, which is nothing
// within the European Union.
const incoterm = "20" // fact: incoterm-cross-border

// incotermOf returns the code by which GLS routes a parcel that leaves the country,
// also within the European Union; empty for one that does not.
func incotermOf(order ship.Order) string {
	if order.Origin.Country == order.Destination.Country {
		return ""
	}
	return incoterm
}

// shippingDate returns the day on which GLS gets the parcels, where they leave.
func (c *checker) shippingDate(order ship.Order, now time.Time) string {
	today := now.In(carrierkit.PlaceOf(order.Origin).ClosestZone())
	if order.ShipDate == "" {
		return today.Format(time.DateOnly)
	}

	asked := order.ShipDate.Time().Format(time.DateOnly)
	switch {
	case asked < today.AddDate(0, 0, -1).Format(time.DateOnly):
		c.refuse("/shipDate", "invalid", "must be today or later for GLS")
	case asked < today.Format(time.DateOnly):
		return today.Format(time.DateOnly) // the day ended while the purchase was under way
	}
	return asked
}

// printedReference returns what identifies the parcel to the people who pack it:
// the order number, then the client's reference.
func printedReference(order ship.Order) string {
	printed := order.OrderID
	if order.Reference != "" && order.Reference != order.OrderID {
		printed = strings.TrimSpace(printed + " / " + order.Reference)
	}
	letters := []rune(printed)
	return string(letters[:min(len(letters), maxReference)])
}

// unitReference returns our reference of one parcel.
func unitReference(reference string, i int) string { return fmt.Sprintf("%s-%d", reference, i+1) }
