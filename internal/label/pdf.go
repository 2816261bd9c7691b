package label

import (
	"bytes"
	"strconv"

	"github.com/go-text/typesetting/font"
	"github.com/go-text/typesetting/font/opentype"
)

// writePDF writes a page for each scene. Text is drawn as outlines, so every
// script looks the same everywhere and no font is embedded. There are no
// dates, links, scripts or forms in the file.
func writePDF(scenes []scene, p *pen) []byte {
	w := pdfWriter{pen: p, paths: map[glyphKey][]byte{}}
	w.out.WriteString("%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
	// Printing at the true size keeps bar codes readable.
	w.object("<</Type/Catalog/Pages 2 0 R/ViewerPreferences<</PrintScaling/None>>>>")
	kids := ""
	for i := range scenes {
		kids += strconv.Itoa(3+2*i) + " 0 R "
	}
	w.object("<</Type/Pages/Count " + strconv.Itoa(len(scenes)) + "/Kids[" + kids + "]>>")
	for i, s := range scenes {
		width := appendDecimal(nil, float64(s.paper.width)*0.072)
		height := appendDecimal(nil, float64(s.paper.height)*0.072)
		w.object("<</Type/Page/Parent 2 0 R/MediaBox[0 0 " + string(width) + " " + string(height) +
			"]/Resources<<>>/Contents " + strconv.Itoa(4+2*i) + " 0 R>>")
		w.stream(w.content(s))
	}
	return w.finish()
}

// pdfWriter collects the file and where its objects begin.
type pdfWriter struct {
	out     bytes.Buffer
	offsets []int
	pen     *pen
	paths   map[glyphKey][]byte
	page    []byte
}

type glyphKey struct {
	face *font.Face
	id   font.GID
}

func (w *pdfWriter) begin() {
	w.offsets = append(w.offsets, w.out.Len())
	w.out.WriteString(strconv.Itoa(len(w.offsets)) + " 0 obj\n")
}

func (w *pdfWriter) object(body string) {
	w.begin()
	w.out.WriteString(body + "\nendobj\n")
}

func (w *pdfWriter) stream(content []byte) {
	var packed bytes.Buffer
	z := w.pen.typesetter().deflater(&packed)
	_, _ = z.Write(content) // to memory
	_ = z.Close()
	w.begin()
	w.out.WriteString("<</Filter/FlateDecode/Length " + strconv.Itoa(packed.Len()) + ">>stream\n")
	w.out.Write(packed.Bytes())
	w.out.WriteString("\nendstream\nendobj\n")
}

func (w *pdfWriter) finish() []byte {
	table := w.out.Len()
	count := strconv.Itoa(len(w.offsets) + 1)
	w.out.WriteString("xref\n0 " + count + "\n0000000000 65535 f \n")
	for _, at := range w.offsets {
		digits := strconv.Itoa(at)
		w.out.WriteString("0000000000"[len(digits):] + digits + " 00000 n \n")
	}
	w.out.WriteString("trailer\n<</Size " + count + "/Root 1 0 R>>\nstartxref\n" + strconv.Itoa(table) + "\n%%EOF\n")
	return w.out.Bytes()
}

// content draws a scene in dots with the origin at the lower left.
func (w *pdfWriter) content(s scene) []byte {
	b := w.page[:0]
	scale := 72 / float64(s.dpi)
	b = appendOp(b, "cm", scale, 0, 0, scale, 0, 0)
	for _, r := range s.rects {
		b = appendOp(b, "re", float64(r.x), float64(s.height-r.y-r.h), float64(r.w), float64(r.h))
	}
	for _, c := range s.codes {
		c.symbol.bars(func(at, width int) {
			b = appendOp(b, "re", float64(c.x+at*c.module), float64(s.height-c.y-c.height),
				float64(width*c.module), float64(c.height))
		})
	}
	b = append(b, "f\n"...)
	for _, t := range s.texts {
		b = w.text(b, t, s.height)
	}
	w.page = b
	return b
}

// text draws a line in font units: a glyph is then the same bytes wherever it
// stands, which is what makes the file small.
func (w *pdfWriter) text(b []byte, t text, height int) []byte {
	l := w.pen.set(t)
	at := t.fit(l.width)
	if t.white {
		b = append(b, "1 g\n"...)
	}
	for _, run := range l.runs {
		b = append(b, "q\n"...)
		b = appendOp(b, "cm", at.sx/run.upem, 0, 0, at.sy/run.upem, at.x, float64(height)-at.y)
		for _, g := range run.glyphs {
			dx, dy := float64(g.XOffset)/64, float64(g.YOffset)/64
			if dx != 0 || dy != 0 {
				b = appendOp(b, "cm", 1, 0, 0, 1, dx, dy)
			}
			b = append(b, w.path(run.face, g.GlyphID)...)
			b = appendOp(b, "cm", 1, 0, 0, 1, float64(g.Advance)/64-dx, -dy)
			at.x += float64(g.Advance) / 64 / run.upem * at.sx
		}
		b = append(b, "Q\n"...)
	}
	if t.white {
		b = append(b, "0 g\n"...)
	}
	return b
}

// path is the outline of a glyph, filled.
func (w *pdfWriter) path(face *font.Face, id font.GID) []byte {
	key := glyphKey{face, id}
	if path, ok := w.paths[key]; ok {
		return path
	}
	var b []byte
	data, _ := face.GlyphDataOutline(id)
	var x, y float64 // where the pen is, to raise quadratic curves to cubic ones
	for _, s := range data.Segments {
		args := s.ArgsSlice()
		end := args[len(args)-1]
		switch s.Op {
		case opentype.SegmentOpMoveTo:
			b = appendPoints(b, "m", args...)
		case opentype.SegmentOpLineTo:
			b = appendPoints(b, "l", args...)
		case opentype.SegmentOpQuadTo:
			qx, qy := float64(args[0].X), float64(args[0].Y)
			ex, ey := float64(end.X), float64(end.Y)
			b = appendRound(b, "c", x+(qx-x)*2/3, y+(qy-y)*2/3, ex+(qx-ex)*2/3, ey+(qy-ey)*2/3, ex, ey)
		case opentype.SegmentOpCubeTo:
			b = appendPoints(b, "c", args...)
		}
		x, y = float64(end.X), float64(end.Y)
	}
	if len(b) > 0 {
		b = append(b, "f\n"...)
	}
	w.paths[key] = b
	return b
}
