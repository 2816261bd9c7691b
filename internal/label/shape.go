package label

import (
	"compress/zlib"
	"image"
	"io"
	"slices"
	"unicode"

	"github.com/go-text/typesetting/bidi"
	"github.com/go-text/typesetting/di"
	"github.com/go-text/typesetting/font"
	"github.com/go-text/typesetting/language"
	"github.com/go-text/typesetting/shaping"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// typesetter shapes lines and holds the buffers of one rendering. One
// goroutine uses it at a time.
type typesetter struct {
	kit    *kit
	faces  [typefaces]*font.Face
	shaper shaping.HarfbuzzShaper
	para   bidi.Paragraph
	raster vector.Rasterizer
	mask   image.Alpha
	zlib   *zlib.Writer
}

func newTypesetter(k *kit) *typesetter {
	return &typesetter{kit: k}
}

// line is shaped text, its runs from left to right.
type line struct {
	runs    []run
	width   float64 // em
	missing []rune
}

// run is a stretch of glyphs of one font, in font units.
type run struct {
	face   *font.Face
	upem   float64
	glyphs []shaping.Glyph
}

// item is a stretch of text that one call of the shaper can take.
type item struct {
	start, end int
	level      bidi.Level
	script     language.Script
	face       *font.Face
}

// set shapes t at size one em.
func (ts *typesetter) set(t text) line {
	var out line
	runes := []rune(t.s)
	t.bold = t.bold || slices.ContainsFunc(runes, hasOneWeight)
	items := ts.split(runes, t, &out)
	reorder(items)
	for _, it := range items {
		upem := it.face.Upem()
		in := shaping.Input{
			Text: runes, RunStart: it.start, RunEnd: it.end,
			Direction: di.DirectionLTR, Face: it.face, Script: it.script,
			Size: fixed.I(int(upem)), Language: t.language,
		}
		if it.level%2 == 1 {
			in.Direction = di.DirectionRTL
		}
		shaped := ts.shaper.ShapeNoExtents(in)
		out.runs = append(out.runs, run{face: it.face, upem: float64(upem), glyphs: shaped.Glyphs})
		out.width += float64(shaped.Advance) / 64 / float64(upem)
	}
	return out
}

// split cuts the text wherever direction, script or font change, in logical
// order.
func (ts *typesetter) split(runes []rune, t text, out *line) []item {
	var items []item
	for _, run := range ts.levels(runes) {
		last := item{start: run.Start, end: run.Start, level: run.Level}
		for at := run.Start; at < run.End; at++ {
			r := runes[at]
			script := scriptOf(r, last.script)
			face := ts.faceFor(r, last.face, t, out)
			if last.end > last.start && (script != last.script || face != last.face) {
				items = append(items, last)
				last.start = at
			}
			last.script, last.face, last.end = script, face, at+1
		}
		if last.end > last.start {
			items = append(items, last)
		}
	}
	return items
}

// scriptOf lets spaces, digits, punctuation and marks go with what they
// follow.
func scriptOf(r rune, before language.Script) language.Script {
	s := language.LookupScript(r)
	if (s == language.Common || s == language.Inherited || s == language.Unknown) && before != 0 {
		return before
	}
	return s
}

// faceFor chooses the first font that has r. Spaces, marks and joiners stay
// in the font of what they follow, lest a word falls apart.
func (ts *typesetter) faceFor(r rune, before *font.Face, t text, out *line) *font.Face {
	joins := r == zeroWidthJoiner || r == zeroWidthNonJoiner || unicode.Is(unicode.Variation_Selector, r)
	if before != nil {
		if joins {
			return before
		}
		if r == ' ' || unicode.Is(unicode.M, r) {
			if _, ok := before.NominalGlyph(r); ok {
				return before
			}
		}
	}
	latin, wide := sans, cjk
	if t.bold {
		latin, wide = sansBold, cjkBold
	}
	for _, id := range [...]typeface{latin, arabic, hebrew, thai, devanagari, wide} {
		if !covers(id, r) {
			continue
		}
		if face := ts.face(id); face != nil {
			if _, ok := face.NominalGlyph(r); ok {
				return face
			}
		}
	}
	if !joins && !slices.Contains(out.missing, r) {
		out.missing = append(out.missing, r)
	}
	return ts.face(latin) // whose glyph for the unknown is a box
}

// covers tells which fonts are worth opening for r.
func covers(id typeface, r rune) bool {
	switch id {
	case arabic:
		return unicode.Is(unicode.Arabic, r) || r >= 0x600 && r <= 0x6ff
	case hebrew:
		return unicode.Is(unicode.Hebrew, r)
	case thai:
		return unicode.Is(unicode.Thai, r)
	case devanagari:
		return r >= 0x900 && r <= 0x97f || r >= 0xa8e0 && r <= 0xa8ff
	case cjk, cjkBold:
		return r >= 0x1100
	}
	return true
}

// hasOneWeight reports whether r is of a script whose font is embedded in bold
// alone: what stands beside it in the line is bold then too.
func hasOneWeight(r rune) bool {
	return covers(arabic, r) || covers(hebrew, r) || covers(thai, r) || covers(devanagari, r)
}

// face returns nil if the font is not to be had.
func (ts *typesetter) face(id typeface) *font.Face {
	if ts.faces[id] == nil {
		if f := ts.kit.fonts[id](); f != nil {
			ts.faces[id] = font.NewFace(f)
		}
	}
	return ts.faces[id]
}

// deflater returns a zlib writer to w; making one costs a megabyte.
func (ts *typesetter) deflater(w io.Writer) *zlib.Writer {
	if ts.zlib == nil {
		ts.zlib, _ = zlib.NewWriterLevel(w, 4) // only an unknown level fails
	} else {
		ts.zlib.Reset(w)
	}
	return ts.zlib
}
