package webhook

import (
	"context"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// A Pace is how quickly an endpoint took its newest deliveries.
type Pace = store.EndpointPace

// Paces lists the tenant's endpoints by how slow they are, the slowest first.
func (s *Service) Paces(ctx context.Context, t ship.Tenant, limit int) ([]Pace, error) {
	return s.store.EndpointPaces(ctx, t, limit)
}
