package usps

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// A consignment is an order as USPS takes it: one parcel between two fitted
// addresses, in pounds and inches.
type consignment struct {
	order    ship.Order
	now      time.Time
	from, to carrierkit.FittedAddress
	abroad   bool
	quote    bool       // only what a quote needs is required
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

// The most that USPS carries.
const (
	maxPounds     = 70
	maxInches     = 130 // length and girth
	maxInchesEach = 108 // above it, oversized
	cubicFoot     = 1728
)

// consign checks an order that is to be bought, and measures it. What USPS
// cannot take is refused here, all at once, before anything is sent.
func consign(o ship.Order, now time.Time) (*consignment, error) {
	return newConsignment(o, now, false)
}

// consignQuote is the same for a quote, which needs neither names nor streets.
func consignQuote(o ship.Order, now time.Time) (*consignment, error) {
	return newConsignment(o, now, true)
}

func newConsignment(o ship.Order, now time.Time, quote bool) (*consignment, error) {
	c := &consignment{
		order:  o,
		now:    now,
		abroad: isAbroad(o.Destination),
		quote:  quote,
	}

	unsupported := c.unsupported()
	var wrong []ship.FieldError
	wrong = append(wrong, unsupported...)
	wrong = append(wrong, c.fit(o.Origin, "/origin", &c.from)...)
	wrong = append(wrong, c.fit(o.Destination, "/destination", &c.to)...)
	if len(o.Parcels) == 1 {
		wrong = append(wrong, c.measure(o.Parcels[0])...)
	}
	wrong = append(wrong, c.insure()...)
	wrong = append(wrong, c.date()...)

	err := carrierkit.InvalidOrder("USPS", wrong)
	if err == nil {
		return c, nil
	}
	if e, ok := errors.AsType[*ship.Error](err); ok && len(unsupported) > 0 {
		refused := *e
		refused.Kind = ship.Unsupported
		refused.Code = ""
		return nil, &refused
	}
	return nil, err
}

// unsupported is what USPS, or this driver, does not sell at all.
func (c *consignment) unsupported() (list []ship.FieldError) {
	refuse := func(pointer, detail string) {
		list = append(list, ship.FieldError{Pointer: pointer, Code: "unsupported", Detail: detail})
	}
	o := c.order
	if len(o.Parcels) != 1 {
		refuse("/parcels", "USPS sells a label for one parcel: send every parcel as a shipment of its own")
	}
	if isAbroad(o.Origin) {
		refuse("/origin/country", "USPS takes parcels only from the United States and its territories")
	}
	if o.IsReturn {
		refuse("/isReturn", "USPS return labels are paid on use and cannot be cancelled: buy a shipment with the addresses exchanged instead")
	}
	if o.Billing != nil && o.Billing.Type != "" && o.Billing.Type != "sender" {
		refuse("/billing/type", "USPS charges only the connected payment account")
	}
	if c.abroad && o.Options.Signature != "" {
		refuse("/options/signature", "USPS takes no signature outside the United States")
	}
	if o.Customs != nil && strings.EqualFold(o.Customs.Incoterm, "DDP") {
		refuse("/customs/incoterm", "USPS does not take prepaid duties here: send the parcel with incoterm DAP")
	}
	return list
}

// isAbroad reports whether USPS delivers to the place as to another country.
func isAbroad(a ship.Address) bool { return stateOf(a) == "" && a.Country != "US" }

// stateOf is the state of an address as USPS writes it: territories and freely
// associated states have codes of their own. It is empty abroad.
func stateOf(a ship.Address) string {
	territory := carrierkit.PlaceOf(a).Territory()
	switch {
	case carrierkit.IsUSTerritory(territory), carrierkit.IsAssociatedState(territory):
		return territory
	case territory == "US":
		return a.State
	}
	return ""
}

func field(pointer, code, detail string) error {
	return carrierkit.InvalidOrder("USPS", []ship.FieldError{{Pointer: pointer, Code: code, Detail: detail}})
}

// fit brings an address into USPS's limits.
func (c *consignment) fit(a ship.Address, pointer string, into *carrierkit.FittedAddress) (wrong []ship.FieldError) {
	if c.quote {
		// Only the place is sent; the rest is judged when it is needed.
		a = ship.Address{
			City:        a.City,
			State:       a.State,
			Zip:         a.Zip,
			Country:     a.Country,
			Residential: a.Residential,
		}
	}

	fitted, warnings, err := carrierkit.Fit(limits, a, pointer)
	if e, ok := errors.AsType[*ship.Error](err); ok {
		wrong = append(wrong, e.Fields...)
		fitted.State, fitted.Zip = a.State, a.Zip
	}
	c.warnings = append(c.warnings, warnings...)
	*into = fitted
	if isAbroad(a) {
		return wrong
	}

	into.State = stateOf(a)
	into.Zip, _, _ = strings.Cut(into.Zip, "-") // a wrong ZIP+4 is refused; USPS finds it itself
	if len(into.State) != 2 && !c.quote {
		wrong = append(wrong, ship.FieldError{Pointer: pointer + "/state", Code: "invalid", Detail: "must be a state of two letters, such as CA"})
	}
	if len(into.Zip) != 5 || strings.Trim(into.Zip, "0123456789") != "" {
		wrong = append(wrong, ship.FieldError{Pointer: pointer + "/zip", Code: "invalid_zip", Detail: "must be a ZIP code of five digits, such as 94105"})
	}
	return wrong
}

// measure weighs the parcel. A unit of the client's is converted as it was
// given: the stored grams are rounded up, and a pound would weigh more than
// one.
func (c *consignment) measure(p ship.Parcel) (wrong []ship.FieldError) {
	fail := func(pointer, code, detail string) {
		wrong = append(wrong, ship.FieldError{Pointer: "/parcel/" + pointer, Code: code, Detail: detail})
	}
	c.pounds = poundsOf(p)
	c.weight = decimal(c.pounds, 5)
	if c.pounds <= 0 || c.pounds > maxPounds {
		fail("weight", "invalid", "must be more than 0 and at most "+inWeightUnit(maxPounds, p.WeightUnit)+" for USPS")
	}
	if p.Packaging != "" && p.Packaging != "custom" {
		i := slices.IndexFunc(packagings, func(b packaging) bool { return b.code == p.Packaging })
		if i < 0 {
			fail("packaging", "invalid", "is not a packaging of USPS; GET /v1/carriers lists those, and \"custom\" is your own box")
			return wrong
		}
		c.box = &packagings[i]
		c.long, c.wide, c.thick = float64(c.box.long)/100, float64(c.box.wide)/100, float64(c.box.thick)/100
	} else if p.Dimensions == nil {
		fail("dimensions", "required", "USPS needs the length, width and height of a parcel that is not in its own packaging")
		return wrong
	} else {
		c.long, c.wide, c.thick = sidesOf(*p.Dimensions)
	}
	c.length, c.width, c.height = decimal(c.long, 2), decimal(c.wide, 2), decimal(c.thick, 2)
	c.category = c.categoryOf()
	if c.long+c.girth() > maxInches {
		unit := ship.Inch
		if p.Dimensions != nil {
			unit = p.Dimensions.Unit
		}
		fail("dimensions", "invalid", "must have a length and girth of at most "+inLengthUnit(maxInches, unit)+" together for USPS; girth is twice the two shorter sides")
	}
	return wrong
}

func (c *consignment) girth() float64 { return 2 * (c.wide + c.thick) }

// categoryOf is the processing category: what the sorting machines take.
func (c *consignment) categoryOf() string {
	switch {
	case c.box != nil:
		return c.box.category
	case c.long > 22, c.wide > 18, c.thick > 15, c.pounds > 25, c.long < 6, c.wide < 3, c.thick < 0.25:
		return nonstandard
	}
	return machinable
}

// insure reads the value to insure; USPS insures dollars.
func (c *consignment) insure() []ship.FieldError {
	v := c.order.Options.InsuredValue
	if v.IsZero() {
		return nil
	}
	if v.Currency != "USD" || v.Minor <= 0 {
		return []ship.FieldError{{Pointer: "/options/insuredValue", Code: "invalid", Detail: "must be an amount in USD above 0 for USPS"}}
	}
	c.value, c.over500 = json.Number(v.Amount()), v.Minor > 500_00
	return nil
}

// date chooses the mailing date: the order's, or the origin's own today if
// that is later. USPS takes 45 days ahead, and 7 abroad.
func (c *consignment) date() []ship.FieldError {
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

// fromPlace is where the parcel is mailed.
func (c *consignment) fromPlace() carrierkit.Place {
	p := carrierkit.PlaceOf(c.order.Origin)
	p.State = stateOf(c.order.Origin)
	return p
}

// extras are the extra services that the order needs of a mail class, and
// whether the class has them.
func (c *consignment) extras(s service) (codes []int, ok bool) {
	add := func(code int) {
		codes = append(codes, code)
		ok = ok && code != 0
	}
	ok = true
	switch c.order.Options.Signature {
	case "standard":
		add(s.signature)
	case "adult":
		add(s.adult)
	}
	if c.value != "" && c.over500 {
		add(s.insurance2)
	} else if c.value != "" {
		add(s.insurance)
	}
	return codes, ok
}

// takes reports whether a service can carry the consignment.
func (c *consignment) takes(s service) error {
	_, extras := c.extras(s)
	switch {
	case s.abroad != c.abroad:
		return field("/service", "invalid", s.name+" does not go from the origin to the destination")
	case c.box != nil && (s.flat == flatNone || s.flat == flatEnvelopes && c.box.express == ""):
		return field("/parcel/packaging", "invalid", s.name+" does not take this packaging")
	case !extras:
		return field("/options", "invalid", s.name+" does not offer this signature or insurance")
	case s.maxGoods > 0 && c.goods() > s.maxGoods:
		return field("/service", "invalid", fmt.Sprintf("%s takes goods worth at most %d USD", s.name, s.maxGoods/100))
	}
	return nil
}

// goods is what the declared items are worth, in cents. Items in another
// currency are refused elsewhere.
func (c *consignment) goods() (cents int64) {
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

// inWeightUnit writes a number of pounds in the client's own unit.
func inWeightUnit(pounds float64, unit ship.WeightUnit) string {
	per := map[ship.WeightUnit]float64{ship.Ounce: 16, ship.Kilogram: 0.45359237, ship.Gram: 453.59237}
	factor, ok := per[unit]
	if !ok {
		factor, unit = 1, ship.Pound
	}
	return shortNumber(pounds*factor) + " " + string(unit)
}

// inLengthUnit writes a number of inches in the client's own unit.
func inLengthUnit(inches float64, unit ship.LengthUnit) string {
	per := map[ship.LengthUnit]float64{ship.Centimetre: 2.54, ship.Millimetre: 25.4}
	factor, ok := per[unit]
	if !ok {
		factor, unit = 1, ship.Inch
	}
	return shortNumber(inches*factor) + " " + string(unit)
}

// shortNumber has two decimals at most, rounded down: it is a limit.
func shortNumber(v float64) string {
	return strconv.FormatFloat(math.Floor(v*100+1e-6)/100, 'f', -1, 64)
}

// poundsOf is the weight of a parcel in the unit that USPS takes.
func poundsOf(p ship.Parcel) float64 {
	const grams = 453.59237
	if p.Weight > 0 {
		switch p.WeightUnit {
		case ship.Pound:
			return p.Weight
		case ship.Ounce:
			return p.Weight / 16
		case ship.Kilogram:
			return p.Weight * 1000 / grams
		}
	}
	return float64(p.WeightGrams) / grams
}

// sidesOf are the sides in inches, the longest first.
func sidesOf(d ship.Dimensions) (long, wide, thick float64) {
	sides := []float64{d.Length, d.Width, d.Height}
	for i, mm := range []int64{d.LengthMM, d.WidthMM, d.HeightMM} {
		switch {
		case d.Unit == ship.Centimetre:
			sides[i] /= 2.54
		case d.Unit != ship.Inch:
			sides[i] = float64(mm) / 25.4
		}
	}
	slices.Sort(sides)
	return sides[2], sides[1], sides[0]
}

// decimal writes a measure with so many decimals, rounded up. It forgives the
// error of a binary quotient, and writes no zeros at the end.
func decimal(v float64, places int) json.Number {
	scale := math.Pow10(places)
	n := math.Ceil(v*scale - 1e-6)
	text := strconv.FormatFloat(n/scale, 'f', places, 64)
	text = strings.TrimRight(text, "0")
	return json.Number(strings.TrimSuffix(text, "."))
}
