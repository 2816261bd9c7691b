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

// A raster is a carrier's picture of one page, upright and in black and
// white, as thermal printers have it.
type raster struct {
	*bitmap
	dpi int // of the picture: its dots to the inch
}

// readRaster decodes a picture that lintImage let through.
func readRaster(format string, data []byte) (raster, error) {
	var img image.Image
	var err error
	switch format {
	case "png":
		img, err = png.Decode(bytes.NewReader(data))
	case "gif":
		img, err = gif.Decode(bytes.NewReader(data))
	default:
		img, err = jpeg.Decode(bytes.NewReader(data))
	}
	if err != nil {
		return raster{}, errCutOff
	}
	return newRaster(blacken(img), 0), nil
}

// labelWidth is how wide carriers make labels, in inches.
const labelWidth = 4

// newRaster turns a picture upright. If nobody tells its resolution, it is as
// wide as labels are.
func newRaster(b *bitmap, dpi int) raster {
	if b.width > b.height {
		b = b.turned()
	}
	if dpi == 0 {
		dpi = max(b.width/labelWidth, 1)
	}
	return raster{b, usual(dpi)}
}

// usual takes a resolution for that of printers if it is close to it: some
// carriers draw labels for 203 dpi printers with 200 dots to the inch.
func usual(dpi int) int {
	for _, known := range []int{203, 300, 600} {
		if dpi >= known*94/100 && dpi <= known*106/100 {
			return known
		}
	}
	return dpi
}

// dark is the luminance below which a dot is printed.
const dark = 128

// blacken decides for each dot of a picture, on white paper.
func blacken(img image.Image) *bitmap {
	r := img.Bounds()
	b := newBitmap(r.Dx(), r.Dy())
	switch img := img.(type) {
	case *image.Paletted:
		var black [256]bool
		for i, c := range img.Palette {
			black[i] = isDark(c)
		}
		b.each(func(row []byte, y int) {
			for x, i := range img.Pix[y*img.Stride:][:b.width] {
				if black[i] {
					row[x>>3] |= 0x80 >> (x & 7)
				}
			}
		})
		return b
	case *image.YCbCr:
		b.threshold(img.Y, img.YStride)
		return b
	case *image.Gray:
		b.threshold(img.Pix, img.Stride)
		return b
	case *image.NRGBA:
		b.flatten(img.Pix, img.Stride)
		return b
	case *image.RGBA:
		if img.Opaque() {
			b.flatten(img.Pix, img.Stride)
			return b
		}
	}
	flat := image.NewGray(image.Rect(0, 0, b.width, b.height))
	draw.Draw(flat, flat.Rect, image.White, image.Point{}, draw.Src)
	draw.Draw(flat, flat.Rect, img, r.Min, draw.Over)
	b.threshold(flat.Pix, flat.Stride)
	return b
}

func isDark(c color.Color) bool {
	r, g, b, a := c.RGBA()
	luminance := (299*r + 587*g + 114*b) / 1000
	return (luminance+0xffff-a)>>8 < dark
}

// each calls fn for every row.
func (b *bitmap) each(fn func(row []byte, y int)) {
	for y := range b.height {
		fn(b.bits[y*b.stride:(y+1)*b.stride], y)
	}
}

func (b *bitmap) threshold(grey []byte, stride int) {
	b.each(func(row []byte, y int) {
		for x, v := range grey[y*stride:][:b.width] {
			if v < dark {
				row[x>>3] |= 0x80 >> (x & 7)
			}
		}
	})
}

// flatten is threshold for red, green, blue and how opaque they are.
func (b *bitmap) flatten(pix []byte, stride int) {
	b.each(func(row []byte, y int) {
		line := pix[y*stride:][:4*b.width]
		for x := range b.width {
			p := line[4*x : 4*x+4]
			luminance := (299*int(p[0]) + 587*int(p[1]) + 114*int(p[2])) / 1000
			if luminance*int(p[3])+0xff*(0xff-int(p[3])) < dark*0xff {
				row[x>>3] |= 0x80 >> (x & 7)
			}
		}
	})
}

func (b *bitmap) at(x, y int) bool { return b.bits[y*b.stride+x>>3]&(0x80>>(x&7)) != 0 }

// turned is the bitmap turned clockwise by a quarter.
func (b *bitmap) turned() *bitmap {
	out := newBitmap(b.height, b.width)
	b.each(func(row []byte, y int) {
		x := b.height - 1 - y
		mask, column := byte(0x80)>>(x&7), x>>3
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

// cut copies a box, which lies inside.
func (b *bitmap) cut(box rect) *bitmap {
	out := newBitmap(box.w, box.h)
	out.paste(b, -box.x, -box.y)
	return out
}

// paste blackens what is black in src, with its corner at x and y. What lies
// outside is left away.
func (b *bitmap) paste(src *bitmap, x, y int) {
	for sy := max(0, -y); sy < min(src.height, b.height-y); sy++ {
		row := src.bits[sy*src.stride : (sy+1)*src.stride]
		for i, dots := range row {
			for ; dots != 0; dots &= dots - 1 {
				b.set(x+8*i+7-bits.TrailingZeros8(dots), y+sy, true)
			}
		}
	}
}

// ratio is a scale as a fraction, so that bars fall on the same dots
// everywhere.
type ratio struct{ num, den int }

func (r ratio) of(n int) int          { return n * r.num / r.den }
func (r ratio) less(other ratio) bool { return r.num*other.den < other.num*r.den }

// scaled is the bitmap enlarged or reduced. Enlarging takes the nearest dot,
// which keeps bars of equal width equal where the scale allows it; reducing
// blackens a dot if more than half of what it stands for is black, or half and
// its middle.
func (b *bitmap) scaled(r ratio) *bitmap {
	if r.num == r.den {
		return b
	}
	out := newBitmap(max(r.of(b.width), 1), max(r.of(b.height), 1))
	if r.num > r.den {
		b.enlarge(out, r)
	} else {
		b.reduce(out)
	}
	return out
}

func (b *bitmap) enlarge(out *bitmap, r ratio) {
	source := func(at, limit int) int { return min((2*at+1)*r.den/(2*r.num), limit-1) }
	columns := make([]int, out.width)
	for x := range columns {
		columns[x] = source(x, b.width)
	}
	before := -1
	out.each(func(row []byte, y int) {
		from := source(y, b.height)
		if from == before {
			copy(row, out.bits[(y-1)*out.stride:])
			return
		}
		before = from
		for x, sx := range columns {
			if b.at(sx, from) {
				row[x>>3] |= 0x80 >> (x & 7)
			}
		}
	})
}

// reduce weighs in units of a dot divided by the size of out, across and
// down, so that all sums are whole.
func (b *bitmap) reduce(out *bitmap) {
	sums := make([]int, out.width)
	full := b.width * b.height // of one dot of out
	out.each(func(row []byte, y int) {
		clear(sums)
		// The dot spans b.height units, a row of the source out.height.
		for top := y * b.height; top < (y+1)*b.height; {
			sy := top / out.height
			bottom := min((sy+1)*out.height, (y+1)*b.height)
			b.sumRow(sums, sy, bottom-top)
			top = bottom
		}
		for x, sum := range sums {
			if 2*sum > full || 2*sum == full && b.at((2*x+1)*b.width/(2*out.width), (2*y+1)*b.height/(2*out.height)) {
				row[x>>3] |= 0x80 >> (x & 7)
			}
		}
	})
}

// sumRow adds a row of the source to the dots it lies under, with a weight.
func (b *bitmap) sumRow(sums []int, sy, weight int) {
	width := len(sums)
	for i, dots := range b.bits[sy*b.stride : (sy+1)*b.stride] {
		for ; dots != 0; dots &= dots - 1 {
			left := (8*i + 7 - bits.TrailingZeros8(dots)) * width
			right := left + width
			x := left / b.width
			edge := (x + 1) * b.width
			sums[x] += (min(edge, right) - left) * weight
			if right > edge && x+1 < width {
				sums[x+1] += (right - edge) * weight
			}
		}
	}
}
