package account

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// Locations: the places that a tenant ships from.

// LocationSettings are what can be set of a location; nil leaves a setting as it
// is.
type LocationSettings struct {
	Name        *string
	Address     *ship.Address
	Contact     *ship.Contact
	CutoffTimes []ship.CutoffTime
	Connections []ship.ConnectionID // empty, not nil: all of the tenant
	IsDefault   *bool
}

// apply changes what is set.
func (set LocationSettings) apply(location *ship.Location) {
	if set.Name != nil {
		location.Name = *set.Name
	}
	if set.Address != nil {
		location.Address = *set.Address
	}
	if set.Contact != nil {
		location.Contact = *set.Contact
	}
	if set.CutoffTimes != nil {
		location.CutoffTimes = set.CutoffTimes
	}
	if set.Connections != nil {
		location.Connections = set.Connections
	}
	if set.IsDefault != nil {
		location.IsDefault = *set.IsDefault
	}
}

// Locations lists the tenant's locations by name.
func (s *Service) Locations(ctx context.Context, t ship.Tenant) ([]ship.Location, error) {
	return s.store.Locations(ctx, t)
}

// Location returns a location; ship.NotFound if there is none.
func (s *Service) Location(ctx context.Context, t ship.Tenant, id ship.LocationID) (ship.Location, error) {
	return s.store.Location(ctx, t, id)
}

// AddLocation adds a location. If it is the default, no other is from then on.
func (s *Service) AddLocation(ctx context.Context, t ship.Tenant, set LocationSettings) (ship.Location, error) {
	location := ship.Location{ID: ship.NewLocationID(t.Shard(), time.Now())}
	set.apply(&location)
	location, err := location.Normalize()
	if err != nil {
		return location, err
	}
	if err := s.checkConnections(ctx, t, location.Connections, nil); err != nil {
		return location, err
	}

	if err := s.store.AddLocation(ctx, t, location); err != nil {
		return location, err
	}
	s.forgetKeys(t)
	return location, nil
}

// ChangeLocation changes a location; ship.NotFound if there is none.
func (s *Service) ChangeLocation(ctx context.Context, t ship.Tenant, id ship.LocationID, set LocationSettings) (ship.Location, error) {
	if len(set.Connections) > 0 {
		current, err := s.store.Location(ctx, t, id)
		if err != nil {
			return current, err
		}
		if err := s.checkConnections(ctx, t, set.Connections, current.Connections); err != nil {
			return current, err
		}
	}

	changed, err := s.store.ChangeLocation(ctx, t, id, func(location *ship.Location) (err error) {
		set.apply(location)
		*location, err = location.Normalize()
		return err
	})
	if err != nil {
		return changed, err
	}
	s.forgetKeys(t)
	return changed, nil
}

// checkConnections returns an error that lists the connections that are not the
// tenant's. Those that a location has already may have been removed since.
func (s *Service) checkConnections(ctx context.Context, t ship.Tenant, ids, present []ship.ConnectionID) error {
	if len(ids) == 0 {
		return nil
	}
	known := slices.Clone(present)
	connections, err := s.store.Connections(ctx, t)
	if err != nil {
		return err
	}
	for _, connection := range connections {
		known = append(known, connection.ID)
	}

	var invalid []ship.FieldError
	for i, id := range ids {
		if !slices.Contains(known, id) {
			invalid = append(invalid, ship.FieldError{
				Pointer: "/connections/" + strconv.Itoa(i),
				Code:    "unknown_connection",
				Detail:  "is not a connection of this account",
			})
		}
	}
	return ship.InvalidFields(invalid)
}

// RemoveLocation deletes a location; ship.NotFound if there is none. What was sent
// from it stays as it is.
func (s *Service) RemoveLocation(ctx context.Context, t ship.Tenant, id ship.LocationID) error {
	if err := s.store.DeleteLocation(ctx, t, id); err != nil {
		return err
	}
	s.forgetKeys(t)
	return nil
}

// forgetKeys has the keys of a tenant looked up again: they are cached with the
// default location. Other copies of the service follow within keyLife.
func (s *Service) forgetKeys(t ship.Tenant) {
	for hash, in := range s.known.All() {
		if in.principal.Tenant == t {
			s.known.Invalidate(hash)
		}
	}
}

// AccountIn returns an account with the default location of the mode.
func (s *Service) AccountIn(ctx context.Context, t ship.Tenant) (ship.Account, error) {
	return s.store.AccountIn(ctx, t)
}
