package tracking

import (
	"context"
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// pieceRef is the piece of a parcel that a tracking number stands for.
type pieceRef struct {
	subject  ship.Subject
	piece    int
	carrier  string
	followed bool
}

// updatesByShipment collects updates under the parcels that they are about.
type updatesByShipment map[ship.Subject]*Update

// addUpdate adds an update of a carrier to those of the pieces that are the
// carrier's own.
func (s *Service) addUpdate(updates updatesByShipment, update carrier.TrackingUpdate, from string, pieces []pieceRef) {
	for _, ref := range pieces {
		// The same number may also exist at another carrier.
		if ref.carrier != from {
			continue
		}

		merged := updates[ref.subject]
		if merged == nil {
			merged = &Update{Subject: ref.subject}
			updates[ref.subject] = merged
		}

		update.Scan.Piece = ref.piece
		if update.Scan.Reason == ship.ReasonUnmapped {
			s.unmapped(update.Scan.Code)
		}
		merged.Scans = append(merged.Scans, store.NewScan{Scan: update.Scan, Raw: update.Raw})
		if !update.EstimateAt.IsZero() && !update.Scan.At.Before(merged.EstimateOf) {
			merged.EstimateAt = update.EstimateAt
			merged.EstimateOf = update.Scan.At
		}
	}
}

// list returns the updates. If they are answers to a poll, their estimates are
// the carrier's latest.
func (u updatesByShipment) list(polled bool) []Update {
	list := make([]Update, 0, len(u))
	for _, update := range u {
		if polled {
			update.EstimateOf = time.Time{}
		}
		list = append(list, *update)
	}
	return list
}

// pushedUpdates returns what pushes report about the pieces.
func (s *Service) pushedUpdates(decoded map[ship.Subject]decodedPush, pieces map[store.TrackingNumberOf][]pieceRef) []Update {
	updates := updatesByShipment{}
	for _, push := range decoded {
		for i, number := range push.reported {
			s.addUpdate(updates, push.Updates[i], push.carrier, pieces[number])
		}
	}
	return updates.list(false)
}

// piecesOf returns which pieces of which parcels each number stands for: of the
// newest shipment and the newest followed parcel of each carrier, because
// numbers are reused.
func piecesOf(ctx context.Context, tx *store.Store, trackingStates []ship.TrackingState, holders map[store.TrackingNumberOf][]ship.Subject) (map[store.TrackingNumberOf][]pieceRef, error) {
	// Only a parcel of several pieces needs its list of numbers.
	bySubject := make(map[ship.Subject]*ship.TrackingState, len(trackingStates))
	var multiPiece []ship.Subject
	for i := range trackingStates {
		trackingState := &trackingStates[i]
		bySubject[trackingState.Subject] = trackingState
		if trackingState.Pieces > 1 {
			multiPiece = append(multiPiece, trackingState.Subject)
		}
	}
	numbers := map[ship.Subject]store.Watched{}
	if len(multiPiece) > 0 {
		var err error
		if numbers, err = tx.Numbers(ctx, multiPiece); err != nil {
			return nil, err
		}
	}

	pieces := make(map[store.TrackingNumberOf][]pieceRef, len(holders))
	for name, subjects := range holders {
		// Ids begin with the time, so the newest parcel comes first.
		slices.SortFunc(subjects, func(a, b ship.Subject) int { return slices.Compare(b.ID[:], a.ID[:]) })

		for _, subject := range subjects {
			trackingState := bySubject[subject]
			if trackingState == nil {
				continue
			}

			ref := pieceRef{subject: subject, carrier: trackingState.Carrier, followed: trackingState.Followed}
			if trackingState.Pieces > 1 {
				ref.piece = slices.Index(numbers[subject].Numbers, name.Number)
			}
			hasNewer := slices.ContainsFunc(pieces[name], func(other pieceRef) bool {
				return other.carrier == ref.carrier && other.followed == ref.followed
			})
			if ref.piece >= 0 && !hasNewer {
				pieces[name] = append(pieces[name], ref)
			}
		}
	}
	return pieces, nil
}
