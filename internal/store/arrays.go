package store

import (
	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// columns collects rows column by column, as unnest takes them.
type columns map[string][]any

func (c columns) add(name string, v any) { c[name] = append(c[name], v) }

// addTenant adds whose the row is.
func (c columns) addTenant(t ship.Tenant) {
	c.add("accounts", t.Account)
	c.add("livemodes", t.Livemode)
}

func (c columns) args() pgx.NamedArgs {
	args := make(pgx.NamedArgs, len(c))
	for name, list := range c {
		args[name] = list
	}
	return args
}

// tenantsArgs returns the tenants of n rows as unnest takes them.
func tenantsArgs(n int, tenantOf func(int) ship.Tenant) pgx.NamedArgs {
	accounts := make(idArray, n)
	livemodes := make([]bool, n)
	for i := range n {
		t := tenantOf(i)
		livemodes[i] = t.Livemode

		// Rows of an account often come together, and decoding its id costs
		// more than copying it.
		if i > 0 && t.Account == tenantOf(i-1).Account {
			accounts[i] = accounts[i-1]
			continue
		}
		accounts[i] = t.Account.Raw()
	}
	return pgx.NamedArgs{"accounts": accounts, "livemodes": livemodes}
}
