package tracking

import (
	"context"
	"slices"
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

// pileOf is what pushes tell of the places.
func (s *Service) pileOf(news map[ship.Subject]told, of map[store.Named][]place) []Heard {
	all := pile{}
	for _, t := range news {
		for i, n := range t.spoken {
			s.put(all, t.Heard[i], t.carrier, of[n])
		}
	}
	return all.list(false)
}

// placesOf says which piece of which parcels each number is: of the newest
// shipment and the newest followed parcel of each carrier, because numbers are
// reused.
func placesOf(ctx context.Context, tx *store.Store, journeys []ship.Journey, holders map[store.Named][]ship.Subject) (map[store.Named][]place, error) {
	byID := make(map[ship.Subject]*ship.Journey, len(journeys))
	var several []ship.Subject
	for i, j := range journeys {
		byID[j.Subject] = &journeys[i]
		if j.Pieces > 1 {
			several = append(several, j.Subject)
		}
	}
	numbers := map[ship.Subject]store.Watched{}
	if len(several) > 0 {
		var err error
		if numbers, err = tx.Numbers(ctx, several); err != nil {
			return nil, err
		}
	}
	of := make(map[store.Named][]place, len(holders))
	for name, list := range holders {
		slices.SortFunc(list, func(a, b ship.Subject) int { return slices.Compare(b.ID[:], a.ID[:]) })
		for _, p := range list {
			j := byID[p]
			if j == nil {
				continue
			}
			at := place{subject: p, carrier: j.Carrier, followed: j.Followed}
			if j.Pieces > 1 {
				at.piece = slices.Index(numbers[p].Numbers, name.Number)
			}
			older := slices.ContainsFunc(of[name], func(o place) bool { return o.carrier == at.carrier && o.followed == at.followed })
			if at.piece >= 0 && !older {
				of[name] = append(of[name], at)
			}
		}
	}
	return of, nil
}
