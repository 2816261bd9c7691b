package label

import (
	"math"
	"strconv"

	"github.com/go-text/typesetting/font/opentype"
)

// appendOp appends a PDF operator with its operands.
func appendOp(b []byte, op string, operands ...float64) []byte {
	for _, v := range operands {
		b = append(appendDecimal(b, v), ' ')
	}
	return append(append(b, op...), '\n')
}

// appendRound is appendOp for operands in font units, where a whole number is
// exact enough.
func appendRound(b []byte, op string, operands ...float64) []byte {
	for _, v := range operands {
		b = append(strconv.AppendInt(b, int64(math.Round(v)), 10), ' ')
	}
	return append(append(b, op...), '\n')
}

func appendPoints(b []byte, op string, points ...opentype.SegmentPoint) []byte {
	for _, p := range points {
		b = append(strconv.AppendInt(b, int64(math.Round(float64(p.X))), 10), ' ')
		b = append(strconv.AppendInt(b, int64(math.Round(float64(p.Y))), 10), ' ')
	}
	return append(append(b, op...), '\n')
}

// appendDecimal appends v with at most five places: PDF knows no exponents.
func appendDecimal(b []byte, v float64) []byte {
	n := int64(math.Round(v * 1e5))
	if n < 0 {
		b, n = append(b, '-'), -n
	}
	b = strconv.AppendInt(b, n/1e5, 10)
	if n %= 1e5; n == 0 {
		return b
	}
	b = append(b, '.')
	for place := int64(1e4); n > 0; place /= 10 {
		b = append(b, '0'+byte(n/place))
		n %= place
	}
	return b
}
