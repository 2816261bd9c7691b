package store

import (
	"context"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// Subjects: parcels of any tenants, passed to statements and read from rows.

// subjectKeys are the subjects that subjectArgs gives to a statement, as rows.
const subjectKeys = `unnest(@accounts::uuid[], @livemodes::boolean[], @ids::uuid[]) AS k (account_id, livemode, id)`

// subjectArgs returns the subjects as unnest takes them.
func subjectArgs(subjects []ship.Subject) pgx.NamedArgs {
	ids := make(idArray, len(subjects))
	for i, subject := range subjects {
		ids[i] = subject.ID
	}

	args := tenantsArgs(len(subjects), func(i int) ship.Tenant { return subjects[i].Tenant })
	args["ids"] = ids
	return args
}

// scanSubject reads a row of an account, a mode and an id.
func scanSubject(r pgx.CollectableRow) (ship.Subject, error) {
	var subject ship.Subject
	err := r.Scan(subjectTargets(&subject)...)
	return subject, err
}

// subjectTargets are where the columns of an account, a mode and an id are read
// to.
func subjectTargets(subject *ship.Subject) []any {
	return []any{&subject.Tenant.Account, &subject.Tenant.Livemode, &subject.ID}
}

// A subjectReader reads whose a row is, and its id. Rows of an account often
// come together, and its id is written once for them.
type subjectReader struct {
	account, id, last ship.RawID
	tenant            ship.Tenant
}

func (x *subjectReader) targets() []any { return []any{&x.account, &x.tenant.Livemode, &x.id} }

func (x *subjectReader) read() ship.Subject {
	if x.tenant.Account == "" || x.account != x.last {
		x.tenant.Account = ship.AccountIDOf(x.account)
		x.last = x.account
	}
	return ship.Subject{Tenant: x.tenant, ID: x.id}
}

func collectSubjects(ctx context.Context, tx pgx.Tx, sql string, args ...any) (list []ship.Subject, err error) {
	var subject subjectReader
	err = selectEach(ctx, tx, subject.targets(), func() error {
		list = append(list, subject.read())
		return nil
	}, sql, args...)
	return list, err
}

// distinct returns the keys in order, each once.
func distinct(keys []ship.Subject) []ship.Subject {
	slices.SortFunc(keys, func(a, b ship.Subject) int {
		if c := strings.Compare(string(a.Tenant.Account), string(b.Tenant.Account)); c != 0 {
			return c
		}
		return strings.Compare(string(a.ID[:]), string(b.ID[:]))
	})
	return slices.Compact(keys)
}
