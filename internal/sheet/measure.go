package sheet

import (
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
)

// A weight counts eighths of a nanogram: the largest unit in which a thousandth
// of a pound, an ounce, a kilogram and a gram are all whole.
type weight int64

// A length counts fifths of a micrometre, in which a thousandth of an inch and
// of a millimetre are whole.
type length int64

// What is more than these is as much: nothing on a sheet comes near, and sums
// and products stay in range.
const (
	heaviest = weight(100_000_000_000_000_000) // 12.5 t
	longest  = length(500_000_000)             // 100 m
	dearest  = int64(1_000_000_000_000_000)
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

func milliWeight(u ship.WeightUnit) weight {
	for _, known := range weightUnits {
		if known.unit == u {
			return known.milli
		}
	}
	return 0
}

func milliLength(u ship.LengthUnit) length {
	for _, known := range lengthUnits {
		if known.unit == u {
			return known.milli
		}
	}
	return 0
}

// text writes w exactly, in the unit if that is possible.
func (w weight) text(u ship.WeightUnit) string {
	if per := milliWeight(u); per > 0 && w%per == 0 {
		return thousandths(int64(w/per)) + " " + string(u)
	}
	for _, other := range weightUnits {
		if w%other.milli == 0 {
			return thousandths(int64(w/other.milli)) + " " + string(other.unit)
		}
	}
	return strconv.FormatFloat(float64(w)/8e12, 'f', 3, 64) + " kg" // of a parcel alone, whose weight may be any
}

// text writes l exactly, in the unit if that is possible.
func (l length) text(u ship.LengthUnit) string {
	if per := milliLength(u); per > 0 && l%per == 0 {
		return thousandths(int64(l/per)) + " " + string(u)
	}
	for _, other := range lengthUnits {
		if l%other.milli == 0 {
			return thousandths(int64(l/other.milli)) + " " + string(other.unit)
		}
	}
	return strconv.FormatFloat(float64(l)/5e4, 'f', 3, 64) + " cm"
}

// thousandths writes n/1000 without zeros at the end.
func thousandths(n int64) string { return fixed(n, 3) }

// fixed writes n/10^places without zeros at the end.
func fixed(n int64, places int) string {
	s := strconv.FormatInt(n, 10)
	if len(s) <= places {
		s = strings.Repeat("0", places+1-len(s)) + s
	}
	whole, frac := s[:len(s)-places], strings.TrimRight(s[len(s)-places:], "0")
	if frac == "" {
		return whole
	}
	return whole + "." + frac
}

// weightOf is what the client said a parcel weighs; in whole grams, rounded up,
// if the parcel does not say.
func weightOf(p *ship.Parcel) weight {
	per := milliWeight(p.WeightUnit)
	if per == 0 || !(p.Weight > 0) || p.Weight > 1e9 || p.WeightUnit.Grams(p.Weight) != p.WeightGrams {
		return weight(clamp(float64(p.WeightGrams)*8e9, float64(heaviest)))
	}
	return weight(clamp(p.Weight*float64(per)*1000, float64(heaviest)))
}

// sideOf is a side as the client gave it; in whole millimetres, rounded up, if
// the parcel does not say.
func sideOf(u ship.LengthUnit, given float64, mm int64) length {
	per := milliLength(u)
	if per == 0 || !(given > 0) || given > 1e9 || u.Millimetres(given) != mm {
		return length(clamp(float64(mm)*5000, float64(longest)))
	}
	return length(clamp(given*float64(per)*1000, float64(longest)))
}

func clamp(v, limit float64) int64 { return int64(math.Round(max(0, min(v, limit)))) }

// A rounding is how lengths are rounded before they are multiplied.
type rounding struct {
	to      length // 0 is not at all
	nearest bool   // else up
}

func (r rounding) apply(l length) length {
	switch {
	case r.to <= 0:
		return l
	case r.nearest:
		return (l + r.to/2) / r.to * r.to
	}
	return (l + r.to - 1) / r.to * r.to
}

// up is w rounded up to a multiple of step, if there is a step.
func (w weight) up(step weight) weight {
	if step <= 0 {
		return w
	}
	return min((w+step-1)/step*step, heaviest)
}

// A divisor turns a volume into a weight: cubic inches or centimetres through
// by is pounds or kilograms. The zero divisor is none.
type divisor struct {
	by     int64
	length ship.LengthUnit // in or cm
	weight ship.WeightUnit // lb or kg

	num, den uint64 // of a weight to a volume in our own units, reduced
}

// maxDivisor keeps den in range.
const maxDivisor = 9000

func newDivisor(by int64, l ship.LengthUnit, w ship.WeightUnit) divisor {
	side := uint64(milliLength(l)) * 1000
	num, den := uint64(milliWeight(w))*1000, side*side*side*uint64(by)
	g := gcd(num, den)
	return divisor{by: by, length: l, weight: w, num: num / g, den: den / g}
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func (d divisor) text() string {
	if d.by == 0 {
		return "none"
	}
	return strconv.FormatInt(d.by, 10) + " " + string(d.length) + "/" + string(d.weight)
}

// weigh is the weight of a box, rounded up.
func (d divisor) weigh(a, b, c length) weight {
	if d.by == 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(a)*uint64(b), uint64(c))
	over, lo := bits.Mul64(lo, d.num)
	hi = hi*d.num + over
	if hi >= d.den {
		return heaviest
	}
	q, rest := bits.Div64(hi, lo, d.den)
	if rest > 0 {
		q++
	}
	return weight(min(q, uint64(heaviest)))
}

// plus adds amounts that are not negative.
func plus(a, b int64) int64 { return min(a+b, dearest) }

// times multiplies amounts that are not negative.
func times(a, n int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(n))
	if hi > 0 || lo > uint64(dearest) {
		return dearest
	}
	return int64(lo)
}

// whole is a hundred percent in millionths.
const whole = 1_000_000

// share is a part of an amount in millionths, rounded half up.
func share(amount, millionths int64) int64 {
	hi, lo := bits.Mul64(uint64(amount), uint64(millionths))
	lo, carry := bits.Add64(lo, whole/2, 0)
	q, _ := bits.Div64(hi+carry, lo, whole)
	return int64(min(q, uint64(dearest)))
}
