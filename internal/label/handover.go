package label

import (
	"strconv"

	"github.com/waybillhq/waybill/internal/ship"
)

// A HandoverSheet lists parcels that are handed over to a carrier's driver, who
// signs for them. An empty text is not printed.
type HandoverSheet struct {
	Sample  bool // prints "SAMPLE - NOT FOR SHIPPING"
	Size    Size // letter or a4; letter if empty
	Carrier string
	Number  string
	Date    string
	From    []string // address lines as printed
	Pieces  int
	Weight  string // of all
	Lines   []HandoverLine
}

// HandoverLine is one shipment.
type HandoverLine struct {
	Numbers []string // tracking numbers, of all pieces
	Service string
	Weight  string
}

// handoverRow is the height of a line, in dots of 203 to the inch.
const handoverRow = 44

// RenderHandoverSheet writes the sheet as a PDF, as many pages as its lines need.
func (r *Renderer) RenderHandoverSheet(sheet HandoverSheet) (Rendering, error) {
	if sheet.Size == "" {
		sheet.Size = SizeLetter
	}
	paper, ok := sheet.Size.dimensions()
	if !ok || !sheet.Size.isSheet() {
		return Rendering{}, ship.Errorf(ship.Invalid, "a hand-over sheet is printed on letter or a4")
	}

	writer := &handoverWriter{sheet: sheet, paperWriter: paperWriter{
		isSample: sheet.Sample,
		paper:    paper,
		language: languageOf(sheet.From),
	}}
	writer.writeHead()
	for i, line := range sheet.Lines {
		writer.writeLine(i+1, line)
	}
	writer.writeSignatures()

	pen := &pen{renderer: r}
	defer pen.release()
	data := writePDF(writer.scenes, pen)
	return Rendering{Data: data, Missing: pen.missingRunes()}, nil
}

// handoverWriter lays a sheet out, from top to bottom.
type handoverWriter struct {
	paperWriter
	sheet HandoverSheet
}

// writeHead writes the title, the sender and the sums, and begins the table. The
// sums come first: the driver counts before signing on the last page.
func (w *handoverWriter) writeHead() {
	w.beginPage()
	w.write("HAND-OVER SHEET", paperLeft, 900, 56, true)
	w.write(w.sheet.Carrier, 1000, paperRight-1000, 44, true)
	w.drawRule()

	w.y += 70
	top := w.y
	w.write("SENDER", paperLeft, 700, 22, false)
	for _, line := range cleanLines(w.sheet.From) {
		w.y += 40
		w.write(line, paperLeft, 700, 30, false)
	}
	bottom := w.y

	w.y = top
	for _, fact := range [][2]string{
		{"Number", w.sheet.Number},
		{"Ship date", w.sheet.Date},
		{"Shipments", strconv.Itoa(len(w.sheet.Lines))},
		{"Parcels", strconv.Itoa(w.sheet.Pieces)},
		{"Weight", w.sheet.Weight},
	} {
		if fact[1] == "" {
			continue
		}
		w.write(fact[0], 860, 200, 28, false)
		w.write(fact[1], 1070, paperRight-1070, 28, true)
		w.y += 42
	}

	w.y = max(bottom, w.y) + 80
	w.writeColumns()
}

// writeColumns writes the names of the columns.
func (w *handoverWriter) writeColumns() {
	w.writeRow([4]string{"", "Tracking number", "Service", "Weight"}, true)
	w.drawRule()
	w.y += 16
}

func (w *handoverWriter) writeRow(cells [4]string, bold bool) {
	for i, column := range [...]struct{ x, width int }{{100, 90}, {200, 620}, {840, 520}, {1380, 220}} {
		w.write(cells[i], column.x, column.width, 28, bold)
	}
}

// writeLine writes a shipment, one row a piece, on a new page if this one is full.
func (w *handoverWriter) writeLine(position int, line HandoverLine) {
	for i, number := range line.Numbers {
		w.y += handoverRow
		if w.y > paperBottom {
			w.beginPage()
			w.writeColumns()
			w.y += handoverRow
		}

		cells := [4]string{"", number, "", ""}
		if i == 0 {
			cells = [4]string{strconv.Itoa(position), number, line.Service, line.Weight}
		}
		w.writeRow(cells, false)
	}
}

// writeSignatures writes where the driver signs.
func (w *handoverWriter) writeSignatures() {
	w.drawRule()
	if w.y+260 > paperBottom {
		w.beginPage()
	}

	w.y += 180
	page := &w.scenes[len(w.scenes)-1]
	for i, name := range []string{"Driver: name and signature", "Date and time"} {
		x := paperLeft + i*900
		page.rects = append(page.rects, rect{x, w.y, 600, 2})
		w.y += 40
		w.write(name, x, 600, 22, false)
		w.y -= 40
	}
}
