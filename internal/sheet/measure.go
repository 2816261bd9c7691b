package sheet

import (
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
)

// A weight counts eighths of a nanogram: the largest unit in which a thousandth
// of a pound, an ounce, a kilogram and a gram are all whole numbers.
type weight int64

// A length counts fifths of a micrometre, in which a thousandth of an inch and
// of a millimetre are whole numbers.
type length int64

// Larger values are cut to these: nothing on a sheet comes near them, and sums
// and products stay in range.
const (
	maxWeight = weight(100_000_000_000_000_000) // 12.5 t
	maxLength = length(500_000_000)             // 100 m
	maxAmount = int64(1_000_000_000_000_000)
)

// weightUnits and lengthUnits hold a thousandth of each unit.
var (
	weightUnits = []struct {
		unit  ship.WeightUnit
		milli weight
	}{{ship.Kilogram, 8_000_000_000}, {ship.Pound, 3_628_738_960}, {ship.Gram, 8_000_000}, {ship.Ounce, 226_796_185}}
	lengthUnits = []struct {
		unit  ship.LengthUnit
		milli length
	}{{ship.Centimetre, 50}, {ship.Inch, 127}, {ship.Millimetre, 5}}
)

// milliWeight is a thousandth of a unit, 0 if it is unknown.
func milliWeight(unit ship.WeightUnit) weight {
	for _, known := range weightUnits {
		if known.unit == unit {
			return known.milli
		}
	}
	return 0
}

// milliLength is a thousandth of a unit, 0 if it is unknown.
func milliLength(unit ship.LengthUnit) length {
	for _, known := range lengthUnits {
		if known.unit == unit {
			return known.milli
		}
	}
	return 0
}

// format writes a weight exactly, in the unit if that is possible.
func (w weight) format(unit ship.WeightUnit) string {
	if milli := milliWeight(unit); milli > 0 && w%milli == 0 {
		return formatThousandths(int64(w/milli)) + " " + string(unit)
	}
	for _, other := range weightUnits {
		if w%other.milli == 0 {
			return formatThousandths(int64(w/other.milli)) + " " + string(other.unit)
		}
	}

	// Only the weight of a parcel can be any: those of a sheet are exact in one
	// of the units.
	return strconv.FormatFloat(float64(w)/8e12, 'f', 3, 64) + " kg"
}

// format writes a length exactly, in the unit if that is possible.
func (l length) format(unit ship.LengthUnit) string {
	if milli := milliLength(unit); milli > 0 && l%milli == 0 {
		return formatThousandths(int64(l/milli)) + " " + string(unit)
	}
	for _, other := range lengthUnits {
		if l%other.milli == 0 {
			return formatThousandths(int64(l/other.milli)) + " " + string(other.unit)
		}
	}
	return strconv.FormatFloat(float64(l)/5e4, 'f', 3, 64) + " cm"
}

// formatThousandths writes n/1000 without zeros at the end.
func formatThousandths(n int64) string { return formatFixed(n, 3) }

// formatFixed writes n/10^places without zeros at the end.
func formatFixed(n int64, places int) string {
	digits := strconv.FormatInt(n, 10)
	if len(digits) <= places {
		digits = strings.Repeat("0", places+1-len(digits)) + digits
	}
	integer := digits[:len(digits)-places]
	fraction := strings.TrimRight(digits[len(digits)-places:], "0")
	if fraction == "" {
		return integer
	}
	return integer + "." + fraction
}

// parcelWeight is the weight that the client gave for a parcel, or its whole
// grams, rounded up, if it did not give one.
func parcelWeight(parcel *ship.Parcel) weight {
	milli := milliWeight(parcel.WeightUnit)
	if milli == 0 || !(parcel.Weight > 0) || parcel.Weight > 1e9 || parcel.WeightUnit.Grams(parcel.Weight) != parcel.WeightGrams {
		return weight(clamp(float64(parcel.WeightGrams)*8e9, float64(maxWeight)))
	}
	return weight(clamp(parcel.Weight*float64(milli)*1000, float64(maxWeight)))
}

// parcelSide is a side as the client gave it, or its whole millimetres, rounded
// up, if it did not give one.
func parcelSide(unit ship.LengthUnit, given float64, mm int64) length {
	milli := milliLength(unit)
	if milli == 0 || !(given > 0) || given > 1e9 || unit.Millimetres(given) != mm {
		return length(clamp(float64(mm)*5000, float64(maxLength)))
	}
	return length(clamp(given*float64(milli)*1000, float64(maxLength)))
}

func clamp(value, limit float64) int64 { return int64(math.Round(max(0, min(value, limit)))) }

// A rounding is how lengths are rounded before they are multiplied.
type rounding struct {
	to      length // 0 is not at all
	nearest bool   // else up
}

func (r rounding) apply(side length) length {
	switch {
	case r.to <= 0:
		return side
	case r.nearest:
		return (side + r.to/2) / r.to * r.to
	}
	return (side + r.to - 1) / r.to * r.to
}

// roundUp is the weight rounded up to a multiple of step, if there is a step.
func (w weight) roundUp(step weight) weight {
	if step <= 0 {
		return w
	}
	return min((w+step-1)/step*step, maxWeight)
}

// A divisor turns a volume into a weight: cubic inches or centimetres, divided
// by it, are pounds or kilograms. The zero divisor is none.
type divisor struct {
	by     int64
	length ship.LengthUnit // in or cm
	weight ship.WeightUnit // lb or kg

	num, den uint64 // of a weight to a volume in our own units, reduced
}

// maxDivisor keeps den in range.
const maxDivisor = 9000

func newDivisor(by int64, lengthUnit ship.LengthUnit, weightUnit ship.WeightUnit) divisor {
	side := uint64(milliLength(lengthUnit)) * 1000
	num := uint64(milliWeight(weightUnit)) * 1000
	den := side * side * side * uint64(by)
	common := gcd(num, den)
	return divisor{
		by:     by,
		length: lengthUnit,
		weight: weightUnit,
		num:    num / common,
		den:    den / common,
	}
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func (d divisor) format() string {
	if d.by == 0 {
		return "none"
	}
	return strconv.FormatInt(d.by, 10) + " " + string(d.length) + "/" + string(d.weight)
}

// volumeWeight is the dimensional weight of a box, rounded up.
func (d divisor) volumeWeight(a, b, c length) weight {
	if d.by == 0 {
		return 0
	}

	// The product of three sides and the numerator does not fit in 64 bits.
	hi, lo := bits.Mul64(uint64(a)*uint64(b), uint64(c))
	over, lo := bits.Mul64(lo, d.num)
	hi = hi*d.num + over
	if hi >= d.den {
		return maxWeight
	}

	quotient, rest := bits.Div64(hi, lo, d.den)
	if rest > 0 {
		quotient++
	}
	return weight(min(quotient, uint64(maxWeight)))
}

// addAmounts adds amounts that are not negative.
func addAmounts(a, b int64) int64 { return min(a+b, maxAmount) }

// multiplyAmount multiplies an amount by a count; neither is negative.
func multiplyAmount(amount, n int64) int64 {
	hi, lo := bits.Mul64(uint64(amount), uint64(n))
	if hi > 0 || lo > uint64(maxAmount) {
		return maxAmount
	}
	return int64(lo)
}

// hundredPercent is 100 % in millionths.
const hundredPercent = 1_000_000

// percentOf is a percentage, in millionths, of an amount, rounded half up.
func percentOf(amount, millionths int64) int64 {
	// 128 bits keep the product exact, so that the rounding is too.
	hi, lo := bits.Mul64(uint64(amount), uint64(millionths))
	lo, carry := bits.Add64(lo, hundredPercent/2, 0)
	quotient, _ := bits.Div64(hi+carry, lo, hundredPercent)
	return int64(min(quotient, uint64(maxAmount)))
}
