package ups

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/waybillhq/waybill/internal/ship"
)

// units are a system of measures. UPS wants that of the shipper's country, and
// one for the whole shipment.
type units struct {
	weight, length coded
	maxTenths      int64 // weight of a parcel, in tenths of its unit
	maxLength      int64
	maxGirth       int64 // length and girth together
}

var (
	imperial = units{
		weight:    coded{"LBS", "Pounds"},
		length:    coded{"IN", "Inches"},
		maxTenths: 1500,
		maxLength: 108,
		maxGirth:  165,
	}
	metric = units{
		weight:    coded{"KGS", "Kilograms"},
		length:    coded{"CM", "Centimeters"},
		maxTenths: 700,
		maxLength: 274,
		maxGirth:  419,
	}
)

// units are those of the country that the account is taken to be in.
func (w *draft) units() units {
	home := w.from
	if w.order.IsReturn {
		home = w.to
	}
	if isUnitedStates(home) {
		return imperial
	}
	return metric
}

// tenths is a weight in tenths of the unit, rounded up. Grams are themselves
// rounded up from what the client said, so a pound of 454 g stays one pound.
func (u units) tenths(grams int64) int64 {
	if u.weight.Code == "LBS" {
		return (grams-1)*1_000_000/45_359_237 + 1
	}
	return (grams-1)/100 + 1
}

// whole is a length in whole units, rounded up, with the same forbearance.
func (u units) whole(mm int64) int64 {
	if u.length.Code == "IN" {
		return (mm-1)*10/254 + 1
	}
	return (mm-1)/10 + 1
}

// weigh is a weight as UPS writes it.
func (u units) weigh(tenths int64) weight {
	return weight{UnitOfMeasurement: u.weight, Weight: fmt.Sprintf("%d.%d", tenths/10, tenths%10)}
}

// addParcels adds the packages of the order.
func (w *draft) addParcels() {
	u := w.units()
	w.shipment.Package = make([]parcel, len(w.order.Parcels))
	for i, p := range w.order.Parcels {
		at := fmt.Sprintf("/parcels/%d", i)
		one := &w.shipment.Package[i]

		w.checkWeight(at, p, u)
		one.PackageWeight = u.weigh(u.tenths(max(p.WeightGrams, 1)))

		w.checkSize(at, p, u)
		one.Dimensions = u.measure(p.Dimensions)

		code, ok := packagingOf(p.Packaging)
		if !ok {
			w.problems = append(w.problems, ship.FieldError{
				Pointer:    at + "/packaging",
				Code:       "unknown_packaging",
				Detail:     "is not a packaging of UPS; leave it out for your own box",
				Suggestion: ship.Nearest(p.Packaging, packagingCodes()),
			})
		}
		one.Packaging = &coded{Code: code, Description: "Package"}
		one.PackageServiceOptions = w.parcelOptions(i)
	}
}

// checkWeight refuses a parcel without a weight, or that is too heavy. The
// message has the unit that the client weighs in.
func (w *draft) checkWeight(at string, p ship.Parcel, u units) {
	if p.WeightGrams < 1 {
		w.refuse(at+"/weight", "required", "UPS needs the weight of every parcel")
		return
	}
	if u.tenths(p.WeightGrams) <= u.maxTenths {
		return
	}

	grams := float64(u.maxTenths) * 100
	if u.weight.Code == "LBS" {
		grams = float64(u.maxTenths) * 45.359237
	}
	unit, most, given := p.WeightUnit, 0.0, p.Weight
	switch unit {
	case ship.Pound:
		most = grams / 453.59237
	case ship.Ounce:
		most = grams / 28.349523125
	case ship.Kilogram:
		most = grams / 1000
	default:
		unit, most, given = ship.Gram, grams, float64(p.WeightGrams)
	}
	w.refuse(at+"/weight", "too_heavy", "UPS allows at most %s %s per package; this one weighs %s %s",
		short(most), unit, short(given), unit)
}

// checkSize refuses a parcel that is too large, in the unit that the client
// measures in.
func (w *draft) checkSize(at string, p ship.Parcel, u units) {
	sides, ok := u.sides(p.Dimensions)
	if !ok {
		return
	}
	longest := sides[0]
	girth := longest + 2*(sides[1]+sides[2])
	if longest <= u.maxLength && girth <= u.maxGirth {
		return
	}

	d := p.Dimensions
	millimetres := 25.4 // in a unit of UPS's bounds
	if u.length.Code == "CM" {
		millimetres = 10
	}

	unit := d.Unit
	perUnit := 1.0
	given := []float64{d.Length, d.Width, d.Height}
	switch unit {
	case ship.Inch:
		perUnit = 25.4
	case ship.Centimetre:
		perUnit = 10
	default:
		unit = ship.Millimetre
		given = []float64{float64(d.LengthMM), float64(d.WidthMM), float64(d.HeightMM)}
	}
	slices.Sort(given)

	if longest > u.maxLength {
		w.refuse(at+"/dimensions", "too_large", "UPS allows at most %s %s for the longest side; this one has %s %s",
			short(float64(u.maxLength)*millimetres/perUnit), unit, short(given[2]), unit)
		return
	}
	w.refuse(at+"/dimensions", "too_large",
		"UPS allows at most %s %s of length and girth (the longest side and twice the other two); this one has %s %s",
		short(float64(u.maxGirth)*millimetres/perUnit), unit, short(given[2]+2*(given[0]+given[1])), unit)
}

// short is a measure for people: at most two decimals, rounded down so that a
// bound is never too high.
func short(v float64) string {
	return strconv.FormatFloat(math.Floor(v*100+1e-6)/100, 'f', -1, 64)
}

// sides are the sides of a parcel in whole units, the longest first. It is not
// ok if they are not all known.
func (u units) sides(d *ship.Dimensions) (sides [3]int64, ok bool) {
	if d == nil || d.LengthMM < 1 || d.WidthMM < 1 || d.HeightMM < 1 {
		return sides, false
	}
	sides = [3]int64{u.whole(d.LengthMM), u.whole(d.WidthMM), u.whole(d.HeightMM)}
	slices.SortFunc(sides[:], func(a, b int64) int { return int(b - a) })
	return sides, true
}

// measure is a size as UPS writes it, the longest side first; nil if there is
// none.
func (u units) measure(d *ship.Dimensions) *dimensions {
	sides, ok := u.sides(d)
	if !ok {
		return nil
	}
	text := func(n int64) string { return strconv.FormatInt(n, 10) }
	return &dimensions{
		UnitOfMeasurement: u.length,
		Length:            text(sides[0]),
		Width:             text(sides[1]),
		Height:            text(sides[2]),
	}
}

// parcelOptions are the extra services of one parcel.
func (w *draft) parcelOptions(i int) *packageOptions {
	var p packageOptions
	given := w.order.Options
	if given.Signature != "" && w.signsParcels() {
		p.DeliveryConfirmation = &confirmation{DCISType: signatures[given.Signature].parcel}
	}
	if v := part(given.InsuredValue, len(w.order.Parcels), i); v.Minor > 0 {
		p.DeclaredValue = &money{CurrencyCode: v.Currency, MonetaryValue: v.Amount()}
	}
	if p == (packageOptions{}) {
		return nil
	}
	return &p
}

// part is the value of one of n parcels: the order's, divided, with what is
// left over on the first ones.
func part(total ship.Money, n, i int) ship.Money {
	each, rest := total.Minor/int64(n), total.Minor%int64(n)
	if int64(i) < rest {
		each++
	}
	return ship.Money{Minor: each, Currency: total.Currency}
}
