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
SELECT id, name, length, width, height, unit FROM boxes WHERE account_id = $1 AND livemode = $2 ORDER BY name, id LIMIT $3`

// Boxes lists the tenant's boxes by name.
func (s *Store) Boxes(ctx context.Context, t ship.Tenant, limit int) (list []Box, err error) {
	err = s.queryRows(ctx, t, func(r pgx.Rows) error {
		var b Box
		var id [16]byte
		err := r.Scan(&id, &b.Name, &b.Length, &b.Width, &b.Height, (*string)(&b.Unit))
		b.ID = ship.BoxIDOf(id)
		list = append(list, b)
		return err
	}, sqlBoxes, [16]byte(t.Account.Raw()), t.Livemode, limit)
	return list, err
}

const sqlAddBox = `
INSERT INTO boxes (account_id, livemode, id, name, length, width, height, unit) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`

// AddBox stores a box.
func (s *Store) AddBox(ctx context.Context, t ship.Tenant, b Box) error {
	_, err := s.change(ctx, t, EntryOf(t, "box.added", string(b.ID)), sqlAddBox, [16]byte(t.Account.Raw()), t.Livemode, [16]byte(b.ID.Raw()), b.Name, b.Length, b.Width, b.Height, string(b.Unit))
	return err
}

const sqlDeleteBox = `DELETE FROM boxes WHERE account_id = $1 AND livemode = $2 AND id = $3`

// DeleteBox deletes a box; ship.NotFound if it is not there.
func (s *Store) DeleteBox(ctx context.Context, t ship.Tenant, id ship.BoxID) error {
	n, err := s.change(ctx, t, EntryOf(t, "box.removed", string(id)), sqlDeleteBox, [16]byte(t.Account.Raw()), t.Livemode, [16]byte(id.Raw()))
	if err == nil && n == 0 {
		return ship.Errorf(ship.NotFound, "no such box")
	}
	return err
}
