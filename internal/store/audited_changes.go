package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// Changes that write their entry of the audit log in the same transaction.

// auditKey is where a context carries who makes its changes.
type auditKey struct{}

// WithAudit returns a context of somebody who makes changes: the transaction of
// each also writes its entry, so that both happen or neither. The change says
// what it is; complete says who made it, and may add details. A statement that
// changes nothing writes no entry.
func WithAudit(ctx context.Context, complete func(*AuditEntry)) context.Context {
	return context.WithValue(ctx, auditKey{}, complete)
}

// auditorOf returns the function that completes the context's audit entries;
// nil if its changes are not audited.
func auditorOf(ctx context.Context) func(*AuditEntry) {
	complete, _ := ctx.Value(auditKey{}).(func(*AuditEntry))
	return complete
}

// EntryOf is the entry of a change of the tenant's target.
func EntryOf(t ship.Tenant, action, target string) AuditEntry {
	mode := "test"
	if t.Livemode {
		mode = "live"
	}
	return AuditEntry{
		Account: t.Account,
		Mode:    mode,
		Action:  action,
		Target:  target,
	}
}

// accountEntry is the entry of a change of the account itself, in both modes.
func accountEntry(account ship.AccountID, action string) AuditEntry {
	return AuditEntry{Account: account, Action: action, Target: string(account)}
}

// AuditChange writes the entry of a change in its transaction, if the context
// says who makes it. The methods of Store that make a complete change call it
// themselves; a caller that combines several others calls it once, last. In a cell, the
// change is refused if the account is in another.
func (s *Store) AuditChange(ctx context.Context, e AuditEntry) error {
	complete := auditorOf(ctx)
	if complete == nil {
		return nil
	}
	complete(&e)
	if err := s.EnterShardOf(ctx, e.Account); err != nil {
		return err
	}
	return s.AddAudit(ctx, e)
}

// changing gives fn a transaction of the tenant if the change is audited. A
// change of one statement needs none otherwise.
func (s *Store) changing(ctx context.Context, t ship.Tenant, fn func(tx *Store) error) error {
	if s.tx != nil || auditorOf(ctx) == nil {
		return fn(s)
	}
	return s.InTx(ctx, t, fn)
}

// changingSystem is changing for a change that no tenant's statement makes.
func (s *Store) changingSystem(ctx context.Context, fn func(tx *Store) error) error {
	if s.tx != nil || auditorOf(ctx) == nil {
		return fn(s)
	}
	return s.InSystemTx(ctx, fn)
}

// change is exec of a complete change, with its audit entry.
func (s *Store) change(ctx context.Context, t ship.Tenant, e AuditEntry, sql string, args ...any) (n int64, err error) {
	err = s.changing(ctx, t, func(tx *Store) error {
		if n, err = tx.exec(ctx, t, sql, args...); err != nil || n == 0 {
			return err
		}
		return tx.AuditChange(ctx, e)
	})
	return n, err
}

// changeOne is queryOne of a complete change, with its audit entry.
func changeOne[T any](ctx context.Context, s *Store, t ship.Tenant, e AuditEntry, scan pgx.RowToFunc[T], sql string, args ...any) (T, error) {
	var item T
	err := s.changing(ctx, t, func(tx *Store) (err error) {
		if item, err = queryOne(ctx, tx, t, scan, sql, args...); err != nil {
			return err
		}
		return tx.AuditChange(ctx, e)
	})
	return item, err
}

// changeSystem is run of a complete change, with its audit entry.
func (s *Store) changeSystem(ctx context.Context, e AuditEntry, sql string, args pgx.NamedArgs) (n int, err error) {
	err = s.changingSystem(ctx, func(tx *Store) error {
		if n, err = tx.run(ctx, sql, args); err != nil || n == 0 {
			return err
		}
		return tx.AuditChange(ctx, e)
	})
	return n, err
}
