package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/waybillhq/waybill/internal/ship"
)

// How statements run: those of a tenant in a batch that sets the tenant first
// (exec, query...), all others on the system's pool or in a transaction (run,
// select...).

// batch is a tenant's statements in one round trip and one transaction.
type batch struct {
	pgx.Batch
	owner ship.AccountID // whose share of the connections it takes; empty in a transaction, and for a group
}

// newBatch begins a batch of the tenant. Inside InTx the tenant is set
// already.
func (s *Store) newBatch(t ship.Tenant) *batch {
	b := &batch{}
	if s.tx == nil {
		s.queueTenant(b, t, sqlSetTenant, sqlEnterTenant)
	}
	return b
}

// newHotBatch begins a batch of the statements that every purchase and look-up
// runs. Each is planned once for a connection: planning the lock of a purchase
// takes four times as long as running it, and Postgres plans it anew each time
// because one partition costs less than all. The plan is used while tables grow
// from empty to large, so it never reads a whole table.
func (s *Store) newHotBatch(t ship.Tenant) *batch {
	b := &batch{}
	if s.tx == nil {
		s.setTenantAndPlan(b, t)
	}
	return b
}

// setTenantAndPlan queues the settings of the statements after it.
func (s *Store) setTenantAndPlan(b *batch, t ship.Tenant) {
	s.queueTenant(b, t, sqlSetTenantAndPlan, sqlEnterTenantAndPlan)
}

// queueTenant queues the statement that sets the tenant, or the one for a cell
// among others, which also enters the tenant's shard.
func (s *Store) queueTenant(b *batch, t ship.Tenant, set, enter string) {
	b.owner = t.Account
	if s.cell == "" {
		b.Queue(set, uuidText(t.Account.Raw()), boolText(t.Livemode))
		return
	}
	b.Queue(enter, uuidText(t.Account.Raw()), boolText(t.Livemode), int32(t.Shard()))
}

// send runs the batch.
func (s *Store) send(ctx context.Context, b *batch) error {
	if s.tx != nil {
		return explain(s.tx.SendBatch(ctx, &b.Batch).Close())
	}
	release, err := s.takeConnection(ctx, b.owner)
	if err != nil {
		return err
	}
	defer release()
	return explain(s.app.SendBatch(ctx, &b.Batch).Close())
}

// takeConnection waits until the account may use another connection to the database:
// while others wait, it has at most a quarter of them.
func (s *Store) takeConnection(ctx context.Context, owner ship.AccountID) (release func(), err error) {
	if err := s.connections.Acquire(ctx, owner, 1); err != nil {
		return nil, fmt.Errorf("wait for a connection to the database: %w", err)
	}
	return func() { s.connections.Release(owner, 1) }, nil
}

// exec runs one statement of the tenant and reports how many rows it touched.
func (s *Store) exec(ctx context.Context, t ship.Tenant, sql string, args ...any) (int64, error) {
	var touched int64
	b := s.newBatch(t)
	b.Queue(sql, args...).Exec(func(tag pgconn.CommandTag) error {
		touched = tag.RowsAffected()
		return nil
	})
	err := s.send(ctx, b)
	return touched, err
}

// queryRow runs one statement of the tenant; no row is ship.NotFound.
func (s *Store) queryRow(ctx context.Context, t ship.Tenant, scan func(pgx.Row) error, sql string, args ...any) error {
	b := s.newBatch(t)
	b.Queue(sql, args...).QueryRow(scan)
	return s.send(ctx, b)
}

// queryOne runs one statement of the tenant and returns its row; no row is
// ship.NotFound.
func queryOne[T any](ctx context.Context, s *Store, t ship.Tenant, scan pgx.RowToFunc[T], sql string, args ...any) (T, error) {
	var item T
	b := s.newBatch(t)
	b.Queue(sql, args...).Query(collectOneInto(&item, scan))
	err := s.send(ctx, b)
	return item, err
}

// queryList runs one statement of the tenant and returns all its rows; the list of
// no rows is nil.
func queryList[T any](ctx context.Context, s *Store, t ship.Tenant, scan pgx.RowToFunc[T], sql string, args ...any) ([]T, error) {
	var list []T
	b := s.newBatch(t)
	b.Queue(sql, args...).Query(collectInto(&list, scan))
	err := s.send(ctx, b)
	return list, err
}

// queryEach runs one statement of the tenant, reads each row into the targets and
// calls fn for it.
func (s *Store) queryEach(ctx context.Context, t ship.Tenant, targets []any, fn func() error, sql string, args ...any) error {
	b := s.newBatch(t)
	b.Queue(sql, args...).Query(func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, targets, fn)
		return err
	})
	return s.send(ctx, b)
}

// collectInto returns a function that appends all rows to the list, for a
// statement of a batch.
func collectInto[T any, L ~[]T](list *L, scan pgx.RowToFunc[T]) func(pgx.Rows) error {
	return func(rows pgx.Rows) (err error) {
		*list, err = pgx.AppendRows(*list, rows, scan)
		return err
	}
}

// collectOneInto returns a function that stores the only row in item, for a
// statement of a batch.
func collectOneInto[T any](item *T, scan pgx.RowToFunc[T]) func(pgx.Rows) error {
	return func(rows pgx.Rows) (err error) {
		*item, err = pgx.CollectOneRow(rows, scan)
		return err
	}
}

// statements is what runs statements that are no tenant's: the system's pool, or
// a transaction.
type statements interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// system returns where statements that are no tenant's run.
func (s *Store) system() statements {
	if s.tx != nil {
		return s.tx
	}
	return s.sys
}

// run runs one system statement and reports how many rows it touched.
func (s *Store) run(ctx context.Context, sql string, args pgx.NamedArgs) (int, error) {
	tag, err := s.system().Exec(ctx, sql, args)
	return int(tag.RowsAffected()), explain(err)
}

// selectOne runs a statement and returns its row; no row is ship.NotFound.
func selectOne[T any](ctx context.Context, db statements, scan pgx.RowToFunc[T], sql string, args ...any) (T, error) {
	rows, _ := db.Query(ctx, sql, args...) // its error is returned by the rows
	item, err := pgx.CollectOneRow(rows, scan)
	return item, explain(err)
}

// selectList runs a statement and returns all its rows; the list of no rows is nil.
func selectList[T any](ctx context.Context, db statements, scan pgx.RowToFunc[T], sql string, args ...any) ([]T, error) {
	rows, _ := db.Query(ctx, sql, args...) // its error is returned by the rows
	list, err := pgx.AppendRows([]T(nil), rows, scan)
	return list, explain(err)
}

// selectEach runs a statement, reads each row into the targets and calls fn for it.
func selectEach(ctx context.Context, db statements, targets []any, fn func() error, sql string, args ...any) error {
	rows, _ := db.Query(ctx, sql, args...) // its error is returned by the rows
	_, err := pgx.ForEachRow(rows, targets, fn)
	return explain(err)
}

const planOnce = `,
  set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true)`

const (
	sqlSetTenantAndPlan   = sqlSetTenant + planOnce
	sqlEnterTenantAndPlan = sqlEnterTenant + planOnce
)

// sqlPlanAnew has the statements after it planned for their own values: on one
// table that costs little, and they need different indexes. sqlPlanOnce is for
// those over many partitions, whose planning is expensive and which need only
// one plan.
const (
	sqlPlanAnew = `SELECT set_config('plan_cache_mode', 'force_custom_plan', true)`
	sqlPlanOnce = `SELECT set_config('plan_cache_mode', 'force_generic_plan', true)`
)

const sqlUnsynced = `SELECT set_config('synchronous_commit', 'off', true)`

// sendUnsynced runs statements whose rows may be lost if the machine dies, so
// it does not wait for the disk.
func (s *Store) sendUnsynced(ctx context.Context, queue func(*pgx.Batch)) error {
	batch := &pgx.Batch{}
	batch.Queue(sqlUnsynced)
	queue(batch)
	return explain(s.sys.SendBatch(ctx, batch).Close())
}
