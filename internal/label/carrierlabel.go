package label

import (
	"bytes"

	"github.com/waybillhq/waybill/internal/ship"
)

// RenderLabel writes a label as it came from a carrier in the wanted format.
//
//   - Ours (format "scene") is rendered.
//   - A picture (gif, png, jpg) becomes PDF, PNG and a graphic in ZPL, in
//     black and white; the sheets of PNG lie below each other.
//   - PDF is handed on as it came, its pages in one file; another size than
//     it was bought in is laid on that paper at its true size or a little
//     smaller. PNG and ZPL are made of its pictures if its pages are nothing
//     but pictures, dot for dot; other pages are drawn.
//   - ZPL is handed on as it came. If CanRender allows it, PDF and PNG are
//     drawn of it.
//
// What cannot be had is an error of code format_unavailable. What Lint
// refuses is one of code label_quarantined; errors.As finds the *Finding.
func (r *Renderer) RenderLabel(l ship.Label, o Options) (Rendering, error) {
	if l.Format == "scene" {
		d, err := Parse(l.Data)
		if err != nil {
			return Rendering{}, err
		}
		return r.Render(d, o)
	}
	asBought := o.Size == ""
	o, err := o.complete()
	if err != nil {
		return Rendering{}, err
	}
	data, err := r.convert(l, o, asBought)
	return Rendering{Data: data}, quarantine(err)
}

func (r *Renderer) convert(l ship.Label, o Options, asBought bool) ([]byte, error) {
	pages, err := Split(l.Data)
	if err != nil {
		return nil, err
	}
	if len(pages) > maxPages {
		return nil, finding("too_large", "the label has more than %d pages", maxPages)
	}
	if l.Format == "pdf" {
		return r.convertPDF(pages, o, asBought)
	}
	if err := Lint(l.Format, l.Data); err != nil {
		return nil, err
	}
	if l.Format == "zpl" {
		return convertZPL(pages, o)
	}
	rasters := make([]raster, len(pages))
	for i, page := range pages {
		if rasters[i], err = readRaster(l.Format, page); err != nil {
			return nil, err
		}
	}
	return writeRasters(rasters, o)
}

// unavailable tells in which formats a label can be had.
func unavailable(sold string, o Options, have string) error {
	return ship.Coded(ship.Unsupported, "format_unavailable",
		"the carrier sold this label as %s, and %s in size %s cannot be made of it: ask for %s", sold, o.Format, o.Size, have)
}

// convertZPL hands ZPL on as it came. The other formats and sizes are drawn,
// if all of it can be drawn faithfully; see CanRender. The label is taken for
// one of a 203 dpi printer, as carriers sell it.
func convertZPL(pages [][]byte, o Options) ([]byte, error) {
	if o.Format == ZPL && o.Size == Size4x6 {
		return bytes.Join(pages, []byte("\n")), nil
	}
	var drawn []raster
	for _, page := range pages {
		rasters, err := drawZPL(page, 203)
		if err != nil {
			return nil, unavailable("zpl", o, "zpl in size 4x6")
		}
		drawn = append(drawn, rasters...)
	}
	return writeRasters(drawn, o)
}

// convertPDF reads the files, which lints them too.
func (r *Renderer) convertPDF(pages [][]byte, o Options, asBought bool) ([]byte, error) {
	files := make([]*pdfFile, len(pages))
	for i, page := range pages {
		if len(page) > maxFileBytes {
			return nil, finding("too_large", "the file has more than %d MB", maxFileBytes>>20)
		}
		var err error
		if files[i], err = readPDF(page); err != nil {
			return nil, err
		}
	}
	if o.Format == PDF {
		paper, fits := paperFor(files, o, asBought)
		switch {
		case !fits && o.Size != Size4x6:
			return nil, unavailable("pdf", o, "pdf in the size it was bought in")
		case paper == nil && len(pages) == 1:
			return pages[0], nil
		}
		return copyPDF(files, paper), nil
	}

	// Pictures keep their dots, which are the printer's as a rule.
	if rasters, ok := imagePages(files); ok {
		return writeRasters(rasters, o)
	}
	drawn, err := r.drawPages(files, o)
	if err != nil {
		return nil, err
	}
	return writePlaced(drawn, o.Format), nil
}

// paperFor is what the pages are laid on, nil if they stay as they are. A
// label that does not fit the default size stays as it is too, so that there
// always is a PDF.
func paperFor(files []*pdfFile, o Options, asBought bool) (p *sheet, fits bool) {
	wanted := newSheet(o.Size)
	if asBought {
		return nil, true
	}
	same := true
	for _, f := range files {
		for _, page := range f.pages {
			if _, ok := wanted.fit(page); !ok {
				return nil, false
			}
			same = same && wanted.like(page)
		}
	}
	if same {
		return nil, true
	}
	return wanted, true
}
