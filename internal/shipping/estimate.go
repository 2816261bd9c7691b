package shipping

import (
	"context"
	"slices"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// recollect reads how long the account's parcels took on the way, if an offer
// says nothing of it. A purchase does not fail for that.
func (s *Service) recollect(ctx context.Context, b *buying) {
	says := func(r ship.Rate) bool { return !r.DeliveryAt.IsZero() || r.TransitDays > 0 }
	if !slices.ContainsFunc(b.offers, func(r ship.Rate) bool { return !says(r) }) {
		return
	}
	o, err := b.shipment.Order, error(nil)
	if b.usual, err = s.store.Lanes(ctx, b.in.Tenant, o.Origin.Area(), o.Destination.Area()); err != nil {
		s.log.WarnContext(ctx, "delivery date could not be estimated", "error", err)
	}
}

// laneOf is the lane that a shipment takes with an offer.
func laneOf(sh ship.Shipment, r ship.Rate) store.Lane {
	return store.Lane{Tenant: sh.Tenant, Carrier: r.Carrier, Service: r.Service, Origin: sh.Order.Origin.Area(), Destination: sh.Order.Destination.Area()}
}
