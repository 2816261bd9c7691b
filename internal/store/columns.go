package store

import (
	"bytes"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/waybillhq/waybill/internal/ship"
)

// columns collects rows column by column, as unnest takes them.
type columns map[string][]any

func (c columns) add(name string, v any) { c[name] = append(c[name], v) }

// addTenant adds whose the row is.
func (c columns) addTenant(t ship.Tenant) {
	c.add("accounts", [16]byte(t.Account.Raw()))
	c.add("livemodes", t.Livemode)
}

func (c columns) args() pgx.NamedArgs {
	args := make(pgx.NamedArgs, len(c))
	for name, list := range c {
		args[name] = list
	}
	return args
}

// subjectArgs returns the subjects as unnest takes them.
func subjectArgs(subjects []ship.Subject) pgx.NamedArgs {
	ids := make(uuids, len(subjects))
	for i, subject := range subjects {
		ids[i] = uuid(subject.ID)
	}

	args := tenantsArgs(len(subjects), func(i int) ship.Tenant { return subjects[i].Tenant })
	args["ids"] = ids
	return args
}

// tenantsArgs returns the tenants of n rows as unnest takes them.
func tenantsArgs(n int, tenantOf func(int) ship.Tenant) pgx.NamedArgs {
	accounts := make(uuids, n)
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
		accounts[i] = uuid(t.Account.Raw())
	}
	return pgx.NamedArgs{"accounts": accounts, "livemodes": livemodes}
}

// subjectOf returns the subject that three columns name.
func subjectOf(account [16]byte, livemode bool, id [16]byte) ship.Subject {
	return ship.Subject{
		Tenant: ship.Tenant{Account: ship.AccountIDOf(account), Livemode: livemode},
		ID:     id,
	}
}

// scanSubject reads a row of an account, a mode and an id.
func scanSubject(r pgx.Row) (ship.Subject, error) {
	var account, id [16]byte
	var livemode bool
	err := r.Scan(&account, &livemode, &id)
	return subjectOf(account, livemode, id), err
}

// uuids is an array of ids that is sent without an allocation for each.
type uuids []uuid

type uuid [16]byte

func (u uuid) compare(other uuid) int { return bytes.Compare(u[:], other[:]) }

// uuidsOf returns the ids as an array that the driver sends.
func uuidsOf[T interface{ Raw() ship.RawID }](ids []T) uuids {
	list := make(uuids, len(ids))
	for i, id := range ids {
		list[i] = uuid(id.Raw())
	}
	return list
}

// scanUUID reads a row of one id.
func scanUUID(r pgx.Row) (id uuid, err error) {
	err = r.Scan((*[16]byte)(&id))
	return id, err
}

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
