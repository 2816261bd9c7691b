package label

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/go-text/typesetting/font"
	"github.com/go-text/typesetting/font/opentype"
)

// writePDF writes a page for each scene. Text is drawn as outlines, so every
// script looks the same everywhere and no font is embedded. There are no
// dates, links, scripts or forms in the file.
func writePDF(scenes []scene, pen *pen) []byte {
	writer := pdfWriter{pen: pen, paths: map[glyphKey][]byte{}}
	writer.out.WriteString("%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")

	// Printing at the true size keeps bar codes readable.
	writer.writeObject("<</Type/Catalog/Pages 2 0 R/ViewerPreferences<</PrintScaling/None>>>>")

	kids := ""
	for i := range scenes {
		kids += strconv.Itoa(3+2*i) + " 0 R "
	}
	writer.writeObject("<</Type/Pages/Count " + strconv.Itoa(len(scenes)) + "/Kids[" + kids + "]>>")

	// Pictures follow the pages; each is in the file once, however often it is
	// shown.
	writer.firstPicture = 3 + 2*len(scenes)
	for i, scene := range scenes {
		width := appendDecimal(nil, float64(scene.paper.width)*0.072)
		height := appendDecimal(nil, float64(scene.paper.height)*0.072)
		content := writer.drawScene(scene)
		writer.writeObject("<</Type/Page/Parent 2 0 R/MediaBox[0 0 " + string(width) + " " + string(height) +
			"]/Resources<<" + writer.pictureResources(scene) + ">>/Contents " + strconv.Itoa(4+2*i) + " 0 R>>")
		writer.writeStream(content)
	}
	for _, picture := range writer.pictures {
		writer.writePicture(picture)
	}
	return writer.finish()
}

// pdfWriter collects the file and the offsets of its objects.
type pdfWriter struct {
	out     bytes.Buffer
	offsets []int
	pen     *pen
	paths   map[glyphKey][]byte
	page    []byte

	pictures     []*pdfPicture
	firstPicture int // the number of its object
}

type glyphKey struct {
	face *font.Face
	id   font.GID
}

// begin begins the next object.
func (w *pdfWriter) begin() {
	w.offsets = append(w.offsets, w.out.Len())
	w.out.WriteString(strconv.Itoa(len(w.offsets)) + " 0 obj\n")
}

func (w *pdfWriter) writeObject(body string) {
	w.begin()
	w.out.WriteString(body + "\nendobj\n")
}

func (w *pdfWriter) writeStream(content []byte) { w.writeStreamWith("", content) }

// writeStreamWith writes a stream with further entries of its dictionary.
func (w *pdfWriter) writeStreamWith(entries string, content []byte) {
	var packed bytes.Buffer
	deflater := w.pen.typesetter().deflater(&packed)
	_, _ = deflater.Write(content) // to memory
	_ = deflater.Close()

	w.begin()
	w.out.WriteString("<<" + entries + "/Filter/FlateDecode/Length " + strconv.Itoa(packed.Len()) + ">>stream\n")
	w.out.Write(packed.Bytes())
	w.out.WriteString("\nendstream\nendobj\n")
}

// finish writes the table of objects and returns the file.
func (w *pdfWriter) finish() []byte {
	table := w.out.Len()
	count := strconv.Itoa(len(w.offsets) + 1)
	w.out.WriteString("xref\n0 " + count + "\n0000000000 65535 f \n")
	for _, offset := range w.offsets {
		digits := strconv.Itoa(offset)
		w.out.WriteString("0000000000"[len(digits):] + digits + " 00000 n \n")
	}

	w.out.WriteString("trailer\n<</Size " + count + "/Root 1 0 R>>\nstartxref\n" + strconv.Itoa(table) + "\n%%EOF\n")
	return w.out.Bytes()
}

// drawScene draws a scene in dots with the origin at the lower left.
func (w *pdfWriter) drawScene(scene scene) []byte {
	page := w.page[:0]
	scale := 72 / float64(scene.dpi)
	page = appendOp(page, "cm", scale, 0, 0, scale, 0, 0)

	for _, box := range scene.rects {
		page = appendOp(page, "re", float64(box.x), float64(scene.height-box.y-box.h), float64(box.w), float64(box.h))
	}
	for _, code := range scene.codes {
		code.symbol.bars(func(at, width int) {
			page = appendOp(page, "re", float64(code.x+at*code.module), float64(scene.height-code.y-code.height),
				float64(width*code.module), float64(code.height))
		})
	}
	page = append(page, "f\n"...)

	for _, placed := range scene.pictures {
		page = append(page, "q\n"...)
		page = appendOp(page, "cm", float64(placed.w), 0, 0, float64(placed.h), float64(placed.x), float64(scene.height-placed.y-placed.h))
		page = append(page, "/P"+strconv.Itoa(w.pictureNumber(placed.pdfPicture))+" Do\nQ\n"...)
	}

	// Text comes last: white text is drawn on black boxes.
	for _, line := range scene.texts {
		page = w.appendText(page, line, scene.height)
	}
	w.page = page
	return page
}

// pictureNumber returns the number of a picture's object.
func (w *pdfWriter) pictureNumber(wanted *pdfPicture) int {
	i := slices.Index(w.pictures, wanted)
	if i < 0 {
		i = len(w.pictures)
		w.pictures = append(w.pictures, wanted)
	}
	return w.firstPicture + i
}

// pictureResources names the pictures of a page.
func (w *pdfWriter) pictureResources(scene scene) string {
	if len(scene.pictures) == 0 {
		return ""
	}
	list := ""
	for _, placed := range scene.pictures {
		number := strconv.Itoa(w.pictureNumber(placed.pdfPicture))
		list += "/P" + number + " " + number + " 0 R"
	}
	return "/XObject<<" + list + ">>"
}

// writePicture writes the object of a picture.
func (w *pdfWriter) writePicture(picture *pdfPicture) {
	w.writeStreamWith("/Type/XObject/Subtype/Image/Width "+strconv.Itoa(picture.width)+"/Height "+strconv.Itoa(picture.height)+
		"/ColorSpace/DeviceRGB/BitsPerComponent 8", picture.pixels)
}

// appendText draws a line in font units. A glyph is then the same bytes
// wherever it is drawn, which keeps the file small once it is compressed.
func (w *pdfWriter) appendText(out []byte, line text, height int) []byte {
	shaped := w.pen.shape(line)
	origin := line.fit(shaped.width)
	if line.white {
		out = append(out, "1 g\n"...)
	}

	for _, run := range shaped.runs {
		out = append(out, "q\n"...)
		out = appendOp(out, "cm", origin.sx/run.upem, 0, 0, origin.sy/run.upem, origin.x, float64(height)-origin.y)
		for _, glyph := range run.glyphs {
			dx := float64(glyph.XOffset) / 64
			dy := float64(glyph.YOffset) / 64
			if dx != 0 || dy != 0 {
				out = appendOp(out, "cm", 1, 0, 0, 1, dx, dy)
			}
			out = append(out, w.glyphPath(run.face, glyph.GlyphID)...)

			// On to the next glyph, with this one's offset undone.
			out = appendOp(out, "cm", 1, 0, 0, 1, float64(glyph.Advance)/64-dx, -dy)
			origin.x += float64(glyph.Advance) / 64 / run.upem * origin.sx
		}
		out = append(out, "Q\n"...)
	}

	if line.white {
		out = append(out, "0 g\n"...)
	}
	return out
}

// glyphPath is the outline of a glyph, filled.
func (w *pdfWriter) glyphPath(face *font.Face, id font.GID) []byte {
	key := glyphKey{face, id}
	if path, ok := w.paths[key]; ok {
		return path
	}

	// PDF has no quadratic curves. To raise one to a cubic curve, the position
	// at which it starts is needed too.
	var path []byte
	var x, y float64
	data, _ := face.GlyphDataOutline(id)
	for _, segment := range data.Segments {
		args := segment.ArgsSlice()
		end := args[len(args)-1]
		switch segment.Op {
		case opentype.SegmentOpMoveTo:
			path = appendPoints(path, "m", args...)
		case opentype.SegmentOpLineTo:
			path = appendPoints(path, "l", args...)
		case opentype.SegmentOpQuadTo:
			controlX := float64(args[0].X)
			controlY := float64(args[0].Y)
			endX := float64(end.X)
			endY := float64(end.Y)
			path = appendRoundedOp(path, "c",
				x+(controlX-x)*2/3, y+(controlY-y)*2/3,
				endX+(controlX-endX)*2/3, endY+(controlY-endY)*2/3,
				endX, endY)
		case opentype.SegmentOpCubeTo:
			path = appendPoints(path, "c", args...)
		}
		x = float64(end.X)
		y = float64(end.Y)
	}

	if len(path) > 0 {
		path = append(path, "f\n"...)
	}
	w.paths[key] = path
	return path
}
