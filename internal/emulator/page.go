package emulator

import (
	"bytes"
	"fmt"
	"strings"
)

// Carriers send labels and forms as PDF files. This is as much of the format as
// the emulators need: text in the built-in font, and bar codes.

// A Page is one page of a PDF: its size in points and what is drawn on it.
type Page struct {
	Wide, High int
	drawn      []byte
}

// Text writes a line from the left, y points above the bottom.
func (p *Page) Text(x, y, size int, format string, args ...any) {
	var safe []byte
	for _, r := range fmt.Sprintf(format, args...) {
		switch {
		case r < ' ' || r > 0x7e && r < 0xa0 || r > 0xff:
			r = '?' // the built-in font has no other characters
		case strings.ContainsRune(`\()`, r):
			safe = append(safe, '\\')
		}
		safe = append(safe, byte(r))
	}
	p.drawn = fmt.Appendf(p.drawn, "BT /F1 %d Tf %d %d Td (%s) Tj ET\n", size, x, y, safe)
}

// Bars draws content as a Code 128 symbol with modules of a point and a half.
func (p *Page) Bars(x, y, height int, content string) {
	left := float64(x)
	isBar := true
	for _, modules := range code128(content) {
		width := float64(modules-'0') * 1.5
		if isBar {
			p.drawn = fmt.Appendf(p.drawn, "%.1f %d %.1f %d re f\n", left, y, width, height)
		}
		left += width
		isBar = !isBar
	}
}

// PDF puts pages together: the catalogue, the pages, the font, and two objects
// for each page.
func PDF(pages ...Page) []byte {
	var out bytes.Buffer
	var offsets []int
	object := func(format string, args ...any) {
		offsets = append(offsets, out.Len())
		fmt.Fprintf(&out, "%d 0 obj\n", len(offsets))
		fmt.Fprintf(&out, format, args...)
		out.WriteString("\nendobj\n")
	}

	// Objects are numbered in the order in which they are written: page i is
	// object 4+2i, and its content the one after it.
	out.WriteString("%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
	object("<</Type/Catalog/Pages 2 0 R>>")
	kids := make([]string, len(pages))
	for i := range pages {
		kids[i] = fmt.Sprintf("%d 0 R", 4+2*i)
	}
	object("<</Type/Pages/Count %d/Kids[%s]>>", len(pages), strings.Join(kids, " "))
	object("<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>")
	for i := range pages {
		p := &pages[i]
		object("<</Type/Page/Parent 2 0 R/MediaBox[0 0 %d %d]/Resources<</Font<</F1 3 0 R>>>>/Contents %d 0 R>>", p.Wide, p.High, 5+2*i)
		object("<</Length %d>>\nstream\n%s\nendstream", len(p.drawn), p.drawn)
	}

	table := out.Len()
	fmt.Fprintf(&out, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, offset := range offsets {
		fmt.Fprintf(&out, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&out, "trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, table)
	return out.Bytes()
}

// code128 returns the widths of the bars and spaces of a symbol, from start to
// stop. An even number of digits at the end of content is encoded two digits to
// a code word; everything before it is encoded as single characters.
func code128(content string) string {
	// Pairs of digits take half the width, so an odd digit is encoded with the
	// letters.
	letters := strings.TrimRight(content, "0123456789")
	if n := len(content) - len(letters); n%2 == 1 {
		letters = content[:len(letters)+1]
	}

	words := []int{105} // start with digits
	if letters != "" {
		words[0] = 104 // start with letters
		for _, r := range letters {
			words = append(words, int(r-' '))
		}
		if len(letters) < len(content) {
			words = append(words, 99) // switch to digits
		}
	}
	for rest := content[len(letters):]; rest != ""; rest = rest[2:] {
		words = append(words, int(rest[0]-'0')*10+int(rest[1]-'0'))
	}

	// The check word is the sum of all words, each multiplied by its position,
	// modulo 103.
	sum := words[0]
	for i, word := range words[1:] {
		sum += (i + 1) * word
	}

	var out strings.Builder
	for _, word := range append(words, sum%103) {
		out.WriteString(widths[word*6 : word*6+6])
	}
	return out.String() + "2331112"
}

// widths are the bars and spaces of the words 0 to 105, six digits each.
const widths = "" +
	"212222222122222221121223121322131222122213122312132212221213221312231212112232122132122231113222123122123221223211221132" +
	"221231213212223112312131311222321122321221312212322112322211212123212321232121111323131123131321112313132113132311211313" +
	"231113231311112133112331132131113123113321133121313121211331231131213113213311213131311123311321331121312113312311332111" +
	"314111221411431111111224111422121124121421141122141221112214112412122114122411142112142211241211221114413111241112134111" +
	"111242121142121241114212124112124211411212421112421211212141214121412121111143111341131141114113114311411113411311113141" +
	"114131311141411131211412211214211232"
