package account

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// Scopes are what a key can be allowed to do.
var Scopes = []string{"rates", "shipments:read", "shipments:write", "labels", "tracking", "webhooks", "events", "carriers", "routing", "*"}

// Settings are what can be said of an account; nil leaves a thing as it is.
type Settings struct {
	Name     *string
	Origin   *ship.Address
	Units    *ship.Units
	Currency *string
}

// Create makes an account.
func (s *Service) Create(ctx context.Context, set Settings) (ship.Account, error) {
	shard, err := s.store.NewShard(ctx)
	if err != nil {
		return ship.Account{}, err
	}
	a := ship.Account{ID: ship.NewAccountID(shard, time.Now()), Units: ship.DefaultUnits, Currency: "USD"}
	return s.save(ctx, a, set, "account.made")
}

// Update changes an account.
func (s *Service) Update(ctx context.Context, id ship.AccountID, set Settings) (ship.Account, error) {
	a, err := s.store.Account(ctx, id)
	if err != nil {
		return a, err
	}
	return s.save(ctx, a, set, "settings.changed")
}

func (s *Service) save(ctx context.Context, a ship.Account, set Settings, action string) (ship.Account, error) {
	var wrong []ship.FieldError
	if set.Name != nil {
		a.Name = strings.TrimSpace(*set.Name)
	}
	if a.Name == "" {
		wrong = append(wrong, ship.FieldError{Pointer: "/name", Code: "required", Detail: "is required"})
	}
	if set.Origin != nil {
		origin, bad := set.Origin.Normalize("/origin")
		a.Origin, wrong = &origin, append(wrong, bad...)
	}
	if set.Units != nil {
		if a.Units = *set.Units; !a.Units.Valid() {
			wrong = append(wrong, ship.FieldError{Pointer: "/units", Code: "invalid", Detail: "must be lb, oz, kg or g and in, cm or mm"})
		}
	}
	if set.Currency != nil {
		a.Currency = strings.ToUpper(*set.Currency)
		if _, ok := ship.ParseMoney("1", a.Currency); !ok {
			wrong = append(wrong, ship.FieldError{Pointer: "/currency", Code: "invalid", Detail: "is not an ISO 4217 code"})
		}
	}
	if err := ship.InvalidFields(wrong); err != nil {
		return a, err
	}
	return a, s.store.SaveAccount(ctx, a, action)
}

// Accounts lists the accounts.
func (s *Service) Accounts(ctx context.Context) ([]ship.Account, error) { return s.store.Accounts(ctx) }

// NewKeyInput describes a key to be made.
type NewKeyInput struct {
	Account   ship.AccountID
	Livemode  bool
	Name      string
	Scopes    []string // none means all
	Networks  []netip.Prefix
	ExpiresAt time.Time
	// DailyLimit is what a live key may spend on labels in a day of UTC, such as
	// "500", in the account's currency; empty for no limit.
	DailyLimit string
}

// NewKey makes a key. It is returned in clear this once.
func (s *Service) NewKey(ctx context.Context, in NewKeyInput) (ship.Key, APIKey, error) {
	a, err := s.store.Account(ctx, in.Account)
	if err != nil {
		return "", APIKey{}, err
	}
	limit, err := in.limit(a.Currency)
	if err != nil {
		return "", APIKey{}, err
	}
	if len(in.Scopes) == 0 {
		in.Scopes = []string{"*"}
	}
	for _, scope := range in.Scopes {
		if !slices.Contains(Scopes, scope) {
			return "", APIKey{}, ship.InvalidFields([]ship.FieldError{{
				Pointer: "/scopes", Code: "invalid", Detail: "has an unknown scope", Suggestion: ship.Nearest(scope, Scopes),
			}})
		}
	}
	shard := in.Account.Raw().Shard()
	key := ship.NewKey(shard, in.Livemode)
	row := store.KeyRow{
		ID: ship.NewKeyID(shard, time.Now()), Tenant: ship.Tenant{Account: in.Account, Livemode: in.Livemode},
		Hash: key.Hash(), Hint: key.Hint(), Name: in.Name, Scopes: in.Scopes, Networks: in.Networks, ExpiresAt: in.ExpiresAt, DailyLimit: limit,
	}
	return key, keyOf(row), s.store.AddKey(ctx, row)
}

// limit reads the daily limit.
func (in NewKeyInput) limit(currency string) (ship.Money, error) {
	if in.DailyLimit == "" {
		return ship.Money{}, nil
	}
	m, ok := ship.ParseMoney(in.DailyLimit, currency)
	detail := ""
	switch {
	case !in.Livemode:
		detail = "is for live keys: the sandbox spends nothing"
	case !ok || m.Minor <= 0:
		detail = "must be an amount of " + currency + ", such as 500"
	default:
		return m, nil
	}
	return ship.Money{}, ship.InvalidFields([]ship.FieldError{{Pointer: "/dailyLimit", Code: "invalid", Detail: detail}})
}

// Keys lists the keys of an account, of both modes.
func (s *Service) Keys(ctx context.Context, id ship.AccountID) ([]APIKey, error) {
	rows, err := s.store.Keys(ctx, id)
	list := make([]APIKey, len(rows))
	for i, r := range rows {
		list[i] = keyOf(r)
	}
	return list, err
}

// Revoke ends a key. It works no longer than a few seconds more.
func (s *Service) Revoke(ctx context.Context, id ship.KeyID) error { return s.store.RevokeKey(ctx, id) }

func keyOf(r store.KeyRow) APIKey {
	return APIKey{
		ID: r.ID, Tenant: r.Tenant, Name: r.Name, Hint: r.Hint, Scopes: r.Scopes, Networks: r.Networks, DailyLimit: r.DailyLimit,
		ExpiresAt: r.ExpiresAt, CreatedAt: r.ID.Raw().Time(), LastUsedAt: r.LastUsedAt, RevokedAt: r.RevokedAt,
	}
}

// Account returns one account.
func (s *Service) Account(ctx context.Context, id ship.AccountID) (ship.Account, error) {
	return s.store.Account(ctx, id)
}
