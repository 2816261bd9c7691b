package shipping

import (
	"context"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
)

const (
	searchLimit = 10
	// searchReach is how many of the newest shipments are looked through for a
	// name: there is no index of people.
	searchReach = 2000
)

// Search finds shipments by what a person types: a shipment's id, an order
// number or a tracking number, each whole, or a part of the recipient's name
// among the newest shipments. Nothing found is no error.
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
	if err != nil || len(found) > 0 || len(text) < 2 {
		return found, err
	}
	return s.store.ShipmentsTo(ctx, t, text, searchReach, searchLimit)
}
