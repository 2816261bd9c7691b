package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// What the columns of uploaded files mean, remembered by the titles of the file.

const sqlColumnMapping = `SELECT mapping FROM column_mappings WHERE account_id = $1 AND header_hash = $2`

// ColumnMapping returns what the columns of a header meant last time;
// ship.NotFound if they were not mapped yet.
func (s *Store) ColumnMapping(ctx context.Context, account ship.AccountID, header [32]byte) (json.RawMessage, error) {
	var mapping json.RawMessage
	err := s.queryRow(ctx, ship.Tenant{Account: account}, func(r pgx.Row) error { return r.Scan(&mapping) },
		sqlColumnMapping, account, header[:])
	return mapping, err
}

const sqlSaveColumnMapping = `
INSERT INTO column_mappings (account_id, header_hash, mapping, used_at)
VALUES (@account, @header, @mapping, now())
ON CONFLICT (account_id, header_hash) DO UPDATE SET
  mapping = excluded.mapping,
  used_at = excluded.used_at`

// sqlForgetColumnMappings keeps the ones that were used last.
const sqlForgetColumnMappings = `
DELETE FROM column_mappings WHERE account_id = @account AND header_hash IN (
  SELECT header_hash FROM column_mappings WHERE account_id = @account
  ORDER BY used_at DESC OFFSET @kept)`

// SaveColumnMapping remembers what the columns of a header mean, and forgets the
// headers that were used longest ago if there are more than kept.
func (s *Store) SaveColumnMapping(ctx context.Context, account ship.AccountID, header [32]byte, mapping json.RawMessage, kept int) error {
	args := pgx.NamedArgs{
		"account": account,
		"header":  header[:],
		"mapping": mapping,
		"kept":    kept,
	}
	statements := s.newBatch(ship.Tenant{Account: account})
	statements.Queue(sqlSaveColumnMapping, args)
	statements.Queue(sqlForgetColumnMappings, args)
	if err := s.send(ctx, statements); err != nil {
		return fmt.Errorf("remember a column mapping: %w", err)
	}
	return nil
}
