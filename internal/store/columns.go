package store

import (
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/waybillhq/waybill/internal/ship"
)

// columns collects rows column by column, as unnest takes them.
type columns map[string][]any

func (c columns) add(name string, v any) { c[name] = append(c[name], v) }

func (c columns) args() pgx.NamedArgs {
	args := make(pgx.NamedArgs, len(c))
	for name, list := range c {
		args[name] = list
	}
	return args
}

func (c columns) parcel(p ship.Subject) {
	c.add("accounts", [16]byte(p.Tenant.Account.Raw()))
	c.add("livemodes", p.Tenant.Livemode)
}

// parcelArgs are parcels, as unnest takes them.
func parcelArgs(parcels []ship.Subject) pgx.NamedArgs {
	ids := make(uuids, len(parcels))
	for i, p := range parcels {
		ids[i] = uuid(p.ID)
	}
	args := tenantsArgs(len(parcels), func(i int) ship.Tenant { return parcels[i].Tenant })
	args["ids"] = ids
	return args
}

// tenantsArgs are whose rows are, as unnest takes them.
func tenantsArgs(n int, of func(int) ship.Tenant) pgx.NamedArgs {
	accounts, livemodes := make(uuids, n), make([]bool, n)
	for i := range n {
		t := of(i)
		livemodes[i] = t.Livemode
		if i > 0 && t.Account == of(i-1).Account {
			accounts[i] = accounts[i-1]
			continue
		}
		accounts[i] = uuid(t.Account.Raw())
	}
	return pgx.NamedArgs{"accounts": accounts, "livemodes": livemodes}
}

// uuids are an array that is sent without an allocation for each.
type uuids []uuid

type uuid [16]byte

// UUIDValue is pgtype.UUIDValuer.
func (u *uuid) UUIDValue() (pgtype.UUID, error) { return pgtype.UUID{Bytes: *u, Valid: true}, nil }

// Dimensions is pgtype.ArrayGetter.
func (u uuids) Dimensions() []pgtype.ArrayDimension {
	return []pgtype.ArrayDimension{{Length: int32(len(u)), LowerBound: 1}}
}

// Index is pgtype.ArrayGetter.
func (u uuids) Index(i int) any { return &u[i] }

// IndexType is pgtype.ArrayGetter.
func (u uuids) IndexType() any { return (*uuid)(nil) }
