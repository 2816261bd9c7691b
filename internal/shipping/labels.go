package shipping

import (
	"context"

	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/ship"
)

// MaxLabels is how many labels can be put into one file.
const MaxLabels = 500

// ShipmentsByID returns those of the shipments that the client was told of, by
// id.
func (s *Service) ShipmentsByID(ctx context.Context, t ship.Tenant, ids []ship.ShipmentID) (map[ship.ShipmentID]ship.Shipment, error) {
	list, err := s.store.ShipmentsByID(ctx, t, ids)
	if err != nil {
		return nil, err
	}
	found := make(map[ship.ShipmentID]ship.Shipment, len(list))
	for _, sh := range list {
		if sh.Sequence > 0 {
			found[sh.ID] = sh
		}
	}
	return found, nil
}

// Labels puts the labels of shipments into one PDF or ZPL file, in the order of
// the ids. A shipment without a label to print, because it is voided or its
// purchase is not settled, is left out; the second value is how many are in.
func (s *Service) Labels(ctx context.Context, t ship.Tenant, ids []ship.ShipmentID, o label.Options) ([]byte, int, error) {
	if len(ids) > MaxLabels {
		return nil, 0, ship.Errorf(ship.Invalid, "one file holds at most %d labels", MaxLabels)
	}
	known, err := s.ShipmentsByID(ctx, t, ids)
	if err != nil {
		return nil, 0, err
	}
	var ready []ship.ShipmentID
	for _, id := range ids {
		if sh, ok := known[id]; ok && labelReady(sh) == nil {
			ready = append(ready, id)
		}
	}
	if len(ready) == 0 {
		return nil, 0, ship.Coded(ship.Conflict, "label_not_ready", "none of the shipments has a label to print")
	}
	stored, err := s.store.Labels(ctx, t, ready)
	if err != nil {
		return nil, 0, err
	}
	list := make([]ship.Label, len(ready))
	for i, id := range ready {
		list[i] = stored[id]
	}
	data, err := s.labels.Merge(list, o)
	return data, len(list), err
}
