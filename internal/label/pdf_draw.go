package label

import (
	"context"
	"errors"
	"image"
	"math"

	"github.com/waybillhq/waybill/internal/pdfium"
)

// drawPages draws the pages of a carrier's PDF as dots of the wanted
// resolution.
//
// Pages are laid on the wanted paper as in a PDF. Pages that are too large for
// the default size keep their own, as they do in a PDF, so every label can be
// had in every format.
func (r *Renderer) drawPages(files []*pdfFile, o Options) ([]placed, error) {
	paper, fits := paperFor(files, o, false)
	if !fits && o.Size != Size4x6 {
		return nil, unavailable("pdf", o, "size 4x6")
	}

	canvas, _ := o.Size.dimensions()
	width, height := dotsOf(canvas.width, o.DPI), dotsOf(canvas.height, o.DPI)
	var pages []pdfium.Page
	for _, f := range files {
		for _, page := range f.pages {
			size := pdfium.Page{Width: width, Height: height}
			if !fits {
				w, h := page.size()
				size.Width = int(math.Round(w * float64(o.DPI) / 72))
				size.Height = int(math.Round(h * float64(o.DPI) / 72))
			}
			pages = append(pages, size)
		}
	}
	if len(pages) > maxPages {
		return nil, finding("too_large", "the label has more than %d pages", maxPages)
	}

	// The copy holds what the pages draw with and nothing else of the file.
	var drawn []placed
	err := r.pdf.Render(context.Background(), copyPDF(files, paper), pages, func(picture *image.Gray) {
		page := raster{blacken(picture), o.DPI}
		box := page.inked()
		drawn = append(drawn, placed{
			raster: page,
			ink:    box,
			scale:  ratio{1, 1},
			x:      box.x,
			y:      box.y,
			dpi:    o.DPI,
			width:  page.width,
			height: page.height,
		})
	})
	return drawn, drawingError(err)
}

// drawingError is the error for a file that the renderer cannot draw: such a
// file is damaged, or asks for more work than a label does.
func drawingError(err error) error {
	if errors.Is(err, pdfium.ErrUnreadable) {
		return finding("pdf_unreadable", "its pages cannot be drawn")
	}
	return err
}

// dotsOf converts thousandths of an inch.
func dotsOf(thousandths, dpi int) int { return (thousandths*dpi + 500) / 1000 }
