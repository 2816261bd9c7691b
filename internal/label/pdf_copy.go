package label

import (
	"math"
	"strconv"
)

// A sheet is paper that pages are laid on, in points.
type sheet struct {
	width, height float64
	margin        float64 // zero centres
}

func newSheet(s Size) *sheet {
	paper, _ := s.dimensions()
	out := &sheet{width: float64(paper.width) * 0.072, height: float64(paper.height) * 0.072}
	if s.isSheet() {
		out.margin = sheetMargin * 72 / 203.0
	}
	return out
}

// leastScale is how far a page may be made smaller. Bar codes are printed
// with a tolerance of about that.
const leastScale = 0.93

// like reports whether the page already is of the size.
func (s *sheet) like(p pdfPage) bool {
	w, h := p.size()
	return math.Abs(w-s.width) < 3 && math.Abs(h-s.height) < 3
}

// A lay is where a page comes to lie.
type lay struct {
	scale, x, y float64 // the lower left corner as it is looked at
	rotate      int     // degrees clockwise, the page's own included
}

// fit lays a page at its true size if the paper has room for it, turned if
// that helps, else a little smaller.
func (s *sheet) fit(p pdfPage) (lay, bool) {
	if s.like(p) {
		return lay{scale: 1, rotate: p.rotate}, true
	}
	w, h := p.size()
	l := lay{rotate: p.rotate}
	roomW, roomH := s.width-2*s.margin, s.height-2*s.margin
	if upright := min(roomW/w, roomH/h); upright < 1 && min(roomW/h, roomH/w) > upright {
		w, h = h, w
		l.rotate = (l.rotate + 90) % 360
		if p.rotate == 90 {
			l.rotate = 0 // undone, a turn leaves the words upright
		}
	}
	l.scale = min(1, roomW/w, roomH/h)
	if s.margin > 0 {
		l.x, l.y = s.margin, s.height-s.margin-h*l.scale
	} else {
		l.x, l.y = (s.width-w*l.scale)/2, (s.height-h*l.scale)/2
	}
	return l, l.scale >= leastScale
}

// matrix maps the page's own points to the paper.
func (l lay) matrix(box [4]float64) [6]float64 {
	s := l.scale
	left, bottom, right, top := s*box[0], s*box[1], s*box[2], s*box[3]
	switch l.rotate {
	case 90:
		return [6]float64{0, -s, s, 0, l.x - bottom, l.y + right}
	case 180:
		return [6]float64{-s, 0, 0, -s, l.x + right, l.y + top}
	case 270:
		return [6]float64{0, s, -s, 0, l.x + top, l.y - left}
	}
	return [6]float64{s, 0, 0, s, l.x - left, l.y - bottom}
}

// copyPDF writes the pages of all files into a new one, on the paper if there
// is one. Only what pages draw with is copied.
func copyPDF(files []*pdfFile, paper *sheet) []byte {
	c := pdfCopier{next: 3}
	c.out.out.WriteString("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
	kids, count := "", 0
	for _, f := range files {
		c.file, c.numbers = f, map[pdfRef]int{}
		for _, p := range f.pages {
			kids += strconv.Itoa(c.page(p, paper)) + " 0 R "
			count++
		}
		c.drain()
	}
	c.out.at(1)
	c.out.out.WriteString("<</Type/Catalog/Pages 2 0 R/ViewerPreferences<</PrintScaling/None>>>>\nendobj\n")
	c.out.at(2)
	c.out.out.WriteString("<</Type/Pages/Count " + strconv.Itoa(count) + "/Kids[" + kids + "]>>\nendobj\n")
	return c.out.finish()
}

// at begins the object of a number.
func (w *pdfWriter) at(n int) {
	for len(w.offsets) < n {
		w.offsets = append(w.offsets, 0)
	}
	w.offsets[n-1] = w.out.Len()
	w.out.WriteString(strconv.Itoa(n) + " 0 obj\n")
}

// pdfCopier copies objects of one file after the other under new numbers.
type pdfCopier struct {
	out     pdfWriter
	file    *pdfFile
	next    int
	numbers map[pdfRef]int // of the file at hand
	waiting []pdfRef       // numbered and not yet written
}

func (c *pdfCopier) number() int {
	c.next++
	return c.next - 1
}

// page writes a page and returns its number.
func (c *pdfCopier) page(p pdfPage, paper *sheet) int {
	n := c.number()
	before, after := c.number(), c.number()
	box, rotate := p.box, p.rotate
	draw := []byte("q\n")
	if paper != nil {
		l, _ := paper.fit(p)
		m := l.matrix(p.box)
		draw = appendOp(draw, "cm", m[:]...)
		draw = appendOp(draw, "re W n", p.box[0], p.box[1], p.box[2]-p.box[0], p.box[3]-p.box[1])
		box, rotate = [4]float64{0, 0, paper.width, paper.height}, 0
	}
	c.stream(before, draw)
	c.stream(after, []byte("\nQ\n"))

	b := []byte("<</Type/Page/Parent 2 0 R/MediaBox[")
	for _, v := range box {
		b = append(appendDecimal(b, v), ' ')
	}
	b = append(b, "]/Rotate "+strconv.Itoa(rotate)+"/Contents["+strconv.Itoa(before)+" 0 R "...)
	for _, ref := range p.contents {
		b = append(c.value(b, ref), ' ')
	}
	b = append(b, strconv.Itoa(after)+" 0 R]/Resources "...)
	if p.resources == nil {
		p.resources = pdfDict{}
	}
	b = c.value(b, p.resources)
	c.out.at(n)
	c.out.out.Write(append(b, ">>\nendobj\n"...))
	return n
}

func (c *pdfCopier) stream(n int, data []byte) {
	c.out.at(n)
	c.out.out.WriteString("<</Length " + strconv.Itoa(len(data)) + ">>stream\n")
	c.out.out.Write(data)
	c.out.out.WriteString("\nendstream\nendobj\n")
}

// drain writes the objects that were referred to, and those they refer to.
func (c *pdfCopier) drain() {
	for len(c.waiting) > 0 {
		ref := c.waiting[0]
		c.waiting = c.waiting[1:]
		o := c.file.objects[ref]
		if o.stream == nil {
			body := c.value(nil, o.value)
			c.out.at(c.numbers[ref])
			c.out.out.Write(append(body, "\nendobj\n"...))
			continue
		}
		d := pdfDict{{"Length", float64(len(o.stream))}}
		for _, e := range o.dict() {
			if e.key != "Length" {
				d = append(d, e)
			}
		}
		body := c.value(nil, d)
		c.out.at(c.numbers[ref])
		c.out.out.Write(append(body, "stream\n"...))
		c.out.out.Write(o.stream)
		c.out.out.WriteString("\nendstream\nendobj\n")
	}
}

// value writes a value, its references renumbered.
func (c *pdfCopier) value(b []byte, v any) []byte {
	switch v := v.(type) {
	case bool:
		return strconv.AppendBool(b, v)
	case float64:
		return strconv.AppendFloat(b, v, 'f', -1, 64)
	case pdfString:
		return append(b, v...)
	case pdfName:
		return appendName(b, v)
	case pdfRef:
		n, known := c.numbers[v]
		if !known {
			n = c.number()
			c.numbers[v] = n
			c.waiting = append(c.waiting, v)
		}
		return append(strconv.AppendInt(b, int64(n), 10), " 0 R"...)
	case pdfArray:
		b = append(b, '[')
		for _, item := range v {
			b = append(c.value(b, item), ' ')
		}
		return append(b, ']')
	case pdfDict:
		b = append(b, "<<"...)
		for _, e := range v {
			b = append(appendName(b, e.key), ' ')
			b = append(c.value(b, e.value), ' ')
		}
		return append(b, ">>"...)
	}
	return append(b, "null"...)
}

func appendName(b []byte, name pdfName) []byte {
	b = append(b, '/')
	for i := range len(name) {
		if c := name[i]; isPDFRegular(c) && c > ' ' && c < 0x7f && c != '#' {
			b = append(b, c)
		} else {
			b = append(b, '#', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return b
}
