package label

import (
	"strconv"

	"github.com/go-text/typesetting/language"

	"github.com/waybillhq/waybill/internal/ship"
)

// sampleMark is printed on labels that no carrier would take.
const sampleMark = "SAMPLE - NOT FOR SHIPPING"

// The measures of a label, in dots of a 203 dpi printer.
const (
	margin      = 20 // to the edge of the paper
	pad         = 14 // between frame and text
	ruleWidth   = 3
	headHeight  = 96
	fromHeight  = 186
	routeHeight = 112
	codeHeight  = 300
	refHeight   = 28 // a line
	markHeight  = 46
	factsWidth  = 236
	sheetMargin = 40 // of A4 and letter
)

// desk lays one page out. Coordinates and measures are in dots of a 203 dpi
// printer; the scene holds those of the wanted resolution.
type desk struct {
	scene
	dx, dy      int // where the label lies on a sheet
	left, right int
	top, bottom int // what is free
	language    language.Language
}

// layout places everything a page shows. Rows of fixed height are taken from
// both ends, and the recipient gets what is left.
func layout(p Page, sample bool, o Options) (scene, error) {
	d := newDesk(o)
	from, to := cleanLines(p.From), cleanLines(p.To)
	d.language = languageOf(to, from)

	d.head(clean(p.Carrier), clean(p.Service))
	d.sender(from, p)
	if sample {
		d.mark()
	}
	d.references(cleanLines(p.Reference))
	if err := d.barcode(p); err != nil {
		return scene{}, err
	}
	d.routing(clean(p.Routing))
	d.recipient(to)
	return d.scene, nil
}

func newDesk(o Options) *desk {
	paper, _ := o.Size.dimensions()
	d := &desk{scene: scene{
		paper:  paper,
		dpi:    o.DPI,
		width:  (paper.width*o.DPI + 500) / 1000,
		height: (paper.height*o.DPI + 500) / 1000,
		rects:  make([]rect, 0, 16),
		texts:  make([]text, 0, 32),
	}}
	if o.Size.isSheet() {
		d.dx, d.dy = sheetMargin, sheetMargin
		paper, _ = Size4x6.dimensions()
	}
	width, height := paper.width*203/1000, paper.height*203/1000
	d.left, d.right = margin, width-margin
	d.top, d.bottom = margin, height-margin
	d.box(d.left, d.top, d.right-d.left, ruleWidth)
	d.box(d.left, d.bottom-ruleWidth, d.right-d.left, ruleWidth)
	d.box(d.left, d.top, ruleWidth, d.bottom-d.top)
	d.box(d.right-ruleWidth, d.top, ruleWidth, d.bottom-d.top)
	return d
}

// dots converts a measure to the wanted resolution.
func (d *desk) dots(v int) int { return (v*d.dpi*2 + 203) / (2 * 203) }

func (d *desk) box(x, y, w, h int) {
	x0, y0 := d.dots(d.dx+x), d.dots(d.dy+y)
	d.rects = append(d.rects, rect{
		x0, y0,
		max(d.dots(d.dx+x+w)-x0, 1), max(d.dots(d.dy+y+h)-y0, 1),
	})
}

// write places a line with its baseline at y. An empty one leaves no trace.
func (d *desk) write(s string, x, y, width, size int, bold bool) *text {
	if s == "" {
		return &text{}
	}
	d.texts = append(d.texts, text{
		s: s, x: d.dots(d.dx + x), y: d.dots(d.dy + y), width: d.dots(width), size: max(d.dots(size), 1),
		bold: bold, language: d.language,
	})
	return &d.texts[len(d.texts)-1]
}

// caption is the small name of a field.
func (d *desk) caption(s string, x, y, width int) { d.write(s, x, y, width, 19, false) }

// rule separates two rows.
func (d *desk) rule(y int) { d.box(d.left, y, d.right-d.left, ruleWidth) }

func (d *desk) head(carrier, service string) {
	split := d.left + 250
	d.write(carrier, d.left+pad, d.top+72, split-d.left-2*pad, 66, true).level = true
	d.write(service, split+pad, d.top+68, d.right-split-2*pad, 50, true).level = true
	d.box(split, d.top, ruleWidth, headHeight)
	d.top += headHeight
	d.rule(d.top)
}

// sender is a row with the address to the left and the facts to the right.
func (d *desk) sender(lines []string, p Page) {
	split := d.right - factsWidth
	d.caption("FROM", d.left+pad, d.top+26, 200)
	width := split - d.left - 2*pad
	d.lines(lines, d.left+pad, d.top+32, width, fromHeight-36, 25, false)
	d.box(split, d.top, ruleWidth, fromHeight)

	y, x, w := d.top+26, split+pad, factsWidth-2*pad
	fact := func(name, value string) {
		if value = clean(value); value != "" {
			d.caption(name, x, y, w)
			d.write(value, x, y+28, w, 28, true)
			y += 58
		}
	}
	fact("SHIP DATE", p.ShipDate)
	fact("WEIGHT", p.Weight)
	if p.Pieces > 0 {
		fact("PIECE", strconv.Itoa(p.Piece)+" OF "+strconv.Itoa(p.Pieces))
	}
	d.top += fromHeight
	d.rule(d.top)
}

// lines fills a box with an address in the largest letters that have room for
// all of it, size at most.
func (d *desk) lines(lines []string, x, y, width, height, size int, bold bool) {
	var wrapped []string
	for ; ; size = size * 9 / 10 {
		wrapped = wrap(lines, float64(width)/float64(size)/narrowest)
		if size < 14 || len(wrapped)*lineStep(size) <= height {
			break
		}
	}
	step := min(lineStep(size), height/max(len(wrapped), 1))
	for i, s := range wrapped {
		d.write(s, x, y+i*step+step*78/100, width, min(size, step), bold)
	}
}

// lineStep is the distance of baselines.
func lineStep(size int) int { return size * 5 / 4 }

func (d *desk) recipient(lines []string) {
	d.caption("SHIP TO", d.left+pad, d.top+26, 200)
	x := d.left + pad + 22
	d.lines(lines, x, d.top+36, d.right-pad-x, d.bottom-d.top-44, 44, true)
}

// mark says that the label is a sample, white on black across the bottom.
func (d *desk) mark() {
	d.bottom -= markHeight
	d.box(d.left, d.bottom, d.right-d.left, markHeight)
	t := d.write(sampleMark, d.left+pad, d.bottom+35, d.right-d.left-2*pad, 34, true)
	t.centred, t.white = true, true
}

func (d *desk) references(lines []string) {
	lines = lines[:min(len(lines), 4)]
	if len(lines) == 0 {
		return
	}
	d.bottom -= len(lines)*refHeight + 12
	d.rule(d.bottom)
	for i, s := range lines {
		d.write(s, d.left+pad, d.bottom+30+i*refHeight, d.right-d.left-2*pad, 22, false)
	}
}

func (d *desk) routing(s string) {
	if s == "" {
		return
	}
	d.bottom -= routeHeight
	d.rule(d.bottom)
	t := d.write(s, d.left+pad, d.bottom+85, d.right-d.left-2*pad, 84, true)
	t.centred, t.level = true, true
}

// barcode is a row with the tracking number and its symbol, under a thick
// rule. The modules are whole dots, as many as fit.
func (d *desk) barcode(p Page) error {
	number := clean(p.Tracking)
	content := p.Barcode
	if content == "" {
		content = number
	}
	if content == "" {
		return nil
	}
	sym, err := encode128(content)
	if err != nil {
		return err
	}
	d.bottom -= codeHeight
	d.box(d.left, d.bottom, d.right-d.left, 8)
	d.caption("TRACKING NUMBER", d.left+pad, d.bottom+36, 400)
	space := d.dots(d.right - d.left - 2*ruleWidth)
	module := min(space/(sym.modules()+2*quietModules), d.dots(4))
	if module < d.dots(2) {
		return ship.Errorf(ship.Invalid, "the label's bar code is too long for the paper")
	}
	d.codes = append(d.codes, code{
		x: d.dots(d.dx+d.left+ruleWidth) + (space-sym.modules()*module)/2,
		y: d.dots(d.dy + d.bottom + 50), height: d.dots(192), module: module, symbol: sym, content: content,
	})
	d.write(grouped(number), d.left+pad, d.bottom+283, d.right-d.left-2*pad, 38, true).centred = true
	return nil
}
