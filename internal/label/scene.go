package label

import "github.com/go-text/typesetting/language"

// scene is a page laid out, in whole dots from the upper left corner.
type scene struct {
	paper         dimensions
	width, height int // of the paper
	dpi           int
	rects         []rect
	texts         []text
	codes         []code
}

// rect is a filled black box.
type rect struct{ x, y, w, h int }

// text is one line. It begins at x on the baseline y and is made to fit into
// width, whatever it says.
type text struct {
	s        string
	x, y     int
	width    int
	size     int // em in dots
	bold     bool
	centred  bool
	level    bool // keeps the height of its middle when it shrinks
	white    bool // on black
	language language.Language
}

// code is a Code 128 symbol; the quiet zones on both sides are free.
type code struct {
	x, y, height int
	module       int // dots a module
	symbol       symbol
	content      string
}

// narrowest is how far a line is narrowed before it is also made smaller:
// narrow letters read better than small ones.
const narrowest = 0.75

// placement is where and how large a line comes to stand.
type placement struct {
	x, y   float64 // start of the baseline
	sx, sy float64 // dots an em, across and down
}

// fit places a line whose width is given in ems so that it stays in its box.
func (t text) fit(width float64) placement {
	em := float64(t.size)
	p := placement{x: float64(t.x), y: float64(t.y), sx: em, sy: em}
	if box := float64(t.width); width*em > box {
		p.sx = box / width
		p.sy = min(em, p.sx/narrowest)
	}
	if t.centred {
		p.x += (float64(t.width) - width*p.sx) / 2
	}
	if t.level {
		p.y -= (em - p.sy) * capHeight / 2
	}
	return p
}

// capHeight of Noto Sans, in ems.
const capHeight = 0.714
