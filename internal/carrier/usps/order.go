package usps

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// A draft is an order as USPS takes it: one parcel between two fitted
// addresses, in pounds and inches.
type draft struct {
	order    ship.Order
	now      time.Time
	from, to carrierkit.FittedAddress
	abroad   bool
	quote    bool       // only what a quote needs is required
	media    bool       // the connection ships nothing but media
	box      *packaging // nil for the client's own

	pounds            float64
	long, wide, thick float64 // inches, the longest side first

	// The same as USPS reads it.
	weight, length, width, height json.Number
	category, mailingDate         string
	value                         json.Number // to insure, in dollars; empty for none
	over500                       bool

	warnings []string
}

// The most that USPS carries. fact: max-weight, max-size
const (
	maxPounds     = 70
	maxInches     = 130 // length and girth of a parcel by Ground Advantage
	maxInchesEach = 108 // of one by any other service; above it, oversized
	cubicFoot     = 1728
)

// newDraft checks and measures an order that is to be bought. What USPS cannot
// take is refused here, all at once, before anything is sent.
func newDraft(order ship.Order, now time.Time) (*draft, error) {
	return checkDraft(order, now, false)
}

// newQuoteDraft is the same for a quote, which needs neither names nor streets.
func newQuoteDraft(order ship.Order, now time.Time) (*draft, error) {
	return checkDraft(order, now, true)
}

func checkDraft(order ship.Order, now time.Time, quote bool) (*draft, error) {
	c := &draft{
		order:  order,
		now:    now,
		abroad: isAbroad(order.Destination),
		quote:  quote,
	}

	unsupported := c.unsupported()
	var invalid []ship.FieldError
	invalid = append(invalid, unsupported...)
	invalid = append(invalid, c.fit(order.Origin, "/origin", &c.from)...)
	invalid = append(invalid, c.fit(order.Destination, "/destination", &c.to)...)
	if len(order.Parcels) == 1 {
		invalid = append(invalid, c.measure(order.Parcels[0])...)
	}
	invalid = append(invalid, c.insure()...)
	invalid = append(invalid, c.checkOptions()...)
	invalid = append(invalid, c.chooseMailingDate()...)

	err := carrierkit.InvalidOrder("USPS", invalid)
	if err == nil {
		return c, nil
	}

	// A request that USPS does not sell at all takes precedence over mistakes
	// that the client could correct.
	if declined, ok := errors.AsType[*ship.Error](err); ok && len(unsupported) > 0 {
		refused := *declined
		refused.Kind = ship.Unsupported
		refused.Code = ""
		return nil, &refused
	}
	return nil, err
}

// unsupported lists what USPS, or this driver, does not sell at all.
func (c *draft) unsupported() (list []ship.FieldError) {
	refuse := func(pointer, detail string) {
		list = append(list, ship.FieldError{Pointer: pointer, Code: "unsupported", Detail: detail})
	}
	order := c.order

	// Every parcel is a purchase of its own at USPS, and one purchase of ours
	// must be one effect at the carrier.
	if len(order.Parcels) != 1 {
		refuse("/parcels", "USPS sells one label per parcel: create a separate shipment for each parcel")
	}
	if isAbroad(order.Origin) {
		refuse("/origin/country", "USPS accepts parcels only from the United States and its territories")
	}
	if order.IsReturn && c.abroad {
		refuse("/isReturn", "USPS sells return labels only inside the United States and its territories")
	}

	if order.Billing != nil && order.Billing.Type != "" && order.Billing.Type != "sender" {
		refuse("/billing/type", "USPS charges only the connected payment account")
	}
	if c.abroad && order.Options.Signature != "" {
		refuse("/options/signature", "USPS offers no signature outside the United States")
	}
	if order.Customs != nil && strings.EqualFold(order.Customs.Incoterm, "DDP") {
		refuse("/customs/incoterm", "prepaid duties are not supported with USPS: use incoterm DAP")
	}
	return list
}

func field(pointer, code, detail string) error {
	return carrierkit.InvalidOrder("USPS", []ship.FieldError{{Pointer: pointer, Code: code, Detail: detail}})
}

// fit brings an address into USPS's limits.
func (c *draft) fit(given ship.Address, pointer string, into *carrierkit.FittedAddress) (invalid []ship.FieldError) {
	if c.quote {
		// Only the place is sent; the rest is checked when it is needed.
		given = ship.Address{
			City:        given.City,
			State:       given.State,
			Zip:         given.Zip,
			Country:     given.Country,
			Residential: given.Residential,
		}
	}

	fitted, warnings, err := carrierkit.Fit(addressLimits, given, pointer)
	if unfit, ok := errors.AsType[*ship.Error](err); ok {
		invalid = append(invalid, unfit.Fields...)
		fitted.State = given.State
		fitted.Zip = given.Zip
	}
	c.warnings = append(c.warnings, warnings...)
	*into = fitted
	if isAbroad(given) {
		return invalid
	}

	// USPS refuses a wrong ZIP+4 and finds the right one itself, so only the
	// five digits are sent.
	into.State = stateOf(given)
	into.Zip, _, _ = strings.Cut(into.Zip, "-")

	if len(into.State) != 2 && !c.quote {
		invalid = append(invalid, ship.FieldError{Pointer: pointer + "/state", Code: "invalid", Detail: "must be a state of two letters, such as CA"})
	}
	if len(into.Zip) != 5 || strings.Trim(into.Zip, "0123456789") != "" {
		invalid = append(invalid, ship.FieldError{Pointer: pointer + "/zip", Code: "invalid_zip", Detail: "must be a ZIP code of five digits, such as 94105"})
	}
	return invalid
}

// insure reads the value to insure. USPS insures dollars only.
func (c *draft) insure() []ship.FieldError {
	value := c.order.Options.InsuredValue
	if value.IsZero() {
		return nil
	}
	if value.Currency != "USD" || value.Minor <= 0 {
		return []ship.FieldError{{Pointer: "/options/insuredValue", Code: "invalid", Detail: "must be an amount in USD above 0 for USPS"}}
	}

	c.value = json.Number(value.Amount())
	c.over500 = value.Minor > 500_00
	return nil
}

// chooseMailingDate chooses the order's date, or today's date at the origin if
// that is later. USPS takes dates up to 45 days ahead, and 7 for parcels
// abroad.
func (c *draft) chooseMailingDate() []ship.FieldError {
	local := c.now.In(c.fromPlace().ClosestZone())
	today := ship.Date(local.Format(time.DateOnly))
	days := 45
	if c.abroad {
		days = 7
	}

	day := max(c.order.ShipDate, today)
	if day > ship.Date(local.AddDate(0, 0, days).Format(time.DateOnly)) {
		return []ship.FieldError{{
			Pointer: "/shipDate",
			Code:    "invalid",
			Detail:  fmt.Sprintf("must be within %d days from today for USPS", days),
		}}
	}
	c.mailingDate = string(day)
	return nil
}

// extraServices returns the codes of the extra services that the order needs
// with a mail class, and whether the class offers them all.
func (c *draft) extraServices(mailClass service) (codes []int, ok bool) {
	ok = true
	add := func(code int) {
		codes = append(codes, code)
		ok = ok && code != 0
	}

	switch c.order.Options.Signature {
	case "standard", "direct":
		add(mailClass.signature)
	case "adult":
		add(mailClass.adult)
	}

	// Insurance of more than 500 dollars is an extra service of its own.
	switch {
	case c.value == "":
	case c.over500:
		add(mailClass.insurance2)
	default:
		add(mailClass.insurance)
	}
	return codes, ok
}

// checkService returns why a service cannot carry the parcel; nil if it
// can.
func (c *draft) checkService(mailClass service) error {
	_, hasExtras := c.extraServices(mailClass)
	switch {
	case mailClass.abroad != c.abroad:
		return field("/service", "invalid", mailClass.name+" is not available from this origin to this destination")
	case mailClass.media && !c.media:
		return field("/service", "invalid", "USPS Media Mail is only for books, films, sound recordings and the like: set media_mail of the carrier account to \"on\" if it ships nothing else")
	case mailClass.media && c.order.IsReturn:
		return field("/service", "invalid", "USPS sells no return labels for Media Mail")
	case mailClass.code != groundAdvantage && c.long+c.girth() > maxInchesEach:
		return field("/parcel/dimensions", "invalid", fmt.Sprintf("must have a length and girth of at most %d inches together for %s", maxInchesEach, mailClass.name))
	case c.box != nil && (mailClass.flat == flatNone || mailClass.flat == flatEnvelopes && c.box.express == ""):
		return field("/parcel/packaging", "invalid", mailClass.name+" does not allow this packaging")
	case c.order.Options.LithiumBatteries.Packed == "alone" && mailClass.code != groundAdvantage:
		return field("/options/lithiumBatteries", "unsupported", mailClass.name+" flies, and USPS takes lithium batteries without equipment only on the ground: use USPS Ground Advantage")
	case !hasExtras:
		return field("/options", "invalid", mailClass.name+" does not offer this signature or insurance")
	case mailClass.maxGoods > 0 && c.goodsValue() > mailClass.maxGoods:
		return field("/service", "invalid", fmt.Sprintf("%s is limited to goods worth at most %d USD", mailClass.name, mailClass.maxGoods/100))
	}
	return nil
}

// goodsValue returns what the declared items are worth, in cents. Items in
// another currency are refused elsewhere.
func (c *draft) goodsValue() (cents int64) {
	if c.order.Customs == nil {
		return 0
	}
	for _, item := range c.order.Customs.Items {
		if item.Value.Currency == "USD" {
			cents += item.Value.Minor * int64(item.Quantity)
		}
	}
	return cents
}
