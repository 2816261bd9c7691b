package label

import (
	"bytes"

	"github.com/waybillhq/waybill/internal/ship"
)

// Merge writes labels one behind the other into one PDF or ZPL file, each as
// RenderLabel does. Those that cannot be had so are left out; why is the second
// value, by their place in the list. If none can be had, there is no file.
//
// Paper that is missing from a pile is noticed too late: whoever hands out the
// file says what is not in it.
func (r *Renderer) Merge(labels []ship.Label, o Options) ([]byte, map[int]error, error) {
	if o.Format != PDF && o.Format != ZPL {
		return nil, nil, ship.Coded(ship.Unsupported, "format_unavailable", "labels are put together as pdf or zpl")
	}
	var parts [][]byte
	out := map[int]error{}
	for i := 0; i < len(labels); {
		part, n, err := r.mergeSome(labels[i:], o)
		switch code := ship.CodeOf(err); {
		case err == nil:
			parts = append(parts, part)
		case code == "format_unavailable" || code == "label_quarantined":
			out[i] = err
		default:
			return nil, nil, err
		}
		i += n
	}
	data, err := join(parts, o)
	return data, out, err
}

// join puts files together.
func join(parts [][]byte, o Options) ([]byte, error) {
	switch {
	case len(parts) == 0:
		return nil, nil
	case len(parts) == 1:
		return parts[0], nil
	case o.Format == ZPL:
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

// mergePages is how many of our own pages are drawn at once: letters that were
// set before cost nothing, and what is drawn can be read again.
const mergePages = 20

// mergeSome renders the first label, and with one of ours those of ours that
// follow. It reports how many it took.
func (r *Renderer) mergeSome(labels []ship.Label, o Options) ([]byte, int, error) {
	if labels[0].Format != "scene" {
		one, err := r.RenderLabel(labels[0], o)
		return one.Data, 1, err
	}
	all, err := Parse(labels[0].Data)
	if err != nil {
		return nil, 0, err
	}
	n := 1
	for ; n < len(labels) && labels[n].Format == "scene"; n++ {
		next, err := Parse(labels[n].Data)
		if err != nil {
			return nil, 0, err
		}
		if next.Sample != all.Sample || len(all.Pages)+len(next.Pages) > mergePages {
			break
		}
		all.Pages = append(all.Pages, next.Pages...)
	}
	out, err := r.Render(all, o)
	return out.Data, n, err
}
