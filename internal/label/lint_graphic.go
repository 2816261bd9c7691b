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

// lintGraphic checks the arguments of ^GF. Only the text forms are accepted:
// binary data could contain anything, command prefixes included.
func lintGraphic(args []byte) error {
	parts := bytes.SplitN(args, []byte(","), 5)
	if len(parts) != 5 || !bytes.EqualFold(bytes.TrimSpace(parts[0]), []byte("A")) {
		return finding("zpl_graphic", "a graphic is in binary form")
	}

	var sizes [3]int // bytes sent, bytes drawn, bytes of a row
	for i := range sizes {
		size, err := strconv.Atoi(string(bytes.TrimSpace(parts[1+i])))
		if err != nil || size <= 0 || size > maxGraphicBytes {
			return finding("zpl_graphic", "the size of a graphic is out of range")
		}
		sizes[i] = size
	}
	drawn := sizes[1]
	row := sizes[2]
	if row > maxGraphicRow || drawn/row > maxZPLDots {
		return finding("zpl_graphic", "the size of a graphic is out of range")
	}

	data := bytes.TrimSpace(parts[4])
	if bytes.HasPrefix(data, []byte(":")) {
		if packed, encoding, ok := encodedGraphic(data); ok {
			return lintEncoded(packed, encoding, drawn)
		}
	}
	return lintHex(data, drawn, row)
}

// encodedGraphic takes ":Z64:...:crc" apart. It is not ok for the hexadecimal
// form, in which a colon may come first too: it repeats a row there.
func encodedGraphic(data []byte) (packed []byte, encoding string, ok bool) {
	parts := bytes.Split(data, []byte(":"))
	if len(parts) != 4 || len(parts[3]) != 4 {
		return nil, "", false
	}
	encoding = string(bytes.ToUpper(parts[1]))
	return parts[2], encoding, encoding == "Z64" || encoding == "B64"
}

// lintEncoded decodes a graphic, and at most as much of it as it declares.
func lintEncoded(packed []byte, encoding string, size int) error {
	data := make([]byte, base64.StdEncoding.DecodedLen(len(packed)))
	n, err := base64.StdEncoding.Decode(data, packed) // skips line ends
	if err != nil {
		return finding("zpl_graphic", "a graphic cannot be decoded")
	}

	if data = data[:n]; encoding == "Z64" {
		if data, err = inflate(data, size); err != nil {
			return finding("zpl_graphic", "a graphic cannot be decompressed, or is larger than declared")
		}
	}
	if len(data) > size {
		return finding("zpl_graphic", "a graphic is larger than declared")
	}
	return nil
}

// lintHex follows the compressed form without writing it: digits with counts
// before them, commas and exclamation marks that fill a row, colons that
// repeat one.
func lintHex(data []byte, size, row int) error {
	// Both are numbers of digits, of which a byte has two.
	drawn := 0
	count := 0

	for _, char := range data {
		switch {
		case char >= '0' && char <= '9', char >= 'A' && char <= 'F', char >= 'a' && char <= 'f':
			drawn += max(count, 1)
			count = 0
		case char >= 'G' && char <= 'Y':
			count += int(char - 'F')
		case char >= 'g' && char <= 'z':
			count += 20 * int(char-'f')
		case char == ',' || char == '!':
			drawn += 2*row - drawn%(2*row)
		case char == ':':
			drawn += 2 * row
		case char == '\n', char == '\r', char == ' ', char == '\t':
		default:
			return finding("zpl_graphic", "a graphic contains invalid characters")
		}

		// Twice the declared size is allowed, because some writers end full rows
		// with a comma too.
		if drawn > 4*size || count > 4*size {
			return finding("zpl_graphic", "a graphic is larger than declared")
		}
	}
	return nil
}
