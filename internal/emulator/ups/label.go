package ups

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/emulator"
)

// UPS draws a label of 4 by 6 inches at 200 dots per inch, rotated
// counterclockwise by 90 degrees: the top of the printed label is at the left
// of the picture. A white inch follows at the right.
const (
	labelWidth  = 800
	labelHeight = 1200
	imageWidth  = 1400
	imageHeight = labelWidth
)

// labelOf returns the label of one parcel, in base64. It depends on the sale
// alone.
func labelOf(number string, entry emulator.Entry) string {
	sale := keptOf(entry)
	c := make(canvas, imageWidth*imageHeight)
	c.write(40, 40, 8, "UPS "+entry.Service)
	c.write(40, 140, 5, "SHIP TO")
	c.write(40, 190, 6, sale.Receiver)
	c.write(40, 240, 6, strings.Join([]string{sale.To, sale.State, sale.Zip, sale.Country}, " "))
	c.fill(40, 320, labelWidth-80, 6)
	c.write(40, 360, 5, "TRACKING NUMBER")
	c.write(40, 410, 8, number)
	c.barcode(50, 500, 3, 240, number)
	c.fill(40, 800, labelWidth-80, 6)
	for i, reference := range sale.References {
		c.write(40, 840+50*i, 4, fmt.Sprintf("REF %d  %s", i+1, reference)) // there is room for 35 characters
	}
	c.write(40, 1120, 5, "EMULATED LABEL NOT FOR SHIPPING")
	return base64.StdEncoding.EncodeToString(c.gif())
}

// canvas is the picture that is sent, one byte per point: 0 is white, 1 is
// black. It is drawn on in the coordinates of the label as it is printed.
type canvas []byte

// fill blackens a box; anything outside the label is clipped.
func (c canvas) fill(x, y, width, height int) {
	for at := x; at < min(x+width, labelWidth); at++ {
		row := c[(imageHeight-1-at)*imageWidth:]
		for column := y; column < min(y+height, labelHeight); column++ {
			row[column] = 1
		}
	}
}

// glyphs are letters of three by five points, one octal digit per row.
var glyphs = map[rune]string{
	'0': "75557", '1': "26227", '2': "71747", '3': "71717", '4': "55711", '5': "74717", '6': "74757", '7': "71122",
	'8': "75757", '9': "75717", 'A': "25755", 'B': "65656", 'C': "34443", 'D': "65556", 'E': "74647", 'F': "74644",
	'G': "34553", 'H': "55755", 'I': "72227", 'J': "11152", 'K': "55655", 'L': "44447", 'M': "57755", 'N': "65555",
	'O': "25552", 'P': "65644", 'Q': "25563", 'R': "65655", 'S': "34216", 'T': "72222", 'U': "55557", 'V': "55552",
	'W': "55775", 'X': "55255", 'Y': "55222", 'Z': "71247", '-': "00700", '/': "11244",
}

// write draws text at a position; characters without a glyph stay blank.
func (c canvas) write(x, y, scale int, text string) {
	for _, r := range strings.ToUpper(text) {
		for row, bits := range glyphs[r] {
			for col := range 3 {
				if (bits-'0')>>(2-col)&1 == 1 && x+3*scale < labelWidth {
					c.fill(x+col*scale, y+row*scale, scale, scale)
				}
			}
		}
		x += 4 * scale
	}
}

// bars holds the six widths of each Code 128 word.
const bars = "212222222122222221121223121322131222122213122312132212221213221312231212112232122132122231113222123122123221223211221132" +
	"221231213212223112312131311222321122321221312212322112322211212123212321232121111323131123131321112313132113132311211313" +
	"231113231311112133112331132131113123113321133121313121211331231131213113213311213131311123311321331121312113312311332111" +
	"314111221411431111111224111422121124121421141122141221112214112412122114122411142112142211241211221114413111241112134111" +
	"111242121142121241114212124112124211411212421112421211212141214121412121111143111341131141114113114311411113411311113141" +
	"114131311141411131211412211214211232"

// barcode draws Code 128, set B.
func (c canvas) barcode(x, y, module, height int, text string) {
	const startB = 104

	words := []int{startB}
	sum := startB
	for i, r := range text {
		words = append(words, int(r-' '))
		sum += (i + 1) * int(r-' ')
	}
	widths := ""
	for _, word := range append(words, sum%103) {
		widths += bars[6*word : 6*word+6]
	}

	for i, r := range widths + "2331112" {
		width := int(r-'0') * module
		if i%2 == 0 {
			c.fill(x, y, width, height)
		}
		x += width
	}
}

// gif returns the picture as a GIF. It has its own encoder, because the one in
// the standard library takes longer than everything else that the emulator
// does.
func (c canvas) gif() []byte {
	var out bytes.Buffer
	out.WriteString("GIF89a")
	size := binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16(nil, imageWidth), imageHeight)
	out.Write(size)
	out.Write([]byte{0x80, 0, 0, 255, 255, 255, 0, 0, 0}) // two colours, white first
	out.Write([]byte{0x2c, 0, 0, 0, 0})
	out.Write(size)
	out.Write([]byte{0, 2}) // codes begin with two bits
	for data := range slices.Chunk(c.lzw(), 255) {
		out.WriteByte(byte(len(data)))
		out.Write(data)
	}
	out.Write([]byte{0, 0x3b})
	return out.Bytes()
}

// The codes of GIF that do not stand for strings, and the highest code.
const (
	clearCode = 4
	endCode   = 5
	last      = 4095
)

// A packer compresses with GIF's variant of LZW. Its table is a binary tree.
// The codes of all-white runs are also kept in a list, so that white areas are
// not walked point by point.
type packer struct {
	out         []byte
	bits, held  uint32
	width, next uint32
	tree        [last + 1][2]uint16
	white       []uint32 // the code of one point, of two, and so on
}

func (p *packer) reset() {
	p.width = 3
	p.next = endCode + 1
	p.white = append(p.white[:0], 0)
	clear(p.tree[:])
}

func (p *packer) emit(code uint32) {
	p.bits |= code << p.held
	for p.held += p.width; p.held >= 8; p.held -= 8 {
		p.out = append(p.out, byte(p.bits))
		p.bits >>= 8
	}
}

// learn writes the code of a string, and adds the string with one more point to
// the table.
func (p *packer) learn(at uint32, point byte) {
	p.emit(at)
	if p.next == last {
		p.emit(clearCode)
		p.reset()
		return
	}
	p.tree[at][point] = uint16(p.next)
	if point == 0 && at == p.white[len(p.white)-1] {
		p.white = append(p.white, p.next)
	}
	if p.next == 1<<p.width {
		p.width++
	}
	p.next++
}

// lzw compresses the points.
func (c canvas) lzw() []byte {
	p := &packer{out: make([]byte, 0, 16<<10)}
	p.width = 3
	p.emit(clearCode)
	p.reset()

	for i, black := 0, -1; i < len(c); { // position of the next black point
		if black < i {
			if black = bytes.IndexByte(c[i:], 1); black < 0 {
				black = len(c)
			} else {
				black += i
			}
		}

		// White is taken in the longest run that the table knows.
		at := uint32(c[i])
		if n := min(black-i, len(p.white)); n > 0 {
			at = p.white[n-1]
			i += n
		} else {
			i++
		}
		for i < len(c) && p.tree[at][c[i]] != 0 {
			at = uint32(p.tree[at][c[i]])
			i++
		}

		if i == len(c) {
			p.emit(at)
			break
		}
		p.learn(at, c[i])
	}
	p.emit(endCode)
	return append(p.out, byte(p.bits))
}

// invoicePDF returns a page that names the shipment, in base64.
func invoicePDF(number string) string {
	text := "BT /F1 18 Tf 72 720 Td (COMMERCIAL INVOICE " + number + ") Tj ET"
	objects := []string{
		"<</Type/Catalog/Pages 2 0 R>>",
		"<</Type/Pages/Kids[3 0 R]/Count 1>>",
		"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
		fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream", len(text), text),
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
	}
	var out bytes.Buffer
	out.WriteString("%PDF-1.4\n")
	table := "0000000000 65535 f \n"
	for i, o := range objects {
		table += fmt.Sprintf("%010d 00000 n \n", out.Len())
		fmt.Fprintf(&out, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	start := out.Len()
	fmt.Fprintf(&out, "xref\n0 %d\n%strailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, table, len(objects)+1, start)
	return base64.StdEncoding.EncodeToString(out.Bytes())
}
