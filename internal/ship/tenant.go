package ship

import "strings"

// A Tenant is an account in one mode. Live and test data never meet: every
// row carries both, and every query takes both.
type Tenant struct {
	Account  AccountID
	Livemode bool
}

// Shard is the shard of the account.
func (t Tenant) Shard() Shard { return t.Account.Raw().Shard() }

// Compare orders tenants by account, test before live. Rows of many tenants are
// locked in this order.
func (t Tenant) Compare(other Tenant) int {
	if order := strings.Compare(string(t.Account), string(other.Account)); order != 0 {
		return order
	}
	switch {
	case t.Livemode == other.Livemode:
		return 0
	case other.Livemode:
		return -1
	default:
		return 1
	}
}

// An Account is a client of the service.
type Account struct {
	ID       AccountID
	Name     string
	Origin   *Address // default sender address; nil when none is set
	Units    Units
	Currency string // the currency quoted first

	// Location is the default location of the tenant that the account was read
	// for; nil if there is none. Its address comes before Origin.
	Location *Location
}
