package shipping

import (
	"context"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

const searchLimit = 10

// Search finds shipments by what a person types: a shipment's id, any part of
// an order or tracking number, or words of the recipient's name, e-mail address
// or city. Finding nothing is no error.
func (s *Service) Search(ctx context.Context, t ship.Tenant, text string) ([]ship.Shipment, error) {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > 200 || strings.ContainsRune(text, 0) {
		return nil, nil
	}

	if id, ok := ship.ParseShipmentID(text); ok {
		sh, err := s.Shipment(ctx, t, id)
		if ship.KindOf(err) == ship.NotFound {
			return nil, nil
		}
		return []ship.Shipment{sh}, err
	}
	return s.store.Shipments(ctx, t, store.ShipmentFilter{Query: text}, ship.Page{Limit: searchLimit})
}
