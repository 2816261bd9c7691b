package quoting

import (
	"context"
	"slices"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// Locate gives an order that names a location the address of it. An order that
// names none costs nothing.
func (s *Service) Locate(ctx context.Context, t ship.Tenant, order *ship.Order) error {
	if !order.NamesLocation() {
		return nil
	}

	location, err := s.location(ctx, t, order.Location.ID)
	switch {
	case ship.KindOf(err) == ship.NotFound:
		return ship.UnknownLocation("/origin/locationId")
	case err != nil:
		return err
	}
	order.LeaveFrom(location)
	return nil
}

// usedFrom returns the carriers that are used from the order's location. The
// connection is the one that the client names, if it does.
func usedFrom(connected []*carrier.Carrier, from ship.OrderLocation, connection ship.ConnectionID) ([]*carrier.Carrier, error) {
	if len(from.Connections) == 0 {
		return connected, nil
	}

	used := slices.DeleteFunc(slices.Clone(connected), func(c *carrier.Carrier) bool {
		return !slices.Contains(from.Connections, c.Connection)
	})
	switch {
	case len(used) > 0:
		return used, nil
	case connection != "":
		return nil, notUsedFrom(from, "/connectionId")
	}
	return nil, ship.Coded(ship.Invalid, "no_carrier",
		"none of the carrier accounts that the location %q is limited to is connected; change its connections under Settings > Locations", from.Name)
}

// takingFrom leaves out carriers that never take parcels in the country: asking
// them would add an error to every answer. If no other is left, they say why.
func takingFrom(connected []*carrier.Carrier, country string) []*carrier.Carrier {
	isElsewhere := func(c *carrier.Carrier) bool { return !c.TakesFrom(country) }
	if !slices.ContainsFunc(connected, isElsewhere) {
		return connected
	}

	taking := slices.DeleteFunc(slices.Clone(connected), isElsewhere)
	if len(taking) == 0 {
		return connected
	}
	return taking
}

// notUsedFrom is the error of a request that names a carrier account which is not
// used from the location.
func notUsedFrom(from ship.OrderLocation, pointer string) error {
	err := ship.Coded(ship.Invalid, "connection_not_at_location", "the location %q does not use this carrier account", from.Name)
	err.Fields = []ship.FieldError{{
		Pointer: pointer,
		Code:    "connection_not_at_location",
		Detail:  "is not one of the connections of the location that the parcel leaves from",
	}}
	return err
}
