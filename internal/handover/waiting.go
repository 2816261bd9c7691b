package handover

import (
	"context"
	"slices"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// A Group is labels of one carrier account that leave from one place and are not
// handed over yet.
type Group struct {
	Seller
	Address      ship.Address
	Shipments    []ship.ShipmentID
	Pieces       int
	HasManifest  bool // the carrier closes manifests; otherwise a hand-over sheet is printed
	TakesPickups bool
}

// Waiting lists what is labelled and not handed over, by carrier account and
// place.
func (s *Service) Waiting(ctx context.Context, t ship.Tenant) ([]Group, error) {
	accounts, err := s.Accounts.List(ctx, t)
	if err != nil {
		return nil, err
	}

	var groups []Group
	for _, c := range accounts {
		open, err := s.openLabels(ctx, t, c, ship.DateOf(s.now()))
		if err != nil {
			return nil, err
		}
		groups = append(groups, groupByPlace(open, c)...)
	}
	return groups, nil
}

// groupByPlace divides labels by where they leave from.
func groupByPlace(open []ship.Shipment, c *carrier.Carrier) []Group {
	var groups []Group
	at := map[string]int{}
	for _, shipment := range open {
		place := placeOf(shipment.Order.Origin)
		i, isKnown := at[place]
		if !isKnown {
			i = len(groups)
			at[place] = i
			groups = append(groups, Group{
				Seller:       Seller{Connection: c.Connection, Carrier: c.Spec().Name},
				Address:      shipment.Order.Origin,
				HasManifest:  c.ManifestScope() != carrier.NoManifest,
				TakesPickups: slices.Contains(c.Abilities(), "pickups"),
			})
		}
		groups[i].Shipments = append(groups[i].Shipments, shipment.ID)
		groups[i].Pieces += max(1, len(shipment.Purchase.Pieces))
	}
	return groups
}
