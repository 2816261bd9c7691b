package bulk

import (
	"context"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// RecordPrints counts that the labels of shipments were printed. It is called by
// whoever sends a label to a person; a label that is only shown does not count.
func (s *Service) RecordPrints(ctx context.Context, t ship.Tenant, ids []ship.ShipmentID) error {
	return s.Store.RecordPrints(ctx, t, ids, time.Now())
}

// LabelPrints returns how often the labels of shipments were printed; those that
// never were are left out.
func (s *Service) LabelPrints(ctx context.Context, t ship.Tenant, ids []ship.ShipmentID) (map[ship.ShipmentID]store.LabelPrint, error) {
	return s.Store.LabelPrints(ctx, t, ids)
}
