package label

import "github.com/go-text/typesetting/language"

// The measures of papers, such as invoices, in dots of 203 to the inch.
const (
	paperLeft   = 100
	paperRight  = 1600
	paperTop    = 120
	paperBottom = 2100
	paperRow    = 56
)

// paperWriter lays the text of a paper out, from top to bottom.
type paperWriter struct {
	isSample bool
	paper    dimensions
	language language.Language
	scenes   []scene
	y        int // the next baseline
}

// beginPage begins a new page.
func (w *paperWriter) beginPage() {
	w.scenes = append(w.scenes, scene{
		paper:  w.paper,
		dpi:    203,
		width:  dotsOf(w.paper.width, 203),
		height: dotsOf(w.paper.height, 203),
	})

	w.y = paperTop
	if w.isSample {
		w.write(sampleMark, paperLeft, paperRight-paperLeft, 30, true)
	}
	w.y += 90
}

// write puts a line on the current baseline. Text that is too long is narrowed.
func (w *paperWriter) write(content string, x, width, size int, bold bool) {
	if content = clean(content); content == "" {
		return
	}
	page := &w.scenes[len(w.scenes)-1]
	page.texts = append(page.texts, text{
		content:  content,
		x:        x,
		y:        w.y,
		width:    width,
		size:     size,
		bold:     bold,
		language: w.language,
	})
}

// drawRule draws a horizontal rule, a little below the current baseline.
func (w *paperWriter) drawRule() {
	page := &w.scenes[len(w.scenes)-1]
	page.rects = append(page.rects, rect{paperLeft, w.y + 14, paperRight - paperLeft, 2})
}
