package label

import (
	"bytes"
	"image"
	"image/draw"
	"math"

	"github.com/go-text/typesetting/font"
	"github.com/go-text/typesetting/font/opentype"
)

// bitmap is a picture of black dots, eight a byte, the leftmost in the
// highest bit.
type bitmap struct {
	width, height, stride int
	bits                  []byte
}

func newBitmap(width, height int) *bitmap {
	stride := (width + 7) / 8
	return &bitmap{width: width, height: height, stride: stride, bits: make([]byte, stride*height)}
}

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
func (b *bitmap) fill(r rect) {
	x0, x1 := max(r.x, 0), min(r.x+r.w, b.width)
	y0, y1 := max(r.y, 0), min(r.y+r.h, b.height)
	for y := y0; y < y1; y++ {
		row := b.bits[y*b.stride : (y+1)*b.stride]
		for x := x0; x < x1; {
			if x&7 == 0 && x+8 <= x1 {
				row[x>>3] = 0xff
				x += 8
				continue
			}
			row[x>>3] |= 0x80 >> (x & 7)
			x++
		}
	}
}

// ink is how much of a dot a glyph must cover to blacken it. A little less
// than half keeps thin strokes whole at 203 dpi.
const ink = 110

// draw puts t into the bitmap.
func (b *bitmap) draw(t text, p *pen) {
	l := p.set(t)
	at := t.fit(l.width)
	// The box leaves room for marks above and below, and for overhang.
	x0, y0 := int(math.Floor(at.x))-t.size/4, t.y-t.size*3/2
	w, h := int(math.Ceil(l.width*at.sx))+t.size/2+1, t.size*9/4
	at.x -= float64(x0)
	at.y -= float64(y0)
	mask := p.typesetter().trace(l, at, w, h)
	for y := range h {
		for x, cover := range mask.Pix[y*mask.Stride : y*mask.Stride+w] {
			if cover >= ink {
				b.set(x0+x, y0+y, !t.white)
			}
		}
	}
}

// trace rasterizes the line into a mask of w by h dots that is valid until
// the next call.
func (ts *typesetter) trace(l line, at placement, w, h int) *image.Alpha {
	ts.raster.Reset(w, h)
	ts.raster.DrawOp = draw.Src
	x := at.x
	for _, run := range l.runs {
		kx, ky := at.sx/run.upem, at.sy/run.upem // dots a font unit
		for _, g := range run.glyphs {
			gx := x + float64(g.XOffset)/64*kx
			gy := at.y - float64(g.YOffset)/64*ky
			ts.glyph(run.face, g.GlyphID, placement{gx, gy, kx, ky})
			x += float64(g.Advance) / 64 * kx
		}
	}
	if cap(ts.mask.Pix) < w*h {
		ts.mask.Pix = make([]byte, w*h)
	}
	ts.mask = image.Alpha{Pix: ts.mask.Pix[:w*h], Stride: w, Rect: image.Rect(0, 0, w, h)}
	ts.raster.Draw(&ts.mask, ts.mask.Rect, image.Opaque, image.Point{})
	return &ts.mask
}

func (ts *typesetter) glyph(face *font.Face, id font.GID, o placement) {
	data, ok := face.GlyphDataOutline(id)
	if !ok {
		return
	}
	at := func(p opentype.SegmentPoint) (x, y float32) {
		return float32(o.x + float64(p.X)*o.sx), float32(o.y - float64(p.Y)*o.sy)
	}
	for _, s := range data.Segments {
		x, y := at(s.Args[0])
		switch s.Op {
		case opentype.SegmentOpMoveTo:
			ts.raster.ClosePath()
			ts.raster.MoveTo(x, y)
		case opentype.SegmentOpLineTo:
			ts.raster.LineTo(x, y)
		case opentype.SegmentOpQuadTo:
			x1, y1 := at(s.Args[1])
			ts.raster.QuadTo(x, y, x1, y1)
		case opentype.SegmentOpCubeTo:
			x1, y1 := at(s.Args[1])
			x2, y2 := at(s.Args[2])
			ts.raster.CubeTo(x, y, x1, y1, x2, y2)
		}
	}
	ts.raster.ClosePath()
}

// bounds is the smallest box around all black dots, its left edge on a whole
// byte.
func (b *bitmap) bounds() rect {
	x0, x1, y0, y1 := b.stride, 0, b.height, 0
	for y := range b.height {
		for i, bits := range b.bits[y*b.stride : (y+1)*b.stride] {
			if bits != 0 {
				x0, x1 = min(x0, i), max(x1, i+1)
				y0, y1 = min(y0, y), y+1
			}
		}
	}
	if x1 == 0 {
		return rect{}
	}
	return rect{8 * x0, y0, 8 * (x1 - x0), y1 - y0}
}

// appendHex appends the part of the bitmap in box as ZPL's compressed hex: a
// count before a repeated digit, a comma for zeros to the end of the row, a
// colon for a row like the one before.
func (b *bitmap) appendHex(out []byte, box rect) []byte {
	digits := make([]byte, box.w/4)
	var before []byte
	for y := box.y; y < box.y+box.h; y++ {
		row := b.bits[y*b.stride+box.x/8:][:box.w/8]
		if before != nil && bytes.Equal(row, before) {
			out = append(out, ':')
			continue
		}
		before = row
		for i, bits := range row {
			digits[2*i], digits[2*i+1] = hexDigits[bits>>4], hexDigits[bits&15]
		}
		out = appendRow(out, digits)
	}
	return out
}

func appendRow(out, digits []byte) []byte {
	for i := 0; i < len(digits); {
		n := 1
		for i+n < len(digits) && digits[i+n] == digits[i] {
			n++
		}
		if digits[i] == '0' && i+n == len(digits) {
			return append(out, ',')
		}
		out = appendCount(out, n)
		out = append(out, digits[i])
		i += n
	}
	return out
}

// appendCount writes a repeat count: z is 400, g to y are 20 to 380, G to Y
// are 1 to 19. One needs none.
func appendCount(out []byte, n int) []byte {
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
