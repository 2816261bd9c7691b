package dhlexpress

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

const (
	maxAccount   = 12
	maxPieces    = 999
	maxReference = 35
)

// plan is an order in DHL's terms: what a quote and a purchase share.
type plan struct {
	from, to   carrierkit.FittedAddress
	fromPlace  carrierkit.Place
	toPlace    carrierkit.Place
	lane       lane
	documents  bool
	declarable bool      // the parcel crosses a customs border with goods in it
	at         time.Time // of handing over, in the zone of the origin
	packages   []pack
	extras     []extra
	accounts   []account
	declared   ship.Money // what the goods are worth; zero if a quote does not say
	warnings   []string
}

// plan checks an order that is to be bought. Everything that DHL would refuse
// for sure is refused here, all at once.
func (d driver) plan(o ship.Order, now time.Time) (plan, error) {
	return d.check(checker{}, o, now)
}

// quotePlan checks an order that is to be quoted. A quote needs neither names
// nor streets nor phone numbers nor a declaration.
func (d driver) quotePlan(o ship.Order, now time.Time) (plan, error) {
	return d.check(checker{quote: true}, o, now)
}

func (d driver) check(c checker, o ship.Order, now time.Time) (plan, error) {
	p := plan{
		fromPlace: carrierkit.PlaceOf(o.Origin),
		toPlace:   carrierkit.PlaceOf(o.Destination),
		documents: o.Customs != nil && o.Customs.ContentsType == "documents",
	}
	p.declarable = !p.documents && carrierkit.CrossesCustoms(p.fromPlace, p.toPlace)
	p.lane = laneOf(p.fromPlace, p.toPlace, p.declarable)

	var warnings []string
	p.from, p.warnings = c.address(o.Origin, "/origin")
	p.to, warnings = c.address(o.Destination, "/destination")
	p.warnings = append(p.warnings, warnings...)
	p.from.Country = countryOf(p.fromPlace)
	p.to.Country = countryOf(p.toPlace)

	p.at = c.handover(o, now)
	p.packages = c.packages(o)
	p.accounts = c.accounts(d.account, o.Billing)
	if p.declarable && (!c.quote || o.Customs != nil && len(o.Customs.Items) > 0) {
		p.declared = c.customs(o.Customs)
	}

	if err := carrierkit.InvalidOrder("DHL Express", c.wrong); err != nil {
		return plan{}, err
	}
	p.extras = extrasOf(o, &p)
	return p, nil
}

// checker collects what is wrong with an order.
type checker struct {
	quote bool // only what a quote needs is required
	wrong []ship.FieldError
}

func (c *checker) refuse(pointer, code, detail string) {
	c.wrong = append(c.wrong, ship.FieldError{Pointer: pointer, Code: code, Detail: detail})
}

func (c *checker) address(a ship.Address, pointer string) (carrierkit.FittedAddress, []string) {
	party := carrierkit.PartyName(pointer)
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

	fitted, warnings, err := carrierkit.Fit(Spec.Address, a, pointer)
	if e, ok := errors.AsType[*ship.Error](err); ok {
		c.wrong = append(c.wrong, e.Fields...)
		fitted.Phone, fitted.City = a.Phone, a.City
		fitted.Lines = []string{a.Address1}
	}

	if fitted.City == "" {
		c.refuse(pointer+"/city", "required", "DHL Express needs the city of "+party)
	}
	if c.quote {
		return fitted, warnings
	}
	if fitted.Phone == "" {
		c.refuse(pointer+"/phone", "required", "DHL Express needs a phone number for "+party)
	}
	if len(fitted.Lines) == 0 || fitted.Lines[0] == "" {
		c.refuse(pointer+"/address1", "required", "DHL Express needs the street of "+party)
	}
	return fitted, warnings
}

// lead is how far ahead "now" is: DHL refuses a moment that is past when the
// request arrives.
const lead = 15 * time.Minute

// handover is when DHL gets the parcel, in the zone of the origin. A day that
// the client names is told by its noon. If it names none, that is now, or the
// next working morning after the couriers' day.
func (c *checker) handover(o ship.Order, now time.Time) time.Time {
	earliest := now.Add(lead).In(carrierkit.PlaceOf(o.Origin).ClosestZone())
	if o.ShipDate == "" {
		return workingTime(earliest)
	}
	day := o.ShipDate.Time()
	noon := time.Date(day.Year(), day.Month(), day.Day(), 12, 0, 0, 0, earliest.Location())
	switch {
	case noon.Before(earliest.AddDate(0, 0, -2)):
		c.refuse("/shipDate", "invalid", "must be today or later: DHL Express ships no parcel in the past")
	case noon.After(earliest.AddDate(0, 0, 10)):
		c.refuse("/shipDate", "invalid", "must be within ten days from today for DHL Express")
	case noon.Before(earliest):
		return earliest // today, or a day that ended while the purchase was under way
	}
	return noon
}

func workingTime(t time.Time) time.Time {
	const opens, closes = 10, 18
	if t.Hour() >= closes {
		t = time.Date(t.Year(), t.Month(), t.Day()+1, opens, 0, 0, 0, t.Location())
	}
	for t.Weekday() == time.Saturday || t.Weekday() == time.Sunday {
		t = time.Date(t.Year(), t.Month(), t.Day()+1, opens, 0, 0, 0, t.Location())
	}
	return t
}

// moment writes a time as DHL wants it, with a blank before the zone.
func moment(t time.Time) string { return t.Format("2006-01-02T15:04:05 GMT-07:00") }

func (c *checker) packages(o ship.Order) []pack {
	parcels := o.Parcels
	if len(parcels) == 0 || len(parcels) > maxPieces {
		c.refuse("/parcels", "invalid", fmt.Sprintf("DHL Express takes 1 to %d parcels in a shipment", maxPieces))
		return nil
	}
	list := make([]pack, len(parcels))
	for i, p := range parcels {
		dhl, ok := boxOf(p.Packaging)
		if !ok {
			c.refuse(carrierkit.ParcelPointer(o, i)+"/packaging", "unknown_packaging", "is not a packaging of DHL Express; GET /v1/carriers lists those, and \"custom\" is your own box")
		}
		list[i] = pack{TypeCode: dhl, Weight: kilograms(max(p.WeightGrams, 1))}
		if d := p.Dimensions; d != nil && d.LengthMM > 0 && d.WidthMM > 0 && d.HeightMM > 0 {
			list[i].Dimensions = &dimensions{centimetres(d.LengthMM), centimetres(d.WidthMM), centimetres(d.HeightMM)}
		}
	}
	return list
}

// kilograms and centimetres are exact: DHL takes three decimals.
func kilograms(grams int64) json.Number { return decimal(grams, 3) }
func centimetres(mm int64) json.Number  { return decimal(mm, 1) }

// decimal is n with its last places after the point.
func decimal(n int64, places int) json.Number {
	s := strconv.FormatInt(n, 10)
	for len(s) <= places {
		s = "0" + s
	}
	return json.Number(s[:len(s)-places] + "." + s[len(s)-places:])
}

// accounts are who sends and who pays.
func (c *checker) accounts(own string, b *ship.Billing) []account {
	list := []account{{"shipper", own}}
	if b == nil || b.Type == "sender" || b.Type == "" {
		return list
	}
	if b.Account == "" || len(b.Account) > maxAccount {
		c.refuse("/billing/account", "invalid", "must be a DHL Express account number of 1 to 12 characters")
	}
	return append(list, account{"payer", b.Account})
}

// extrasOf are the extra services of the order.
func extrasOf(o ship.Order, p *plan) []extra {
	var list []extra
	switch o.Options.Signature {
	case "":
	case "adult":
		list = append(list, extra{ServiceCode: extraAdultSignature})
	default:
		list = append(list, extra{ServiceCode: extraSignature})
	}
	if o.Options.SaturdayDelivery {
		code := extraSaturday
		if p.lane == domestic {
			code = extraSaturdayDomestic
		}
		list = append(list, extra{ServiceCode: code})
	}
	if v := o.Options.InsuredValue; v.Minor > 0 {
		if p.documents {
			list = append(list, extra{ServiceCode: extraLiability})
			p.warnings = append(p.warnings, "documents are covered by DHL's extended liability instead of the insured value")
		} else {
			list = append(list, extra{ServiceCode: extraInsurance, Value: json.Number(v.Amount()), Currency: v.Currency})
		}
	}
	if dutiesPaid(o, *p) {
		list = append(list, extra{ServiceCode: extraDutiesPaid})
	}
	return list
}

// dutiesPaid reports whether the sender pays duties and taxes.
func dutiesPaid(o ship.Order, p plan) bool {
	return p.declarable && o.Customs != nil && o.Customs.Incoterm == "DDP"
}

func postal(a carrierkit.FittedAddress) postalAddress {
	lines := append(slices.Clone(a.Lines), "", "", "")
	p := postalAddress{
		PostalCode: a.Zip, CityName: a.City, CountryCode: a.Country,
		AddressLine1: lines[0], AddressLine2: lines[1], AddressLine3: lines[2],
	}
	if len(a.State) >= 2 {
		p.ProvinceCode = a.State
	}
	return p
}
