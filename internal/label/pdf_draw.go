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
// Pages are placed on the wanted paper as in a PDF. Pages that are too large
// for the default size keep their own, as they do in a PDF, so every label is
// available in every format.
func (r *Renderer) drawPages(files []*pdfFile, options Options) ([]placed, error) {
	paper, fits := paperFor(files, options, false)
	if !fits && options.Size != Size4x6 {
		return nil, unavailable("pdf", options, "size 4x6")
	}

	canvas, _ := options.Size.dimensions()
	var pages []pdfium.Page
	for _, file := range files {
		for _, page := range file.pages {
			size := pdfium.Page{
				Width:  dotsOf(canvas.width, options.DPI),
				Height: dotsOf(canvas.height, options.DPI),
			}
			if !fits {
				width, height := page.size()
				size.Width = int(math.Round(width * float64(options.DPI) / 72))
				size.Height = int(math.Round(height * float64(options.DPI) / 72))
			}
			pages = append(pages, size)
		}
	}
	if len(pages) > maxPages {
		return nil, finding("too_large", "the label has more than %d pages", maxPages)
	}

	// PDFium gets a copy with what the pages draw with and nothing else of the
	// file.
	var drawn []placed
	err := r.pdf.Render(context.Background(), copyPDF(files, paper), pages, func(picture *image.Gray) {
		page := raster{blacken(picture), options.DPI}
		box := page.inkBounds()
		drawn = append(drawn, placed{
			raster: page,
			ink:    box,
			scale:  ratio{1, 1},
			x:      box.x,
			y:      box.y,
			dpi:    options.DPI,
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
		return finding("pdf_unreadable", "its pages cannot be rendered")
	}
	return err
}

// dotsOf converts thousandths of an inch.
func dotsOf(thousandths, dpi int) int { return (thousandths*dpi + 500) / 1000 }
