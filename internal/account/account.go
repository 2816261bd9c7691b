// Package account knows who calls: accounts, their API keys and what each may
// do, and the answers that an idempotency key must repeat. It also keeps the
// carrier accounts that clients have connected: their credentials are stored
// encrypted, opened here alone, and never given back.
package account

import (
	"net/netip"
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// A Principal is an authenticated caller.
type Principal struct {
	Tenant  ship.Tenant
	Account ship.Account
	Key     ship.KeyID
	KeyName string // for people who look at what it did
	KeyHint string
	Scopes  []string
	Limits  ship.SpendingLimits
}

// Can reports whether the caller's key has the scope.
func (p Principal) Can(scope string) bool {
	return slices.Contains(p.Scopes, "*") || slices.Contains(p.Scopes, scope)
}

// An APIKey is what is known of a key after it was shown.
type APIKey struct {
	ID         ship.KeyID
	Tenant     ship.Tenant
	Name       string
	Hint       string
	Scopes     []string
	Networks   []netip.Prefix
	Limits     ship.SpendingLimits
	ExpiresAt  time.Time
	CreatedAt  time.Time
	LastUsedAt time.Time
	RevokedAt  time.Time
}
