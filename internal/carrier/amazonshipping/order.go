package amazonshipping

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// draft is an order as Amazon takes it: what a quote and a purchase share.
type draft struct {
	request   rateRequest
	signature string
	warnings  []string
}

// newDraft checks an order. Everything that Amazon would refuse for sure is
// refused here, all at once. A quote needs neither names nor streets, for which it
// sends placeholders: Amazon requires them, and its prices do not depend on them.
func (d *driver) newDraft(order ship.Order, reference string, isQuote bool) (draft, error) {
	c := checker{business: d.business, isQuote: isQuote}
	c.unsupported(order)
	p := draft{signature: order.Options.Signature}
	from, warnings := c.address(order.Origin, "/origin")
	p.warnings = warnings
	to, warnings := c.address(order.Destination, "/destination")
	p.warnings = append(p.warnings, warnings...)

	p.request = rateRequest{
		ShipFrom:       from,
		ShipTo:         to,
		ShipDate:       c.shipDate(order),
		Packages:       []pack{c.pack(order, reference)},
		Taxes:          c.taxes(order),
		ChannelDetails: channel{Type: "EXTERNAL"}, // fact: channel
	}
	if point := order.Options.ServicePoint; point != "" {
		p.request.AccessPoint = &accessPoint{point}
	}
	return p, carrierkit.InvalidOrder("Amazon Shipping", c.invalid)
}

// checker collects the invalid fields of an order.
type checker struct {
	business business
	isQuote  bool // only what a quote needs is required
	invalid  []ship.FieldError
}

func (c *checker) refuse(pointer, code, detail string) {
	c.invalid = append(c.invalid, ship.FieldError{Pointer: pointer, Code: code, Detail: detail})
}

// unsupported refuses what Amazon Shipping, or this driver, does not sell at all.
func (c *checker) unsupported(order ship.Order) {
	for _, side := range []struct{ country, pointer string }{
		{order.Origin.Country, "/origin/country"},
		{order.Destination.Country, "/destination/country"},
	} {
		if side.country != c.business.country {
			c.refuse(side.pointer, "unsupported", "Amazon Shipping delivers only within "+c.business.country+", the country of this connection")
		}
	}
	if order.IsReturn {
		c.refuse("/isReturn", "unsupported", "return labels of Amazon Shipping are not supported")
	}
	if order.Billing != nil && order.Billing.Type != "" && order.Billing.Type != "sender" {
		c.refuse("/billing/type", "unsupported", "Amazon Shipping charges only the connected account")
	}
	if order.Options.SaturdayDelivery {
		c.refuse("/options/saturdayDelivery", "unsupported", "Amazon Shipping has no Saturday delivery that can be asked for; its offers say when they arrive")
	}
	if value := order.Options.InsuredValue; !value.IsZero() && value.Currency != c.business.currency {
		c.refuse("/options/insuredValue", "invalid", "must be an amount in "+c.business.currency+" for this Amazon Shipping connection")
	}
}

func (c *checker) address(given ship.Address, pointer string) (address, []string) {
	fitted, warnings, err := carrierkit.Fit(addressLimits, given, pointer)
	if unfit, ok := errors.AsType[*ship.Error](err); ok {
		c.invalid = append(c.invalid, unfit.Fields...)

		// A field that was given is not also reported as missing.
		fitted = carrierkit.FittedAddress{
			Name:  cmp.Or(given.Name, given.Company),
			Lines: []string{given.Address1},
			City:  given.City,
			Zip:   given.Zip,
		}
	}

	party := carrierkit.PartyName(pointer)
	name := cmp.Or(fitted.Name, fitted.Company)
	lines := append(slices.Clone(fitted.Lines), "", "", "")
	if c.isQuote {
		name = cmp.Or(name, "Recipient")
		lines[0] = cmp.Or(lines[0], "1 Main Street")
		fitted.City = cmp.Or(fitted.City, "City")
	}
	if name == "" {
		c.refuse(pointer+"/name", "required", "Amazon Shipping needs the name of "+party)
	}
	if lines[0] == "" {
		c.refuse(pointer+"/address1", "required", "Amazon Shipping needs the street of "+party)
	}
	if fitted.City == "" {
		c.refuse(pointer+"/city", "required", "Amazon Shipping needs the city of "+party)
	}
	if fitted.Zip == "" {
		c.refuse(pointer+"/zip", "required", "Amazon Shipping needs the postal code of "+party)
	}

	written := address{
		Name:        firstRunes(name, addressLimits.Name),
		CompanyName: fitted.Company,
		Line1:       lines[0],
		Line2:       lines[1],
		Line3:       lines[2],
		City:        fitted.City,
		// It is required everywhere, also where addresses have none.
		State:   cmp.Or(fitted.State, fitted.City),
		Zip:     fitted.Zip,
		Country: given.Country,
		Phone:   fitted.Phone,
		Email:   fitted.Email,
	}
	return written, warnings
}

// firstRunes shortens the name of a company that stands in for a person's.
func firstRunes(text string, limit int) string {
	if runes := []rune(text); len(runes) > limit {
		return string(runes[:limit])
	}
	return text
}

// taxes returns the sender's GST number, which Amazon takes for shipments in India.
func (c *checker) taxes(order ship.Order) []taxDetail {
	if c.business.country != "IN" {
		return nil
	}
	for _, tax := range order.Customs.TaxNumbers() {
		number := strings.ReplaceAll(tax.Number, " ", "")
		if tax.Type == "gst" && tax.Party == "sender" && (tax.Country == "" || tax.Country == "IN") && number != "" {
			return []taxDetail{{Type: "GST", Number: number}}
		}
	}
	return nil
}

// shipDate returns noon of the order's day at the origin; empty for now.
func (c *checker) shipDate(order ship.Order) string {
	if order.ShipDate == "" {
		return ""
	}
	day := order.ShipDate.Time()
	if day.Before(time.Now().AddDate(0, 0, -2)) {
		c.refuse("/shipDate", "invalid", "must be today or later for Amazon Shipping")
	}
	zone := carrierkit.PlaceOf(order.Origin).ClosestZone()
	noon := time.Date(day.Year(), day.Month(), day.Day(), 12, 0, 0, 0, zone).UTC()
	if noon.Before(time.Now()) {
		return ""
	}
	return noon.Format(time.RFC3339)
}

// zeroOr returns an amount of the account's currency, which Amazon requires where
// there is none too.
//
// fact: currency
func (c *checker) zeroOr(value ship.Money) money {
	if value.IsZero() {
		return money{Value: "0", Unit: c.business.currency}
	}
	return money{Value: json.Number(value.Amount()), Unit: value.Currency}
}
