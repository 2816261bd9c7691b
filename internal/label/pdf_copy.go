package label

import (
	"math"
	"strconv"
)

// A sheet is paper that pages are placed on, in points.
type sheet struct {
	width, height float64
	margin        float64 // pages are centred if it is zero
}

func newSheet(size Size) *sheet {
	dimensions, _ := size.dimensions()
	paper := &sheet{
		width:  float64(dimensions.width) * 0.072,
		height: float64(dimensions.height) * 0.072,
	}
	if size.isSheet() {
		paper.margin = sheetMargin * 72 / 203.0
	}
	return paper
}

// minScale is how far a page may be reduced. Bar codes are printed with a
// tolerance of about that.
const minScale = 0.93

// matches reports whether the page has the size of the sheet, within 3 points.
func (s *sheet) matches(page pdfPage) bool {
	width, height := page.size()
	return math.Abs(width-s.width) < 3 && math.Abs(height-s.height) < 3
}

// A pagePosition is where a page is on a sheet.
type pagePosition struct {
	scale, x, y float64 // of the lower left corner as it is viewed
	rotate      int     // degrees clockwise, the page's own rotation included
}

// fit positions a page at its true size if the paper has room for it, turned if
// that helps, else a little smaller.
func (s *sheet) fit(page pdfPage) (pagePosition, bool) {
	if s.matches(page) {
		return pagePosition{scale: 1, rotate: page.rotate}, true
	}

	width, height := page.size()
	position := pagePosition{rotate: page.rotate}
	roomX := s.width - 2*s.margin
	roomY := s.height - 2*s.margin

	if upright := min(roomX/width, roomY/height); upright < 1 && min(roomX/height, roomY/width) > upright {
		width, height = height, width
		position.rotate = (position.rotate + 90) % 360

		// Undoing the page's own turn leaves the text upright.
		if page.rotate == 90 {
			position.rotate = 0
		}
	}

	position.scale = min(1, roomX/width, roomY/height)
	if s.margin > 0 {
		position.x = s.margin
		position.y = s.height - s.margin - height*position.scale
	} else {
		position.x = (s.width - width*position.scale) / 2
		position.y = (s.height - height*position.scale) / 2
	}
	return position, position.scale >= minScale
}

// matrix maps the page's own points to the paper.
func (p pagePosition) matrix(box [4]float64) [6]float64 {
	scale := p.scale
	left := scale * box[0]
	bottom := scale * box[1]
	right := scale * box[2]
	top := scale * box[3]

	switch p.rotate {
	case 90:
		return [6]float64{0, -scale, scale, 0, p.x - bottom, p.y + right}
	case 180:
		return [6]float64{-scale, 0, 0, -scale, p.x + right, p.y + top}
	case 270:
		return [6]float64{0, scale, -scale, 0, p.x + top, p.y - left}
	}
	return [6]float64{scale, 0, 0, scale, p.x - left, p.y - bottom}
}

// copyPDF writes the pages of all files into a new one, on the paper if there
// is one. Only what pages draw with is copied.
func copyPDF(files []*pdfFile, paper *sheet) []byte {
	// Objects 1 and 2 are the catalog and the list of pages, which are written
	// last.
	copier := pdfCopier{next: 3}
	copier.writer.out.WriteString("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")

	kids := ""
	count := 0
	for _, file := range files {
		copier.file = file
		copier.numbers = map[pdfRef]int{}
		for _, page := range file.pages {
			kids += strconv.Itoa(copier.copyPage(page, paper)) + " 0 R "
			count++
		}
		copier.copyPending()
	}

	copier.writer.beginNumber(1)
	copier.writer.out.WriteString("<</Type/Catalog/Pages 2 0 R/ViewerPreferences<</PrintScaling/None>>>>\nendobj\n")
	copier.writer.beginNumber(2)
	copier.writer.out.WriteString("<</Type/Pages/Count " + strconv.Itoa(count) + "/Kids[" + kids + "]>>\nendobj\n")
	return copier.writer.finish()
}

// beginNumber begins the object of a number.
func (w *pdfWriter) beginNumber(n int) {
	for len(w.offsets) < n {
		w.offsets = append(w.offsets, 0)
	}
	w.offsets[n-1] = w.out.Len()
	w.out.WriteString(strconv.Itoa(n) + " 0 obj\n")
}

// pdfCopier copies objects of one file after the other under new numbers.
type pdfCopier struct {
	writer  pdfWriter
	file    *pdfFile
	next    int
	numbers map[pdfRef]int // of the current file
	pending []pdfRef       // numbered and not yet written
}

// newNumber returns the number of a new object.
func (c *pdfCopier) newNumber() int {
	c.next++
	return c.next - 1
}

// copyPage writes a page and returns its number.
func (c *pdfCopier) copyPage(page pdfPage, paper *sheet) int {
	number := c.newNumber()
	before := c.newNumber()
	after := c.newNumber()

	// The page draws between a save and a restore, so that what it leaves behind
	// does not matter. On other paper it is clipped to its box, as it was on its
	// own.
	box := page.box
	rotate := page.rotate
	prologue := []byte("q\n")
	if paper != nil {
		position, _ := paper.fit(page)
		matrix := position.matrix(page.box)
		prologue = appendOp(prologue, "cm", matrix[:]...)
		prologue = appendOp(prologue, "re W n", page.box[0], page.box[1], page.box[2]-page.box[0], page.box[3]-page.box[1])
		box = [4]float64{0, 0, paper.width, paper.height}
		rotate = 0
	}
	c.writeStream(before, prologue)
	c.writeStream(after, []byte("\nQ\n"))

	body := []byte("<</Type/Page/Parent 2 0 R/MediaBox[")
	for _, side := range box {
		body = append(appendDecimal(body, side), ' ')
	}
	body = append(body, "]/Rotate "+strconv.Itoa(rotate)+"/Contents["+strconv.Itoa(before)+" 0 R "...)
	for _, ref := range page.contents {
		body = append(c.appendValue(body, ref), ' ')
	}
	body = append(body, strconv.Itoa(after)+" 0 R]/Resources "...)
	if page.resources == nil {
		page.resources = pdfDict{}
	}
	body = c.appendValue(body, page.resources)

	c.writer.beginNumber(number)
	c.writer.out.Write(append(body, ">>\nendobj\n"...))
	return number
}

func (c *pdfCopier) writeStream(number int, data []byte) {
	c.writer.beginNumber(number)
	c.writer.out.WriteString("<</Length " + strconv.Itoa(len(data)) + ">>stream\n")
	c.writer.out.Write(data)
	c.writer.out.WriteString("\nendstream\nendobj\n")
}

// copyPending writes the objects that were referred to, and those they refer
// to.
func (c *pdfCopier) copyPending() {
	for len(c.pending) > 0 {
		ref := c.pending[0]
		c.pending = c.pending[1:]

		object := c.file.objects[ref]
		if object.stream == nil {
			body := c.appendValue(nil, object.value)
			c.writer.beginNumber(c.numbers[ref])
			c.writer.out.Write(append(body, "\nendobj\n"...))
			continue
		}

		// The length may be a reference in the original.
		dict := pdfDict{{"Length", float64(len(object.stream))}}
		for _, entry := range object.dict() {
			if entry.key != "Length" {
				dict = append(dict, entry)
			}
		}
		body := c.appendValue(nil, dict)

		c.writer.beginNumber(c.numbers[ref])
		c.writer.out.Write(append(body, "stream\n"...))
		c.writer.out.Write(object.stream)
		c.writer.out.WriteString("\nendstream\nendobj\n")
	}
}

// appendValue appends a value, its references renumbered.
func (c *pdfCopier) appendValue(out []byte, value any) []byte {
	switch value := value.(type) {
	case bool:
		return strconv.AppendBool(out, value)

	case float64:
		return strconv.AppendFloat(out, value, 'f', -1, 64)

	case pdfString:
		return append(out, value...)

	case pdfName:
		return appendName(out, value)

	case pdfRef:
		number, known := c.numbers[value]
		if !known {
			number = c.newNumber()
			c.numbers[value] = number
			c.pending = append(c.pending, value)
		}
		return append(strconv.AppendInt(out, int64(number), 10), " 0 R"...)

	case pdfArray:
		out = append(out, '[')
		for _, item := range value {
			out = append(c.appendValue(out, item), ' ')
		}
		return append(out, ']')

	case pdfDict:
		out = append(out, "<<"...)
		for _, entry := range value {
			out = append(appendName(out, entry.key), ' ')
			out = append(c.appendValue(out, entry.value), ' ')
		}
		return append(out, ">>"...)
	}
	return append(out, "null"...)
}

func appendName(out []byte, name pdfName) []byte {
	out = append(out, '/')
	for i := range len(name) {
		if c := name[i]; isPDFRegular(c) && c > ' ' && c < 0x7f && c != '#' {
			out = append(out, c)
		} else {
			out = append(out, '#', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return out
}
