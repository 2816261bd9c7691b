package label

import (
	"bytes"
	"encoding/base64"
	"strconv"
)

// The limits of a graphic in ZPL: 4 by 8 inches at 600 dpi.
const (
	maxGraphicRow   = 512     // bytes
	maxGraphicBytes = 2 << 20 // drawn
)

// lintGraphic checks the arguments of ^GF. Only text forms are let through:
// bytes could hold anything, prefixes too.
func lintGraphic(args []byte) error {
	parts := bytes.SplitN(args, []byte(","), 5)
	if len(parts) != 5 || !bytes.EqualFold(bytes.TrimSpace(parts[0]), []byte("A")) {
		return finding("zpl_graphic", "a graphic is not written as text")
	}
	var n [3]int // sent, drawn, a row
	for i := range n {
		v, err := strconv.Atoi(string(bytes.TrimSpace(parts[1+i])))
		if err != nil || v <= 0 || v > maxGraphicBytes {
			return finding("zpl_graphic", "a graphic has a size out of bounds")
		}
		n[i] = v
	}
	if n[2] > maxGraphicRow || n[1]/n[2] > maxZPLDots {
		return finding("zpl_graphic", "a graphic has a size out of bounds")
	}
	data := bytes.TrimSpace(parts[4])
	if bytes.HasPrefix(data, []byte(":")) {
		if packed, form, ok := encodedGraphic(data); ok {
			return lintEncoded(packed, form, n[1])
		}
	}
	return lintHex(data, n[1], n[2])
}

// encodedGraphic takes ":Z64:...:crc" apart. A colon may also repeat a row of
// the other form.
func encodedGraphic(data []byte) (packed []byte, form string, ok bool) {
	parts := bytes.Split(data, []byte(":"))
	if len(parts) != 4 || len(parts[3]) != 4 {
		return nil, "", false
	}
	form = string(bytes.ToUpper(parts[1]))
	return parts[2], form, form == "Z64" || form == "B64"
}

// lintEncoded unpacks as much as the graphic says it has.
func lintEncoded(text []byte, form string, size int) error {
	data := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(data, text) // skips line ends
	if err != nil {
		return finding("zpl_graphic", "a graphic cannot be decoded")
	}
	if data = data[:n]; form == "Z64" {
		if data, err = inflate(data, size); err != nil {
			return finding("zpl_graphic", "a graphic cannot be unpacked, or is larger than it says")
		}
	}
	if len(data) > size {
		return finding("zpl_graphic", "a graphic is larger than it says")
	}
	return nil
}

// lintHex follows the compressed form without writing it: digits with counts
// before them, commas and marks that fill a row, colons that repeat one.
func lintHex(data []byte, size, row int) error {
	drawn, count := 0, 0 // in digits
	for _, c := range data {
		switch {
		case c >= '0' && c <= '9', c >= 'A' && c <= 'F', c >= 'a' && c <= 'f':
			drawn += max(count, 1)
			count = 0
		case c >= 'G' && c <= 'Y':
			count += int(c - 'F')
		case c >= 'g' && c <= 'z':
			count += 20 * int(c-'f')
		case c == ',' || c == '!':
			drawn += 2*row - drawn%(2*row)
		case c == ':':
			drawn += 2 * row
		case c == '\n', c == '\r', c == ' ', c == '\t':
		default:
			return finding("zpl_graphic", "a graphic has characters that mean nothing in it")
		}
		if drawn > 4*size || count > 4*size { // some writers end full rows with a comma too
			return finding("zpl_graphic", "a graphic is larger than it says")
		}
	}
	return nil
}
