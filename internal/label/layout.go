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
	refHeight   = 28 // of one reference
	markHeight  = 46
	factsWidth  = 236
	sheetMargin = 40 // of A4 and letter
)

// pageLayout lays one page out. Coordinates and measures are in dots of a 203
// dpi printer; the scene holds those of the wanted resolution.
type pageLayout struct {
	scene
	dx, dy      int // where the label is on a sheet
	left, right int
	top, bottom int // of the space that is still free
	language    language.Language
}

// layout places everything a page shows. Rows of fixed height are taken from
// both ends, and the recipient gets what is left.
func layout(page Page, sample bool, options Options) (scene, error) {
	from := cleanLines(page.From)
	to := cleanLines(page.To)

	p := newPageLayout(options)
	p.language = languageOf(to, from)

	p.addHead(clean(page.Carrier), clean(page.Service))
	p.addSender(from, page)
	if sample {
		p.addSampleMark()
	}
	p.addReferences(cleanLines(page.Reference))
	if err := p.addBarcode(page); err != nil {
		return scene{}, err
	}
	p.addRouting(clean(page.Routing))
	p.addRecipient(to)
	return p.scene, nil
}

// newPageLayout begins a page with the frame of its label.
func newPageLayout(options Options) *pageLayout {
	paper, _ := options.Size.dimensions()
	p := &pageLayout{scene: scene{
		paper:  paper,
		dpi:    options.DPI,
		width:  (paper.width*options.DPI + 500) / 1000,
		height: (paper.height*options.DPI + 500) / 1000,
		rects:  make([]rect, 0, 16),
		texts:  make([]text, 0, 32),
	}}

	// A sheet carries a 4x6 label in its corner.
	if options.Size.isSheet() {
		p.dx = sheetMargin
		p.dy = sheetMargin
		paper, _ = Size4x6.dimensions()
	}

	p.left = margin
	p.right = paper.width*203/1000 - margin
	p.top = margin
	p.bottom = paper.height*203/1000 - margin

	p.addBox(p.left, p.top, p.right-p.left, ruleWidth)
	p.addBox(p.left, p.bottom-ruleWidth, p.right-p.left, ruleWidth)
	p.addBox(p.left, p.top, ruleWidth, p.bottom-p.top)
	p.addBox(p.right-ruleWidth, p.top, ruleWidth, p.bottom-p.top)
	return p
}

// dots converts a measure to the wanted resolution.
func (p *pageLayout) dots(measure int) int { return (measure*p.dpi*2 + 203) / (2 * 203) }

func (p *pageLayout) addBox(x, y, width, height int) {
	left := p.dots(p.dx + x)
	top := p.dots(p.dy + y)

	// The far edges are rounded rather than the sizes, so boxes that touch at
	// 203 dpi touch at every resolution.
	p.rects = append(p.rects, rect{
		x: left,
		y: top,
		w: max(p.dots(p.dx+x+width)-left, 1),
		h: max(p.dots(p.dy+y+height)-top, 1),
	})
}

// addText places a line with its baseline at y. An empty line is not added.
func (p *pageLayout) addText(content string, x, y, width, size int, bold bool) *text {
	if content == "" {
		return &text{}
	}
	p.texts = append(p.texts, text{
		content:  content,
		x:        p.dots(p.dx + x),
		y:        p.dots(p.dy + y),
		width:    p.dots(width),
		size:     max(p.dots(size), 1),
		bold:     bold,
		language: p.language,
	})
	return &p.texts[len(p.texts)-1]
}

// addCaption adds the small name of a field.
func (p *pageLayout) addCaption(name string, x, y, width int) {
	p.addText(name, x, y, width, 19, false)
}

// addRule separates two rows.
func (p *pageLayout) addRule(y int) { p.addBox(p.left, y, p.right-p.left, ruleWidth) }

// addHead adds the first row: the carrier and its service.
func (p *pageLayout) addHead(carrier, service string) {
	split := p.left + 250
	p.addText(carrier, p.left+pad, p.top+72, split-p.left-2*pad, 66, true).level = true
	p.addText(service, split+pad, p.top+68, p.right-split-2*pad, 50, true).level = true
	p.addBox(split, p.top, ruleWidth, headHeight)

	p.top += headHeight
	p.addRule(p.top)
}

// addSender adds a row with the address to the left and the facts to the right.
func (p *pageLayout) addSender(lines []string, page Page) {
	split := p.right - factsWidth
	p.addCaption("FROM", p.left+pad, p.top+26, 200)
	p.addAddress(lines, p.left+pad, p.top+32, split-p.left-2*pad, fromHeight-36, 25, false)
	p.addBox(split, p.top, ruleWidth, fromHeight)

	x := split + pad
	y := p.top + 26
	width := factsWidth - 2*pad
	addFact := func(name, value string) {
		if value = clean(value); value != "" {
			p.addCaption(name, x, y, width)
			p.addText(value, x, y+28, width, 28, true)
			y += 58
		}
	}
	addFact("SHIP DATE", page.ShipDate)
	addFact("WEIGHT", page.Weight)
	if page.Pieces > 0 {
		addFact("PIECE", strconv.Itoa(page.Piece)+" OF "+strconv.Itoa(page.Pieces))
	}

	p.top += fromHeight
	p.addRule(p.top)
}

// addAddress fills a box with an address in the largest letters that have room
// for all of it, size at most.
func (p *pageLayout) addAddress(lines []string, x, y, width, height, size int, bold bool) {
	var wrapped []string
	for ; ; size = size * 9 / 10 {
		wrapped = wrap(lines, float64(width)/float64(size)/narrowest)
		if size < 14 || len(wrapped)*lineHeight(size) <= height {
			break
		}
	}

	// Letters at the lower limit may still not fit: then lines move closer
	// together, and shrink with their distance.
	distance := min(lineHeight(size), height/max(len(wrapped), 1))
	for i, line := range wrapped {
		p.addText(line, x, y+i*distance+distance*78/100, width, min(size, distance), bold)
	}
}

// lineHeight is the distance between baselines.
func lineHeight(size int) int { return size * 5 / 4 }

// addRecipient fills the space that the other rows left.
func (p *pageLayout) addRecipient(lines []string) {
	p.addCaption("SHIP TO", p.left+pad, p.top+26, 200)
	x := p.left + pad + 22
	p.addAddress(lines, x, p.top+36, p.right-pad-x, p.bottom-p.top-44, 44, true)
}

// addSampleMark marks the label as a sample, white on black across the bottom.
func (p *pageLayout) addSampleMark() {
	p.bottom -= markHeight
	p.addBox(p.left, p.bottom, p.right-p.left, markHeight)

	mark := p.addText(sampleMark, p.left+pad, p.bottom+35, p.right-p.left-2*pad, 34, true)
	mark.centred = true
	mark.white = true
}

// addReferences adds up to four references, a line each.
func (p *pageLayout) addReferences(lines []string) {
	lines = lines[:min(len(lines), 4)]
	if len(lines) == 0 {
		return
	}

	p.bottom -= len(lines)*refHeight + 12
	p.addRule(p.bottom)
	for i, line := range lines {
		p.addText(line, p.left+pad, p.bottom+30+i*refHeight, p.right-p.left-2*pad, 22, false)
	}
}

// addRouting adds a row with the large sort code.
func (p *pageLayout) addRouting(sortCode string) {
	if sortCode == "" {
		return
	}

	p.bottom -= routeHeight
	p.addRule(p.bottom)
	line := p.addText(sortCode, p.left+pad, p.bottom+85, p.right-p.left-2*pad, 84, true)
	line.centred = true
	line.level = true
}

// addBarcode adds a row with the tracking number and its symbol, under a thick
// rule. A module is a whole number of dots, as many as fit.
func (p *pageLayout) addBarcode(page Page) error {
	number := clean(page.Tracking)
	content := page.Barcode
	if content == "" {
		content = number
	}
	if content == "" {
		return nil
	}
	symbol, err := encode128(content)
	if err != nil {
		return err
	}

	p.bottom -= codeHeight
	p.addBox(p.left, p.bottom, p.right-p.left, 8)
	p.addCaption("TRACKING NUMBER", p.left+pad, p.bottom+36, 400)

	// A module has at least two dots of a 203 dpi printer.
	space := p.dots(p.right - p.left - 2*ruleWidth)
	module := min(space/(symbol.modules()+2*quietModules), p.dots(4))
	if module < p.dots(2) {
		return ship.Errorf(ship.Invalid, "the label's barcode is too long for the paper")
	}

	p.codes = append(p.codes, code{
		x:       p.dots(p.dx+p.left+ruleWidth) + (space-symbol.modules()*module)/2,
		y:       p.dots(p.dy + p.bottom + 50),
		height:  p.dots(192),
		module:  module,
		symbol:  symbol,
		content: content,
	})
	p.addText(groupDigits(number), p.left+pad, p.bottom+283, p.right-p.left-2*pad, 38, true).centred = true
	return nil
}
