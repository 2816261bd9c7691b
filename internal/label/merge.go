package label

import (
	"bytes"

	"github.com/waybillhq/waybill/internal/ship"
)

// Merge writes labels one after the other into one PDF or ZPL file, each as
// RenderLabel does. Labels that are not available in the format are left out;
// the second value gives the reason for each, by its index in the list. If none
// is available, there is no file.
//
// A sheet that is missing from a stack of paper is noticed too late, so the
// caller must report which labels are not in the file.
func (r *Renderer) Merge(labels []ship.Label, options Options) ([]byte, map[int]error, error) {
	if options.Format != PDF && options.Format != ZPL {
		return nil, nil, ship.Coded(ship.Unsupported, "format_unavailable", "labels can be merged only as pdf or zpl")
	}

	var files [][]byte
	leftOut := map[int]error{}
	for i := 0; i < len(labels); {
		file, n, err := r.renderNext(labels[i:], options)
		switch code := ship.CodeOf(err); {
		case err == nil:
			files = append(files, file)
		case code == "format_unavailable" || code == "label_quarantined":
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
func (r *Renderer) renderNext(labels []ship.Label, options Options) ([]byte, int, error) {
	if labels[0].Format != "scene" {
		rendering, err := r.RenderLabel(labels[0], options)
		return rendering.Data, 1, err
	}

	document, err := Parse(labels[0].Data)
	if err != nil {
		return nil, 0, err
	}
	n := 1
	for ; n < len(labels) && labels[n].Format == "scene"; n++ {
		next, err := Parse(labels[n].Data)
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
