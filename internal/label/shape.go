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
	cache     *fontCache
	faces     [typefaces]*font.Face
	shaper    shaping.HarfbuzzShaper
	paragraph bidi.Paragraph
	raster    vector.Rasterizer
	mask      image.Alpha
	zlib      *zlib.Writer
}

func newTypesetter(cache *fontCache) *typesetter {
	return &typesetter{cache: cache}
}

// shapedLine is shaped text, its runs from left to right.
type shapedLine struct {
	runs    []run
	width   float64 // em
	missing []rune
}

// run is a sequence of glyphs of one font, in font units.
type run struct {
	face   *font.Face
	upem   float64
	glyphs []shaping.Glyph
}

// item is a part of the text that one call of the shaper can take.
type item struct {
	start, end int
	level      bidi.Level
	script     language.Script
	face       *font.Face
}

// shape shapes a line at a size of one em.
func (ts *typesetter) shape(line text) shapedLine {
	var out shapedLine
	runes := []rune(line.content)
	line.bold = line.bold || slices.ContainsFunc(runes, isBoldOnly)
	items := ts.split(runes, line, &out)
	reorder(items)

	for _, item := range items {
		upem := item.face.Upem()
		input := shaping.Input{
			Text:      runes,
			RunStart:  item.start,
			RunEnd:    item.end,
			Direction: di.DirectionLTR,
			Face:      item.face,
			Script:    item.script,
			Size:      fixed.I(int(upem)),
			Language:  line.language,
		}
		if item.level%2 == 1 {
			input.Direction = di.DirectionRTL
		}

		shaped := ts.shaper.ShapeNoExtents(input)
		out.runs = append(out.runs, run{
			face:   item.face,
			upem:   float64(upem),
			glyphs: shaped.Glyphs,
		})
		out.width += float64(shaped.Advance) / 64 / float64(upem)
	}
	return out
}

// split splits the text wherever direction, script or font change, in logical
// order. It notes in out the characters that no font has.
func (ts *typesetter) split(runes []rune, line text, out *shapedLine) []item {
	var items []item
	for _, run := range ts.splitLevels(runes) {
		last := item{start: run.Start, end: run.Start, level: run.Level}
		for at := run.Start; at < run.End; at++ {
			char := runes[at]
			script := scriptOf(char, last.script)
			face := ts.faceFor(char, last.face, line, out)
			if last.end > last.start && (script != last.script || face != last.face) {
				items = append(items, last)
				last.start = at
			}

			last.script = script
			last.face = face
			last.end = at + 1
		}
		if last.end > last.start {
			items = append(items, last)
		}
	}
	return items
}

// scriptOf is the script of a character. Spaces, digits, punctuation and marks
// take the script of what they follow.
func scriptOf(char rune, before language.Script) language.Script {
	script := language.LookupScript(char)
	if (script == language.Common || script == language.Inherited || script == language.Unknown) && before != 0 {
		return before
	}
	return script
}

// faceFor chooses the first font that has a character, and notes in out if none
// has it.
func (ts *typesetter) faceFor(char rune, before *font.Face, line text, out *shapedLine) *font.Face {
	// Spaces, marks and joiners stay in the font of what they follow. Otherwise
	// they would break a word into parts that are shaped separately.
	isJoiner := char == zeroWidthJoiner || char == zeroWidthNonJoiner || unicode.Is(unicode.Variation_Selector, char)
	if before != nil {
		if isJoiner {
			return before
		}
		if char == ' ' || unicode.Is(unicode.M, char) {
			if _, ok := before.NominalGlyph(char); ok {
				return before
			}
		}
	}

	latin := sans
	wide := cjk
	if line.bold {
		latin = sansBold
		wide = cjkBold
	}
	for _, id := range [...]typeface{latin, arabic, hebrew, thai, devanagari, wide} {
		if !mayHave(id, char) {
			continue
		}
		if face := ts.face(id); face != nil {
			if _, ok := face.NominalGlyph(char); ok {
				return face
			}
		}
	}

	if !isJoiner && !slices.Contains(out.missing, char) {
		out.missing = append(out.missing, char)
	}
	return ts.face(latin) // whose glyph for the unknown is a box
}

// mayHave reports whether a font is worth opening for a character.
func mayHave(id typeface, char rune) bool {
	switch id {
	case arabic:
		return unicode.Is(unicode.Arabic, char) || char >= 0x600 && char <= 0x6ff
	case hebrew:
		return unicode.Is(unicode.Hebrew, char)
	case thai:
		return unicode.Is(unicode.Thai, char)
	case devanagari:
		return char >= 0x900 && char <= 0x97f || char >= 0xa8e0 && char <= 0xa8ff
	case cjk, cjkBold:
		return char >= 0x1100
	}
	return true
}

// isBoldOnly reports whether a character is of a script whose font is embedded
// only in bold: the rest of the line is then bold too.
func isBoldOnly(char rune) bool {
	return mayHave(arabic, char) || mayHave(hebrew, char) || mayHave(thai, char) || mayHave(devanagari, char)
}

// face returns nil if the font is not available.
func (ts *typesetter) face(id typeface) *font.Face {
	if ts.faces[id] == nil {
		if loaded := ts.cache.fonts[id](); loaded != nil {
			ts.faces[id] = font.NewFace(loaded)
		}
	}
	return ts.faces[id]
}

// deflater returns a zlib writer to w. It is reused, because making one costs a
// megabyte.
func (ts *typesetter) deflater(w io.Writer) *zlib.Writer {
	if ts.zlib == nil {
		ts.zlib, _ = zlib.NewWriterLevel(w, 4) // only an unknown level fails
	} else {
		ts.zlib.Reset(w)
	}
	return ts.zlib
}
