package shipping

import (
	"context"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// An Attention counts what waits for a person, each kind up to a bound.
type Attention = store.Attention

// A Stranded label was sold by a carrier and is used by nobody.
type Stranded = store.Stranded

// AttentionLimit is up to how many of a kind are counted.
const AttentionLimit = store.AttentionLimit

// exceptionsSince is how old a parcel may be whose exception still waits for a
// person: what nobody has asked for since is lost or forgotten.
const exceptionsSince = 60 * 24 * time.Hour

// Attention counts what waits for a person.
func (s *Service) Attention(ctx context.Context, t ship.Tenant) (Attention, error) {
	return s.store.Attention(ctx, t, time.Now().Add(-exceptionsSince))
}

// Unknown lists purchases whose outcome is not known, newest first, and reports
// whether there are more.
func (s *Service) Unknown(ctx context.Context, t ship.Tenant, p ship.Page) ([]ship.Shipment, bool, error) {
	return page(p, func(p ship.Page) ([]ship.Shipment, error) { return s.store.Unknown(ctx, t, p) })
}

// Exceptions lists the parcels of the last weeks that a carrier cannot deliver
// as they are, newest first, and reports whether there are more.
func (s *Service) Exceptions(ctx context.Context, t ship.Tenant, p ship.Page) ([]ship.Shipment, bool, error) {
	return page(p, func(p ship.Page) ([]ship.Shipment, error) {
		return s.store.Exceptions(ctx, t, time.Now().Add(-exceptionsSince), p)
	})
}

// StrandedLabels lists labels that nobody may use and no carrier has taken
// back, the last found first.
func (s *Service) StrandedLabels(ctx context.Context, t ship.Tenant, limit int) ([]Stranded, error) {
	return s.store.StrandedLabels(ctx, t, limit)
}

// page reads one more than is asked for, to know whether there are more.
func page(p ship.Page, read func(ship.Page) ([]ship.Shipment, error)) ([]ship.Shipment, bool, error) {
	list, err := read(ship.Page{Limit: p.Limit + 1, Before: p.Before})
	if len(list) > p.Limit {
		return list[:p.Limit], true, err
	}
	return list, false, err
}
