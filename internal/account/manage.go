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
var Scopes = []string{"rates", "shipments:read", "shipments:write", "labels", "tracking", "webhooks", "events", "carriers", "routing", "locations", "requests", "privacy", "*"}

// Settings are what can be set of an account; nil leaves a setting as it is.
type Settings struct {
	Name     *string
	Origin   *ship.Address
	Units    *ship.Units
	Currency *string
}

// Create creates an account.
func (s *Service) Create(ctx context.Context, set Settings) (ship.Account, error) {
	shard, err := s.store.NewShard(ctx)
	if err != nil {
		return ship.Account{}, err
	}

	account := ship.Account{ID: ship.NewAccountID(shard, time.Now()), Units: ship.DefaultUnits, Currency: "USD"}
	return s.save(ctx, account, set, "account.made")
}

// Update changes an account.
func (s *Service) Update(ctx context.Context, id ship.AccountID, set Settings) (ship.Account, error) {
	account, err := s.store.Account(ctx, id)
	if err != nil {
		return account, err
	}
	return s.save(ctx, account, set, "settings.changed")
}

func (s *Service) save(ctx context.Context, account ship.Account, set Settings, action string) (ship.Account, error) {
	var invalid []ship.FieldError

	if set.Name != nil {
		var invalidName []ship.FieldError
		account.Name, invalidName = ship.CheckText("/name", *set.Name, ship.MaxName)
		invalid = append(invalid, invalidName...)
	}
	if account.Name == "" && len(invalid) == 0 {
		invalid = append(invalid, ship.FieldError{Pointer: "/name", Code: "required", Detail: "is required"})
	}

	if set.Origin != nil {
		origin, invalidOrigin := set.Origin.Normalize("/origin")
		account.Origin = &origin
		invalid = append(invalid, invalidOrigin...)
	}

	if set.Units != nil {
		account.Units = *set.Units
		if !account.Units.Valid() {
			invalid = append(invalid, ship.FieldError{Pointer: "/units", Code: "invalid", Detail: "must be lb, oz, kg or g and in, cm or mm"})
		}
	}

	if set.Currency != nil {
		account.Currency = strings.ToUpper(*set.Currency)
		if !ship.IsCurrency(account.Currency) {
			invalid = append(invalid, ship.FieldError{Pointer: "/currency", Code: "invalid", Detail: "must be an ISO 4217 code, such as USD"})
		}
	}

	if err := ship.InvalidFields(invalid); err != nil {
		return account, err
	}
	return account, s.store.SaveAccount(ctx, account, action)
}

// Accounts lists the accounts.
func (s *Service) Accounts(ctx context.Context) ([]ship.Account, error) { return s.store.Accounts(ctx) }

// Elsewhere says in which cell an account is, if it left this one; nil if it is here or
// not known. Without an id it is about the only account that left.
func (s *Service) Elsewhere(ctx context.Context, id string) error {
	account, ok := ship.ParseAccountID(id)
	if !ok {
		left, err := s.store.AccountsElsewhere(ctx)
		if err != nil || id != "" || len(left) != 1 {
			return err
		}
		account = left[0]
	}
	return s.store.Elsewhere(ctx, account.Raw().Shard())
}

// NewKeyInput describes a key to create.
type NewKeyInput struct {
	Account   ship.AccountID
	Livemode  bool
	Name      string
	Scopes    []string // none means all
	Networks  []netip.Prefix
	ExpiresAt time.Time
	KeyLimits
	// Person is whose terminal gets the key; empty for a program's.
	Person ship.PersonID
}

// KeyLimits are what a new key may buy. Amounts are in the account's currency, such
// as "500", and of live keys; an empty one is no limit.
type KeyLimits struct {
	DailyLimit     string `json:"dailyLimit,omitempty"`     // for labels in a day of UTC
	MaxPerPurchase string `json:"maxPerPurchase,omitempty"` // for one label
	// ApprovalAbove is the price above which a person must approve a purchase; "0"
	// for every purchase.
	ApprovalAbove string `json:"approvalAbove,omitempty"`
	// AllowedCountries are those that parcels may be sent to, as ISO codes; none
	// means all.
	AllowedCountries []string `json:"allowedCountries,omitempty"`
}

// NewKey creates a key. It is returned in clear this once.
func (s *Service) NewKey(ctx context.Context, in NewKeyInput) (ship.Key, APIKey, error) {
	row, err := s.prepareKey(ctx, in)
	if err != nil {
		return "", APIKey{}, err
	}

	key := newKeyOf(&row)
	return key, newAPIKey(row), s.store.AddKey(ctx, row)
}

// newKeyOf makes the key of a row. Only the hash is stored: the database cannot give
// the key back.
func newKeyOf(row *store.KeyRow) ship.Key {
	shard := row.Tenant.Account.Raw().Shard()
	key := ship.NewKey(shard, row.Tenant.Livemode)
	row.ID = ship.NewKeyID(shard, time.Now())
	row.Hash = key.Hash()
	row.Hint = key.Hint()
	return key
}

// prepareKey validates what a new key is to be, and returns its row without the key.
func (s *Service) prepareKey(ctx context.Context, in NewKeyInput) (store.KeyRow, error) {
	account, err := s.store.Account(ctx, in.Account)
	if err != nil {
		return store.KeyRow{}, err
	}
	limits, invalid := in.parse(in.Livemode, account.Currency)
	name, invalidName := ship.CheckText("/name", in.Name, ship.MaxName)
	invalid = append(invalid, invalidName...)
	if len(invalid) > 0 {
		return store.KeyRow{}, ship.InvalidFields(invalid)
	}

	if len(in.Scopes) == 0 {
		in.Scopes = []string{"*"}
	}
	for _, scope := range in.Scopes {
		if !slices.Contains(Scopes, scope) {
			return store.KeyRow{}, ship.InvalidFields([]ship.FieldError{{
				Pointer:    "/scopes",
				Code:       "invalid",
				Detail:     "has an unknown scope",
				Suggestion: ship.Nearest(scope, Scopes),
			}})
		}
	}

	return store.KeyRow{
		Tenant:    ship.Tenant{Account: in.Account, Livemode: in.Livemode},
		Name:      name,
		Scopes:    in.Scopes,
		Networks:  in.Networks,
		ExpiresAt: in.ExpiresAt,
		Limits:    limits,
		Person:    in.Person,
	}, nil
}

// Check returns what is wrong with the limits for a key of the mode.
func (l KeyLimits) Check(isLive bool, currency string) []ship.FieldError {
	_, invalid := l.parse(isLive, currency)
	return invalid
}

// parse reads the limits of a key, and returns what is wrong with them.
func (l KeyLimits) parse(isLive bool, currency string) (limits ship.SpendingLimits, invalid []ship.FieldError) {
	amount := func(pointer, text string, least int64, example string) ship.Money {
		if text == "" {
			return ship.Money{}
		}

		detail := "must be an amount of " + currency + ", such as " + example
		parsed, ok := ship.ParseMoney(text, currency)
		switch {
		case !isLive:
			detail = "is only for live keys: test keys spend nothing"
		case ok && parsed.Minor >= least:
			return parsed
		}
		invalid = append(invalid, ship.FieldError{Pointer: pointer, Code: "invalid", Detail: detail})
		return ship.Money{}
	}

	limits.Daily = amount("/dailyLimit", l.DailyLimit, 1, "500")
	limits.PerPurchase = amount("/maxPerPurchase", l.MaxPerPurchase, 1, "40")
	limits.ApprovalAbove = amount("/approvalAbove", l.ApprovalAbove, 0, "25, or 0 for every purchase")

	for _, text := range l.AllowedCountries {
		code := strings.ToUpper(strings.TrimSpace(text))
		if !ship.KnownCountry(code) {
			invalid = append(invalid, ship.FieldError{
				Pointer: "/allowedCountries",
				Code:    "invalid",
				Detail:  "must be two-letter ISO country codes, such as US or DE",
			})
			return limits, invalid
		}
		if !slices.Contains(limits.Countries, code) {
			limits.Countries = append(limits.Countries, code)
		}
	}
	slices.Sort(limits.Countries)
	return limits, invalid
}

// Keys lists the keys of an account, of both modes.
func (s *Service) Keys(ctx context.Context, id ship.AccountID) ([]APIKey, error) {
	rows, err := s.store.Keys(ctx, id)
	list := make([]APIKey, len(rows))
	for i, row := range rows {
		list[i] = newAPIKey(row)
	}
	return list, err
}

// Revoke ends a key. It stops working within a few seconds.
func (s *Service) Revoke(ctx context.Context, id ship.KeyID) error { return s.store.RevokeKey(ctx, id) }

func newAPIKey(row store.KeyRow) APIKey {
	return APIKey{
		ID:         row.ID,
		Tenant:     row.Tenant,
		Name:       row.Name,
		Hint:       row.Hint,
		Scopes:     row.Scopes,
		Networks:   row.Networks,
		Limits:     row.Limits,
		ExpiresAt:  row.ExpiresAt,
		CreatedAt:  row.ID.Raw().Time(),
		LastUsedAt: row.LastUsedAt,
		RevokedAt:  row.RevokedAt,
	}
}

// Account returns one account.
func (s *Service) Account(ctx context.Context, id ship.AccountID) (ship.Account, error) {
	return s.store.Account(ctx, id)
}
