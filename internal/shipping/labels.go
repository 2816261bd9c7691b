package shipping

import (
	"context"

	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/ship"
)

// The limits of one file of labels. Its parts, the file itself and a copy of it
// are in memory at the same time.
const (
	MaxLabels     = 500
	maxLabelBytes = 24 << 20 // of the labels as carriers sent them
	labelsAtOnce  = 20       // that are read from the database together
)

// ShipmentsByID returns those of the shipments that the client was told of, by
// id.
func (s *Service) ShipmentsByID(ctx context.Context, t ship.Tenant, ids []ship.ShipmentID) (map[ship.ShipmentID]ship.Shipment, error) {
	list, err := s.store.ShipmentsByID(ctx, t, ids)
	if err != nil {
		return nil, err
	}
	found := make(map[ship.ShipmentID]ship.Shipment, len(list))
	for _, sh := range list {
		if sh.Sequence > 0 {
			found[sh.ID] = sh
		}
	}
	return found, nil
}

// A LabelBundle is labels in one file.
type LabelBundle struct {
	Data     []byte // nil if no label is in it
	Included int
	Printed  []ship.ShipmentID         // whose labels are in it
	Excluded map[ship.ShipmentID]error // labels that cannot be in such a file, and why
}

// Labels puts the labels of shipments into one PDF or ZPL file, in the order of
// the ids. A shipment without a label to print, because it is voided or its
// purchase is not settled, is not in it; if none has one, that is the code
// label_not_ready. A file that takes longer than a request may is prepared by a job;
// until then the error is a *Preparing.
func (s *Service) Labels(ctx context.Context, t ship.Tenant, ids []ship.ShipmentID, o label.Options) (LabelBundle, error) {
	if len(ids) > MaxLabels {
		return LabelBundle{}, ship.Errorf(ship.Invalid, "a file can contain at most %d labels", MaxLabels)
	}
	ready, err := s.readyLabels(ctx, t, ids)
	if err != nil {
		return LabelBundle{}, err
	}
	if len(ready) == 0 {
		return LabelBundle{}, ship.Coded(ship.Conflict, "label_not_ready", "none of these shipments has a label to print")
	}

	o.Owner = t.Account
	file := newLabelFile(t, ready, o)
	if err := s.checkPreparing(ctx, file.Key, t); err != nil {
		return LabelBundle{}, err
	}
	list, err := s.labelParts(ctx, file, o)
	if err != nil {
		return LabelBundle{}, err
	}

	data, out, err := s.labels.Merge(list, o)
	p := LabelBundle{Data: data, Included: len(list) - len(out), Excluded: make(map[ship.ShipmentID]error, len(out))}
	for i, id := range ready {
		if why, isExcluded := out[i]; isExcluded {
			p.Excluded[id] = why
		} else {
			p.Printed = append(p.Printed, id)
		}
	}
	return p, err
}

// readyLabels returns those of the shipments that have a label to print, in their
// order.
func (s *Service) readyLabels(ctx context.Context, t ship.Tenant, ids []ship.ShipmentID) ([]ship.ShipmentID, error) {
	known, err := s.ShipmentsByID(ctx, t, ids)
	if err != nil {
		return nil, err
	}

	var ready []ship.ShipmentID
	for _, id := range ids {
		if sh, ok := known[id]; ok && labelReady(sh) == nil {
			ready = append(ready, id)
		}
	}
	return ready, nil
}

// checkSize refuses files that are too large together.
func checkSize(size int) error {
	if size <= maxLabelBytes {
		return nil
	}
	return ship.Errorf(ship.Invalid, "these files have more than %d MB together: print fewer shipments at a time", maxLabelBytes>>20)
}

// LabelFormats are the formats that a label can be had in now; none while there
// is no label. What a carrier sold cannot always be made into all of them.
func (s *Service) LabelFormats(ctx context.Context, t ship.Tenant, id ship.ShipmentID) ([]label.Format, error) {
	var list []label.Format
	for _, format := range []label.Format{label.PDF, label.ZPL, label.PNG} {
		_, err := s.Label(ctx, t, id, label.Options{Format: format, Size: label.Size4x6, DPI: 203})
		switch ship.CodeOf(err) {
		case "format_unavailable", "label_quarantined", "label_not_ready", "label_voided", "label_erased":
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, format)
	}
	return list, nil
}

// Documents puts the customs papers of shipments into one PDF file, in the
// order of the ids, on the paper that their carriers made them for. Excluded
// names the shipments of which a paper is not in it. A file without a paper is
// nil.
func (s *Service) Documents(ctx context.Context, t ship.Tenant, ids []ship.ShipmentID) (LabelBundle, error) {
	if len(ids) > MaxLabels {
		return LabelBundle{}, ship.Errorf(ship.Invalid, "a file can contain the documents of at most %d shipments", MaxLabels)
	}
	known, err := s.ShipmentsByID(ctx, t, ids)
	if err != nil {
		return LabelBundle{}, err
	}

	var papers []label.Part
	var owners []ship.ShipmentID
	size := 0
	for _, id := range ids {
		sh, ok := known[id]
		if !ok || labelReady(sh) != nil {
			continue
		}
		for n := range sh.Purchase.Documents {
			paper, err := s.documentOf(ctx, sh, n+1)
			if err != nil {
				return LabelBundle{}, err
			}
			papers = append(papers, label.Part{Label: ship.Label{Format: paper.Format, Data: paper.Data}})
			owners = append(owners, id)
			if size += len(paper.Data); checkSize(size) != nil {
				return LabelBundle{}, checkSize(size)
			}
		}
	}
	if len(papers) == 0 {
		return LabelBundle{}, nil
	}

	data, out, err := s.labels.Merge(papers, label.Options{Format: label.PDF, Owner: t.Account})
	p := LabelBundle{Data: data, Included: len(papers) - len(out), Excluded: make(map[ship.ShipmentID]error, len(out))}
	for i, why := range out {
		p.Excluded[owners[i]] = why
	}
	return p, err
}
