package ship

// A Tenant is an account in one mode. Live and test data never meet: every
// row carries both, and every query takes both.
type Tenant struct {
	Account  AccountID
	Livemode bool
}

// Shard is the shard of the account.
func (t Tenant) Shard() Shard { return t.Account.Raw().Shard() }

// An Account is a client of the service.
type Account struct {
	ID       AccountID
	Name     string
	Origin   *Address // default location; nil when none is set
	Units    Units
	Currency string // the currency quoted first
}
