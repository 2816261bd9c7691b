package label

import (
	"bytes"
	"image"
	"image/draw"
	"math"

	"github.com/go-text/typesetting/font"
	"github.com/go-text/typesetting/font/opentype"
)

// bitmap is a picture of black dots, eight per byte, the leftmost in the
// highest bit.
type bitmap struct {
	width, height, stride int
	bits                  []byte
}

func newBitmap(width, height int) *bitmap {
	stride := (width + 7) / 8
	return &bitmap{
		width:  width,
		height: height,
		stride: stride,
		bits:   make([]byte, stride*height),
	}
}

// set colours one dot. Dots outside of the bitmap are ignored.
func (b *bitmap) set(x, y int, black bool) {
	if x < 0 || y < 0 || x >= b.width || y >= b.height {
		return
	}
	if bit := byte(0x80) >> (x & 7); black {
		b.bits[y*b.stride+x>>3] |= bit
	} else {
		b.bits[y*b.stride+x>>3] &^= bit
	}
}

// fill blackens a box.
func (b *bitmap) fill(box rect) {
	left := max(box.x, 0)
	right := min(box.x+box.w, b.width)
	top := max(box.y, 0)
	bottom := min(box.y+box.h, b.height)

	for y := top; y < bottom; y++ {
		row := b.bits[y*b.stride : (y+1)*b.stride]
		for x := left; x < right; {
			// A whole byte at a time where the box allows it.
			if x&7 == 0 && x+8 <= right {
				row[x>>3] = 0xff
				x += 8
				continue
			}

			row[x>>3] |= 0x80 >> (x & 7)
			x++
		}
	}
}

// inkThreshold is how much of a dot a glyph must cover to blacken it. A little
// less than half keeps thin strokes unbroken at 203 dpi.
const inkThreshold = 110

// draw rasterizes a line of text into the bitmap.
func (b *bitmap) draw(line text, pen *pen) {
	shaped := pen.shape(line)
	origin := line.fit(shaped.width)

	// The box leaves room for marks above and below, and for overhang.
	left := int(math.Floor(origin.x)) - line.size/4
	top := line.y - line.size*3/2
	width := int(math.Ceil(shaped.width*origin.sx)) + line.size/2 + 1
	height := line.size * 9 / 4

	origin.x -= float64(left)
	origin.y -= float64(top)
	mask := pen.typesetter().rasterize(shaped, origin, width, height)

	for y := range height {
		for x, coverage := range mask.Pix[y*mask.Stride : y*mask.Stride+width] {
			if coverage >= inkThreshold {
				b.set(left+x, top+y, !line.white)
			}
		}
	}
}

// rasterize draws the line into a mask of the given size in dots. The mask is
// valid until the next call.
func (ts *typesetter) rasterize(line shapedLine, origin placement, width, height int) *image.Alpha {
	ts.raster.Reset(width, height)
	ts.raster.DrawOp = draw.Src

	x := origin.x
	for _, run := range line.runs {
		// Dots per font unit.
		scaleX := origin.sx / run.upem
		scaleY := origin.sy / run.upem

		for _, glyph := range run.glyphs {
			glyphX := x + float64(glyph.XOffset)/64*scaleX
			glyphY := origin.y - float64(glyph.YOffset)/64*scaleY
			ts.addOutline(run.face, glyph.GlyphID, placement{glyphX, glyphY, scaleX, scaleY})
			x += float64(glyph.Advance) / 64 * scaleX
		}
	}

	// The memory of the last mask is reused if it suffices.
	if cap(ts.mask.Pix) < width*height {
		ts.mask.Pix = make([]byte, width*height)
	}
	ts.mask = image.Alpha{
		Pix:    ts.mask.Pix[:width*height],
		Stride: width,
		Rect:   image.Rect(0, 0, width, height),
	}
	ts.raster.Draw(&ts.mask, ts.mask.Rect, image.Opaque, image.Point{})
	return &ts.mask
}

// addOutline adds the outline of a glyph to the rasterizer's path.
func (ts *typesetter) addOutline(face *font.Face, id font.GID, origin placement) {
	data, ok := face.GlyphDataOutline(id)
	if !ok {
		return
	}

	// Font units grow upwards, dots downwards.
	toDots := func(point opentype.SegmentPoint) (x, y float32) {
		return float32(origin.x + float64(point.X)*origin.sx), float32(origin.y - float64(point.Y)*origin.sy)
	}

	for _, segment := range data.Segments {
		x, y := toDots(segment.Args[0])
		switch segment.Op {
		case opentype.SegmentOpMoveTo:
			ts.raster.ClosePath()
			ts.raster.MoveTo(x, y)
		case opentype.SegmentOpLineTo:
			ts.raster.LineTo(x, y)
		case opentype.SegmentOpQuadTo:
			x1, y1 := toDots(segment.Args[1])
			ts.raster.QuadTo(x, y, x1, y1)
		case opentype.SegmentOpCubeTo:
			x1, y1 := toDots(segment.Args[1])
			x2, y2 := toDots(segment.Args[2])
			ts.raster.CubeTo(x, y, x1, y1, x2, y2)
		}
	}
	ts.raster.ClosePath()
}

// bounds is the smallest box around all black dots whose left edge is on a
// byte boundary. It is empty if there are none.
func (b *bitmap) bounds() rect {
	first := b.stride // in bytes
	end := 0
	top := b.height
	bottom := 0

	for y := range b.height {
		for i, bits := range b.bits[y*b.stride : (y+1)*b.stride] {
			if bits != 0 {
				first = min(first, i)
				end = max(end, i+1)
				top = min(top, y)
				bottom = y + 1
			}
		}
	}

	if end == 0 {
		return rect{}
	}
	return rect{8 * first, top, 8 * (end - first), bottom - top}
}

// appendHex appends the part of the bitmap in box as ZPL's compressed hex: a
// count before a repeated digit, a comma for zeros to the end of the row, a
// colon for a row that equals the one before.
func (b *bitmap) appendHex(out []byte, box rect) []byte {
	digits := make([]byte, box.w/4)
	var previous []byte

	for y := box.y; y < box.y+box.h; y++ {
		row := b.bits[y*b.stride+box.x/8:][:box.w/8]
		if previous != nil && bytes.Equal(row, previous) {
			out = append(out, ':')
			continue
		}
		previous = row

		for i, bits := range row {
			digits[2*i] = hexDigits[bits>>4]
			digits[2*i+1] = hexDigits[bits&15]
		}
		out = appendHexRow(out, digits)
	}
	return out
}

func appendHexRow(out, digits []byte) []byte {
	for i := 0; i < len(digits); {
		n := 1
		for i+n < len(digits) && digits[i+n] == digits[i] {
			n++
		}
		if digits[i] == '0' && i+n == len(digits) {
			return append(out, ',')
		}

		out = appendRepeat(out, n)
		out = append(out, digits[i])
		i += n
	}
	return out
}

// appendRepeat writes a repeat count: z is 400, g to y are 20 to 380, G to Y
// are 1 to 19. A count of one is left out.
func appendRepeat(out []byte, n int) []byte {
	if n == 1 {
		return out
	}

	for ; n >= 400; n -= 400 {
		out = append(out, 'z')
	}
	if n >= 20 {
		out = append(out, 'f'+byte(n/20))
	}
	if n %= 20; n > 0 {
		out = append(out, 'F'+byte(n))
	}
	return out
}
