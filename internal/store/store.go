package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/waybillhq/waybill/internal/coalesce"
	"github.com/waybillhq/waybill/internal/ship"
)

// Store is the database: the record and the queue. Inside InTx it is the same
// type, bound to the transaction.
type Store struct {
	app   *pgxpool.Pool // sees one tenant at a time
	group *pgxpool.Pool // sees the tenants of a group of look-ups
	sys   *pgxpool.Pool // sees all; for sign-in, sweeps and jobs
	queue *river.Client[pgx.Tx]
	tx    pgx.Tx // set inside InTx

	crowd       *coalesce.Crowd
	creations   *coalesce.Group[*insertion]
	intents     *coalesce.Group[*insertion]
	settlements *coalesce.Group[*settling]
	lookups     *coalesce.Group[*lookup]

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
	roleApp   = "waybill_app"
	roleGroup = "waybill_group"
	roleSys   = "waybill_sys"

	systemConnections = 12
)

// Open connects to a migrated database.
func Open(ctx context.Context, o Options) (*Store, error) {
	s := &Store{
		lastEntry: new(atomic.Int64),
		words:     new(wordKey),
	}
	if err := s.openPools(ctx, o); err != nil {
		s.Close()
		return nil, err
	}

	var err error
	if s.queue, err = river.NewClient(riverpgxv5.New(s.sys), &river.Config{}); err != nil {
		s.Close()
		return nil, fmt.Errorf("job queue: %w", err)
	}

	s.crowd = &coalesce.Crowd{Solo: soloAtOnce()}
	s.creations = s.newInsertGroup(creationLanes)
	s.intents = s.newInsertGroup(intentLanes)
	s.settlements = s.newSettlementGroup()
	s.lookups = s.newLookupGroup()
	return s, nil
}

func (s *Store) openPools(ctx context.Context, o Options) (err error) {
	if s.app, err = newPool(ctx, o, roleApp, o.Connections, nil); err != nil {
		return err
	}
	if s.group, err = newPool(ctx, o, roleGroup, lookupLanes, groupPlans); err != nil {
		return err
	}
	s.sys, err = newPool(ctx, o, roleSys, systemConnections, nil)
	return err
}

// groupPlans have a group's statements planned once, for groups of any size and
// tables that grow: every key is looked up in its index.
var groupPlans = map[string]string{
	"plan_cache_mode":               "force_generic_plan",
	"enable_seqscan":                "off",
	"enable_hashjoin":               "off",
	"enable_mergejoin":              "off",
	"default_transaction_read_only": "on",
}

// newPool opens a pool whose connections act as the role, with further settings.
func newPool(ctx context.Context, o Options, role string, connections int32, further map[string]string) (*pgxpool.Pool, error) {
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
	maps.Copy(params, further)
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
	for _, pool := range []*pgxpool.Pool{s.app, s.group, s.sys} {
		if pool != nil {
			pool.Close()
		}
	}
}

// System is the pool that sees all tenants, for the job runner.
func (s *Store) System() *pgxpool.Pool { return s.sys }

// Pools are the pools of connections by what they are for.
func (s *Store) Pools() map[string]*pgxpool.Pool {
	return map[string]*pgxpool.Pool{"app": s.app, "group": s.group, "system": s.sys}
}

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

// InSystemTx runs fn in a transaction that sees all tenants, and commits if fn
// returns nil. It must not be nested, and fn must not do network calls.
func (s *Store) InSystemTx(ctx context.Context, fn func(tx *Store) error) error {
	if s.tx != nil {
		panic("store: nested transaction")
	}
	return explain(pgx.BeginFunc(ctx, s.sys, func(tx pgx.Tx) error {
		return fn(s.bindTo(tx))
	}))
}

// bindTo returns the store bound to a transaction.
func (s *Store) bindTo(tx pgx.Tx) *Store {
	bound := *s
	bound.tx = tx
	return &bound
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
