// Package store holds every SQL statement and the transactions they run in.
// It knows Postgres and River and nothing of carriers, HTTP or rules.
package store

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/waybillhq/waybill/internal/ship"
)

// Store is the database: the record and the queue. Inside InTx it is the same
// type, bound to the transaction.
type Store struct {
	app   *pgxpool.Pool // sees one tenant at a time
	sys   *pgxpool.Pool // sees all; for sign-in, sweeps and jobs
	queue *river.Client[pgx.Tx]
	tx    pgx.Tx // set inside InTx

	lastEntry *atomic.Int64 // milliseconds; of the audit log
	words     *wordKey      // of the search
}

// Options are the settings of a Store.
type Options struct {
	URL         string
	Connections int32 // of tenants' statements; system work has a few of its own
	Tracer      pgx.QueryTracer
}

const (
	roleApp = "waybill_app"
	roleSys = "waybill_sys"

	systemConnections = 12
)

// Open connects to a migrated database.
func Open(ctx context.Context, o Options) (*Store, error) {
	app, err := newPool(ctx, o, roleApp, o.Connections)
	if err != nil {
		return nil, err
	}

	sys, err := newPool(ctx, o, roleSys, systemConnections)
	if err != nil {
		app.Close()
		return nil, err
	}

	queue, err := river.NewClient(riverpgxv5.New(sys), &river.Config{})
	if err != nil {
		app.Close()
		sys.Close()
		return nil, fmt.Errorf("job queue: %w", err)
	}

	return &Store{
		app:       app,
		sys:       sys,
		queue:     queue,
		lastEntry: new(atomic.Int64),
		words:     new(wordKey),
	}, nil
}

// newPool opens a pool whose connections act as the role.
func newPool(ctx context.Context, o Options, role string, connections int32) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(o.URL)
	if err != nil {
		return nil, fmt.Errorf("database address: %w", err)
	}
	cfg.MaxConns = max(connections, 2)
	cfg.MaxConnIdleTime = 5 * time.Minute
	cfg.ConnConfig.Tracer = o.Tracer
	cfg.ConnConfig.ConnectTimeout = 5 * time.Second
	cfg.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		registerIDs(conn.TypeMap())
		return nil
	}

	params := cfg.ConnConfig.RuntimeParams
	params["application_name"] = "waybill"
	params["timezone"] = "UTC"
	params["statement_timeout"] = "10s"
	params["lock_timeout"] = "2s"
	params["role"] = role

	// Statements here take milliseconds, and compiling one takes hundreds. The
	// planner thinks otherwise wherever a plan is made to avoid a table scan.
	params["jit"] = "off"

	// The log's horizon waits for the oldest writer, so no transaction may stay
	// open without doing anything.
	params["idle_in_transaction_session_timeout"] = "15s"

	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return pool, nil
}

// Close ends all connections.
func (s *Store) Close() {
	s.app.Close()
	s.sys.Close()
}

// System is the pool that sees all tenants, for the job runner.
func (s *Store) System() *pgxpool.Pool { return s.sys }

// Ping proves that the database answers.
func (s *Store) Ping(ctx context.Context) error {
	if _, err := s.sys.Exec(ctx, "SELECT"); err != nil {
		return ship.Errorf(ship.Unavailable, "the database does not respond: %w", err)
	}
	return nil
}

const sqlSetTenant = `SELECT set_config('waybill.account', $1, true), set_config('waybill.livemode', $2, true)`

// InTx runs fn in a transaction of the tenant, and commits if fn returns nil.
// It must not be nested, and fn must not do network calls.
func (s *Store) InTx(ctx context.Context, t ship.Tenant, fn func(tx *Store) error) error {
	if s.tx != nil {
		panic("store: nested transaction")
	}

	// Row-level security reads the tenant from these settings. They are set in
	// the round trip of BEGIN, so no statement can run without them.
	options := pgx.TxOptions{BeginQuery: fmt.Sprintf(
		"BEGIN; SELECT set_config('waybill.account', '%s', true), set_config('waybill.livemode', '%t', true)",
		uuidText(t.Account.Raw()), t.Livemode)}
	err := pgx.BeginTxFunc(ctx, s.app, options, func(tx pgx.Tx) error {
		return fn(s.bindTo(tx))
	})
	return explain(err)
}

// bindTo returns the store bound to a transaction.
func (s *Store) bindTo(tx pgx.Tx) *Store {
	bound := *s
	bound.tx = tx
	return &bound
}

// batch is a tenant's statements in one round trip and one transaction.
type batch struct{ pgx.Batch }

// newBatch begins a batch of the tenant. Inside InTx the tenant is set
// already.
func (s *Store) newBatch(t ship.Tenant) *batch {
	b := &batch{}
	if s.tx == nil {
		b.Queue(sqlSetTenant, uuidText(t.Account.Raw()), boolText(t.Livemode))
	}
	return b
}

// send runs the batch.
func (s *Store) send(ctx context.Context, b *batch) error {
	if s.tx != nil {
		return explain(s.tx.SendBatch(ctx, &b.Batch).Close())
	}
	return explain(s.app.SendBatch(ctx, &b.Batch).Close())
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

// explain gives the errors of the driver that mean something to a caller their
// kind.
func explain(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return &ship.Error{Kind: ship.NotFound, Message: "not found", Err: err}
	}

	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch pg.Code {
		case "55P03", "57014", "40001", "40P01", "57P01", "57P02", "57P03", "53300":
			// lock or statement time-out, serialization, deadlock, shutdown, too many connections
			return unavailable("the database is busy", err)
		}
		return err
	}

	// What the store itself decided has its kind already.
	if _, ok := errors.AsType[*ship.Error](err); ok {
		return err
	}

	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok || pgconn.SafeToRetry(err) {
		return unavailable("the database does not respond", err)
	}
	return err
}

// unavailable is the error of a database that may answer a moment later.
func unavailable(message string, err error) error {
	return &ship.Error{
		Kind:       ship.Unavailable,
		Message:    message,
		RetryAfter: time.Second,
		Err:        err,
	}
}
