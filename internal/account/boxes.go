package account

import (
	"context"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// maxBoxes is how many boxes a tenant can save.
const maxBoxes = 200

// A Box is a package that a tenant has saved.
type Box store.Box

// Boxes lists the tenant's boxes by name.
func (s *Service) Boxes(ctx context.Context, t ship.Tenant) ([]Box, error) {
	stored, err := s.store.Boxes(ctx, t, maxBoxes)
	list := make([]Box, len(stored))
	for i, b := range stored {
		list[i] = Box(b)
	}
	return list, err
}

// AddBox saves a box; a unit that is not given is that of the units.
func (s *Service) AddBox(ctx context.Context, t ship.Tenant, name string, d ship.Dimensions, units ship.Units) (Box, error) {
	name, d, err := ship.CheckBox(name, d, units)
	if err != nil {
		return Box{}, err
	}

	present, err := s.store.Boxes(ctx, t, maxBoxes)
	if err != nil {
		return Box{}, err
	}
	if len(present) >= maxBoxes {
		return Box{}, ship.Errorf(ship.Conflict, "there are %d boxes already: remove one first", maxBoxes)
	}

	box := store.Box{ID: ship.NewBoxID(t.Shard(), time.Now()), Name: name, Dimensions: d}
	return Box(box), s.store.AddBox(ctx, t, box)
}

// RemoveBox removes a box; ship.NotFound if it is not there.
func (s *Service) RemoveBox(ctx context.Context, t ship.Tenant, id ship.BoxID) error {
	return s.store.DeleteBox(ctx, t, id)
}
