package store

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// Accounts and the shards that new ones get.

const sqlShards = `SELECT s.shard FROM shards s JOIN instance i ON i.cell = s.cell WHERE s.moving_to IS NULL`

// NewShard picks a shard of this cell for a new account.
func (s *Store) NewShard(ctx context.Context) (ship.Shard, error) {
	shards, err := selectList(ctx, s.sys, pgx.RowTo[int16], sqlShards)
	if err != nil {
		return 0, fmt.Errorf("shards of this cell: %w", err)
	}
	if len(shards) == 0 {
		return 0, ship.Errorf(ship.Unavailable, "this cell holds no shard")
	}
	return ship.Shard(shards[rand.IntN(len(shards))]), nil
}

const sqlSaveAccount = `
INSERT INTO accounts (id, name, origin, weight_unit, length_unit, currency)
VALUES (@id, @name, @origin, @weight, @length, @currency)
ON CONFLICT (id) DO UPDATE SET
  name = @name,
  origin = @origin,
  weight_unit = @weight,
  length_unit = @length,
  currency = @currency`

// SaveAccount stores an account, new or changed; action is what the audit log
// calls it.
func (s *Store) SaveAccount(ctx context.Context, a ship.Account, action string) error {
	var origin []byte
	if a.Origin != nil {
		var err error
		if origin, err = json.Marshal(a.Origin); err != nil {
			return fmt.Errorf("encode the origin: %w", err)
		}
	}

	_, err := s.changeSystem(ctx, accountEntry(a.ID, action), sqlSaveAccount, accountArgs(a, origin))
	if err != nil {
		return fmt.Errorf("save account %s: %w", a.ID, err)
	}
	return nil
}

// accountArgs are the arguments of sqlSaveAccount; the origin is JSON, or nil
// for none.
func accountArgs(a ship.Account, origin []byte) pgx.NamedArgs {
	return pgx.NamedArgs{
		"id":       a.ID,
		"name":     a.Name,
		"origin":   origin,
		"weight":   string(a.Units.Weight),
		"length":   string(a.Units.Length),
		"currency": a.Currency,
	}
}

const accountColumns = `a.id, a.name, a.origin, a.weight_unit, a.length_unit, a.currency`

const sqlAccount = `SELECT ` + accountColumns + ` FROM accounts a WHERE a.id = $1`

// Account returns an account; ship.NotFound if there is none.
func (s *Store) Account(ctx context.Context, id ship.AccountID) (ship.Account, error) {
	account, err := selectOne(ctx, s.sys, scanAccount, sqlAccount, id)
	if ship.KindOf(err) == ship.NotFound {
		return ship.Account{}, ship.Errorf(ship.NotFound, "no such account")
	}
	return account, err
}

const sqlAccountIn = `
SELECT ` + accountColumns + `, ` + locationColumns + `
FROM accounts a ` + joinDefaultLocation + `$2
WHERE a.id = $1`

// AccountIn is Account with the default location of the mode.
func (s *Store) AccountIn(ctx context.Context, t ship.Tenant) (ship.Account, error) {
	var account ship.Account
	var location locationRow
	targets := append(accountTargets(&account), location.targets()...)
	if err := s.sys.QueryRow(ctx, sqlAccountIn, t.Account, t.Livemode).Scan(targets...); err != nil {
		if ship.KindOf(explain(err)) == ship.NotFound {
			return ship.Account{}, ship.Errorf(ship.NotFound, "no such account")
		}
		return ship.Account{}, explain(err)
	}
	account.Location = location.read()
	return account, nil
}

// isHere is the condition for accounts whose shard this cell holds. The rows of others
// stay for a while after they have moved.
const isHere = `coalesce((SELECT get_bit(c.owned_shards, shard_of(a.id)) = 1 FROM cell_state c), true)`

const sqlAccounts = `SELECT ` + accountColumns + ` FROM accounts a WHERE ` + isHere + ` ORDER BY a.id`

// Accounts lists all accounts of this cell.
func (s *Store) Accounts(ctx context.Context) ([]ship.Account, error) {
	list, err := selectList(ctx, s.sys, scanAccount, sqlAccounts)
	if err != nil {
		return nil, fmt.Errorf("accounts: %w", err)
	}
	return list, nil
}

const sqlAccountsElsewhere = `SELECT a.id FROM accounts a WHERE NOT ` + isHere + ` ORDER BY a.id`

// AccountsElsewhere lists accounts that this database still has rows of, and that
// moved to another cell or are moving.
func (s *Store) AccountsElsewhere(ctx context.Context) ([]ship.AccountID, error) {
	return selectList(ctx, s.sys, pgx.RowTo[ship.AccountID], sqlAccountsElsewhere)
}

func scanAccount(r pgx.CollectableRow) (ship.Account, error) {
	var account ship.Account
	err := r.Scan(accountTargets(&account)...)
	return account, err
}

// accountTargets are where accountColumns are read to.
func accountTargets(a *ship.Account) []any {
	return []any{
		&a.ID,
		&a.Name,
		&a.Origin,
		&a.Units.Weight,
		&a.Units.Length,
		&a.Currency,
	}
}

// AddAccount stores a new account in the transaction.
func (s *Store) AddAccount(ctx context.Context, a ship.Account) error {
	_, err := s.run(ctx, sqlSaveAccount, accountArgs(a, nil))
	return err
}
