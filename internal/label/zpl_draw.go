package label

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// CanRender reports whether this host can draw a carrier's ZPL faithfully: PDF
// and PNG of it then scan as the printed label does. The error names the first
// command that cannot be drawn.
//
// Graphics and boxes can. Printers' own fonts and bar codes cannot: their
// shapes are the printer's, and a label that looks a little different may not
// scan. A driver buys native ZPL only if this returns nil for what the carrier
// sells, else it buys another format and ZPL is derived from that.
func CanRender(zpl []byte) error {
	if err := lintZPL(zpl); err != nil {
		return err
	}
	_, err := drawZPL(zpl, 203)
	return err
}

// undrawable is the error for a command that cannot be drawn faithfully.
func undrawable(command string) error {
	return fmt.Errorf("the ZPL command ^%s cannot be drawn on this host", command)
}

// settled lists commands that change nothing on a label that is drawn here:
// how dark and fast it is printed, on what paper, comments and encodings.
var settled = []string{"FX", "CI", "PR", "MD", "MM", "MN", "MT", "MC", "MF", "PQ", "PA", "SZ", "XB", "CV", "CF", "BY", "FW", "FP"}

// maxZPLSide bounds the picture of a label: 4 by 8 inches at 600 dpi.
const maxZPLSide = 4800

// zplDrawer follows the commands of formats.
type zplDrawer struct {
	dpi    int
	pages  []raster
	width  int
	height int
	homeX  int
	homeY  int
	x, y   int // of the field at hand
	boxes  []rect
	images []zplImage
}

// zplImage is a graphic with its place.
type zplImage struct {
	*bitmap
	x, y int
}

// drawZPL draws the formats of a file that lintZPL let through, for a printer
// of the resolution.
func drawZPL(zpl []byte, dpi int) ([]raster, error) {
	d := &zplDrawer{dpi: dpi}
	l := zplLinter{rest: zpl}
	for l.next() {
		if err := d.command(l.name, string(bytes.TrimSpace(l.args))); err != nil {
			return nil, err
		}
	}
	return d.pages, l.err
}

func (d *zplDrawer) command(name, args string) error {
	numbers := zplNumbers(args)
	at := func(i, otherwise int) int {
		if i < len(numbers) && numbers[i] >= 0 {
			return numbers[i]
		}
		return otherwise
	}
	switch name {
	case "XA":
		paper, _ := Size4x6.dimensions()
		*d = zplDrawer{dpi: d.dpi, pages: d.pages, width: dotsOf(paper.width, d.dpi), height: dotsOf(paper.height, d.dpi)}
	case "XZ":
		return d.finish()
	case "PW":
		d.width = at(0, d.width)
	case "LL":
		d.height = at(0, d.height)
	case "LH":
		d.homeX, d.homeY = at(0, 0), at(1, 0)
	case "FO":
		d.x, d.y = at(0, 0), at(1, 0)
		if at(2, 0) != 0 {
			return undrawable("FO with an alignment")
		}
	case "FS":
		d.x, d.y = 0, 0
	case "GB":
		return d.box(args)
	case "GF":
		return d.graphic(args)
	case "PO", "PM", "LR", "LS", "LT":
		if args != "" && args != "N" && args != "0" {
			return undrawable(name)
		}
	default:
		if !slices.Contains(settled, name) {
			return undrawable(name)
		}
	}
	return nil
}

// zplNumbers reads a list of numbers; what is none is -1.
func zplNumbers(args string) []int {
	var list []int
	for part := range strings.SplitSeq(args, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil {
			n = -1
		}
		list = append(list, n)
	}
	return list
}

// box draws a frame or, if its border fills it, a box.
func (d *zplDrawer) box(args string) error {
	parts := strings.Split(args, ",")
	numbers := zplNumbers(args)
	thick := 1
	if len(numbers) > 2 && numbers[2] > 0 {
		thick = numbers[2]
	}
	if len(parts) > 3 && parts[3] != "" && parts[3] != "B" || len(parts) > 4 && parts[4] != "" && parts[4] != "0" {
		return undrawable("GB that is white or rounded")
	}
	width, height := thick, thick
	if len(numbers) > 0 {
		width = max(numbers[0], thick)
	}
	if len(numbers) > 1 {
		height = max(numbers[1], thick)
	}

	x, y := d.homeX+d.x, d.homeY+d.y
	across, down := min(thick, height), min(thick, width)
	d.boxes = append(d.boxes,
		rect{x, y, width, across},
		rect{x, y + height - across, width, across},
		rect{x, y, down, height},
		rect{x + width - down, y, down, height},
	)
	return nil
}

// graphic decodes the arguments of ^GF, which lintGraphic let through.
func (d *zplDrawer) graphic(args string) error {
	parts := strings.SplitN(args, ",", 5)
	if len(parts) != 5 {
		return undrawable("GF")
	}
	size, row := zplNumbers(parts[2])[0], zplNumbers(parts[3])[0]
	if size <= 0 || row <= 0 || row > maxGraphicRow || size > maxGraphicBytes {
		return undrawable("GF")
	}
	data := []byte(strings.TrimSpace(parts[4]))
	var bits []byte
	if packed, form, ok := encodedGraphic(data); ok {
		bits = make([]byte, base64.StdEncoding.DecodedLen(len(packed)))
		n, err := base64.StdEncoding.Decode(bits, packed)
		if err != nil {
			return undrawable("GF")
		}
		if bits = bits[:n]; form == "Z64" {
			if bits, err = inflate(bits, size); err != nil {
				return undrawable("GF")
			}
		}
	} else {
		bits = unpackHex(data, size, row)
	}

	image := newBitmap(8*row, size/row)
	copy(image.bits, bits)
	d.images = append(d.images, zplImage{image, d.homeX + d.x, d.homeY + d.y})
	return nil
}

// unpackHex decodes the compressed hexadecimal form: a digit may have counts
// before it, a comma and a mark fill the row with white and black, a colon
// repeats the row before.
func unpackHex(data []byte, size, row int) []byte {
	digits := make([]byte, 0, 2*size)
	count := 0
	add := func(digit byte, n int) {
		for range min(n, 2*size-len(digits)) {
			digits = append(digits, digit)
		}
	}
	for _, c := range data {
		at := len(digits) % (2 * row)
		switch {
		case c >= '0' && c <= '9', c >= 'A' && c <= 'F', c >= 'a' && c <= 'f':
			value, _ := strconv.ParseUint(string(c), 16, 8)
			add(byte(value), max(count, 1))
			count = 0
		case c >= 'G' && c <= 'Y':
			count += int(c - 'F')
		case c >= 'g' && c <= 'z':
			count += 20 * int(c-'f')
		case c == ',':
			add(0, 2*row-at)
		case c == '!':
			add(15, 2*row-at)
		case c == ':' && len(digits) >= 2*row:
			above := digits[len(digits)-2*row:]
			digits = append(digits, above[:min(len(above), 2*size-len(digits))]...)
		}
	}
	out := make([]byte, size)
	for i, digit := range digits {
		out[i/2] |= digit << (4 * (1 - i%2))
	}
	return out
}

// finish draws the format at hand.
func (d *zplDrawer) finish() error {
	if d.width < 1 || d.height < 1 || d.width > maxZPLSide || d.height > maxZPLSide {
		return undrawable("PW or LL of this size")
	}
	if len(d.pages) == maxPages {
		return finding("too_large", "the label has more than %d pages", maxPages)
	}
	page := newBitmap(d.width, d.height)
	for _, box := range d.boxes {
		page.fill(box)
	}
	for _, image := range d.images {
		page.paste(image.bitmap, image.x, image.y)
	}
	d.pages = append(d.pages, raster{page, d.dpi})
	return nil
}
