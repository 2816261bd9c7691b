package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// An AddressCheck is what a carrier answered about an address.
type AddressCheck struct {
	Hash      []byte // of the address
	Encrypted []byte
	At        time.Time
}

const sqlKeepAddressCheck = `
INSERT INTO address_checks (account_id, livemode, address_hash, carrier, encrypted_check, checked_at)
VALUES (@account, @livemode, @hash, @carrier, @encrypted, @at)
ON CONFLICT (account_id, livemode, address_hash, carrier) DO UPDATE SET
  encrypted_check = excluded.encrypted_check,
  checked_at = excluded.checked_at`

// KeepAddressCheck stores an answer instead of an earlier one to the same question.
func (s *Store) KeepAddressCheck(ctx context.Context, t ship.Tenant, carrier string, c AddressCheck) error {
	_, err := s.exec(ctx, t, sqlKeepAddressCheck, pgx.NamedArgs{
		"account":   t.Account,
		"livemode":  t.Livemode,
		"hash":      c.Hash,
		"carrier":   carrier,
		"encrypted": c.Encrypted,
		"at":        c.At,
	})
	if err != nil {
		return fmt.Errorf("keep address check: %w", err)
	}
	return nil
}

const sqlAddressCheck = `
SELECT address_hash, encrypted_check, checked_at FROM address_checks
WHERE account_id = @account AND livemode = @livemode AND address_hash = @hash AND carrier = @carrier`

// AddressCheck returns what the carrier answered; ship.NotFound if it was not asked.
func (s *Store) AddressCheck(ctx context.Context, t ship.Tenant, carrier string, hash []byte) (AddressCheck, error) {
	scan := func(r pgx.CollectableRow) (c AddressCheck, err error) {
		err = r.Scan(&c.Hash, &c.Encrypted, &c.At)
		return c, err
	}
	return queryOne(ctx, s, t, scan, sqlAddressCheck, pgx.NamedArgs{
		"account":  t.Account,
		"livemode": t.Livemode,
		"hash":     hash,
		"carrier":  carrier,
	})
}

// At most so many rows are deleted in one transaction.
const deletedAddressChecks = 5_000

const sqlDeleteAddressChecks = `
DELETE FROM address_checks WHERE ctid IN (
  SELECT ctid FROM address_checks WHERE checked_at < @before LIMIT @limit)`

// DeleteAddressChecks deletes answers of all tenants from before the time.
func (s *Store) DeleteAddressChecks(ctx context.Context, before time.Time) error {
	for {
		deleted, err := s.run(ctx, sqlDeleteAddressChecks, pgx.NamedArgs{"before": before, "limit": deletedAddressChecks})
		if err != nil {
			return fmt.Errorf("delete address checks: %w", err)
		}
		if deleted < deletedAddressChecks {
			return nil
		}
	}
}
