package shipping

import (
	"context"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// overheard is ctx whose exchanges with the carrier are kept beside the
// shipment. Simulated carriers have none.
func (s *Service) overheard(ctx context.Context, t ship.Tenant, id ship.ShipmentID, d ship.Purchase) context.Context {
	if s.exchanged == nil || d.Connection == "" {
		return ctx
	}
	return carrier.WithExchanges(ctx, func(x carrier.Exchange) { s.exchanged(t, id, d.Connection, x) })
}
