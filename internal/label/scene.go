package label

import "github.com/go-text/typesetting/language"

// scene is the layout of a page, in whole dots from the upper left corner.
type scene struct {
	paper         dimensions
	width, height int // of the paper
	dpi           int
	rects         []rect
	texts         []text
	codes         []code
	pictures      []placedPicture // in a PDF alone
}

// rect is a filled black box.
type rect struct{ x, y, w, h int }

// text is one line. It begins at x on the baseline y and is made to fit into
// width, however long it is.
type text struct {
	content  string
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
	module       int // dots per module
	symbol       symbol
	content      string
}

// narrowest is how far a line is narrowed before it is also made smaller:
// narrow letters read better than small ones.
const narrowest = 0.75

// placement is the position and scale of a line.
type placement struct {
	x, y   float64 // start of the baseline
	sx, sy float64 // dots per em, across and down
}

// fit places a line whose width is given in ems so that it stays in its box.
func (t text) fit(width float64) placement {
	em := float64(t.size)
	origin := placement{
		x:  float64(t.x),
		y:  float64(t.y),
		sx: em,
		sy: em,
	}

	if box := float64(t.width); width*em > box {
		origin.sx = box / width
		origin.sy = min(em, origin.sx/narrowest)
	}
	if t.centred {
		origin.x += (float64(t.width) - width*origin.sx) / 2
	}
	if t.level {
		origin.y -= (em - origin.sy) * capHeight / 2
	}
	return origin
}

// capHeight is the height of capital letters in Noto Sans, in ems.
const capHeight = 0.714
