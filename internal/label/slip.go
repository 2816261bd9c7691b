package label

import (
	"bytes"
	"image"
	"image/draw"
	"image/png"
	"strconv"

	"github.com/go-text/typesetting/language"

	"github.com/waybillhq/waybill/internal/ship"
)

// A PackingSlip lists what is in a parcel, for whoever opens it. It has no prices.
// An empty text is not printed.
type PackingSlip struct {
	Sample bool // prints "SAMPLE - NOT FOR SHIPPING"
	From   []string
	To     []string    // address lines as printed
	Facts  [][2]string // order number, carrier and the like: a name and its value
	Items  []SlipItem  // none if the goods were not declared
}

// A SlipItem is one line of goods.
type SlipItem struct {
	Description string
	SKU         string
	Quantity    int
}

// slipMeasures are the measures of a slip on one size of paper, in dots of 203 to
// the inch.
type slipMeasures struct {
	left, right, top, bottom int
	title, body, small       int // sizes of text
	logoWidth, logoHeight    int // at most
}

func slipMeasuresOf(size Size) slipMeasures {
	if size.isSheet() {
		return slipMeasures{
			left: paperLeft, right: paperRight, top: paperTop, bottom: paperBottom,
			title: 52, body: 30, small: 22,
			logoWidth: 640, logoHeight: 150,
		}
	}
	return slipMeasures{
		left: 40, right: 772, top: 50, bottom: 1170,
		title: 34, body: 26, small: 19,
		logoWidth: 330, logoHeight: 90,
	}
}

// RenderPackingSlips writes slips into one PDF file, each on pages of its own. The
// logo is a PNG; nil for none.
func (r *Renderer) RenderPackingSlips(slips []PackingSlip, size Size, logo []byte) (Rendering, error) {
	if size == "" {
		size = Size4x6
	}
	paper, ok := size.dimensions()
	if !ok || size == SizeA6 {
		return Rendering{}, ship.InvalidFields([]ship.FieldError{{Pointer: "/size", Code: "invalid", Detail: "must be 4x6, a4 or letter"}})
	}

	writer := &slipWriter{paper: paper, measures: slipMeasuresOf(size)}
	if logo != nil {
		decoded, err := png.Decode(bytes.NewReader(logo))
		if err != nil {
			return Rendering{}, ship.Errorf(ship.Internal, "stored logo is not readable: %w", err)
		}
		writer.logo = newPicture(decoded)
	}
	for _, slip := range slips {
		writer.writeSlip(slip)
	}

	pen := &pen{renderer: r}
	defer pen.release()
	data := writePDF(writer.scenes, pen)
	return Rendering{Data: data, Missing: pen.missingRunes()}, nil
}

// slipWriter lays slips out, from top to bottom.
type slipWriter struct {
	paper    dimensions
	measures slipMeasures
	logo     *pdfPicture
	language language.Language
	slip     PackingSlip
	scenes   []scene
	y        int // the next baseline
}

func (w *slipWriter) writeSlip(slip PackingSlip) {
	w.slip = slip
	w.language = languageOf(slip.To, slip.From)
	w.beginPage()
	w.writeParties()
	w.writeFacts()
	w.writeItems()
}

func (w *slipWriter) page() *scene { return &w.scenes[len(w.scenes)-1] }

// beginPage begins a page with the logo, or the sender's name, and the title.
func (w *slipWriter) beginPage() {
	m := w.measures
	w.scenes = append(w.scenes, scene{
		paper:  w.paper,
		dpi:    203,
		width:  dotsOf(w.paper.width, 203),
		height: dotsOf(w.paper.height, 203),
	})
	w.y = m.top
	if w.slip.Sample {
		w.write(sampleMark, m.left, m.right-m.left, m.small, true)
		w.y += m.small
	}

	middle := m.left + (m.right-m.left)*11/20
	switch {
	case w.logo != nil:
		width, height := w.logo.fit(m.logoWidth, m.logoHeight)
		page := w.page()
		page.pictures = append(page.pictures, placedPicture{rect{m.left, w.y, width, height}, w.logo})
		w.y += max(height, m.title)
	case len(w.slip.From) > 0:
		w.y += m.title
		w.write(w.slip.From[0], m.left, middle-m.left-20, m.body*6/5, true)
	default:
		w.y += m.title
	}
	w.write("PACKING SLIP", middle, m.right-middle, m.title, true)
	w.drawRule()
	w.y += m.body * 2
}

// writeParties writes who the parcel goes to, and who sends it, side by side.
func (w *slipWriter) writeParties() {
	m := w.measures
	middle := m.left + (m.right-m.left)*11/20
	top := w.y
	lowest := w.y
	for _, party := range []struct {
		title    string
		lines    []string
		x, width int
		size     int
	}{
		{"SHIP TO", w.slip.To, m.left, middle - m.left - 20, m.body},
		{"FROM", w.slip.From, middle, m.right - middle, m.body * 4 / 5},
	} {
		w.y = top
		w.write(party.title, party.x, party.width, m.small, false)
		for _, line := range cleanLines(party.lines) {
			w.y += lineHeight(party.size)
			w.write(line, party.x, party.width, party.size, false)
		}
		lowest = max(lowest, w.y)
	}
	w.y = lowest + m.body*2
}

// writeFacts writes the order number and the like.
func (w *slipWriter) writeFacts() {
	m := w.measures
	names := (m.right - m.left) * 3 / 10
	for _, fact := range w.slip.Facts {
		if clean(fact[1]) == "" {
			continue
		}
		w.write(fact[0], m.left, names-20, m.body*9/10, false)
		w.write(fact[1], m.left+names, m.right-m.left-names, m.body*9/10, true)
		w.y += lineHeight(m.body)
	}
	w.y += m.body
}

// writeItems writes the table of goods and how many there are.
func (w *slipWriter) writeItems() {
	m := w.measures
	if len(w.slip.Items) == 0 {
		w.drawRule()
		w.y += m.body * 2
		w.write("The contents of this parcel were not declared.", m.left, m.right-m.left, m.body, false)
		return
	}

	w.writeColumns()
	total := 0
	for _, item := range w.slip.Items {
		w.writeItem(item)
		total += item.Quantity
	}

	w.drawRule()
	w.breakPage(3 * m.body)
	w.y += lineHeight(m.body) + m.body
	w.write(strconv.Itoa(total), m.left, w.quantityWidth(), m.body, true)
	w.write("Total", m.left+w.quantityWidth()+20, 300, m.body, true)
}

func (w *slipWriter) quantityWidth() int { return (w.measures.right - w.measures.left) / 8 }

// writeColumns writes the names of the columns.
func (w *slipWriter) writeColumns() {
	m := w.measures
	w.write("Qty", m.left, w.quantityWidth(), m.small, false)
	w.write("Item", m.left+w.quantityWidth()+20, 400, m.small, false)
	w.drawRule()
	w.y += m.small
}

// writeItem writes an item, its description on as many lines as it needs, and its
// SKU below.
func (w *slipWriter) writeItem(item SlipItem) {
	m := w.measures
	x := m.left + w.quantityWidth() + 20
	width := m.right - x
	lines := wrap(cleanLines([]string{item.Description}), float64(width)/float64(m.body))
	height := len(lines) * lineHeight(m.body)
	if item.SKU != "" {
		height += lineHeight(m.small)
	}
	w.breakPage(height + m.body/2)

	w.y += m.body / 4
	for i, line := range lines {
		w.y += lineHeight(m.body)
		if i == 0 {
			w.write(strconv.Itoa(item.Quantity), m.left, w.quantityWidth(), m.body, true)
		}
		w.write(line, x, width, m.body, false)
	}
	if item.SKU != "" {
		w.y += lineHeight(m.small)
		w.write("SKU "+item.SKU, x, width, m.small, false)
	}
}

// breakPage begins another page of the slip if what follows has no room on this
// one.
func (w *slipWriter) breakPage(height int) {
	if w.y+height <= w.measures.bottom {
		return
	}
	w.beginPage()
	w.writeColumns()
}

// write puts a line on the current baseline. Text that is too long is narrowed.
func (w *slipWriter) write(content string, x, width, size int, bold bool) {
	if content = clean(content); content == "" {
		return
	}
	page := w.page()
	page.texts = append(page.texts, text{
		content:  content,
		x:        x,
		y:        w.y,
		width:    width,
		size:     size,
		bold:     bold,
		language: w.language,
	})
}

// drawRule draws a horizontal rule, a little below the current baseline.
func (w *slipWriter) drawRule() {
	page := w.page()
	page.rects = append(page.rects, rect{w.measures.left, w.y + 14, w.measures.right - w.measures.left, 2})
}

// pdfPicture is a picture in colour, as a PDF file holds it.
type pdfPicture struct {
	width, height int
	pixels        []byte // red, green, blue
}

// newPicture takes a picture as it looks on white paper.
func newPicture(from image.Image) *pdfPicture {
	bounds := from.Bounds()
	canvas := image.NewRGBA(image.Rect(0, 0, bounds.Dx(), bounds.Dy()))
	draw.Draw(canvas, canvas.Bounds(), image.White, image.Point{}, draw.Src)
	draw.Draw(canvas, canvas.Bounds(), from, bounds.Min, draw.Over)

	pixels := make([]byte, 0, 3*bounds.Dx()*bounds.Dy())
	for i := 0; i < len(canvas.Pix); i += 4 {
		pixels = append(pixels, canvas.Pix[i:i+3]...)
	}
	return &pdfPicture{bounds.Dx(), bounds.Dy(), pixels}
}

// fit returns the size in dots of the picture inside a box, with its proportions.
func (p *pdfPicture) fit(width, height int) (int, int) {
	if p.width*height > p.height*width {
		return width, max(p.height*width/p.width, 1)
	}
	return max(p.width*height/p.height, 1), height
}

// placedPicture is a picture on a page.
type placedPicture struct {
	rect
	*pdfPicture
}
