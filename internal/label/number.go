package label

import (
	"math"
	"strconv"

	"github.com/go-text/typesetting/font/opentype"
)

// appendOp appends a PDF operator with its operands.
func appendOp(out []byte, op string, operands ...float64) []byte {
	for _, operand := range operands {
		out = append(appendDecimal(out, operand), ' ')
	}
	return append(append(out, op...), '\n')
}

// appendRoundedOp is appendOp for operands in font units, where a whole number
// is exact enough.
func appendRoundedOp(out []byte, op string, operands ...float64) []byte {
	for _, operand := range operands {
		out = append(strconv.AppendInt(out, int64(math.Round(operand)), 10), ' ')
	}
	return append(append(out, op...), '\n')
}

// appendPoints is appendRoundedOp for the points of an outline.
func appendPoints(out []byte, op string, points ...opentype.SegmentPoint) []byte {
	for _, point := range points {
		out = append(strconv.AppendInt(out, int64(math.Round(float64(point.X))), 10), ' ')
		out = append(strconv.AppendInt(out, int64(math.Round(float64(point.Y))), 10), ' ')
	}
	return append(append(out, op...), '\n')
}

// appendDecimal appends a number with at most five decimals: PDF does not have
// exponents.
func appendDecimal(out []byte, number float64) []byte {
	n := int64(math.Round(number * 1e5))
	if n < 0 {
		out = append(out, '-')
		n = -n
	}

	out = strconv.AppendInt(out, n/1e5, 10)
	if n %= 1e5; n == 0 {
		return out
	}

	out = append(out, '.')
	for unit := int64(1e4); n > 0; unit /= 10 {
		out = append(out, '0'+byte(n/unit))
		n %= unit
	}
	return out
}
