package dhlexpress

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/waybillhq/waybill/internal/emulator"
)

// page is one page of a PDF: its size in points and what is drawn on it.
type page struct {
	wide, high int
	drawn      []byte
}

// text writes a line from the left, y points above the bottom.
func (p *page) text(x, y, size int, format string, args ...any) {
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

// bars draws content as a Code 128 symbol with modules of a point and a half.
func (p *page) bars(x, y, height int, content string) {
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

// pdf puts pages together: the catalogue, the pages, the font, and two objects
// for each page.
func pdf(pages []page) []byte {
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
		object("<</Type/Page/Parent 2 0 R/MediaBox[0 0 %d %d]/Resources<</Font<</F1 3 0 R>>>>/Contents %d 0 R>>", p.wide, p.high, 5+2*i)
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

// labelPage returns the label of one piece, A6.
func labelPage(sale emulator.Entry, k kept, piece string, i int, from, to party) page {
	p := page{wide: 298, high: 420}
	p.text(16, 392, 16, "DHL EXPRESS  %s", k.Product)
	p.text(16, 376, 8, "NOT A REAL LABEL")

	y := 356
	for _, side := range []struct {
		title string
		party
	}{{"From", from}, {"To", to}} {
		address := side.PostalAddress
		p.text(16, y, 8, "%s: %s, %s", side.title, side.ContactInformation.CompanyName, side.ContactInformation.FullName)
		p.text(16, y-12, 8, "%s", address.AddressLine1)
		p.text(16, y-24, 8, "%s %s %s", address.PostalCode, address.CityName, address.CountryCode)
		y -= 44
	}

	p.text(16, 256, 8, "Piece %d/%d   %.3f   %s", i+1, len(k.Pieces), k.Weights[i], k.Content)
	if len(k.References) > 0 {
		p.text(16, 244, 8, "Ref %s", k.References[0].Value)
	}
	p.bars(16, 160, 64, sale.Number)
	p.text(16, 148, 10, "WAYBILL %s", sale.Number)
	p.bars(16, 60, 64, piece)
	p.text(16, 48, 10, "%s", piece)
	return p
}

// invoicePage returns the invoice, A4. It holds at most 40 lines.
func (in shipment) invoicePage(sale emulator.Entry, k kept) page {
	p := page{wide: 595, high: 842}
	p.text(40, 790, 16, "COMMERCIAL INVOICE")
	p.text(40, 770, 10, "Waybill %s   %s to %s", sale.Number, k.From.CountryCode, k.To.CountryCode)

	items := in.Content.ExportDeclaration.LineItems
	for i, item := range items[:min(40, len(items))] {
		p.text(40, 740-16*i, 9, "%d  %s  %s", i+1, item.Description, item.Price)
	}
	return p
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
