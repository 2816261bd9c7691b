package handover

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// A Group is labels of one carrier account that leave from one place and are not
// handed over yet.
type Group struct {
	Seller
	Address     ship.Address
	Location    ship.Location // that they leave from, as it is now; zero for an address of its own
	Shipments   []ship.ShipmentID
	Pieces      int
	HasManifest bool // the carrier closes manifests for them; otherwise a hand-over sheet is printed
	CoversDay   bool // the carrier closes all labels of a day together, from whatever place
	// Day is the ship date of the labels of a carrier that closes each day by
	// itself; empty at others. What was shipped today in America is of two days of UTC in the evening.
	Day     ship.Date
	Pickups []Collection // that take the parcels; none if the carrier takes no bookings
}

// A Collection is what one pickup takes: the divisions of a carrier collect
// separately.
type Collection struct {
	Division  string // of the carrier; empty for the main one
	Shipments []ship.ShipmentID
}

// searchesAtOnce is how many carriers' labels are looked for at a time.
const searchesAtOnce = 4

// Waiting lists what is labelled and not handed over, by carrier account and
// place, by whether its service needs a manifest, and by day where the carrier closes
// each day by itself.
func (s *Service) Waiting(ctx context.Context, t ship.Tenant) ([]Group, error) {
	accounts, err := s.Accounts.List(ctx, t)
	if err != nil {
		return nil, err
	}

	// The page waits for these: with a dozen carriers, one after the other takes
	// longer than a page may.
	found := make([][]Group, len(accounts))
	failures := make([]error, len(accounts))
	var searches sync.WaitGroup
	slots := make(chan struct{}, searchesAtOnce)
	for i, c := range accounts {
		slots <- struct{}{}
		searches.Go(func() {
			defer func() { <-slots }()
			open, err := s.openLabels(ctx, t, c, ship.DateOf(s.now()))
			found[i], failures[i] = groupByPlace(open, c), err
		})
	}
	searches.Wait()
	if err := errors.Join(failures...); err != nil {
		return nil, err
	}

	return s.located(ctx, t, slices.Concat(found...))
}

// located adds what is known now of the locations that groups leave from.
func (s *Service) located(ctx context.Context, t ship.Tenant, groups []Group) ([]Group, error) {
	if len(groups) == 0 {
		return nil, nil
	}
	locations, err := s.Store.Locations(ctx, t)
	if err != nil {
		return nil, err
	}
	for i := range groups {
		groups[i].findLocation(locations)
	}
	return groups, nil
}

// Collectable returns the labels of a manifest or hand-over sheet as a driver collects
// them, by place. Those that were voided since are left out.
func (s *Service) Collectable(ctx context.Context, t ship.Tenant, id ship.ManifestID) ([]Group, error) {
	manifest, err := s.Manifest(ctx, t, id)
	if err != nil {
		return nil, err
	}
	c, err := s.sellerOf(ctx, t, manifest.Connection, manifest.Carrier)
	if err != nil {
		return nil, err
	}
	list, err := s.Store.ShipmentsByID(ctx, t, Shipments(manifest))
	if err != nil {
		return nil, err
	}

	list = slices.DeleteFunc(list, func(shipment ship.Shipment) bool { return shipment.State != ship.StatePurchased })
	if len(list) == 0 {
		return nil, ship.Errorf(ship.Conflict, "its labels were voided since, so there is nothing to collect; no pickup was booked")
	}
	return s.located(ctx, t, groupByPlace(list, c))
}

// TakesPickups returns the carrier accounts that take bookings of pickups.
func (s *Service) TakesPickups(ctx context.Context, t ship.Tenant) (map[Seller]bool, error) {
	accounts, err := s.Accounts.List(ctx, t)
	if err != nil {
		return nil, err
	}
	takes := make(map[Seller]bool, len(accounts))
	for _, c := range accounts {
		takes[Seller{Connection: c.Connection, Carrier: c.Spec().Name}] = slices.Contains(c.Abilities(), "pickups")
	}
	return takes, nil
}

// findLocation adds what is known of the location now. Its address counts: one that
// has moved does not collect parcels at the old place.
func (g *Group) findLocation(locations []ship.Location) {
	for _, location := range locations {
		if placeOf(location.Address) != placeOf(g.Address) {
			continue
		}
		isNamed := location.ID == g.Location.ID
		if isNamed || !g.IsAtLocation() {
			g.Location = location
		}
		if isNamed {
			return
		}
	}
}

// IsAtLocation reports whether the parcels are where their location is now.
func (g Group) IsAtLocation() bool { return g.Location.Address != (ship.Address{}) }

// PickupAddress is where a driver collects the parcels, and whom to ask for.
func (g Group) PickupAddress() ship.Address {
	if !g.IsAtLocation() {
		return g.Address
	}
	return g.Location.PickupAddress()
}

// groupByPlace divides labels by where they leave from.
func groupByPlace(open []ship.Shipment, c *carrier.Carrier) []Group {
	var groups []Group
	at := map[string]int{}
	takesPickups := slices.Contains(c.Abilities(), "pickups")
	for _, shipment := range open {
		place := placeOf(shipment.Order.Origin)
		needsManifest := c.NeedsManifest(shipment.Purchase.Service)
		var day ship.Date
		if needsManifest && closesEachDay(c) {
			day = shipment.Order.ShipDate
		}
		place = fmt.Sprint(place, "\n", needsManifest, day)

		i, isKnown := at[place]
		if !isKnown {
			i = len(groups)
			at[place] = i
			groups = append(groups, Group{
				Seller:      Seller{Connection: c.Connection, Carrier: c.Spec().Name},
				Address:     shipment.Order.Origin,
				HasManifest: needsManifest,
				CoversDay:   needsManifest && scopeOf(c) == store.ManifestDay,
				Day:         day,
			})
		}

		if groups[i].Location.ID == "" {
			from := shipment.Order.Location
			groups[i].Location = ship.Location{ID: from.ID, Name: from.Name}
		}
		groups[i].Shipments = append(groups[i].Shipments, shipment.ID)
		groups[i].Pieces += max(1, len(shipment.Purchase.Pieces))
		if takesPickups {
			groups[i].collect(shipment.ID, c.PickupDivision(addParcels(nil, shipment)))
		}
	}
	return groups
}

// collect adds a shipment to the pickup of the division.
func (g *Group) collect(id ship.ShipmentID, division string) {
	i := slices.IndexFunc(g.Pickups, func(c Collection) bool { return c.Division == division })
	if i < 0 {
		i = len(g.Pickups)
		g.Pickups = append(g.Pickups, Collection{Division: division})
	}
	g.Pickups[i].Shipments = append(g.Pickups[i].Shipments, id)
}
