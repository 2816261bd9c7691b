package shipping

import (
	"context"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

const searchLimit = 10

// Search finds shipments by what a person types: a shipment's id, an order
// number or a tracking number, each whole, or words of the recipient's name or
// company, of which the beginnings are enough. Nothing found is no error.
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
	found, err := s.store.ShipmentsNamed(ctx, t, text, ship.NormalizeTrackingNumber(text), searchLimit)
	if err != nil || len(found) > 0 || len(store.Words(text)) == 0 {
		return found, err
	}
	return s.store.Shipments(ctx, t, store.ShipmentFilter{Recipient: text}, ship.Page{Limit: searchLimit})
}
