package label

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/bits"
)

// A raster is a carrier's picture of one page, upright and in black and white,
// as thermal printers print it.
type raster struct {
	*bitmap
	dpi int // of the picture: its dots per inch
}

// readRaster decodes a picture that lintImage accepted.
func readRaster(format string, data []byte) (raster, error) {
	var picture image.Image
	var err error

	switch format {
	case "png":
		picture, err = png.Decode(bytes.NewReader(data))
	case "gif":
		picture, err = gif.Decode(bytes.NewReader(data))
	default:
		picture, err = jpeg.Decode(bytes.NewReader(data))
	}
	if err != nil {
		return raster{}, errCutOff
	}
	return newRaster(blacken(picture), 0), nil
}

// labelWidth is the width of carriers' labels, in inches.
const labelWidth = 4

// newRaster turns a picture upright. If its resolution is not known, it is
// assumed to be as wide as labels are.
func newRaster(picture *bitmap, dpi int) raster {
	if picture.width > picture.height {
		picture = picture.rotated()
	}
	if dpi == 0 {
		dpi = max(picture.width/labelWidth, 1)
	}
	return raster{picture, nearPrinterDPI(dpi)}
}

// nearPrinterDPI is the resolution of printers that is close to dpi, or dpi
// itself: some carriers draw labels for 203 dpi printers with 200 dots to the
// inch.
func nearPrinterDPI(dpi int) int {
	for _, known := range []int{203, 300, 600} {
		if dpi >= known*94/100 && dpi <= known*106/100 {
			return known
		}
	}
	return dpi
}

// darkBelow is the luminance below which a dot is printed.
const darkBelow = 128

// blacken decides for each dot of a picture, on white paper, whether it is
// printed.
func blacken(picture image.Image) *bitmap {
	bounds := picture.Bounds()
	out := newBitmap(bounds.Dx(), bounds.Dy())

	// The kinds of pictures that labels come in are read directly.
	switch picture := picture.(type) {
	case *image.Paletted:
		out.blackenPaletted(picture)
		return out
	case *image.YCbCr:
		out.threshold(picture.Y, picture.YStride)
		return out
	case *image.Gray:
		out.threshold(picture.Pix, picture.Stride)
		return out
	case *image.NRGBA:
		out.blackenRGBA(picture.Pix, picture.Stride)
		return out
	case *image.RGBA:
		if picture.Opaque() {
			out.blackenRGBA(picture.Pix, picture.Stride)
			return out
		}
	}

	grey := image.NewGray(image.Rect(0, 0, out.width, out.height))
	draw.Draw(grey, grey.Rect, image.White, image.Point{}, draw.Src)
	draw.Draw(grey, grey.Rect, picture, bounds.Min, draw.Over)
	out.threshold(grey.Pix, grey.Stride)
	return out
}

func isDark(c color.Color) bool {
	red, green, blue, alpha := c.RGBA()
	luminance := (299*red + 587*green + 114*blue) / 1000
	return (luminance+0xffff-alpha)>>8 < darkBelow
}

// eachRow calls visit for every row.
func (b *bitmap) eachRow(visit func(row []byte, y int)) {
	for y := range b.height {
		visit(b.bits[y*b.stride:(y+1)*b.stride], y)
	}
}

// blackenPaletted decides once for each colour of the palette.
func (b *bitmap) blackenPaletted(picture *image.Paletted) {
	var black [256]bool
	for i, c := range picture.Palette {
		black[i] = isDark(c)
	}

	b.eachRow(func(row []byte, y int) {
		for x, i := range picture.Pix[y*picture.Stride:][:b.width] {
			if black[i] {
				row[x>>3] |= 0x80 >> (x & 7)
			}
		}
	})
}

// threshold blackens the dark dots of a grey picture.
func (b *bitmap) threshold(grey []byte, stride int) {
	b.eachRow(func(row []byte, y int) {
		for x, luminance := range grey[y*stride:][:b.width] {
			if luminance < darkBelow {
				row[x>>3] |= 0x80 >> (x & 7)
			}
		}
	})
}

// blackenRGBA is threshold for pixels of red, green, blue and opacity.
func (b *bitmap) blackenRGBA(pixels []byte, stride int) {
	b.eachRow(func(row []byte, y int) {
		line := pixels[y*stride:][:4*b.width]
		for x := range b.width {
			pixel := line[4*x : 4*x+4]
			luminance := (299*int(pixel[0]) + 587*int(pixel[1]) + 114*int(pixel[2])) / 1000
			opacity := int(pixel[3])
			if luminance*opacity+0xff*(0xff-opacity) < darkBelow*0xff {
				row[x>>3] |= 0x80 >> (x & 7)
			}
		}
	})
}

func (b *bitmap) isBlack(x, y int) bool { return b.bits[y*b.stride+x>>3]&(0x80>>(x&7)) != 0 }

// rotated is the bitmap turned clockwise by 90 degrees.
func (b *bitmap) rotated() *bitmap {
	out := newBitmap(b.height, b.width)
	b.eachRow(func(row []byte, y int) {
		x := b.height - 1 - y
		mask := byte(0x80) >> (x & 7)
		column := x >> 3
		for i, dots := range row {
			for ; dots != 0; dots &= dots - 1 {
				// The lowest set bit of the byte is the rightmost dot.
				at := 8*i + 7 - bits.TrailingZeros8(dots)
				out.bits[at*out.stride+column] |= mask
			}
		}
	})
	return out
}

// crop copies a box, which must be inside the bitmap.
func (b *bitmap) crop(box rect) *bitmap {
	out := newBitmap(box.w, box.h)
	out.paste(b, -box.x, -box.y)
	return out
}

// paste blackens what is black in src, with its corner at x and y. Dots outside
// of the bitmap are left out.
func (b *bitmap) paste(src *bitmap, x, y int) {
	for srcY := max(0, -y); srcY < min(src.height, b.height-y); srcY++ {
		row := src.bits[srcY*src.stride : (srcY+1)*src.stride]
		for i, dots := range row {
			for ; dots != 0; dots &= dots - 1 {
				b.set(x+8*i+7-bits.TrailingZeros8(dots), y+srcY, true)
			}
		}
	}
}

// ratio is a scale as a fraction, so that bars fall on the same dots
// everywhere.
type ratio struct{ num, den int }

func (r ratio) apply(n int) int       { return n * r.num / r.den }
func (r ratio) less(other ratio) bool { return r.num*other.den < other.num*r.den }

// scaled is the bitmap enlarged or reduced. Enlarging takes the nearest dot,
// which keeps bars of equal width equal where the scale allows it; reducing
// blackens a dot if more than half of what it stands for is black, or half and
// its middle.
func (b *bitmap) scaled(scale ratio) *bitmap {
	if scale.num == scale.den {
		return b
	}
	out := newBitmap(max(scale.apply(b.width), 1), max(scale.apply(b.height), 1))
	if scale.num > scale.den {
		b.enlarge(out, scale)
	} else {
		b.reduce(out)
	}
	return out
}

func (b *bitmap) enlarge(out *bitmap, scale ratio) {
	nearest := func(at, limit int) int { return min((2*at+1)*scale.den/(2*scale.num), limit-1) }
	columns := make([]int, out.width)
	for x := range columns {
		columns[x] = nearest(x, b.width)
	}

	// Rows that come from the same row are copied.
	previous := -1
	out.eachRow(func(row []byte, y int) {
		srcY := nearest(y, b.height)
		if srcY == previous {
			copy(row, out.bits[(y-1)*out.stride:])
			return
		}
		previous = srcY

		for x, srcX := range columns {
			if b.isBlack(srcX, srcY) {
				row[x>>3] |= 0x80 >> (x & 7)
			}
		}
	})
}

// reduce weighs in units of a dot divided by the size of out, across and down,
// so that all sums are integers.
func (b *bitmap) reduce(out *bitmap) {
	sums := make([]int, out.width)
	full := b.width * b.height // the weight of one dot of out

	out.eachRow(func(row []byte, y int) {
		clear(sums)

		// The dot spans b.height units, a row of the source out.height.
		for top := y * b.height; top < (y+1)*b.height; {
			srcY := top / out.height
			bottom := min((srcY+1)*out.height, (y+1)*b.height)
			b.sumRow(sums, srcY, bottom-top)
			top = bottom
		}

		for x, sum := range sums {
			if 2*sum > full || 2*sum == full && b.isBlack((2*x+1)*b.width/(2*out.width), (2*y+1)*b.height/(2*out.height)) {
				row[x>>3] |= 0x80 >> (x & 7)
			}
		}
	})
}

// sumRow adds a row of the source to the dots it is part of, with a weight.
func (b *bitmap) sumRow(sums []int, srcY, weight int) {
	width := len(sums)
	for i, dots := range b.bits[srcY*b.stride : (srcY+1)*b.stride] {
		for ; dots != 0; dots &= dots - 1 {
			left := (8*i + 7 - bits.TrailingZeros8(dots)) * width
			right := left + width

			// A dot of the source is part of one dot, or of two neighbours.
			x := left / b.width
			edge := (x + 1) * b.width
			sums[x] += (min(edge, right) - left) * weight
			if right > edge && x+1 < width {
				sums[x+1] += (right - edge) * weight
			}
		}
	}
}
