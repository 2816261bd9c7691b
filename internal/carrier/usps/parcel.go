package usps

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
)

// measure converts the weight and the sides of the parcel.
func (c *draft) measure(parcel ship.Parcel) (invalid []ship.FieldError) {
	fail := func(pointer, code, detail string) {
		invalid = append(invalid, ship.FieldError{Pointer: "/parcel/" + pointer, Code: code, Detail: detail})
	}

	c.pounds = poundsOf(parcel)
	c.weight = decimal(c.pounds, 5)
	if c.pounds <= 0 || c.pounds > maxPounds {
		fail("weight", "invalid", "must be more than 0 and at most "+inWeightUnit(maxPounds, parcel.WeightUnit)+" for USPS")
	}

	switch {
	case parcel.Packaging != "" && parcel.Packaging != "custom":
		i := slices.IndexFunc(packagings, func(p packaging) bool { return p.code == parcel.Packaging })
		if i < 0 {
			fail("packaging", "invalid", "is not a USPS packaging type; GET /v1/carriers lists them, and \"custom\" is your own box")
			return invalid
		}
		c.box = &packagings[i]
		c.long = float64(c.box.long) / 100
		c.wide = float64(c.box.wide) / 100
		c.thick = float64(c.box.thick) / 100

	case parcel.Dimensions == nil:
		fail("dimensions", "required", "USPS needs the length, width and height of a parcel that is not in its own packaging")
		return invalid

	default:
		c.long, c.wide, c.thick = sidesOf(*parcel.Dimensions)
	}

	c.length = decimal(c.long, 2)
	c.width = decimal(c.wide, 2)
	c.height = decimal(c.thick, 2)
	c.category = c.processingCategory()

	if c.long+c.girth() > maxInches {
		unit := ship.Inch
		if parcel.Dimensions != nil {
			unit = parcel.Dimensions.Unit
		}
		fail("dimensions", "invalid", "must have a length and girth of at most "+inLengthUnit(maxInches, unit)+" together for USPS; girth is twice the two shorter sides")
	}
	return invalid
}

func (c *draft) girth() float64 { return 2 * (c.wide + c.thick) }

// processingCategory says whether the sorting machines take the parcel.
func (c *draft) processingCategory() string {
	switch {
	case c.box != nil:
		return c.box.category
	case c.long > 22, c.wide > 18, c.thick > 15, c.pounds > 25, c.long < 6, c.wide < 3, c.thick < 0.25:
		return nonstandard
	}
	return machinable
}

// poundsOf returns the weight of a parcel in the unit that USPS takes. The
// weight is converted as the client gave it: the stored grams are rounded up,
// and a pound would weigh more than one.
func poundsOf(parcel ship.Parcel) float64 {
	const gramsPerPound = 453.59237
	if parcel.Weight > 0 {
		switch parcel.WeightUnit {
		case ship.Pound:
			return parcel.Weight
		case ship.Ounce:
			return parcel.Weight / 16
		case ship.Kilogram:
			return parcel.Weight * 1000 / gramsPerPound
		}
	}
	return float64(parcel.WeightGrams) / gramsPerPound
}

// sidesOf returns the sides in inches, the longest first.
func sidesOf(dimensions ship.Dimensions) (long, wide, thick float64) {
	sides := []float64{dimensions.Length, dimensions.Width, dimensions.Height}
	for i, mm := range []int64{dimensions.LengthMM, dimensions.WidthMM, dimensions.HeightMM} {
		switch {
		case dimensions.Unit == ship.Centimetre:
			sides[i] /= 2.54
		case dimensions.Unit != ship.Inch:
			sides[i] = float64(mm) / 25.4
		}
	}
	slices.Sort(sides)
	return sides[2], sides[1], sides[0]
}

// decimal formats a measure with at most the given number of decimals, rounded
// up, without trailing zeros. It tolerates floating-point errors.
func decimal(value float64, places int) json.Number {
	scale := math.Pow10(places)
	scaled := math.Ceil(value*scale - 1e-6)
	text := strconv.FormatFloat(scaled/scale, 'f', places, 64)
	text = strings.TrimRight(text, "0")
	return json.Number(strings.TrimSuffix(text, "."))
}

// inWeightUnit writes a number of pounds in the client's own unit.
func inWeightUnit(pounds float64, unit ship.WeightUnit) string {
	perPound := map[ship.WeightUnit]float64{ship.Ounce: 16, ship.Kilogram: 0.45359237, ship.Gram: 453.59237}
	factor, ok := perPound[unit]
	if !ok {
		factor = 1
		unit = ship.Pound
	}
	return shortNumber(pounds*factor) + " " + string(unit)
}

// inLengthUnit writes a number of inches in the client's own unit.
func inLengthUnit(inches float64, unit ship.LengthUnit) string {
	perInch := map[ship.LengthUnit]float64{ship.Centimetre: 2.54, ship.Millimetre: 25.4}
	factor, ok := perInch[unit]
	if !ok {
		factor = 1
		unit = ship.Inch
	}
	return shortNumber(inches*factor) + " " + string(unit)
}

// shortNumber has two decimals at most, rounded down: it is a limit.
func shortNumber(v float64) string {
	return strconv.FormatFloat(math.Floor(v*100+1e-6)/100, 'f', -1, 64)
}
