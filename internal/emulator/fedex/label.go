package fedex

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"
)

// A label is four by six inches at 200 dots per inch, one bit per dot.
const (
	width, height = 800, 1200
	stride        = width / 8
)

// canvas is a picture; a set bit is black.
type canvas [height][stride]byte

func (c *canvas) fill(x, y, width, height int) {
	for row := y; row < y+height; row++ {
		for column := x; column < x+width; column++ {
			c[row][column/8] |= 0x80 >> (column % 8)
		}
	}
}

// printed are the references that FedEx prints on labels, by their names there.
var printed = []struct{ kind, name string }{
	{"CUSTOMER_REFERENCE", "REF"},
	{"INVOICE_NUMBER", "INV"},
	{"P_O_NUMBER", "PO"},
	{"DEPARTMENT_NUMBER", "DEPT"},
	{"RMA_ASSOCIATION", "RMA"},
}

// picture draws the label of a piece: its number in bars and in digits, its
// position in the shipment, its references, and a frame.
func picture(number string, position, total int, references []reference) []byte {
	var c canvas
	line := 320
	for _, known := range printed {
		for _, given := range references {
			if given.Type == known.kind {
				c.write(40, line, 3, strings.ToUpper(known.name+": "+given.Value))
				line += 40
			}
		}
	}

	for _, side := range [][4]int{{8, 8, 784, 4}, {8, 1188, 784, 4}, {8, 8, 4, 1184}, {788, 8, 4, 1184}, {8, 600, 784, 4}} {
		c.fill(side[0], side[1], side[2], side[3])
	}
	c.write(60, 80, 5, fmt.Sprintf("%d/%d", position, total))

	const module = 4
	x := 120
	for i, bar := range bars(number) {
		if i%2 == 0 {
			c.fill(x, 700, bar*module, 260)
		}
		x += bar * module
	}
	c.write(130, 1000, 8, number)
	return c.png()
}

// glyphs are digits, capital letters and a few signs of five by seven dots, one
// byte per row.
var glyphs = map[rune][7]byte{
	'0': {14, 17, 19, 21, 25, 17, 14}, '1': {4, 12, 4, 4, 4, 4, 14}, '2': {14, 17, 1, 2, 4, 8, 31}, '3': {31, 2, 4, 2, 1, 17, 14},
	'4': {2, 6, 10, 18, 31, 2, 2}, '5': {31, 16, 30, 1, 1, 17, 14}, '6': {6, 8, 16, 30, 17, 17, 14}, '7': {31, 1, 2, 4, 8, 8, 8},
	'8': {14, 17, 17, 14, 17, 17, 14}, '9': {14, 17, 17, 15, 1, 2, 12}, '/': {0, 1, 2, 4, 8, 16, 0},
	'A': {14, 17, 17, 31, 17, 17, 17},
	'B': {30, 17, 17, 30, 17, 17, 30},
	'C': {14, 17, 16, 16, 16, 17, 14},
	'D': {30, 17, 17, 17, 17, 17, 30},
	'E': {31, 16, 16, 30, 16, 16, 31},
	'F': {31, 16, 16, 30, 16, 16, 16},
	'G': {14, 17, 16, 23, 17, 17, 15},
	'H': {17, 17, 17, 31, 17, 17, 17},
	'I': {14, 4, 4, 4, 4, 4, 14},
	'J': {7, 2, 2, 2, 2, 18, 12},
	'K': {17, 18, 20, 24, 20, 18, 17},
	'L': {16, 16, 16, 16, 16, 16, 31},
	'M': {17, 27, 21, 21, 17, 17, 17},
	'N': {17, 25, 21, 19, 17, 17, 17},
	'O': {14, 17, 17, 17, 17, 17, 14},
	'P': {30, 17, 17, 30, 16, 16, 16},
	'Q': {14, 17, 17, 17, 21, 18, 13},
	'R': {30, 17, 17, 30, 20, 18, 17},
	'S': {15, 16, 16, 14, 1, 1, 30},
	'T': {31, 4, 4, 4, 4, 4, 4},
	'U': {17, 17, 17, 17, 17, 17, 14},
	'V': {17, 17, 17, 17, 17, 10, 4},
	'W': {17, 17, 17, 21, 21, 27, 17},
	'X': {17, 17, 10, 4, 10, 17, 17},
	'Y': {17, 17, 10, 4, 4, 4, 4},
	'Z': {31, 1, 2, 4, 8, 16, 31},
	'-': {0, 0, 0, 31, 0, 0, 0},
	':': {0, 4, 0, 0, 4, 0, 0},
	'.': {0, 0, 0, 0, 0, 12, 12},
	'_': {0, 0, 0, 0, 0, 0, 31},
	'#': {10, 10, 31, 10, 31, 10, 10},
}

func (c *canvas) write(x, y, scale int, text string) {
	for _, r := range text {
		for row, dots := range glyphs[r] {
			for col := range 5 {
				if dots&(16>>col) != 0 {
					c.fill(x+col*scale, y+row*scale, scale, scale)
				}
			}
		}
		x += 6 * scale
	}
}

// patterns are the widths of the bars and spaces of Code 128, by value.
const patterns = "212222222122222221121223121322131222122213122312132212221213221312231212112232122132122231113222123122123221223211221132221231" +
	"213212223112312131311222321122321221312212322112322211212123212321232121111323131123131321112313132113132311211313231113231311" +
	"112133112331132131113123113321133121313121211331231131213113213311213131311123311321331121312113312311332111314111221411431111" +
	"111224111422121124121421141122141221112214112412122114122411142112142211241211221114413111241112134111111242121142121241114212" +
	"124112124211411212421112421211212141214121412121111143111341131141114113114311411113411311113141114131311141411131"

// bars returns the widths of the bars and spaces of a number with an even count
// of digits, in Code 128 C, starting with a bar.
func bars(number string) []int {
	const startC, stop = 105, "2331112"

	values := []int{startC}
	for i := 0; i+1 < len(number); i += 2 {
		values = append(values, int(number[i]-'0')*10+int(number[i+1]-'0'))
	}
	check := startC
	for i, value := range values[1:] {
		check += (i + 1) * value
	}

	var widths []int
	add := func(pattern string) {
		for _, width := range pattern {
			widths = append(widths, int(width-'0'))
		}
	}
	for _, value := range append(values, check%103) {
		if value == startC {
			add("211232")
			continue
		}
		add(patterns[value*6 : value*6+6])
	}
	add(stop)
	return widths
}

// png writes the picture.
func (c *canvas) png() []byte {
	var data bytes.Buffer
	packed, err := zlib.NewWriterLevel(&data, zlib.BestSpeed)
	if err != nil {
		panic(err) // the level is valid
	}

	// Every row is stored as the difference from the one above, which is mostly
	// zero and compresses well.
	var above [stride]byte
	line := make([]byte, 1+stride)
	for y := range c {
		line[0] = 2 // up
		for i, dots := range c[y] {
			line[1+i] = ^dots - above[i] // in PNG a set bit is white
			above[i] = ^dots
		}
		_, _ = packed.Write(line)
	}
	_ = packed.Close()

	header := binary.BigEndian.AppendUint32(nil, width)
	header = binary.BigEndian.AppendUint32(header, height)
	header = append(header, 1, 0, 0, 0, 0) // one bit, grey
	out := []byte("\x89PNG\r\n\x1a\n")
	out = chunk(out, "IHDR", header)
	out = chunk(out, "IDAT", data.Bytes())
	return chunk(out, "IEND", nil)
}

func chunk(out []byte, kind string, data []byte) []byte {
	out = binary.BigEndian.AppendUint32(out, uint32(len(data)))
	begin := len(out)
	out = append(append(out, kind...), data...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[begin:]))
}

// invoice returns a commercial invoice of one page.
func invoice(number string) []byte { return page("COMMERCIAL INVOICE " + number) }

// page returns a PDF of one page with one line.
func page(line string) []byte {
	text := fmt.Sprintf("BT /F1 18 Tf 72 700 Td (%s) Tj ET", line)
	objects := []string{
		"<</Type/Catalog/Pages 2 0 R>>",
		"<</Type/Pages/Kids[3 0 R]/Count 1>>",
		"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
		fmt.Sprintf("<</Length %d>>stream\n%s\nendstream", len(text), text),
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
	}

	out := []byte("%PDF-1.4\n")
	table := "0000000000 65535 f \n"
	for i, content := range objects {
		table += fmt.Sprintf("%010d 00000 n \n", len(out))
		out = fmt.Appendf(out, "%d 0 obj%s endobj\n", i+1, content)
	}
	start := len(out)
	return fmt.Appendf(out, "xref\n0 %d\n%strailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, table, len(objects)+1, start)
}
