package ups

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/waybillhq/waybill/internal/ship"
)

// units are a system of measures. UPS takes that of the shipper's country, and
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

// units returns the units of the country that the account is taken to be in.
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

// tenths returns a weight in tenths of the unit, rounded up. Grams are
// themselves rounded up from what the client gave, so a pound of 454 g stays
// one pound.
func (u units) tenths(grams int64) int64 {
	if u.weight.Code == "LBS" {
		return (grams-1)*1_000_000/45_359_237 + 1
	}
	return (grams-1)/100 + 1
}

// lengthUnits returns a length in whole units, rounded up with the same
// tolerance.
func (u units) lengthUnits(mm int64) int64 {
	if u.length.Code == "IN" {
		return (mm-1)*10/254 + 1
	}
	return (mm-1)/10 + 1
}

// weigh returns a weight as UPS writes it.
func (u units) weigh(tenths int64) weight {
	return weight{UnitOfMeasurement: u.weight, Weight: fmt.Sprintf("%d.%d", tenths/10, tenths%10)}
}

// addParcels adds the packages of the order.
func (w *draft) addParcels() {
	system := w.units()
	w.shipment.Package = make([]parcel, len(w.order.Parcels))
	for i, given := range w.order.Parcels {
		pointer := fmt.Sprintf("/parcels/%d", i)
		sent := &w.shipment.Package[i]

		w.checkWeight(pointer, given, system)
		sent.PackageWeight = system.weigh(system.tenths(max(given.WeightGrams, 1)))

		w.checkSize(pointer, given, system)
		sent.Dimensions = system.measure(given.Dimensions)

		code, ok := packagingOf(given.Packaging)
		if !ok {
			w.problems = append(w.problems, ship.FieldError{
				Pointer:    pointer + "/packaging",
				Code:       "unknown_packaging",
				Detail:     "is not a UPS packaging type; omit it for your own box",
				Suggestion: ship.Nearest(given.Packaging, packagingCodes()),
			})
		}
		sent.Packaging = &coded{Code: code, Description: "Package"}
		sent.PackageServiceOptions = w.parcelOptions(i)
	}
}

// checkWeight refuses a parcel without a weight, or that is too heavy. The
// message has the unit that the client weighs in.
func (w *draft) checkWeight(pointer string, given ship.Parcel, system units) {
	if given.WeightGrams < 1 {
		w.refuse(pointer+"/weight", "required", "UPS needs the weight of every parcel")
		return
	}
	if system.tenths(given.WeightGrams) <= system.maxTenths {
		return
	}

	grams := float64(system.maxTenths) * 100
	if system.weight.Code == "LBS" {
		grams = float64(system.maxTenths) * 45.359237
	}
	unit := given.WeightUnit
	weight := given.Weight
	most := 0.0
	switch unit {
	case ship.Pound:
		most = grams / 453.59237
	case ship.Ounce:
		most = grams / 28.349523125
	case ship.Kilogram:
		most = grams / 1000
	default:
		unit = ship.Gram
		weight = float64(given.WeightGrams)
		most = grams
	}
	w.refuse(pointer+"/weight", "too_heavy", "UPS allows at most %s %s per package; this one weighs %s %s",
		shortNumber(most), unit, shortNumber(weight), unit)
}

// checkSize refuses a parcel that is too large, in the unit that the client
// measures in.
func (w *draft) checkSize(pointer string, given ship.Parcel, system units) {
	sides, ok := system.sides(given.Dimensions)
	if !ok {
		return
	}
	longest := sides[0]
	girth := longest + 2*(sides[1]+sides[2])
	if longest <= system.maxLength && girth <= system.maxGirth {
		return
	}

	dimensions := given.Dimensions
	millimetres := 25.4 // in a unit of UPS's bounds
	if system.length.Code == "CM" {
		millimetres = 10
	}

	unit := dimensions.Unit
	perUnit := 1.0
	lengths := []float64{dimensions.Length, dimensions.Width, dimensions.Height}
	switch unit {
	case ship.Inch:
		perUnit = 25.4
	case ship.Centimetre:
		perUnit = 10
	default:
		unit = ship.Millimetre
		lengths = []float64{float64(dimensions.LengthMM), float64(dimensions.WidthMM), float64(dimensions.HeightMM)}
	}
	slices.Sort(lengths)

	if longest > system.maxLength {
		w.refuse(pointer+"/dimensions", "too_large", "UPS allows at most %s %s for the longest side; this one has %s %s",
			shortNumber(float64(system.maxLength)*millimetres/perUnit), unit, shortNumber(lengths[2]), unit)
		return
	}
	w.refuse(pointer+"/dimensions", "too_large",
		"UPS allows at most %s %s of length and girth (the longest side and twice the other two); this one has %s %s",
		shortNumber(float64(system.maxGirth)*millimetres/perUnit), unit, shortNumber(lengths[2]+2*(lengths[0]+lengths[1])), unit)
}

// shortNumber returns a measure for people: at most two decimals, rounded down
// so that a limit is never too high.
func shortNumber(value float64) string {
	return strconv.FormatFloat(math.Floor(value*100+1e-6)/100, 'f', -1, 64)
}

// sides returns the sides of a parcel in whole units, the longest first. It is
// not ok if they are not all known.
func (u units) sides(given *ship.Dimensions) (sides [3]int64, ok bool) {
	if given == nil || given.LengthMM < 1 || given.WidthMM < 1 || given.HeightMM < 1 {
		return sides, false
	}
	sides = [3]int64{u.lengthUnits(given.LengthMM), u.lengthUnits(given.WidthMM), u.lengthUnits(given.HeightMM)}
	slices.SortFunc(sides[:], func(a, b int64) int { return int(b - a) })
	return sides, true
}

// measure returns a size as UPS writes it, the longest side first; nil if there
// is none.
func (u units) measure(given *ship.Dimensions) *dimensions {
	sides, ok := u.sides(given)
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

// parcelOptions returns the extra services of one parcel.
func (w *draft) parcelOptions(i int) *packageOptions {
	var options packageOptions
	given := w.order.Options
	if given.Signature != "" && w.signsParcels() {
		options.DeliveryConfirmation = &confirmation{DCISType: signatures[given.Signature].parcel}
	}
	if value := share(given.InsuredValue, len(w.order.Parcels), i); value.Minor > 0 {
		options.DeclaredValue = &money{CurrencyCode: value.Currency, MonetaryValue: value.Amount()}
	}
	options.DryIce = w.dryIceOf()
	if options == (packageOptions{}) {
		return nil
	}
	return &options
}

// share returns the value of one of n parcels: the order's, divided, with what
// is left over on the first ones.
func share(total ship.Money, n, i int) ship.Money {
	minor := total.Minor / int64(n)
	if int64(i) < total.Minor%int64(n) {
		minor++
	}
	return ship.Money{Minor: minor, Currency: total.Currency}
}
