package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// A Box is one that a tenant packs in.
type Box struct {
	ID   ship.BoxID
	Name string
	ship.Dimensions
}

const sqlBoxes = `
SELECT id, name, length, width, height, unit FROM boxes
WHERE account_id = $1 AND livemode = $2
ORDER BY name, id LIMIT $3`

// Boxes lists the tenant's boxes by name.
func (s *Store) Boxes(ctx context.Context, t ship.Tenant, limit int) ([]Box, error) {
	return queryList(ctx, s, t, scanBox, sqlBoxes, t.Account, t.Livemode, limit)
}

func scanBox(r pgx.CollectableRow) (Box, error) {
	var box Box
	err := r.Scan(&box.ID, &box.Name, &box.Length, &box.Width, &box.Height, (*string)(&box.Unit))
	return box, err
}

const sqlAddBox = `
INSERT INTO boxes (account_id, livemode, id, name, length, width, height, unit)
VALUES (@account, @livemode, @id, @name, @length, @width, @height, @unit)`

// AddBox stores a box.
func (s *Store) AddBox(ctx context.Context, t ship.Tenant, box Box) error {
	_, err := s.change(ctx, t, EntryOf(t, "box.added", string(box.ID)), sqlAddBox, tenantArgs(t, box.ID, pgx.NamedArgs{
		"name":   box.Name,
		"length": box.Length,
		"width":  box.Width,
		"height": box.Height,
		"unit":   string(box.Unit),
	}))
	return err
}

const sqlDeleteBox = `DELETE FROM boxes WHERE account_id = $1 AND livemode = $2 AND id = $3`

// DeleteBox deletes a box; ship.NotFound if it is not there.
func (s *Store) DeleteBox(ctx context.Context, t ship.Tenant, id ship.BoxID) error {
	entry := EntryOf(t, "box.removed", string(id))
	n, err := s.change(ctx, t, entry, sqlDeleteBox, t.Account, t.Livemode, id)
	if err == nil && n == 0 {
		return ship.Errorf(ship.NotFound, "no such box")
	}
	return err
}
