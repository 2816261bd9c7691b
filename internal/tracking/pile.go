package tracking

import (
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// place is which piece of which parcel a number is.
type place struct {
	subject  ship.Subject
	piece    int
	carrier  string
	followed bool
}

// A pile is what was heard, put to the parcels that it is about.
type pile map[ship.Subject]*Heard

// put puts one thing that a carrier told to the carrier's own parcels among
// the places.
func (s *Service) put(to pile, h carrier.Heard, from string, places []place) {
	for _, at := range places {
		if at.carrier != from {
			continue
		}
		all := to[at.subject]
		if all == nil {
			all = &Heard{Subject: at.subject}
			to[at.subject] = all
		}
		h.Scan.Piece = at.piece
		if h.Scan.Reason == ship.ReasonUnmapped {
			s.unmapped(h.Scan.Code)
		}
		all.Scans = append(all.Scans, store.NewScan{Scan: h.Scan, Raw: h.Raw})
		if !h.EstimateAt.IsZero() && !h.Scan.At.Before(all.EstimateOf) {
			all.EstimateAt, all.EstimateOf = h.EstimateAt, h.Scan.At
		}
	}
}

// list is the pile. answers says that it is what carriers answered, so that
// their estimates are the last word.
func (p pile) list(answers bool) []Heard {
	list := make([]Heard, 0, len(p))
	for _, h := range p {
		if answers {
			h.EstimateOf = time.Time{}
		}
		list = append(list, *h)
	}
	return list
}
