package store

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// A KeyRow is an API key as stored.
type KeyRow struct {
	ID         ship.KeyID
	Tenant     ship.Tenant
	Hash       [32]byte
	Hint       string
	Name       string
	Scopes     []string
	Networks   []netip.Prefix
	Limits     ship.SpendingLimits
	Person     ship.PersonID // whose terminal has the key; empty for a program's
	ExpiresAt  time.Time
	LastUsedAt time.Time
	RevokedAt  time.Time
}

const sqlAddKey = `
INSERT INTO api_keys (id, account_id, livemode, key_hash, hint, name, scopes, networks, expires_at,
  daily_limit_minor, daily_limit_currency, max_per_purchase_minor, approval_above_minor, limits_currency,
  allowed_countries, person_id)
VALUES (@id, @account, @livemode, @hash, @hint, @name, @scopes, @networks, @expires,
  nullif(@limit::bigint, 0), @currency, nullif(@per_purchase::bigint, 0), @approval_above, @limits_currency,
  @countries, @person)`

// AddKey stores a new key.
func (s *Store) AddKey(ctx context.Context, k KeyRow) error {
	args := tenantArgs(k.Tenant, k.ID, pgx.NamedArgs{
		"hash":     k.Hash[:],
		"hint":     k.Hint,
		"name":     k.Name,
		"scopes":   k.Scopes,
		"networks": append([]netip.Prefix{}, k.Networks...), // none is an empty array, not NULL
		"expires":  nullTime(k.ExpiresAt),
		"limit":    k.Limits.Daily.Minor,
		"currency": null(k.Limits.Daily.Currency),

		"per_purchase":    k.Limits.PerPurchase.Minor,
		"approval_above":  minorOrNull(k.Limits.ApprovalAbove),
		"limits_currency": null(cmp.Or(k.Limits.PerPurchase.Currency, k.Limits.ApprovalAbove.Currency)),
		"countries":       append([]string{}, k.Limits.Countries...),
		"person":          null(k.Person),
	})

	_, err := s.changeSystem(ctx, keyEntry(k, "key.made"), sqlAddKey, args)
	if err != nil {
		return fmt.Errorf("add key: %w", err)
	}
	return nil
}

// minorOrNull returns the amount, or NULL if there is none. An amount of nothing is
// not NULL.
func minorOrNull(m ship.Money) *int64 {
	if m.IsZero() {
		return nil
	}
	return &m.Minor
}

// keyEntry is the entry of a change of the key. The hint in it tells whose
// requests are whose.
func keyEntry(k KeyRow, action string) AuditEntry {
	entry := EntryOf(k.Tenant, action, string(k.ID))
	entry.Details = map[string]string{
		"key":    k.Hint,
		"scopes": strings.Join(k.Scopes, " "),
	}
	if k.Name != "" {
		entry.Details["name"] = k.Name
	}
	limits := map[string]string{
		"daily_limit":       k.Limits.Daily.String(),
		"max_per_purchase":  k.Limits.PerPurchase.String(),
		"approval_above":    k.Limits.ApprovalAbove.String(),
		"allowed_countries": strings.Join(k.Limits.Countries, " "),
	}
	for name, limit := range limits {
		if limit != "" {
			entry.Details[name] = limit
		}
	}
	return entry
}

const keyColumns = `k.id, k.account_id, k.livemode, k.hint, k.name, k.scopes, k.networks, k.expires_at, k.last_used_at, k.revoked_at,
  coalesce(k.daily_limit_minor, 0), coalesce(k.daily_limit_currency, ''),
  k.max_per_purchase_minor, k.approval_above_minor, coalesce(k.limits_currency, ''), k.allowed_countries`

const sqlKeyByHash = `
SELECT ` + keyColumns + `, ` + accountColumns + `, ` + locationColumns + `
FROM api_keys k JOIN accounts a ON a.id = k.account_id ` + joinDefaultLocation + `k.livemode
WHERE k.key_hash = $1`

// KeyByHash returns a key and its account, with the default location of the key's
// mode; ship.NotFound if there is none.
func (s *Store) KeyByHash(ctx context.Context, hash [32]byte) (KeyRow, ship.Account, error) {
	var key keyRow
	var account ship.Account
	var location locationRow
	targets := slices.Concat(key.targets(), accountTargets(&account), location.targets())
	if err := s.sys.QueryRow(ctx, sqlKeyByHash, hash[:]).Scan(targets...); err != nil {
		return KeyRow{}, ship.Account{}, explain(err)
	}

	account.Location = location.read()
	found := key.read()
	found.Hash = hash
	return found, account, nil
}

func scanKey(r pgx.CollectableRow) (KeyRow, error) {
	var row keyRow
	err := r.Scan(row.targets()...)
	return row.read(), err
}

// keyRow is what keyColumns select.
type keyRow struct {
	key                              KeyRow
	expiresAt, lastUsedAt, revokedAt *time.Time
	perPurchase, approvalAbove       *int64
	limitsCurrency                   string
}

func (r *keyRow) targets() []any {
	return []any{
		&r.key.ID,
		&r.key.Tenant.Account,
		&r.key.Tenant.Livemode,
		&r.key.Hint,
		&r.key.Name,
		&r.key.Scopes,
		&r.key.Networks,
		&r.expiresAt,
		&r.lastUsedAt,
		&r.revokedAt,
		&r.key.Limits.Daily.Minor,
		&r.key.Limits.Daily.Currency,
		&r.perPurchase,
		&r.approvalAbove,
		&r.limitsCurrency,
		&r.key.Limits.Countries,
	}
}

func (r *keyRow) read() KeyRow {
	r.key.ExpiresAt = timeOrZero(r.expiresAt)
	r.key.LastUsedAt = timeOrZero(r.lastUsedAt)
	r.key.RevokedAt = timeOrZero(r.revokedAt)
	if r.perPurchase != nil {
		r.key.Limits.PerPurchase = ship.Money{Minor: *r.perPurchase, Currency: r.limitsCurrency}
	}
	if r.approvalAbove != nil {
		r.key.Limits.ApprovalAbove = ship.Money{Minor: *r.approvalAbove, Currency: r.limitsCurrency}
	}
	return r.key
}

const sqlKey = `SELECT ` + keyColumns + ` FROM api_keys k WHERE k.account_id = $1 AND k.id = $2`

// Key returns a key of an account; ship.NotFound if there is none.
func (s *Store) Key(ctx context.Context, account ship.AccountID, id ship.KeyID) (KeyRow, error) {
	return selectOne(ctx, s.sys, scanKey, sqlKey, account, id)
}

const sqlKeys = `SELECT ` + keyColumns + ` FROM api_keys k WHERE k.account_id = $1 ORDER BY k.id`

// Keys lists the keys of an account, both modes, oldest first.
func (s *Store) Keys(ctx context.Context, id ship.AccountID) ([]KeyRow, error) {
	list, err := selectList(ctx, s.sys, scanKey, sqlKeys, id)
	if err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	return list, nil
}

// sqlRevokeKey keeps the time of the first revocation.
const sqlRevokeKey = `
UPDATE api_keys k SET revoked_at = coalesce(revoked_at, now())
WHERE k.id = @id
RETURNING ` + keyColumns

// RevokeKey ends a key; ship.NotFound if there is none.
func (s *Store) RevokeKey(ctx context.Context, id ship.KeyID) error {
	err := s.changingSystem(ctx, func(tx *Store) error {
		key, err := selectOne(ctx, tx.system(), scanKey, sqlRevokeKey, pgx.NamedArgs{"id": id})
		if err != nil {
			return err
		}
		return tx.AuditChange(ctx, keyEntry(key, "key.revoked"))
	})
	if ship.KindOf(err) == ship.NotFound {
		return ship.Errorf(ship.NotFound, "no such key")
	}
	if err != nil {
		return fmt.Errorf("revoke key: %w", err)
	}
	return nil
}

const sqlRevokeKeysOf = `
UPDATE api_keys SET revoked_at = now()
WHERE account_id = @account AND person_id = @person AND revoked_at IS NULL`

const sqlDenyApprovalsOf = `
UPDATE device_sign_ins SET state = 'denied'
WHERE approved_account_id = @account AND decided_by_person_id = @person AND state = 'approved'`

// RevokeKeysOf ends the keys that a person's terminals have in the account, and the
// person's approvals of terminals that have not asked for their key yet.
func (s *Store) RevokeKeysOf(ctx context.Context, account ship.AccountID, person ship.PersonID) error {
	for _, statement := range []string{sqlRevokeKeysOf, sqlDenyApprovalsOf} {
		if _, err := s.run(ctx, statement, memberArgs(account, person)); err != nil {
			return err
		}
	}
	return nil
}

// sqlTouchKeys moves times forward only: another copy of the program may have
// noted a later use.
const sqlTouchKeys = `
UPDATE api_keys k SET last_used_at = v.at
FROM unnest($1::uuid[], $2::timestamptz[]) AS v (id, at)
WHERE k.id = v.id AND (k.last_used_at IS NULL OR k.last_used_at < v.at)`

// TouchKeys records when keys were last used.
func (s *Store) TouchKeys(ctx context.Context, used map[ship.KeyID]time.Time) error {
	var ids idArray
	var times []time.Time
	for id, at := range used {
		ids = append(ids, id.Raw())
		times = append(times, at)
	}
	_, err := s.sys.Exec(ctx, sqlTouchKeys, ids, times)
	return explain(err)
}
