package ship

import (
	"math"
	"strconv"
)

// A WeightUnit is a unit that clients may weigh in.
type WeightUnit string

// A LengthUnit is a unit that clients may measure in.
type LengthUnit string

// The units of the API.
const (
	Pound    WeightUnit = "lb"
	Ounce    WeightUnit = "oz"
	Kilogram WeightUnit = "kg"
	Gram     WeightUnit = "g"

	Inch       LengthUnit = "in"
	Centimetre LengthUnit = "cm"
	Millimetre LengthUnit = "mm"
)

// Units are an account's own: what a bare number means.
type Units struct {
	Weight WeightUnit `json:"weight"`
	Length LengthUnit `json:"length"`
}

// DefaultUnits are those of a new account.
var DefaultUnits = Units{Weight: Pound, Length: Inch}

// Valid reports whether both units are known.
func (u Units) Valid() bool {
	_, knowsWeight := u.Weight.grams()
	_, knowsLength := u.Length.millimetres()
	return knowsWeight && knowsLength
}

func (u WeightUnit) grams() (float64, bool) {
	switch u {
	case Pound:
		return 453.59237, true
	case Ounce:
		return 28.349523125, true
	case Kilogram:
		return 1000, true
	case Gram:
		return 1, true
	}
	return 0, false
}

func (u LengthUnit) millimetres() (float64, bool) {
	switch u {
	case Inch:
		return 25.4, true
	case Centimetre:
		return 10, true
	case Millimetre:
		return 1, true
	}
	return 0, false
}

// Grams is the weight in whole grams, rounded up: a carrier charges for the
// part of a gram too.
func (u WeightUnit) Grams(value float64) int64 {
	per, _ := u.grams()
	return roundUp(value * per)
}

// Millimetres is the length in whole millimetres, rounded up.
func (u LengthUnit) Millimetres(value float64) int64 {
	per, _ := u.millimetres()
	return roundUp(value * per)
}

// Of is a weight in the unit, to two decimals, rounded up.
func (u WeightUnit) Of(grams int64) float64 {
	per, ok := u.grams()
	if !ok {
		return float64(grams)
	}
	return math.Ceil(float64(grams)/per*100-1e-6) / 100
}

// exactly is a weight in the unit, to four decimals, rounded so that Grams returns
// the same number of grams.
func (u WeightUnit) exactly(grams int64) float64 {
	per, ok := u.grams()
	if !ok {
		return float64(grams)
	}
	return math.Floor(float64(grams)/per*1e4+1e-6) / 1e4
}

// Format writes a limit in grams in the unit, rounded down so that it is still
// within the limit: "149.91 lb". Without a unit it is in grams.
func (u WeightUnit) Format(grams int64) string {
	per, ok := u.grams()
	if !ok {
		return Gram.Format(grams)
	}
	return formatDown(float64(grams)/per) + " " + string(u)
}

// Format writes a limit in millimetres in the unit, rounded down.
func (u LengthUnit) Format(millimetres int64) string {
	per, ok := u.millimetres()
	if !ok {
		return Millimetre.Format(millimetres)
	}
	return formatDown(float64(millimetres)/per) + " " + string(u)
}

func formatDown(v float64) string {
	return strconv.FormatFloat(math.Floor(v*100+1e-6)/100, 'f', -1, 64)
}

// roundUp forgives the error of a binary product, so that 1 lb of 453.59237 g
// is 454 g but 0.1 kg is 100 g. What is more than nothing is at least 1.
func roundUp(v float64) int64 {
	if near := math.Round(v); near >= 1 && math.Abs(v-near) < 1e-6 {
		return int64(near)
	}
	return int64(math.Ceil(v))
}
