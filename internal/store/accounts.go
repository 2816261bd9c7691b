package store

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

const sqlShards = `SELECT s.shard FROM shards s JOIN instance i ON i.cell = s.cell`

// NewShard picks a shard of this cell for a new account.
func (s *Store) NewShard(ctx context.Context) (ship.Shard, error) {
	rows, err := s.sys.Query(ctx, sqlShards)
	if err != nil {
		return 0, fmt.Errorf("shards of this cell: %w", explain(err))
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[int16])
	if err != nil {
		return 0, fmt.Errorf("shards of this cell: %w", explain(err))
	}
	if len(list) == 0 {
		return 0, ship.Errorf(ship.Unavailable, "this cell holds no shard")
	}
	return ship.Shard(list[rand.IntN(len(list))]), nil
}

const sqlSaveAccount = `
INSERT INTO accounts (id, name, origin, weight_unit, length_unit, currency) VALUES (@id, @name, @origin, @weight, @length, @currency)
ON CONFLICT (id) DO UPDATE SET name = @name, origin = @origin, weight_unit = @weight, length_unit = @length, currency = @currency`

// SaveAccount stores an account, new or changed; action is what the audit log
// calls it.
func (s *Store) SaveAccount(ctx context.Context, a ship.Account, action string) error {
	var origin []byte
	if a.Origin != nil {
		var err error
		if origin, err = json.Marshal(a.Origin); err != nil {
			return fmt.Errorf("write the origin: %w", err)
		}
	}
	_, err := s.changeSystem(ctx, accountEntry(a.ID, action), sqlSaveAccount, pgx.NamedArgs{
		"id": [16]byte(a.ID.Raw()), "name": a.Name, "origin": origin,
		"weight": string(a.Units.Weight), "length": string(a.Units.Length), "currency": a.Currency,
	})
	if err != nil {
		return fmt.Errorf("save account %s: %w", a.ID, err)
	}
	return nil
}

const accountColumns = `a.id, a.name, a.origin, a.weight_unit, a.length_unit, a.currency`

const sqlAccounts = `SELECT ` + accountColumns + ` FROM accounts a WHERE $1::uuid IS NULL OR a.id = $1 ORDER BY a.id`

// Account returns an account; ship.NotFound if there is none.
func (s *Store) Account(ctx context.Context, id ship.AccountID) (ship.Account, error) {
	list, err := s.accounts(ctx, nullID(id.Raw()))
	if err == nil && len(list) == 0 {
		err = ship.Errorf(ship.NotFound, "no such account")
	}
	if err != nil {
		return ship.Account{}, err
	}
	return list[0], nil
}

// Accounts lists all accounts of this cell.
func (s *Store) Accounts(ctx context.Context) ([]ship.Account, error) { return s.accounts(ctx, nil) }

func (s *Store) accounts(ctx context.Context, id *[16]byte) ([]ship.Account, error) {
	rows, err := s.sys.Query(ctx, sqlAccounts, id)
	if err != nil {
		return nil, fmt.Errorf("accounts: %w", explain(err))
	}
	var list []ship.Account
	err = each(rows, func(r pgx.Rows) error {
		var a accountRow
		err := r.Scan(a.targets()...)
		list = append(list, a.account())
		return err
	})
	return list, explain(err)
}

// accountRow is what accountColumns select.
type accountRow struct {
	id     [16]byte
	origin *ship.Address
	a      ship.Account
}

func (r *accountRow) targets() []any {
	return []any{&r.id, &r.a.Name, &r.origin, &r.a.Units.Weight, &r.a.Units.Length, &r.a.Currency}
}

func (r *accountRow) account() ship.Account {
	r.a.ID, r.a.Origin = ship.AccountIDOf(r.id), r.origin
	return r.a
}

// A KeyRow is an API key as stored.
type KeyRow struct {
	ID         ship.KeyID
	Tenant     ship.Tenant
	Hash       [32]byte
	Hint       string
	Name       string
	Scopes     []string
	Networks   []netip.Prefix
	DailyLimit ship.Money // zero for none
	ExpiresAt  time.Time
	LastUsedAt time.Time
	RevokedAt  time.Time
}

const sqlAddKey = `
INSERT INTO api_keys (id, account_id, livemode, key_hash, hint, name, scopes, networks, expires_at, daily_limit_minor, daily_limit_currency)
VALUES (@id, @account, @livemode, @hash, @hint, @name, @scopes, @networks, @expires, nullif(@limit::bigint, 0), @currency)`

// AddKey stores a new key.
func (s *Store) AddKey(ctx context.Context, k KeyRow) error {
	_, err := s.changeSystem(ctx, keyEntry(k, "key.made"), sqlAddKey, tenantArgs(k.Tenant, k.ID.Raw(), pgx.NamedArgs{
		"hash": k.Hash[:], "hint": k.Hint, "name": k.Name, "scopes": k.Scopes, "networks": append([]netip.Prefix{}, k.Networks...), "expires": nullTime(k.ExpiresAt),
		"limit": k.DailyLimit.Minor, "currency": null(k.DailyLimit.Currency),
	}))
	if err != nil {
		return fmt.Errorf("add key: %w", err)
	}
	return nil
}

// keyEntry is the entry of a change of the key. Its hint tells whose requests
// are whose.
func keyEntry(k KeyRow, action string) AuditEntry {
	entry := EntryOf(k.Tenant, action, string(k.ID))
	entry.Details = map[string]string{"key": k.Hint, "scopes": strings.Join(k.Scopes, " ")}
	if k.Name != "" {
		entry.Details["name"] = k.Name
	}
	if k.DailyLimit != (ship.Money{}) {
		entry.Details["daily_limit"] = k.DailyLimit.String()
	}
	return entry
}

const keyColumns = `k.id, k.account_id, k.livemode, k.hint, k.name, k.scopes, k.networks, k.expires_at, k.last_used_at, k.revoked_at,
  coalesce(k.daily_limit_minor, 0), coalesce(k.daily_limit_currency, '')`

const sqlKeyByHash = `
SELECT ` + keyColumns + `, ` + accountColumns + ` FROM api_keys k JOIN accounts a ON a.id = k.account_id WHERE k.key_hash = $1`

// KeyByHash returns a key and its account; ship.NotFound if there is none.
func (s *Store) KeyByHash(ctx context.Context, hash [32]byte) (KeyRow, ship.Account, error) {
	var k keyRow
	var a accountRow
	if err := s.sys.QueryRow(ctx, sqlKeyByHash, hash[:]).Scan(append(k.targets(), a.targets()...)...); err != nil {
		return KeyRow{}, ship.Account{}, explain(err)
	}
	row := k.key()
	row.Hash = hash
	return row, a.account(), nil
}

// keyRow is what keyColumns select.
type keyRow struct {
	id, account             [16]byte
	k                       KeyRow
	expires, used, withdrew *time.Time
}

func (r *keyRow) targets() []any {
	return []any{&r.id, &r.account, &r.k.Tenant.Livemode, &r.k.Hint, &r.k.Name, &r.k.Scopes, &r.k.Networks, &r.expires, &r.used, &r.withdrew, &r.k.DailyLimit.Minor, &r.k.DailyLimit.Currency}
}

func (r *keyRow) key() KeyRow {
	r.k.ID, r.k.Tenant.Account = ship.KeyIDOf(r.id), ship.AccountIDOf(r.account)
	r.k.ExpiresAt, r.k.LastUsedAt, r.k.RevokedAt = timeOrZero(r.expires), timeOrZero(r.used), timeOrZero(r.withdrew)
	return r.k
}

const sqlKeys = `SELECT ` + keyColumns + ` FROM api_keys k WHERE k.account_id = $1 ORDER BY k.id`

// Keys lists the keys of an account, both modes, oldest first.
func (s *Store) Keys(ctx context.Context, id ship.AccountID) ([]KeyRow, error) {
	rows, err := s.sys.Query(ctx, sqlKeys, [16]byte(id.Raw()))
	if err != nil {
		return nil, fmt.Errorf("keys: %w", explain(err))
	}
	var list []KeyRow
	err = each(rows, func(r pgx.Rows) error {
		var k keyRow
		err := r.Scan(k.targets()...)
		list = append(list, k.key())
		return err
	})
	return list, explain(err)
}

const sqlRevokeKey = `UPDATE api_keys k SET revoked_at = coalesce(revoked_at, now()) WHERE k.id = @id RETURNING ` + keyColumns

// RevokeKey ends a key; ship.NotFound if there is none.
func (s *Store) RevokeKey(ctx context.Context, id ship.KeyID) error {
	err := s.changingSystem(ctx, func(tx *Store) error {
		var k keyRow
		if err := tx.system().QueryRow(ctx, sqlRevokeKey, pgx.NamedArgs{"id": [16]byte(id.Raw())}).Scan(k.targets()...); err != nil {
			return explain(err)
		}
		return tx.AuditChange(ctx, keyEntry(k.key(), "key.revoked"))
	})
	if ship.KindOf(err) == ship.NotFound {
		return ship.Errorf(ship.NotFound, "no such key")
	}
	if err != nil {
		return fmt.Errorf("revoke key: %w", err)
	}
	return nil
}

const sqlTouchKeys = `
UPDATE api_keys k SET last_used_at = v.at FROM unnest($1::uuid[], $2::timestamptz[]) AS v (id, at)
WHERE k.id = v.id AND (k.last_used_at IS NULL OR k.last_used_at < v.at)`

// TouchKeys notes when keys were last used.
func (s *Store) TouchKeys(ctx context.Context, used map[ship.KeyID]time.Time) error {
	var ids [][16]byte
	var ats []time.Time
	for id, at := range used {
		ids, ats = append(ids, id.Raw()), append(ats, at)
	}
	_, err := s.sys.Exec(ctx, sqlTouchKeys, ids, ats)
	return explain(err)
}
