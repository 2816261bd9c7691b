package shipping

import (
	"context"
	"time"

	"github.com/waybillhq/waybill/internal/purchase"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// An Attention counts what waits for a person, each kind up to a bound.
type Attention = store.Attention

// An OrphanedLabel was sold by a carrier and is used by nobody.
type OrphanedLabel = store.OrphanedLabel

// AttentionLimit is up to how many of a kind are counted.
const AttentionLimit = store.AttentionLimit

// attentionSince is how old a shipment may be that still needs attention: what
// nobody has asked about since is lost or forgotten.
const attentionSince = 60 * 24 * time.Hour

// AttentionSince is when the oldest shipment was made that still needs
// attention.
func AttentionSince() time.Time { return time.Now().Add(-attentionSince) }

// Attention counts what waits for a person.
func (s *Service) Attention(ctx context.Context, t ship.Tenant) (Attention, error) {
	counts, err := s.store.Attention(ctx, t, time.Now().Add(-attentionSince))
	if err != nil {
		return counts, err
	}
	refused, err := s.RefusedVoids(ctx, t)
	counts.RefusedVoids = len(refused)
	return counts, err
}

// UncertainPurchases lists purchases whose outcome is not known, newest first,
// and reports whether there are more.
func (s *Service) UncertainPurchases(ctx context.Context, t ship.Tenant, p ship.Page) ([]ship.Shipment, bool, error) {
	return page(p, func(p ship.Page) ([]ship.Shipment, error) { return s.store.Unknown(ctx, t, p) })
}

// Exceptions lists the parcels of the last weeks that a carrier cannot deliver
// as they are, newest first, and reports whether there are more.
func (s *Service) Exceptions(ctx context.Context, t ship.Tenant, p ship.Page) ([]ship.Shipment, bool, error) {
	return page(p, func(p ship.Page) ([]ship.Shipment, error) {
		return s.store.Exceptions(ctx, t, time.Now().Add(-attentionSince), p)
	})
}

// OrphanedLabels lists labels that nobody may use and no carrier has taken
// back, the last found first, without the first skip of them.
func (s *Service) OrphanedLabels(ctx context.Context, t ship.Tenant, limit, skip int) ([]OrphanedLabel, error) {
	return s.store.OrphanedLabels(ctx, t, limit, skip)
}

// FailedPurchases lists the purchases of the last weeks that bought nothing,
// newest first, and reports whether there are more. One whose order has another
// shipment by now is left out.
func (s *Service) FailedPurchases(ctx context.Context, t ship.Tenant, p ship.Page) ([]ship.Shipment, bool, error) {
	return page(p, func(p ship.Page) ([]ship.Shipment, error) {
		return s.store.FailedPurchases(ctx, t, time.Now().Add(-attentionSince), p)
	})
}

// A PurchaseFailure is why a purchase bought nothing.
type PurchaseFailure struct {
	Carrier string // that was asked last
	Outcome purchase.Outcome
	Code    string // of the carrier
	Message string // in the carrier's words, or in ours if it was not asked
}

// PurchaseFailures says why purchases bought nothing. One that was never
// attempted is left out.
func (s *Service) PurchaseFailures(ctx context.Context, t ship.Tenant, ids []ship.ShipmentID) (map[ship.ShipmentID]PurchaseFailure, error) {
	last, err := s.store.LastAttempts(ctx, t, ids)
	if err != nil {
		return nil, err
	}

	failures := make(map[ship.ShipmentID]PurchaseFailure, len(last))
	for id, attempt := range last {
		failures[id] = PurchaseFailure{
			Carrier: attempt.Carrier,
			Outcome: purchase.Outcome(attempt.Outcome),
			Code:    attempt.Code,
			Message: attempt.Message,
		}
	}
	return failures, nil
}

// page reads one more than is asked for, to know whether there are more.
func page(p ship.Page, read func(ship.Page) ([]ship.Shipment, error)) ([]ship.Shipment, bool, error) {
	list, err := read(ship.Page{Limit: p.Limit + 1, Before: p.Before})
	if len(list) > p.Limit {
		return list[:p.Limit], true, err
	}
	return list, false, err
}
