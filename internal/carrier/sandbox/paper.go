package sandbox

import (
	"bytes"
	"fmt"
	"strings"
)

// A paper is a document that a simulated carrier prints, on letter paper. Like the
// papers of the real carriers it has nothing of ours: its text is in the font that
// every PDF reader has, so equal papers are equal bytes on every host. Characters
// that this font lacks are question marks.
type paper struct {
	title string
	facts []fact
	list  []string // such as tracking numbers, in columns
}

// fact is a name with its value.
type fact struct{ name, value string }

// The measures of a paper, in points.
const (
	paperWidth   = 612
	paperHeight  = 792
	paperLeft    = 48
	paperTop     = 740
	paperBottom  = 48
	paperRow     = 14
	paperColumns = 3
	paperColumn  = 176
	paperPages   = 40 // at most
)

// pdf returns the paper as a file. What does not fit on its pages is counted.
func (p paper) pdf() []byte {
	var pages [][]byte
	var page []byte
	y := paperTop
	write := func(x, size int, text string) {
		page = fmt.Appendf(page, "BT /F1 %d Tf %d %d Td (%s) Tj ET\n", size, x, y, latin1(text))
	}

	write(paperLeft, 12, "SAMPLE - NOT FOR SHIPPING")
	y -= 36
	write(paperLeft, 20, p.title)
	y -= 24
	for _, stated := range p.facts {
		write(paperLeft, 10, stated.name)
		write(paperLeft+120, 10, stated.value)
		y -= paperRow
	}

	y -= paperRow
	for i := 0; i < len(p.list); i += paperColumns {
		if y < paperBottom {
			pages = append(pages, page)
			page = nil
			y = paperTop
		}
		if len(pages) == paperPages-1 && y < paperBottom+paperRow {
			write(paperLeft, 10, fmt.Sprintf("and %d more", len(p.list)-i))
			break
		}

		for column, text := range p.list[i:min(i+paperColumns, len(p.list))] {
			write(paperLeft+column*paperColumn, 10, text)
		}
		y -= paperRow
	}
	return pdfOf(append(pages, page))
}

// latin1 returns text as a PDF string has it.
func latin1(text string) []byte {
	var safe []byte
	for _, r := range text {
		switch {
		case r < ' ', r > '~' && r < 0xa0, r > 0xff:
			r = '?'
		case strings.ContainsRune(`\()`, r):
			safe = append(safe, '\\')
		}
		safe = append(safe, byte(r))
	}
	return safe
}

// pdfOf puts pages together: the catalogue, the pages, the font, and two objects
// for each page. Objects are numbered in the order in which they are written, so
// page i is object 4+2i, and its content the one after it.
func pdfOf(pages [][]byte) []byte {
	var file bytes.Buffer
	var offsets []int
	object := func(format string, args ...any) {
		offsets = append(offsets, file.Len())
		fmt.Fprintf(&file, "%d 0 obj\n", len(offsets))
		fmt.Fprintf(&file, format, args...)
		file.WriteString("\nendobj\n")
	}

	kids := make([]string, len(pages))
	for i := range pages {
		kids[i] = fmt.Sprintf("%d 0 R", 4+2*i)
	}
	file.WriteString("%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
	object("<</Type/Catalog/Pages 2 0 R>>")
	object("<</Type/Pages/Count %d/Kids[%s]>>", len(pages), strings.Join(kids, " "))
	object("<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>")
	for i, page := range pages {
		object("<</Type/Page/Parent 2 0 R/MediaBox[0 0 %d %d]/Resources<</Font<</F1 3 0 R>>>>/Contents %d 0 R>>",
			paperWidth, paperHeight, 5+2*i)
		object("<</Length %d>>\nstream\n%s\nendstream", len(page), page)
	}

	table := file.Len()
	fmt.Fprintf(&file, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, offset := range offsets {
		fmt.Fprintf(&file, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&file, "trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, table)
	return file.Bytes()
}
