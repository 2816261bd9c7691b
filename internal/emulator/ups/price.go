package ups

import (
	"math"
	"strconv"
	"time"
)

// An offer is a service between two places.
type offer struct {
	code       string
	us, abroad bool  // where it goes
	base, each int64 // in cents: base, and for each pound
	days       int   // business days; 0 depends on the zone
	clock      string
	guaranteed bool
}

var offers = []offer{
	{"03", true, false, 1045, 42, 0, "230000", false},
	{"12", true, false, 1480, 85, 3, "230000", true},
	{"02", true, false, 2050, 130, 2, "230000", true},
	{"59", true, false, 2420, 140, 2, "120000", true},
	{"13", true, false, 3480, 210, 1, "150000", true},
	{"01", true, false, 3910, 225, 1, "103000", true},
	{"14", true, false, 7010, 230, 1, "080000", true},
	{"11", false, true, 1390, 98, 4, "230000", false},
	{"08", false, true, 5610, 310, 5, "230000", true},
	{"65", false, true, 6480, 365, 3, "230000", true},
	{"07", false, true, 6990, 390, 2, "120000", true},
	{"54", false, true, 9930, 395, 2, "090000", true},
}

// goes reports whether the service is offered between the places.
func (o offer) goes(from, to place) bool {
	home := func(p place) bool { return p.CountryCode == "US" || p.CountryCode == "PR" }
	switch {
	case home(from) && home(to):
		return o.us
	case from.CountryCode == "CA" && to.CountryCode == "CA":
		return o.code == "01" || o.code == "02" || o.code == "13" || o.code == "14" || o.code == "11"
	}
	return o.abroad
}

// zone is 2 to 8 for domestic shipments, from the first digit of the ZIP code,
// and 10 for international ones.
func zone(from, to place) int64 {
	if from.CountryCode != to.CountryCode {
		return 10
	}
	digit := func(p place) int64 {
		if p.PostalCode == "" || p.PostalCode[0] < '0' || p.PostalCode[0] > '9' {
			return 0
		}
		return int64(p.PostalCode[0] - '0')
	}
	return min(2+max(digit(from)-digit(to), digit(to)-digit(from)), 8)
}

// A quote is a price in cents.
type quote struct {
	offer            offer
	transport, extra int64
	weight           string // billed, in the shipment's unit
	unit             code
	days             int
	items            []item // the parts of extra
}

// An item is one surcharge, in cents.
type item struct {
	code, description string
	cents             int64
}

// charge adds a surcharge.
func (q *quote) charge(code, description string, cents int64) {
	q.extra += cents
	for i := range q.items {
		if q.items[i].code == code {
			q.items[i].cents += cents
			return
		}
	}
	q.items = append(q.items, item{code, description, cents})
}

// itemized returns the surcharges as UPS lists them. Accounts get no discount
// on them.
func (q *quote) itemized() (list []map[string]string) {
	for _, one := range q.items {
		amount := usd(one.cents)
		list = append(list, map[string]string{
			"Code": one.code, "Description": one.description,
			"CurrencyCode": amount.CurrencyCode, "MonetaryValue": amount.MonetaryValue,
		})
	}
	return list
}

func (q quote) list() int64 { return q.transport + q.extra }

// own returns the account's price: a discount of one fifth.
func (q quote) own() int64 { return q.list() - q.list()/5 }

// price quotes one service for the shipment.
func price(s *shipment, sold offer) quote {
	to := s.ShipTo.Address
	distance := zone(s.from().Address, to)
	quoted := quote{
		offer: sold,
		days:  sold.days,
		unit:  s.Package[0].PackageWeight.UnitOfMeasurement,
	}
	if quoted.days == 0 {
		quoted.days = 1 + int(distance)/2
	}

	total := 0.0
	for _, parcel := range s.Package {
		weight := math.Ceil(parcel.billed())
		total += weight
		pounds := int64(weight)
		if parcel.PackageWeight.UnitOfMeasurement.Code == "KGS" {
			pounds = int64(math.Ceil(weight * 2.20462))
		}
		quoted.transport += sold.base + sold.each*pounds*distance/4

		if parcel.PackageServiceOptions != nil && parcel.PackageServiceOptions.DeliveryConfirmation != nil {
			quoted.charge("120", "Signature Required", 625)
		}
		if parcel.PackageServiceOptions != nil && parcel.PackageServiceOptions.DeclaredValue != nil {
			quoted.charge("400", "Declared Value", 420)
		}
	}

	if to.ResidentialAddressIndicator != nil {
		quoted.charge("270", "Residential Surcharge", 545)
	}
	if options := s.ShipmentServiceOptions; options != nil && options.SaturdayDeliveryIndicator != nil {
		quoted.charge("300", "Saturday Delivery", 1600)
	}
	quoted.weight = strconv.FormatFloat(total, 'f', 1, 64)
	return quoted
}

// billed returns the actual or the dimensional weight, whichever is higher.
func (b box) billed() float64 {
	weight, _ := strconv.ParseFloat(b.PackageWeight.Weight, 64)
	if b.Dimensions == nil {
		return weight
	}

	volume := 1.0
	for _, side := range []string{b.Dimensions.Length, b.Dimensions.Width, b.Dimensions.Height} {
		length, _ := strconv.ParseFloat(side, 64)
		volume *= length
	}
	divisor := 139.0
	if b.Dimensions.UnitOfMeasurement.Code == "CM" {
		divisor = 5000
	}
	return max(weight, volume/divisor)
}

func usd(cents int64) amount {
	return amount{"USD", strconv.FormatInt(cents/100, 10) + "." + pad(strconv.FormatInt(cents%100, 10), 2)}
}

// arrives returns the date that is the given number of business days after a
// day.
func arrives(from time.Time, days int) time.Time {
	for days > 0 {
		from = from.AddDate(0, 0, 1)
		if from.Weekday() != time.Saturday && from.Weekday() != time.Sunday {
			days--
		}
	}
	return from
}
