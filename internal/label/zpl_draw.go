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
	return fmt.Errorf("the ZPL command ^%s cannot be rendered by this service", command)
}

// ignoredCommands lists commands that change nothing on a label that is drawn
// here: how dark and fast it is printed, on what paper, comments and encodings.
var ignoredCommands = []string{"FX", "CI", "PR", "MD", "MM", "MN", "MT", "MC", "MF", "PQ", "PA", "SZ", "XB", "CV", "CF", "BY", "FW", "FP"}

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
	x, y   int // of the current field
	boxes  []rect
	images []zplImage
}

// zplImage is a graphic with its position.
type zplImage struct {
	*bitmap
	x, y int
}

// drawZPL draws the formats of a file that lintZPL accepted, for a printer of
// the resolution.
func drawZPL(zpl []byte, dpi int) ([]raster, error) {
	drawer := &zplDrawer{dpi: dpi}
	commands := zplLinter{rest: zpl}
	for commands.next() {
		if err := drawer.apply(commands.name, string(bytes.TrimSpace(commands.args))); err != nil {
			return nil, err
		}
	}
	return drawer.pages, commands.err
}

// apply applies one command.
func (d *zplDrawer) apply(name, args string) error {
	numbers := zplNumbers(args)
	number := func(i, fallback int) int {
		if i < len(numbers) && numbers[i] >= 0 {
			return numbers[i]
		}
		return fallback
	}

	switch name {
	case "XA":
		// Nothing of the last format carries over but the pages.
		paper, _ := Size4x6.dimensions()
		*d = zplDrawer{
			dpi:    d.dpi,
			pages:  d.pages,
			width:  dotsOf(paper.width, d.dpi),
			height: dotsOf(paper.height, d.dpi),
		}
	case "XZ":
		return d.finishFormat()

	case "PW":
		d.width = number(0, d.width)
	case "LL":
		d.height = number(0, d.height)
	case "LH":
		d.homeX = number(0, 0)
		d.homeY = number(1, 0)

	case "FO":
		d.x = number(0, 0)
		d.y = number(1, 0)
		if number(2, 0) != 0 {
			return undrawable("FO with an alignment")
		}
	case "FS":
		d.x = 0
		d.y = 0
	case "GB":
		return d.drawBox(args)
	case "GF":
		return d.drawGraphic(args)

	// These move, turn or invert the whole label unless they are off.
	case "PO", "PM", "LR", "LS", "LT":
		if args != "" && args != "N" && args != "0" {
			return undrawable(name)
		}
	default:
		if !slices.Contains(ignoredCommands, name) {
			return undrawable(name)
		}
	}
	return nil
}

// zplNumbers reads a list of numbers. An argument that is not a number is -1.
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

// drawBox draws a frame or, if its border fills it, a box.
func (d *zplDrawer) drawBox(args string) error {
	parts := strings.Split(args, ",")
	numbers := zplNumbers(args)
	border := 1
	if len(numbers) > 2 && numbers[2] > 0 {
		border = numbers[2]
	}
	if len(parts) > 3 && parts[3] != "" && parts[3] != "B" || len(parts) > 4 && parts[4] != "" && parts[4] != "0" {
		return undrawable("GB that is white or rounded")
	}

	// A box is at least as large as its border.
	width := border
	if len(numbers) > 0 {
		width = max(numbers[0], border)
	}
	height := border
	if len(numbers) > 1 {
		height = max(numbers[1], border)
	}

	x := d.homeX + d.x
	y := d.homeY + d.y
	across := min(border, height)
	down := min(border, width)
	d.boxes = append(d.boxes,
		rect{x, y, width, across},
		rect{x, y + height - across, width, across},
		rect{x, y, down, height},
		rect{x + width - down, y, down, height},
	)
	return nil
}

// drawGraphic decodes the arguments of ^GF, which lintGraphic accepted.
func (d *zplDrawer) drawGraphic(args string) error {
	parts := strings.SplitN(args, ",", 5)
	if len(parts) != 5 {
		return undrawable("GF")
	}
	size := zplNumbers(parts[2])[0]
	row := zplNumbers(parts[3])[0]
	if size <= 0 || row <= 0 || row > maxGraphicRow || size > maxGraphicBytes {
		return undrawable("GF")
	}

	data := []byte(strings.TrimSpace(parts[4]))
	var bits []byte
	if packed, encoding, ok := encodedGraphic(data); ok {
		bits = make([]byte, base64.StdEncoding.DecodedLen(len(packed)))
		n, err := base64.StdEncoding.Decode(bits, packed)
		if err != nil {
			return undrawable("GF")
		}
		if bits = bits[:n]; encoding == "Z64" {
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
// before it, a comma and an exclamation mark fill the row with white and black,
// a colon repeats the row before.
func unpackHex(data []byte, size, row int) []byte {
	digits := make([]byte, 0, 2*size)
	count := 0
	add := func(digit byte, n int) {
		for range min(n, 2*size-len(digits)) {
			digits = append(digits, digit)
		}
	}

	for _, char := range data {
		column := len(digits) % (2 * row)
		switch {
		case char >= '0' && char <= '9', char >= 'A' && char <= 'F', char >= 'a' && char <= 'f':
			digit, _ := strconv.ParseUint(string(char), 16, 8)
			add(byte(digit), max(count, 1))
			count = 0
		case char >= 'G' && char <= 'Y':
			count += int(char - 'F')
		case char >= 'g' && char <= 'z':
			count += 20 * int(char-'f')
		case char == ',':
			add(0, 2*row-column)
		case char == '!':
			add(15, 2*row-column)
		case char == ':' && len(digits) >= 2*row:
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

// finishFormat draws what the current format collected as a page.
func (d *zplDrawer) finishFormat() error {
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
