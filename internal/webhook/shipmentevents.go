package webhook

import (
	"context"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// An EventDeliveries is an event with its delivery to each endpoint.
type EventDeliveries struct {
	Entry
	Deliveries []store.EventDelivery
}

// maxNotified bounds the events that are listed of one shipment.
const maxNotified = 50

// ShipmentEvents lists the events of a shipment, newest first, with the endpoints that
// they were sent to. It is for people: of deliveries it knows the first attempt
// and what is still pending.
func (s *Service) ShipmentEvents(ctx context.Context, t ship.Tenant, id ship.ShipmentID) ([]EventDeliveries, error) {
	rows, err := s.store.ShipmentEvents(ctx, t, id, maxNotified)
	if err != nil || len(rows) == 0 {
		return nil, err
	}

	list := make([]EventDeliveries, len(rows))
	ids := make([]ship.EventID, len(rows))
	index := map[ship.EventID]int{}
	for i, row := range rows {
		list[i] = EventDeliveries{Entry: entryOf(row)}
		ids[i] = row.Event.ID
		index[row.Event.ID] = i
	}

	deliveries, err := s.store.EventDeliveries(ctx, t, ids)
	if err != nil {
		return nil, err
	}
	for _, delivery := range deliveries {
		event := &list[index[delivery.Event]]
		event.Deliveries = append(event.Deliveries, delivery)
	}
	return list, nil
}
