package webhook

import (
	"context"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// A Told is an event with how it came to each endpoint.
type Told struct {
	Entry
	Tellings []store.Telling
}

// toldMost bounds the events that are listed of one shipment.
const toldMost = 50

// Told lists what was told of a shipment, newest first, and to whom. It is for
// people: of deliveries it knows the first try and what still waits.
func (s *Service) Told(ctx context.Context, t ship.Tenant, id ship.ShipmentID) ([]Told, error) {
	rows, err := s.store.Told(ctx, t, id, toldMost)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	list := make([]Told, len(rows))
	ids := make([]ship.EventID, len(rows))
	at := map[ship.EventID]int{}
	for i, e := range rows {
		list[i], ids[i], at[e.Event.ID] = Told{Entry: entryOf(e)}, e.Event.ID, i
	}
	tellings, err := s.store.Tellings(ctx, t, ids)
	if err != nil {
		return nil, err
	}
	for _, x := range tellings {
		i := at[x.Event]
		list[i].Tellings = append(list[i].Tellings, x)
	}
	return list, nil
}
