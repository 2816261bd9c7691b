package label

import (
	"bytes"
	"errors"
	"sync"

	"github.com/waybillhq/waybill/internal/budget"
	"github.com/waybillhq/waybill/internal/ship"
)

// A Part is one label of a file.
type Part struct {
	ship.Label

	// Rendered is the label in the format of the file, if it was rendered before.
	// Refused is why it is not available in that format.
	Rendered []byte
	Refused  error
}

// Merge writes labels one after the other into one PDF or ZPL file, each as
// RenderLabel does. Labels that are not available in the format are left out;
// the second value gives the reason for each, by its index in the list. If none
// is available, there is no file.
//
// A sheet that is missing from a stack of paper is noticed too late, so the
// caller must report which labels are not in the file.
func (r *Renderer) Merge(parts []Part, options Options) ([]byte, map[int]error, error) {
	if options.Format != PDF && options.Format != ZPL {
		return nil, nil, ship.Coded(ship.Unsupported, "format_unavailable", "labels can be merged only as pdf or zpl")
	}

	var files [][]byte
	leftOut := map[int]error{}
	for i := 0; i < len(parts); {
		file, n, err := r.renderNext(parts[i:], options)
		switch {
		case err == nil:
			files = append(files, file)
		case isRefusal(err):
			for taken := range n {
				leftOut[i+taken] = err
			}
		default:
			return nil, nil, err
		}
		i += n
	}

	data, err := joinFiles(files, options)
	return data, leftOut, err
}

// isRefusal reports whether a label is not available in a format, as opposed to a
// conversion that may succeed later.
func isRefusal(err error) bool {
	code := ship.CodeOf(err)
	return code == "format_unavailable" || code == "label_quarantined"
}

// NeedsConversion reports whether a label takes time to be rendered in a format: our
// own are drawn in a moment, and ZPL is passed through.
func NeedsConversion(label ship.Label, options Options) bool {
	passesThrough := label.Format == "zpl" && options.Format == ZPL && options.Size == Size4x6
	return label.Format != "scene" && !passesThrough
}

// convertedAtOnce is how many labels Convert works on together: drawing a page keeps
// a core busy, and PDFium draws as many.
const convertedAtOnce = 2

// Convert renders labels as RenderLabel does, some at once, and returns them in
// their order as parts of a file. An error is one of a label that may succeed later.
//
// The memory is reserved once for all of them, so the caller passes a few at a time:
// others wait meanwhile.
func (r *Renderer) Convert(labels []ship.Label, options Options) ([]Part, error) {
	release, err := r.reserve(options, budget.DrawPages)
	if err != nil {
		return nil, err
	}
	defer release()
	options.isReserved = true

	parts := make([]Part, len(labels))
	failures := make([]error, len(labels))
	slots := make(chan struct{}, convertedAtOnce)
	var group sync.WaitGroup
	for i, label := range labels {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			rendering, err := r.RenderLabel(label, options)
			parts[i] = Part{Label: label, Rendered: rendering.Data}
			if isRefusal(err) {
				parts[i].Refused = err
			} else {
				failures[i] = err
			}
		})
	}
	group.Wait()
	return parts, errors.Join(failures...)
}

// joinFiles joins files of one format into one.
func joinFiles(parts [][]byte, options Options) ([]byte, error) {
	switch {
	case len(parts) == 0:
		return nil, nil
	case len(parts) == 1:
		return parts[0], nil
	case options.Format == ZPL:
		return bytes.Join(parts, []byte("\n")), nil
	}

	files := make([]*pdfFile, len(parts))
	for i, part := range parts {
		var err error
		if files[i], err = readPDF(part); err != nil {
			return nil, quarantine(err)
		}
	}
	return copyPDF(files, nil), nil
}

// mergePages is how many of our own pages are drawn at once. Drawing them
// together is cheaper, because outlines of letters are reused; the limit keeps
// the result small enough to be read again.
const mergePages = 20

// renderNext renders the first label and, if it is one of our own, those of our
// own that follow it. It reports how many it took.
func (r *Renderer) renderNext(parts []Part, options Options) ([]byte, int, error) {
	first := parts[0]
	if first.Rendered != nil || first.Refused != nil {
		return first.Rendered, 1, first.Refused
	}
	if first.Format != "scene" {
		rendering, err := r.RenderLabel(first.Label, options)
		return rendering.Data, 1, err
	}

	document, err := Parse(first.Data)
	if err != nil {
		return nil, 0, err
	}
	n := 1
	for ; n < len(parts) && parts[n].Format == "scene"; n++ {
		next, err := Parse(parts[n].Data)
		if err != nil {
			return nil, 0, err
		}
		if next.Sample != document.Sample || len(document.Pages)+len(next.Pages) > mergePages {
			break
		}
		document.Pages = append(document.Pages, next.Pages...)
	}

	rendering, err := r.Render(document, options)
	return rendering.Data, n, err
}
