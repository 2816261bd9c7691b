package shipping

import (
	"context"

	"github.com/waybillhq/waybill/internal/ship"
)

// States says where the purchases of some shipments of the tenant stand. Those
// that are not there are left out.
func (s *Service) States(ctx context.Context, t ship.Tenant, ids []ship.ShipmentID) (map[ship.ShipmentID]ship.State, error) {
	of := make([]ship.Subject, len(ids))
	for i, id := range ids {
		of[i] = ship.Subject{Tenant: t, ID: id.Raw()}
	}
	rows, err := s.store.TrackingStates(ctx, of)
	if err != nil {
		return nil, err
	}
	out := make(map[ship.ShipmentID]ship.State, len(rows))
	for _, j := range rows {
		out[ship.ShipmentIDOf(j.ID)] = j.State
	}
	return out, nil
}
