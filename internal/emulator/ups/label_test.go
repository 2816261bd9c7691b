package ups

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/gif"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/emulator"
)

// readLine reads a line of text from a label by its glyphs.
func readLine(picture image.Image, x, y, scale int) string {
	byGlyph := map[string]rune{}
	for r, glyph := range glyphs {
		byGlyph[glyph] = r
	}

	var text strings.Builder
	for ; x+3*scale < labelWidth; x += 4 * scale {
		var glyph strings.Builder
		for row := range 5 {
			bits := 0
			for column := range 3 {
				// The label's x coordinate is counted from the bottom of the
				// picture.
				at := image.Pt(y+row*scale+scale/2, imageHeight-1-(x+column*scale+scale/2))
				if r, _, _, _ := picture.At(at.X, at.Y).RGBA(); r == 0 {
					bits |= 1 << (2 - column)
				}
			}
			glyph.WriteByte(byte('0' + bits))
		}
		if r, ok := byGlyph[glyph.String()]; ok {
			text.WriteRune(r)
		} else {
			text.WriteByte(' ')
		}
	}
	return strings.TrimRight(text.String(), " ")
}

// The references that came with a purchase are printed in the order in which
// they were given.
func TestLabelsShowTheirReferences(t *testing.T) {
	data, err := base64.StdEncoding.DecodeString(labelOf("1ZA1B2C30300001011", emulator.Entry{
		Service: "03",
		Kept:    encode(kept{Receiver: "ADA", References: []string{"ORD-1001 / PO 1234567890123456789", "SABCDEFGHJKMNPQRSTVWXYZ234"}}),
	}))
	if err != nil {
		t.Fatal(err)
	}
	picture, err := gif.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"REF 1  ORD-1001 / PO 1234567890123456789", "REF 2  SABCDEFGHJKMNPQRSTVWXYZ234"} {
		if got := readLine(picture, 40, 840+50*i, 4); got != want {
			t.Errorf("line %d says %q, want %q", i+1, got, want)
		}
	}
}
