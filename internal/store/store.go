package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/waybillhq/waybill/internal/budget"
	"github.com/waybillhq/waybill/internal/coalesce"
	"github.com/waybillhq/waybill/internal/ship"
)

// Store is the database: the record and the queue. Inside InTx it is the same
// type, bound to the transaction.
type Store struct {
	app   pool          // sees one tenant at a time
	group *pgxpool.Pool // sees the tenants of a group of look-ups
	sys   pool          // sees all; for sign-in, sweeps and jobs
	queue *river.Client[pgx.Tx]
	tx    pgx.Tx // set inside InTx

	connections *budget.Shares // of app
	quota       StorageQuota
	openKey     func(sealed []byte) ([]byte, error) // decrypts the signing key; nil if it need not
	stored      *[2]storageCount                    // live and test

	crowd       *coalesce.Crowd
	creations   *coalesce.Group[*insertion]
	intents     *coalesce.Group[*insertion]
	settlements *coalesce.Group[*settling]
	lookups     *coalesce.Group[*lookup]

	horizon   *horizonWatch
	lastEntry *atomic.Int64 // milliseconds; of the audit log
	words     *wordKey      // of the search
	cell      string        // that the database is, among others; empty if it is the only one

	restoreNumber *atomic.Int32 // of the last restore that this process knows
	servers       *serverWatch
}

// Options are the settings of a Store.
type Options struct {
	URL         string
	Connections int32 // of tenants' statements; system work has a few of its own
	Tracer      pgx.QueryTracer
	Cell        string // that the database must be; empty accepts what it is
	Name        string // of the program in the database's list of connections; empty is its own
	Quota       StorageQuota

	// OpenKey decrypts the signing key; nil if only a database with a plain one is
	// expected.
	OpenKey func(sealed []byte) ([]byte, error)

	connected func(context.Context, *pgx.Conn) error // called with each new connection; nil for none
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
		horizon:   new(horizonWatch),
		lastEntry: new(atomic.Int64),
		words:     new(wordKey),
		quota:     o.Quota,
		openKey:   o.OpenKey,
		stored:    new([2]storageCount),

		restoreNumber: new(atomic.Int32),
		servers:       new(serverWatch),
	}
	s.restoreNumber.Store(math.MaxInt32)
	if err := s.openPools(ctx, o); err != nil {
		s.Close()
		return nil, err
	}
	s.connections = budget.NewShares(int64(s.app.Config().MaxConns), 0)

	var err error
	if s.queue, err = river.NewClient(riverpgxv5.New(s.sys.Pool), &river.Config{}); err != nil {
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
	// A database that is a cell among others says so itself: nobody can forget
	// its fence.
	primary := &presence{}
	if s.sys, err = newPools(ctx, o, roleSys, systemConnections, primary); err != nil {
		return err
	}
	if s.cell, err = s.readCell(ctx, o.Cell); err != nil {
		return err
	}
	if s.cell != "" {
		s.sys.close()
		o.Name = cellApplication
		if s.sys, err = newPools(ctx, o, roleSys, systemConnections, primary); err != nil {
			return err
		}
	}

	o.connected = s.servers.note
	if s.app, err = newPools(ctx, o, roleApp, o.Connections, primary); err != nil {
		return err
	}
	o.connected = nil
	s.group, err = newPool(ctx, o, roleGroup, lookupLanes, groupPlans, usePrimary)
	return err
}

// newPools opens a pool to the primary and, if the address has several servers, one
// that reads from any of them.
func newPools(ctx context.Context, o Options, role string, connections int32, primary *presence) (p pool, err error) {
	p.primary = primary
	if p.Pool, err = newPool(ctx, o, role, connections, nil, usePrimary); err != nil {
		return p, err
	}
	if len(servers(p.Config().ConnConfig)) > 1 {
		p.standby, err = newPool(ctx, o, role, connections, readOnly, useAnyServer)
	}
	return p, err
}

// readOnly is the setting of connections that never write.
var readOnly = map[string]string{"default_transaction_read_only": "on"}

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
// Servers chooses those of the address that they go to.
func newPool(ctx context.Context, o Options, role string, connections int32, further map[string]string, servers func(*pgx.ConnConfig)) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(o.URL)
	if err != nil {
		return nil, fmt.Errorf("database address: %w", err)
	}
	cfg.MaxConns = max(connections, 2)
	cfg.MaxConnIdleTime = 5 * time.Minute
	cfg.ConnConfig.Tracer = o.Tracer
	cfg.PingTimeout = pingTimeout
	servers(cfg.ConnConfig)
	cfg.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		registerIDs(conn.TypeMap())
		if o.connected != nil {
			return o.connected(ctx, conn)
		}
		return nil
	}

	params := cfg.ConnConfig.RuntimeParams
	maps.Copy(params, further)
	params["application_name"] = cmp.Or(o.Name, application)
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
	s.app.close()
	if s.group != nil {
		s.group.Close()
	}
	s.sys.close()
}

// System is the pool that sees all tenants, for the job runner.
func (s *Store) System() *pgxpool.Pool { return s.sys.Pool }

// Pools are the pools of connections by what they are for.
func (s *Store) Pools() map[string]*pgxpool.Pool {
	return map[string]*pgxpool.Pool{"app": s.app.Pool, "group": s.group, "system": s.sys.Pool}
}

// Ping proves that the database answers. While there is no primary, a standby is
// enough: it can be read from, and a copy that is sent no requests could not say
// that the others should be repeated.
func (s *Store) Ping(ctx context.Context) error {
	var answer int
	if err := s.sys.QueryRow(AllowStale(ctx, func(time.Time) {}), "SELECT 1").Scan(&answer); err != nil {
		return ship.Errorf(ship.Unavailable, "the database does not respond: %w", err)
	}
	return nil
}

const sqlSetTenant = `SELECT set_config('waybill.account', $1, true), set_config('waybill.livemode', $2, true)`

// sqlEnterTenant is sqlSetTenant in a cell among others.
const sqlEnterTenant = sqlSetTenant + `, enter_shard($3)`

// InTx runs fn in a transaction of the tenant, and commits if fn returns nil.
// It must not be nested, and fn must not do network calls.
func (s *Store) InTx(ctx context.Context, t ship.Tenant, fn func(tx *Store) error) error {
	if s.tx != nil {
		panic("store: nested transaction")
	}

	// Row-level security reads the tenant from these settings. They are set in
	// the round trip of BEGIN, so no statement can run without them.
	enter := fmt.Sprintf(
		"BEGIN; SELECT set_config('waybill.account', '%s', true), set_config('waybill.livemode', '%t', true)",
		uuidText(t.Account.Raw()), t.Livemode)
	if s.cell != "" {
		enter += fmt.Sprintf(", enter_shard(%d)", t.Shard())
	}
	release, err := s.takeConnection(ctx, t.Account)
	if err != nil {
		return err
	}
	defer release()

	options := pgx.TxOptions{BeginQuery: enter}
	err = pgx.BeginTxFunc(ctx, s.app, options, func(tx pgx.Tx) error {
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

	// A server that answers a new connection with an error, such as a refused
	// login, has done nothing: the password may be about to change here too.
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return unavailable("the database does not respond, has no primary, or refuses the login", err, noPrimaryRetry)
	}

	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		// Classes: too little memory, disk or connections; errors of the system.
		if class := pg.Code[:min(2, len(pg.Code))]; class == "53" || class == "58" {
			return unavailable("the database cannot do this now", err, noPrimaryRetry)
		}

		switch pg.Code {
		case "55P03", "57014", "40001", "40P01", "57P01", "57P02", "57P03", "25P03":
			// lock or statement time-out, serialization, deadlock, shutdown, a transaction of a process that slept
			return unavailable("the database is busy", err, time.Second)
		case misdirected:
			return unavailable("the account is moving to another cell", errors.Join(ErrMisdirected, err), time.Second)
		case "25006":
			// a write to a standby
			return unavailable("the database has no primary", err, noPrimaryRetry)
		}
		return err
	}

	// What the store itself decided has its kind already.
	if _, ok := errors.AsType[*ship.Error](err); ok {
		return err
	}

	if pgconn.SafeToRetry(err) {
		return unavailable("the database does not respond, or has no primary", err, noPrimaryRetry)
	}
	if isLost(err) {
		return lost(err)
	}
	return err
}

// unavailable is the error of a database that may answer a moment later.
func unavailable(message string, err error, retryAfter time.Duration) error {
	return &ship.Error{
		Kind:       ship.Unavailable,
		Message:    message,
		RetryAfter: retryAfter,
		Err:        err,
	}
}
