package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// A Logo is the picture of an account on its public pages: a PNG.
type Logo struct {
	Hash          string // of the picture
	Width, Height int
	Picture       []byte // left out where only the rest is asked for
}

const sqlSaveLogo = `
INSERT INTO account_logos (account_id, image_hash, width, height, image)
VALUES (@account, @hash, @width, @height, @image)
ON CONFLICT (account_id) DO UPDATE SET
  image_hash = excluded.image_hash,
  width = excluded.width,
  height = excluded.height,
  image = excluded.image`

// SaveLogo gives the account a logo instead of the one it had.
func (s *Store) SaveLogo(ctx context.Context, id ship.AccountID, l Logo) error {
	entry := accountEntry(id, "settings.logo_changed")
	_, err := s.change(ctx, ship.Tenant{Account: id}, entry, sqlSaveLogo, pgx.NamedArgs{
		"account": id,
		"hash":    l.Hash,
		"width":   l.Width,
		"height":  l.Height,
		"image":   l.Picture,
	})
	if err != nil {
		return fmt.Errorf("save logo: %w", err)
	}
	return nil
}

const sqlDropLogo = `DELETE FROM account_logos WHERE account_id = $1`

// DropLogo takes the account's logo away, if it has one.
func (s *Store) DropLogo(ctx context.Context, id ship.AccountID) error {
	entry := accountEntry(id, "settings.logo_removed")
	if _, err := s.change(ctx, ship.Tenant{Account: id}, entry, sqlDropLogo, id); err != nil {
		return fmt.Errorf("drop logo: %w", err)
	}
	return nil
}

const sqlLogo = `SELECT image_hash, width, height, CASE WHEN $2 THEN image END FROM account_logos WHERE account_id = $1`

// Logo returns the account's logo, with or without the picture itself;
// ship.NotFound if it has none.
func (s *Store) Logo(ctx context.Context, id ship.AccountID, picture bool) (Logo, error) {
	var l Logo
	err := s.queryRow(ctx, ship.Tenant{Account: id}, func(r pgx.Row) error {
		return r.Scan(&l.Hash, &l.Width, &l.Height, &l.Picture)
	}, sqlLogo, id, picture)
	return l, err
}
