package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// entryKey is where a context carries what writes the entry of a change.
type entryKey struct{}

// WithAudit returns a context for one change of one service. The transaction
// of the change also writes what entry returns of its target and of what is
// known only then, so that both happen or neither. What changes nothing writes
// no entry.
func WithAudit(ctx context.Context, entry func(target string, details map[string]string) AuditEntry) context.Context {
	return context.WithValue(ctx, entryKey{}, entry)
}

func entryOf(ctx context.Context) func(string, map[string]string) AuditEntry {
	entry, _ := ctx.Value(entryKey{}).(func(string, map[string]string) AuditEntry)
	return entry
}

// AuditChange writes the entry that the context carries, if it carries one, in
// the transaction of the change. The methods of Store that make a whole change
// call it themselves; who makes one of several others calls it once, last.
func (s *Store) AuditChange(ctx context.Context, target string, details map[string]string) error {
	entry := entryOf(ctx)
	if entry == nil {
		return nil
	}
	return s.AddAudit(ctx, entry(target, details))
}

// changing gives fn a transaction of the tenant where the context carries an
// entry. Elsewhere a change of one statement needs none.
func (s *Store) changing(ctx context.Context, t ship.Tenant, fn func(tx *Store) error) error {
	if s.tx != nil || entryOf(ctx) == nil {
		return fn(s)
	}
	return s.InTx(ctx, t, fn)
}

// change is exec of a whole change of the target.
func (s *Store) change(ctx context.Context, t ship.Tenant, target, sql string, args ...any) (n int64, err error) {
	err = s.changing(ctx, t, func(tx *Store) error {
		if n, err = tx.exec(ctx, t, sql, args...); err != nil || n == 0 {
			return err
		}
		return tx.AuditChange(ctx, target, nil)
	})
	return n, err
}

// changeRow is queryRow of a whole change of the target.
func (s *Store) changeRow(ctx context.Context, t ship.Tenant, target string, scan func(pgx.Row) error, sql string, args ...any) error {
	return s.changing(ctx, t, func(tx *Store) error {
		if err := tx.queryRow(ctx, t, scan, sql, args...); err != nil {
			return err
		}
		return tx.AuditChange(ctx, target, nil)
	})
}

// changeSystem is run of a whole change of the target.
func (s *Store) changeSystem(ctx context.Context, target, sql string, args pgx.NamedArgs) (n int, err error) {
	fn := func(tx *Store) error {
		if n, err = tx.run(ctx, sql, args); err != nil || n == 0 {
			return err
		}
		return tx.AuditChange(ctx, target, nil)
	}
	if s.tx != nil || entryOf(ctx) == nil {
		err = fn(s)
	} else {
		err = s.InSystemTx(ctx, fn)
	}
	return n, err
}
