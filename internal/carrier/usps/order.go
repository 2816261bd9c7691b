package usps

import (
	"encoding/json"
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

// consign checks an order and measures it. What USPS cannot take is refused
// here, before anything is sent.
func consign(o ship.Order, now time.Time) (*consignment, error) {
	c := &consignment{order: o, now: now}
	if err := c.checkKind(); err != nil {
		return nil, err
	}
	if err := c.fit(); err != nil {
		return nil, err
	}
	var wrong []ship.FieldError
	wrong = append(wrong, c.measure(o.Parcels[0])...)
	wrong = append(wrong, c.insure()...)
	wrong = append(wrong, c.date()...)
	if err := ship.InvalidFields(wrong); err != nil {
		return nil, err
	}
	return c, nil
}

// checkKind refuses what USPS, or this driver, does not sell at all.
func (c *consignment) checkKind() error {
	o := c.order
	c.abroad = isAbroad(o.Destination)
	switch {
	case len(o.Parcels) == 0:
		return field("/parcel", "required", "is required")
	case len(o.Parcels) > 1:
		return ship.Errorf(ship.Unsupported, "USPS sells a label for each parcel alone: send every parcel as a shipment of its own")
	case isAbroad(o.Origin):
		return ship.Errorf(ship.Unsupported, "USPS takes parcels from the United States and its territories alone")
	case o.IsReturn:
		return ship.Errorf(ship.Unsupported, "USPS return labels are paid on use and cannot be cancelled: buy a shipment with the addresses exchanged instead")
	case o.Billing != nil && o.Billing.Type != "" && o.Billing.Type != "sender":
		return ship.Errorf(ship.Unsupported, "USPS charges the connected payment account alone")
	case c.abroad && o.Options.Signature != "":
		return ship.Errorf(ship.Unsupported, "USPS takes no signature abroad")
	case o.Customs != nil && strings.EqualFold(o.Customs.Incoterm, "DDP"):
		return ship.Errorf(ship.Unsupported, "duties cannot be prepaid with USPS here: send the parcel with incoterm DAP")
	}
	return nil
}

func isAbroad(a ship.Address) bool { return !slices.Contains(domestic, a.Country) }

// stateOf is the state of an address. A territory is one of its own to USPS.
func stateOf(a ship.Address) string {
	if a.Country != "US" && !isAbroad(a) {
		return a.Country
	}
	return a.State
}

func field(pointer, code, detail string) error {
	return ship.InvalidFields([]ship.FieldError{{Pointer: pointer, Code: code, Detail: detail}})
}

// fit brings both addresses into USPS's limits.
func (c *consignment) fit() error {
	var err error
	var said []string
	if c.from, said, err = carrierkit.Fit(limits, c.order.Origin, "/origin"); err != nil {
		return err
	}
	c.warnings = append(c.warnings, said...)
	if c.to, said, err = carrierkit.Fit(limits, c.order.Destination, "/destination"); err != nil {
		return err
	}
	c.warnings = append(c.warnings, said...)
	for _, end := range []struct {
		pointer string
		given   ship.Address
		a       *carrierkit.FittedAddress
	}{{"/origin", c.order.Origin, &c.from}, {"/destination", c.order.Destination, &c.to}} {
		if isAbroad(end.given) {
			continue
		}
		end.a.State = stateOf(end.given)
		end.a.Zip, _, _ = strings.Cut(end.a.Zip, "-") // a wrong ZIP+4 is refused; USPS finds it itself
		if len(end.a.State) != 2 {
			return field(end.pointer+"/state", "invalid", "is not a state of two letters")
		}
		if len(end.a.Zip) != 5 || strings.Trim(end.a.Zip, "0123456789") != "" {
			return field(end.pointer+"/zip", "invalid_zip", "is not a ZIP code of five digits")
		}
	}
	return nil
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
		fail("weight", "invalid", "USPS takes more than nothing and at most 70 pounds")
	}
	if p.Packaging != "" {
		i := slices.IndexFunc(packagings, func(b packaging) bool { return b.code == p.Packaging })
		if i < 0 {
			fail("packaging", "invalid", "is not a packaging of USPS")
			return wrong
		}
		c.box = &packagings[i]
		c.long, c.wide, c.thick = float64(c.box.long)/100, float64(c.box.wide)/100, float64(c.box.thick)/100
	} else if p.Dimensions == nil {
		fail("dimensions", "required", "USPS needs the three sides of a parcel that is not in its own packaging")
		return wrong
	} else {
		c.long, c.wide, c.thick = sidesOf(*p.Dimensions)
	}
	c.length, c.width, c.height = decimal(c.long, 2), decimal(c.wide, 2), decimal(c.thick, 2)
	c.category = c.categoryOf()
	if c.long+c.girth() > maxInches {
		fail("dimensions", "invalid", "length and girth together are over 130 inches")
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
		return []ship.FieldError{{Pointer: "/options/insuredValue", Code: "invalid", Detail: "USPS insures amounts in USD alone"}}
	}
	c.value, c.over500 = json.Number(v.Amount()), v.Minor > 500_00
	return nil
}

// date chooses the mailing date: the order's, or the origin's own today if
// that is later. USPS takes 45 days ahead, and 7 abroad.
func (c *consignment) date() []ship.FieldError {
	hours, ok := hoursAhead[c.from.State]
	if !ok {
		hours = -4
	}
	local := c.now.UTC().Add(time.Duration(hours) * time.Hour)
	today, days := ship.DateOf(local), 45
	if c.abroad {
		days = 7
	}
	day := max(c.order.ShipDate, today)
	if day > ship.DateOf(local.AddDate(0, 0, days)) {
		return []ship.FieldError{{Pointer: "/shipDate", Code: "invalid", Detail: fmt.Sprintf("USPS takes at most %d days ahead", days)}}
	}
	c.mailingDate = string(day)
	return nil
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
		return ship.Errorf(ship.Invalid, "%s does not go there", s.name)
	case c.box != nil && (s.flat == flatNone || s.flat == flatEnvelopes && c.box.express == ""):
		return ship.Errorf(ship.Invalid, "%s does not take this packaging", s.name)
	case !extras:
		return ship.Errorf(ship.Invalid, "%s has no such signature or insurance", s.name)
	}
	return nil
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
