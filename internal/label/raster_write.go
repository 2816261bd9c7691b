package label

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"io"
	"strconv"

	"github.com/waybillhq/waybill/internal/ship"
)

// placed is a picture with its place on paper, in dots.
type placed struct {
	raster
	ink           rect // what of the picture is drawn
	scale         ratio
	x, y          int // of the ink's corner
	dpi           int // of the paper
	width, height int // of the paper
}

// place puts a picture on paper of a resolution.
//
// One dot of the picture becomes one dot of the paper, or one and a half, or
// two, wherever that is nearly the true size: bars then keep their
// proportions. White borders may be cut to have room for that.
func (r raster) place(size Size, dpi int) placed {
	paper, _ := size.dimensions()
	p := placed{
		raster: r,
		ink:    r.inked(),
		dpi:    dpi,
		width:  dotsOf(paper.width, dpi),
		height: dotsOf(paper.height, dpi),
	}
	roomW, roomH := p.width, p.height
	if size.isSheet() {
		label, _ := Size4x6.dimensions()
		roomW, roomH = dotsOf(label.width, dpi), dotsOf(label.height, dpi)
		p.x = (sheetMargin*dpi*2 + 203) / (2 * 203)
		p.y = p.x
	}
	p.scale = scaleFor(r.dpi, dpi, p.ink, roomW, roomH)
	whole := rect{0, 0, p.scale.of(r.width), p.scale.of(r.height)}
	if whole.w <= roomW && whole.h <= roomH {
		p.x += (roomW-whole.w)/2 + p.scale.of(p.ink.x)
		p.y += (roomH-whole.h)/2 + p.scale.of(p.ink.y)
	} else {
		p.x += (roomW - p.scale.of(p.ink.w)) / 2
		p.y += (roomH - p.scale.of(p.ink.h)) / 2
	}
	return p
}

// scaleFor chooses how large ink of one resolution is drawn at another.
func scaleFor(from, to int, ink rect, roomW, roomH int) ratio {
	exact := ratio{to, from}
	if halves := (4*to + from) / (2 * from); halves > 0 {
		even := ratio{halves, 2}
		near := 100*distance(even.num*from, to*even.den) <= 4*to*even.den
		if near && even.of(ink.w) <= roomW && even.of(ink.h) <= roomH {
			return even
		}
	}
	for _, room := range []ratio{{roomW, max(ink.w, 1)}, {roomH, max(ink.h, 1)}} {
		if room.less(exact) {
			exact = room
		}
	}
	return exact
}

// inked is the smallest box around all black dots; of an empty picture, all.
func (r raster) inked() rect {
	box := r.bounds()
	if box.w == 0 {
		return rect{0, 0, r.width, r.height}
	}
	left, right := box.x+box.w, box.x
	for y := box.y; y < box.y+box.h; y++ {
		for x := box.x; x < left; x++ {
			if r.at(x, y) {
				left = x
			}
		}
		for x := min(box.x+box.w, r.width) - 1; x > right; x-- {
			if r.at(x, y) {
				right = x
			}
		}
	}
	return rect{left, box.y, max(right, left) - left + 1, box.h}
}

// writeRasters writes a page for each picture.
func writeRasters(rasters []raster, o Options) ([]byte, error) {
	if o.Format == PDF {
		return rasterPDF(rasters, o.Size), nil
	}
	all := make([]placed, len(rasters))
	for i, r := range rasters {
		all[i] = r.place(o.Size, o.DPI)
		if !all[i].isTooSmall() {
			continue
		}
		if o.Size != Size4x6 {
			return nil, ship.Coded(ship.Unsupported, "format_unavailable",
				"the carrier's label is larger than %s: ask for size 4x6, in which it keeps its own size", o.Size)
		}
		all[i] = r.placeAlone(o.DPI)
	}
	return writePlaced(all, o.Format), nil
}

// isTooSmall reports whether the picture is drawn so small that bars run into
// each other.
func (p placed) isTooSmall() bool { return p.scale.less(ratio{3 * p.dpi, 4 * p.raster.dpi}) }

// placeAlone puts a picture on paper of its own size.
func (r raster) placeAlone(dpi int) placed {
	scale := ratio{dpi, r.dpi}
	box := r.inked()
	return placed{
		raster: r,
		ink:    box,
		scale:  scale,
		x:      scale.of(box.x),
		y:      scale.of(box.y),
		dpi:    dpi,
		width:  scale.of(r.width),
		height: scale.of(r.height),
	}
}

// writePlaced writes PNG or ZPL. Pages of several sizes lie on sheets of one.
func writePlaced(pages []placed, format Format) []byte {
	width, height := 0, 0
	for _, p := range pages {
		width, height = max(width, p.width), max(height, p.height)
	}
	for i := range pages {
		pages[i].width, pages[i].height = width, height
	}
	if format == PNG {
		return rasterPNG(pages)
	}
	return rasterZPL(pages)
}

// rasterZPL writes a label with one graphic for each picture.
func rasterZPL(pages []placed) []byte {
	var b []byte
	for _, p := range pages {
		pic := p.cut(p.ink).scaled(p.scale)
		b = appendInts(append(b, "^XA^LH0,0^PW"...), p.width)
		b = appendInts(append(b, "^LL"...), p.height)
		b = appendInts(append(b, "\n^FO"...), max(p.x, 0), max(p.y, 0))
		b = appendInts(append(b, "^GFA,"...), len(pic.bits), len(pic.bits), pic.stride)
		b = append(b, ',')
		b = pic.appendHex(b, rect{0, 0, 8 * pic.stride, pic.height})
		b = append(b, "^FS\n^PQ1^XZ\n"...)
	}
	return b
}

// rasterPNG writes the sheets below each other.
func rasterPNG(pages []placed) []byte {
	first := pages[0]
	out := []byte("\x89PNG\r\n\x1a\n")
	head := binary.BigEndian.AppendUint32(nil, uint32(first.width))
	head = binary.BigEndian.AppendUint32(head, uint32(first.height*len(pages)))
	out = appendChunk(out, "IHDR", append(head, 1, 0, 0, 0, 0)) // one bit of grey, where 1 is white
	perMetre := uint32((first.dpi*10000 + 127) / 254)
	size := binary.BigEndian.AppendUint32(nil, perMetre)
	size = binary.BigEndian.AppendUint32(size, perMetre)
	out = appendChunk(out, "pHYs", append(size, 1))
	data := deflated(func(z io.Writer) {
		row := make([]byte, 1+(first.width+7)/8)
		for _, p := range pages {
			paper := newBitmap(p.width, p.height)
			paper.paste(p.cut(p.ink).scaled(p.scale), p.x, p.y)
			paper.each(func(dots []byte, _ int) {
				for i, d := range dots {
					row[1+i] = ^d
				}
				_, _ = z.Write(row) // to memory
			})
		}
	})
	out = appendChunk(out, "IDAT", data)
	return appendChunk(out, "IEND", nil)
}

func deflated(write func(io.Writer)) []byte {
	var out bytes.Buffer
	z, _ := zlib.NewWriterLevel(&out, 6) // only an unknown level fails
	write(z)
	_ = z.Close() // to memory
	return out.Bytes()
}

// rasterPDF embeds each picture dot for dot, without loss.
func rasterPDF(rasters []raster, size Size) []byte {
	var w pdfWriter
	w.out.WriteString("%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
	w.object("<</Type/Catalog/Pages 2 0 R/ViewerPreferences<</PrintScaling/None>>>>")
	kids := ""
	for i := range rasters {
		kids += strconv.Itoa(3+3*i) + " 0 R "
	}
	w.object("<</Type/Pages/Count " + strconv.Itoa(len(rasters)) + "/Kids[" + kids + "]>>")
	for i, r := range rasters {
		paper := newSheet(size)
		p := r.place(size, r.dpi)
		if p.isTooSmall() && size == Size4x6 {
			p = r.placeAlone(r.dpi)
			paper = &sheet{width: float64(p.width) * 72 / float64(p.dpi), height: float64(p.height) * 72 / float64(p.dpi)}
		}
		box := appendDecimal(nil, paper.width)
		box = appendDecimal(append(box, ' '), paper.height)
		w.object("<</Type/Page/Parent 2 0 R/MediaBox[0 0 " + string(box) + "]/Resources<</XObject<</I " +
			strconv.Itoa(5+3*i) + " 0 R>>>>/Contents " + strconv.Itoa(4+3*i) + " 0 R>>")
		w.packed("", appendOp(p.matrix(paper), "/I Do"))
		pic := p.cut(p.ink)
		w.packed("/Type/XObject/Subtype/Image/Width "+strconv.Itoa(pic.width)+"/Height "+strconv.Itoa(pic.height)+
			"/ColorSpace/DeviceGray/BitsPerComponent 1/Decode[1 0]", pic.bits)
	}
	return w.finish()
}

// matrix places the ink on a page in points.
func (p placed) matrix(paper *sheet) []byte {
	scale := float64(p.scale.num) / float64(p.scale.den) * 72 / float64(p.dpi)
	w, h := float64(p.ink.w)*scale, float64(p.ink.h)*scale
	x, y := float64(p.x)*72/float64(p.dpi), float64(p.y)*72/float64(p.dpi)
	return appendOp(nil, "cm", w, 0, 0, h, x, paper.height-y-h)
}

// packed writes a stream with further entries of its dictionary.
func (w *pdfWriter) packed(entries string, content []byte) {
	data := deflated(func(z io.Writer) { _, _ = z.Write(content) }) // to memory
	w.begin()
	w.out.WriteString("<<" + entries + "/Filter/FlateDecode/Length " + strconv.Itoa(len(data)) + ">>stream\n")
	w.out.Write(data)
	w.out.WriteString("\nendstream\nendobj\n")
}
