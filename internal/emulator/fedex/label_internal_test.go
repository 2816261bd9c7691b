package fedex

import (
	"bytes"
	"image/png"
	"strings"
	"testing"
)

// read5x7 reads text off a label, dot by dot.
func read5x7(t *testing.T, label []byte, x, y, scale int) string {
	t.Helper()
	picture, err := png.Decode(bytes.NewReader(label))
	if err != nil {
		t.Fatal(err)
	}
	dark := func(x, y int) bool { r, _, _, _ := picture.At(x, y).RGBA(); return r == 0 }

	var text strings.Builder
	for ; x+5*scale < width-20; x += 6 * scale {
		var cell [7]byte
		for row := range cell {
			for col := range 5 {
				if dark(x+col*scale, y+row*scale) {
					cell[row] |= 16 >> col
				}
			}
		}
		found := ' '
		for r, dots := range glyphs {
			if dots == cell {
				found = r
			}
		}
		text.WriteRune(found)
	}
	return strings.TrimRight(text.String(), " ")
}

func TestLabelsShowTheReferencesThatFedExPrints(t *testing.T) {
	label := picture("794791341818", 1, 2, []reference{
		{"CUSTOMER_REFERENCE", "S0123456789ABCDEFGHJKMNPQR"},
		{"P_O_NUMBER", "Ord-1001"},
		{"INVOICE_NUMBER", "INV_7"},
	})
	for i, want := range []string{"REF: S0123456789ABCDEFGHJKMNPQR", "INV: INV_7", "PO: ORD-1001"} {
		if got := read5x7(t, label, 40, 320+40*i, 3); got != want {
			t.Errorf("line %d reads %q, want %q", i+1, got, want)
		}
	}
}
