package royalmail

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// newOrder returns the request for an order. Everything that Royal Mail would
// refuse for sure is refused here, all at once.
func (d driver) newOrder(request carrier.BuyOrder, now time.Time) (_ orderRequest, warnings []string, _ error) {
	chosen, ok := serviceByCode(request.Service)
	if !ok {
		return orderRequest{}, nil, ship.InvalidFields([]ship.FieldError{{
			Pointer: "/service",
			Code:    "unknown_service",
			Detail:  "is not a service of Royal Mail; GET /v1/carriers lists them",
		}})
	}

	var c checker
	order := request.Order
	code := d.codeOf(chosen)
	c.code(chosen, code)
	to, warnings := c.recipient(order.Destination)
	crosses := c.lane(order, chosen)
	c.options(order.Options, chosen)
	c.rest(order)

	sent := orderRequest{
		OrderReference: request.Reference,
		Recipient:      to,
		OrderDate:      now.UTC().Format(time.RFC3339),
		Currency:       "GBP",
		Postage: postageDetails{
			ServiceCode: code.service,
			Register:    code.register,
			CarrierName: d.carrierName,
			// Where the service is signed anyway, asking again may be refused.
			Signature:    order.Options.Signature == "standard" && chosen.signature == signedOnDemand,
			LocalCollect: order.Options.HoldAtLocation,
		},
		Label: labelRequest{IncludeLabel: true, IncludeCN: crosses},
	}
	c.notify(&sent, d.notices, chosen)
	if order.Destination.Type != "" {
		isBusiness := order.Destination.Type == "business"
		sent.IsRecipientABusiness = &isBusiness
	}
	if order.ShipDate != "" {
		sent.PlannedDespatchDate = order.ShipDate.Time().Format(time.RFC3339)
	}
	if order.OrderID != "" {
		sent.Tags = []tag{{Key: "order", Value: order.OrderID}}
	}

	sent.Packages = []packageRequest{c.parcel(order, chosen)}
	if crosses || order.Customs != nil {
		c.declare(order, &sent, crosses)
	}
	return sent, append(warnings, c.warnings...), carrierkit.InvalidOrder("Royal Mail", c.invalid)
}

// code requires that Click & Drop's code of a service is known.
func (c *checker) code(chosen service, code accountCode) {
	if code.service == "" {
		c.refuse("/service", "invalid", chosen.name+" has no usual code in Click & Drop: set that of your account in service_codes of the connection, such as \""+chosen.code+"=CODE\"")
	}
}

// notify has Royal Mail notify the recipient, of a parcel that it can follow.
func (c *checker) notify(sent *orderRequest, asked notices, chosen service) {
	sent.Postage.EmailNotice = asked.email && sent.Recipient.Email != "" && !chosen.untracked
	sent.Postage.SMSNotice = asked.sms && sent.Recipient.Phone != "" && !chosen.untracked
	if sent.Postage.EmailNotice || sent.Postage.SMSNotice {
		sent.Postage.NotifyTo = "recipient" // fact: notices
	}
}

// checker collects the invalid fields of an order, and what the client should know
// about one that is valid.
type checker struct {
	invalid  []ship.FieldError
	warnings []string
}

func (c *checker) warn(format string, args ...any) {
	c.warnings = append(c.warnings, fmt.Sprintf(format, args...))
}

func (c *checker) refuse(pointer, code, detail string) {
	c.invalid = append(c.invalid, ship.FieldError{Pointer: pointer, Code: code, Detail: detail})
}

func (c *checker) limitLength(pointer, value string, limit int) {
	if utf8.RuneCountInString(value) > limit {
		c.refuse(pointer, "too_long", "is longer than Royal Mail accepts")
	}
}

func (c *checker) recipient(given ship.Address) (recipient, []string) {
	const pointer = "/destination"
	fitted, warnings, err := carrierkit.Fit(Spec.Address, given, pointer)
	if unfit, ok := errors.AsType[*ship.Error](err); ok {
		c.invalid = append(c.invalid, unfit.Fields...)
		return recipient{}, nil
	}

	lines := append(fitted.Lines, "", "", "")
	if lines[0] == "" {
		c.refuse(pointer+"/address1", "required", "Royal Mail needs the street of "+carrierkit.PartyName(pointer))
	}
	if fitted.City == "" {
		c.refuse(pointer+"/city", "required", "Royal Mail needs the city of "+carrierkit.PartyName(pointer))
	}
	if fitted.Country == "GB" && fitted.Zip == "" {
		c.refuse(pointer+"/zip", "required", "Royal Mail needs the postcode of "+carrierkit.PartyName(pointer))
	}
	return recipient{
		Address: address{
			FullName:    fitted.Name,
			CompanyName: fitted.Company,
			Line1:       lines[0],
			Line2:       lines[1],
			Line3:       lines[2],
			City:        fitted.City,
			County:      fitted.State,
			Postcode:    fitted.Zip,
			CountryCode: fitted.Country,
		},
		Phone: fitted.Phone,
		Email: fitted.Email,
	}, warnings
}

// isInland reports whether a country is delivered to at home: the Isle of Man and
// the Channel Islands have posts of their own that Royal Mail hands over to.
func isInland(country string) bool {
	switch country {
	case "GB", "IM", "JE", "GG":
		return true
	}
	return false
}

// isNorthernIreland reports whether an address is in Northern Ireland, whose
// postcodes all begin with BT.
func isNorthernIreland(place ship.Address) bool {
	return place.Country == "GB" && strings.HasPrefix(strings.ToUpper(strings.TrimSpace(place.Zip)), "BT")
}

// lane checks where the parcel goes, and reports whether customs see it.
func (c *checker) lane(order ship.Order, chosen service) (crossesCustoms bool) {
	if order.Origin.Country != "GB" {
		c.refuse("/origin/country", "invalid", "Royal Mail takes parcels only in the United Kingdom")
		return false
	}

	// Royal Mail requires isRecipientABusiness on this lane; a guess could declare
	// the goods wrongly.
	if isNorthernIreland(order.Destination) && !isNorthernIreland(order.Origin) && order.Destination.Type == "" {
		c.refuse("/destination/type", "required", "Royal Mail needs to know whether the recipient in Northern Ireland is a business: must be business or consumer")
	}

	inland := isInland(order.Destination.Country)
	switch {
	case chosen.isReturn:
		c.refuse("/service", "invalid", chosen.name+" is for returns only")
	case inland && chosen.abroad:
		c.refuse("/service", "invalid", chosen.name+" goes abroad; choose a service within the United Kingdom")
	case !inland && !chosen.abroad:
		c.refuse("/service", "invalid", chosen.name+" goes to addresses within the United Kingdom; choose an international service")
	}
	return carrierkit.NeedsCustoms(order.Origin, order.Destination)
}

// rest refuses what Royal Mail has no field for.
func (c *checker) rest(order ship.Order) {
	if order.Billing != nil && order.Billing.Type != "sender" {
		c.refuse("/billing", "unsupported", "Royal Mail bills the account of the connection alone")
	}
	c.limitLength("/orderId", strings.TrimSpace(order.OrderID), maxTag)
}

// maxTag is how long the value of a tag may be.
const maxTag = 100
