package label

import (
	"bytes"
	"context"

	"github.com/waybillhq/waybill/internal/budget"
	"github.com/waybillhq/waybill/internal/ship"
)

// RenderLabel writes a label as it came from a carrier in the wanted format.
//
//   - Our own labels (format "scene") are rendered.
//   - A picture (gif, png, jpg) becomes PDF, PNG or a graphic in ZPL, in black
//     and white. The sheets of a PNG are stacked vertically.
//   - PDF is passed through, its pages in one file. For another size than it
//     was bought in, it is placed on that paper at its true size or a little
//     smaller. If its pages are nothing but pictures, PNG and ZPL are made
//     from them dot for dot; other pages are drawn.
//   - ZPL is passed through. If CanRender allows it, PDF and PNG are drawn
//     from it.
//
// A format that cannot be produced is an error of code format_unavailable. A
// label that Lint refuses is one of code label_quarantined; errors.As finds
// the *Finding.
func (r *Renderer) RenderLabel(label ship.Label, options Options) (Rendering, error) {
	if label.Format == "scene" {
		document, err := Parse(label.Data)
		if err != nil {
			return Rendering{}, err
		}
		return r.Render(document, options)
	}

	// The defaults fill the size in, so whether one was asked for must be
	// known before.
	asBought := options.Size == ""
	options, err := options.complete()
	if err != nil {
		return Rendering{}, err
	}

	data, err := r.convert(label, options, asBought)
	return Rendering{Data: data}, quarantine(err)
}

func (r *Renderer) convert(label ship.Label, options Options, asBought bool) ([]byte, error) {
	pages, err := Split(label.Data)
	if err != nil {
		return nil, err
	}
	if len(pages) > maxPages {
		return nil, finding("too_large", "the label has more than %d pages", maxPages)
	}

	// Reading a PDF lints it too, so it does not go through Lint first.
	if label.Format == "pdf" {
		return r.convertPDF(pages, options, asBought)
	}
	if err := Lint(label.Format, label.Data); err != nil {
		return nil, err
	}
	if label.Format == "zpl" {
		return convertZPL(pages, options)
	}

	release, err := r.reserve(options, budget.Picture)
	if err != nil {
		return nil, err
	}
	defer release()

	rasters := make([]raster, len(pages))
	for i, page := range pages {
		if rasters[i], err = readRaster(label.Format, page); err != nil {
			return nil, err
		}
	}
	return writeRasters(rasters, options)
}

// unavailable is the error for a format that cannot be made from the label. It
// names the formats in which the label is available.
func unavailable(sold string, options Options, have string) error {
	return ship.Coded(ship.Unsupported, "format_unavailable",
		"the carrier issued this label as %s, and it cannot be converted to %s in size %s: request %s", sold, options.Format, options.Size, have)
}

// convertZPL passes ZPL through as it came. Other formats and sizes are drawn,
// if all of it can be drawn faithfully; see CanRender. The label is assumed to
// be made for a 203 dpi printer, as carriers sell it.
func convertZPL(pages [][]byte, options Options) ([]byte, error) {
	if options.Format == ZPL && options.Size == Size4x6 {
		return bytes.Join(pages, []byte("\n")), nil
	}

	var drawn []raster
	for _, page := range pages {
		rasters, err := drawZPL(page, 203)
		if err != nil {
			return nil, unavailable("zpl", options, "zpl in size 4x6")
		}
		drawn = append(drawn, rasters...)
	}
	return writeRasters(drawn, options)
}

// convertPDF reads the files, which lints them too, and writes their pages in
// the wanted format.
func (r *Renderer) convertPDF(pages [][]byte, options Options, asBought bool) ([]byte, error) {
	files := make([]*pdfFile, len(pages))
	for i, page := range pages {
		if len(page) > maxFileBytes {
			return nil, finding("too_large", "the file is larger than %d MB", maxFileBytes>>20)
		}
		var err error
		if files[i], err = readPDF(page); err != nil {
			return nil, err
		}
	}

	if options.Format == PDF {
		paper, fits := paperFor(files, options, asBought)
		switch {
		case !fits && options.Size != Size4x6:
			return nil, unavailable("pdf", options, "pdf in its original size")
		case paper == nil && len(pages) == 1:
			return pages[0], nil
		}
		return copyPDF(files, paper), nil
	}

	// The dots of a picture are the printer's own as a rule, so they are taken
	// as they are instead of being drawn again.
	if data, ok, err := r.convertPictures(files, options); ok || err != nil {
		return data, err
	}

	release, err := r.reserve(options, budget.DrawPages)
	if err != nil {
		return nil, err
	}
	defer release()

	drawn, err := r.drawPages(files, options)
	if err != nil {
		return nil, err
	}
	return writePlaced(drawn, options.Format), nil
}

// convertPictures converts files whose pages are nothing but pictures; ok is
// false for others.
func (r *Renderer) convertPictures(files []*pdfFile, options Options) (data []byte, ok bool, err error) {
	release, err := r.reserve(options, budget.Picture)
	if err != nil {
		return nil, false, err
	}
	defer release()

	rasters, ok := imagePages(files)
	if !ok {
		return nil, false, nil
	}
	data, err = writeRasters(rasters, options)
	return data, true, err
}

// reserve reserves memory for what a carrier sent, unless the caller holds it. The
// wait is bounded by the budget itself, and callers of a renderer have no other
// deadline.
func (r *Renderer) reserve(options Options, bytes int64) (release func(), err error) {
	if options.isReserved {
		return func() {}, nil
	}
	return r.Heavy.Reserve(context.Background(), options.Owner, bytes)
}

// paperFor is the paper that the pages are placed on, nil if they keep their
// own size. A label that does not fit the default size keeps its own too, so
// there always is a PDF.
func paperFor(files []*pdfFile, options Options, asBought bool) (paper *sheet, fits bool) {
	if asBought {
		return nil, true
	}

	wanted := newSheet(options.Size)
	sameSize := true
	for _, file := range files {
		for _, page := range file.pages {
			if _, ok := wanted.fit(page); !ok {
				return nil, false
			}
			sameSize = sameSize && wanted.matches(page)
		}
	}

	if sameSize {
		return nil, true
	}
	return wanted, true
}
