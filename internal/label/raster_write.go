package label

import (
	"bytes"
	"compress/zlib"
	"io"
	"strconv"

	"github.com/waybillhq/waybill/internal/ship"
)

// placed is a picture with its position on paper, in dots.
type placed struct {
	raster
	ink           rect // the part of the picture that is drawn
	scale         ratio
	x, y          int // of the ink's corner
	dpi           int // of the paper
	width, height int // of the paper
}

// placeOn puts a picture on paper of a resolution.
//
// One dot of the picture becomes one dot of the paper, or one and a half, or
// two, wherever that is nearly the true size: bars then keep their
// proportions. White borders may be cropped to have room for that.
func (r raster) placeOn(size Size, dpi int) placed {
	paper, _ := size.dimensions()
	picture := placed{
		raster: r,
		ink:    r.inkBounds(),
		dpi:    dpi,
		width:  dotsOf(paper.width, dpi),
		height: dotsOf(paper.height, dpi),
	}

	// A sheet carries a 4x6 label in its corner.
	roomX := picture.width
	roomY := picture.height
	if size.isSheet() {
		label, _ := Size4x6.dimensions()
		roomX = dotsOf(label.width, dpi)
		roomY = dotsOf(label.height, dpi)
		picture.x = (sheetMargin*dpi*2 + 203) / (2 * 203)
		picture.y = picture.x
	}
	picture.scale = scaleFor(r.dpi, dpi, picture.ink, roomX, roomY)

	// The picture is centred with its borders if they fit, else its ink is.
	scale := picture.scale
	width := scale.apply(r.width)
	height := scale.apply(r.height)
	if width <= roomX && height <= roomY {
		picture.x += (roomX-width)/2 + scale.apply(picture.ink.x)
		picture.y += (roomY-height)/2 + scale.apply(picture.ink.y)
	} else {
		picture.x += (roomX - scale.apply(picture.ink.w)) / 2
		picture.y += (roomY - scale.apply(picture.ink.h)) / 2
	}
	return picture
}

// scaleFor chooses how large ink of one resolution is drawn at another.
func scaleFor(from, to int, ink rect, roomX, roomY int) ratio {
	// A multiple of one half within 4 % of the true size is preferred.
	if halves := (4*to + from) / (2 * from); halves > 0 {
		even := ratio{halves, 2}
		isNear := 100*distance(even.num*from, to*even.den) <= 4*to*even.den
		if isNear && even.apply(ink.w) <= roomX && even.apply(ink.h) <= roomY {
			return even
		}
	}

	scale := ratio{to, from}
	for _, limit := range []ratio{{roomX, max(ink.w, 1)}, {roomY, max(ink.h, 1)}} {
		if limit.less(scale) {
			scale = limit
		}
	}
	return scale
}

// inkBounds is the smallest box around all black dots, or all of a picture that
// has none.
func (r raster) inkBounds() rect {
	box := r.bounds()
	if box.w == 0 {
		return rect{0, 0, r.width, r.height}
	}

	// bounds is exact only to the byte across.
	left := box.x + box.w
	right := box.x
	for y := box.y; y < box.y+box.h; y++ {
		for x := box.x; x < left; x++ {
			if r.isBlack(x, y) {
				left = x
			}
		}
		for x := min(box.x+box.w, r.width) - 1; x > right; x-- {
			if r.isBlack(x, y) {
				right = x
			}
		}
	}
	return rect{left, box.y, max(right, left) - left + 1, box.h}
}

// writeRasters writes a page for each picture.
func writeRasters(rasters []raster, options Options) ([]byte, error) {
	if options.Format == PDF {
		return rasterPDF(rasters, options.Size), nil
	}

	pages := make([]placed, len(rasters))
	for i, picture := range rasters {
		pages[i] = picture.placeOn(options.Size, options.DPI)
		if !pages[i].isTooSmall() {
			continue
		}

		// The default size gives way, so that there always is a label.
		if options.Size != Size4x6 {
			return nil, ship.Coded(ship.Unsupported, "format_unavailable",
				"the carrier's label is larger than %s: request size 4x6, which keeps the label's own size", options.Size)
		}
		pages[i] = picture.placeAlone(options.DPI)
	}
	return writePlaced(pages, options.Format), nil
}

// isTooSmall reports whether the picture is drawn so small that bars merge.
func (p placed) isTooSmall() bool { return p.scale.less(ratio{3 * p.dpi, 4 * p.raster.dpi}) }

// placeAlone puts a picture on paper of its own size.
func (r raster) placeAlone(dpi int) placed {
	scale := ratio{dpi, r.dpi}
	box := r.inkBounds()
	return placed{
		raster: r,
		ink:    box,
		scale:  scale,
		x:      scale.apply(box.x),
		y:      scale.apply(box.y),
		dpi:    dpi,
		width:  scale.apply(r.width),
		height: scale.apply(r.height),
	}
}

// writePlaced writes PNG or ZPL. Pages of different sizes are put on paper of
// one size, which has room for each.
func writePlaced(pages []placed, format Format) []byte {
	width := 0
	height := 0
	for _, page := range pages {
		width = max(width, page.width)
		height = max(height, page.height)
	}
	for i := range pages {
		pages[i].width = width
		pages[i].height = height
	}

	if format == PNG {
		return rasterPNG(pages)
	}
	return rasterZPL(pages)
}

// rasterZPL writes a label with one graphic for each picture.
func rasterZPL(pages []placed) []byte {
	var out []byte
	for _, page := range pages {
		picture := page.crop(page.ink).scaled(page.scale)
		out = appendInts(append(out, "^XA^LH0,0^PW"...), page.width)
		out = appendInts(append(out, "^LL"...), page.height)

		out = appendInts(append(out, "\n^FO"...), max(page.x, 0), max(page.y, 0))
		out = appendInts(append(out, "^GFA,"...), len(picture.bits), len(picture.bits), picture.stride)
		out = append(out, ',')
		out = picture.appendHex(out, rect{0, 0, 8 * picture.stride, picture.height})
		out = append(out, "^FS\n^PQ1^XZ\n"...)
	}
	return out
}

// rasterPNG writes the pages stacked vertically.
func rasterPNG(pages []placed) []byte {
	first := pages[0]
	out := beginPNG(first.width, first.height*len(pages), first.dpi)

	data := deflated(func(deflater io.Writer) {
		row := make([]byte, 1+(first.width+7)/8)
		for _, page := range pages {
			paper := newBitmap(page.width, page.height)
			paper.paste(page.crop(page.ink).scaled(page.scale), page.x, page.y)
			paper.eachRow(func(dots []byte, _ int) {
				for i, bits := range dots {
					row[1+i] = ^bits
				}
				_, _ = deflater.Write(row) // to memory
			})
		}
	})

	out = appendChunk(out, "IDAT", data)
	return appendChunk(out, "IEND", nil)
}

func deflated(write func(io.Writer)) []byte {
	var out bytes.Buffer
	deflater, _ := zlib.NewWriterLevel(&out, 6) // only an unknown level fails
	write(deflater)
	_ = deflater.Close() // to memory
	return out.Bytes()
}

// rasterPDF embeds each picture dot for dot, without loss.
func rasterPDF(rasters []raster, size Size) []byte {
	var writer pdfWriter
	writer.out.WriteString("%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
	writer.writeObject("<</Type/Catalog/Pages 2 0 R/ViewerPreferences<</PrintScaling/None>>>>")

	kids := ""
	for i := range rasters {
		kids += strconv.Itoa(3+3*i) + " 0 R "
	}
	writer.writeObject("<</Type/Pages/Count " + strconv.Itoa(len(rasters)) + "/Kids[" + kids + "]>>")

	// Three objects a page: the page, what draws it, and its picture.
	for i, picture := range rasters {
		paper := newSheet(size)
		page := picture.placeOn(size, picture.dpi)
		if page.isTooSmall() && size == Size4x6 {
			page = picture.placeAlone(picture.dpi)
			paper = &sheet{
				width:  float64(page.width) * 72 / float64(page.dpi),
				height: float64(page.height) * 72 / float64(page.dpi),
			}
		}

		box := appendDecimal(nil, paper.width)
		box = appendDecimal(append(box, ' '), paper.height)
		writer.writeObject("<</Type/Page/Parent 2 0 R/MediaBox[0 0 " + string(box) + "]/Resources<</XObject<</I " +
			strconv.Itoa(5+3*i) + " 0 R>>>>/Contents " + strconv.Itoa(4+3*i) + " 0 R>>")
		writer.writePacked("", appendOp(page.matrix(paper), "/I Do"))

		ink := page.crop(page.ink)
		writer.writePacked("/Type/XObject/Subtype/Image/Width "+strconv.Itoa(ink.width)+"/Height "+strconv.Itoa(ink.height)+
			"/ColorSpace/DeviceGray/BitsPerComponent 1/Decode[1 0]", ink.bits)
	}
	return writer.finish()
}

// matrix is the operator that places the ink on a page in points.
func (p placed) matrix(paper *sheet) []byte {
	scale := float64(p.scale.num) / float64(p.scale.den) * 72 / float64(p.dpi)
	width := float64(p.ink.w) * scale
	height := float64(p.ink.h) * scale
	x := float64(p.x) * 72 / float64(p.dpi)
	y := float64(p.y) * 72 / float64(p.dpi)
	return appendOp(nil, "cm", width, 0, 0, height, x, paper.height-y-height)
}

// writePacked writes a compressed stream with further entries of its
// dictionary.
func (w *pdfWriter) writePacked(entries string, content []byte) {
	data := deflated(func(deflater io.Writer) { _, _ = deflater.Write(content) }) // to memory
	w.begin()
	w.out.WriteString("<<" + entries + "/Filter/FlateDecode/Length " + strconv.Itoa(len(data)) + ">>stream\n")
	w.out.Write(data)
	w.out.WriteString("\nendstream\nendobj\n")
}
