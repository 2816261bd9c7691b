package store

import (
	"context"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/waybillhq/waybill/internal/ship"
)

// An Inspection is what Inspect finds in a database.
type Inspection struct {
	Server            int           // version of Postgres: 150004 is 15.4
	ClockAhead        time.Duration // of the database's clock, before ours
	Schema            int64         // migration that the tables are at; 0 means none
	SchemaWanted      int64         // that this program was made for
	Old               bool          // created before v0.1.0, and cannot be migrated
	Queue             int           // the same of the queue's tables
	QueueWanted       int
	Servers           int      // that the address lists
	Standbys          int      // that follow the primary
	Synchronous       bool     // a commit waits for a standby
	Login             Login    // that the address has
	MissingRoles      []string // that are not there, or that the login may not take
	Unfenced          []string // tables of tenants without forced row-level security
	MissingPartitions []string // that are needed now or soon
	Vitals            Vitals
	Violations        []Violation        // of what always holds of purchases
	FailingLookups    []ConnectionLookup // of connections whose last control was not found
	LiveConnections   []LiveConnections
}

// LiveConnections are the live connections of all accounts to a carrier that have the
// same abilities confirmed.
type LiveConnections struct {
	Carrier   string
	Confirmed []string
	Count     int
	Example   ship.ConnectionID
}

const sqlConfirmedAbilities = `
SELECT c.carrier, c.confirmed, count(*)::int, (array_agg(c.id ORDER BY c.id DESC))[1]
FROM connections c
WHERE c.livemode AND c.enabled AND c.removed_at IS NULL
GROUP BY c.carrier, c.confirmed
ORDER BY c.carrier, c.confirmed`

// Migrated reports whether the database has the tables of this program. A
// database that a later program has migrated has them too.
func (i Inspection) Migrated() bool {
	return !i.Old && i.Schema >= i.SchemaWanted && i.Queue >= i.QueueWanted
}

// NeedsMigration is the error of a database that lacks tables of this program.
func (i Inspection) NeedsMigration() error {
	switch {
	case i.Old:
		return errOld()
	case i.Migrated():
		return nil
	}

	what := fmt.Sprintf("the database is at migration %d and queue version %d, but this program needs %d and %d",
		i.Schema, i.Queue, i.SchemaWanted, i.QueueWanted)
	if !i.Login.OwnsTables {
		return ship.Errorf(ship.Conflict, "%s: %w", what, i.Login.cannotMigrate())
	}
	return ship.Errorf(ship.Conflict, "%s: run \"waybill migrate\"", what)
}

// Inspect looks at the database at url. It changes nothing. What
// cannot be seen before a migration is left out without one.
func Inspect(ctx context.Context, url string, now time.Time) (Inspection, error) {
	conn, i, err := inspectSchema(ctx, url)
	if err != nil {
		return i, err
	}
	defer func() { _ = conn.Close(ctx) }()

	if !i.Migrated() {
		return i, nil
	}
	if err := i.readRowSecurity(ctx, conn); err != nil {
		return i, explain(err)
	}

	// The rest is read under the roles.
	if len(i.MissingRoles) > 0 {
		return i, nil
	}
	if err := i.readPartitions(ctx, conn, now); err != nil {
		return i, explain(err)
	}

	batch := &pgx.Batch{}
	i.Vitals.queue(batch)
	queueInvariants(batch, now, &i.Violations) // under the system's role, as the vitals left it
	batch.Queue(sqlFailingLookups).Query(func(rows pgx.Rows) (err error) {
		i.FailingLookups, err = pgx.CollectRows(rows, scanConnectionLookup)
		return err
	})
	batch.Queue(sqlConfirmedAbilities).Query(func(rows pgx.Rows) (err error) {
		i.LiveConnections, err = pgx.CollectRows(rows, pgx.RowToStructByPos[LiveConnections])
		return err
	})
	batch.Queue(sqlHorizonHolders).Query(collectInto(&i.Vitals.HorizonHolders, scanHolder))
	err = conn.SendBatch(ctx, batch).Close()
	i.Vitals.HorizonAge = i.Vitals.horizon.age(time.Now())
	return i, explain(err)
}

// InspectSchema is the part of Inspect that tells whether the database is
// there and migrated.
func InspectSchema(ctx context.Context, url string) (Inspection, error) {
	conn, i, err := inspectSchema(ctx, url)
	if err == nil {
		err = conn.Close(ctx)
	}
	return i, err
}

const sqlServer = `
SELECT current_setting('server_version_num')::int, clock_timestamp(),
  to_regclass('goose_db_version') IS NOT NULL, to_regclass('river_migration') IS NOT NULL,
  (SELECT count(*)::int FROM pg_stat_replication WHERE pid IS NOT NULL),
  current_setting('synchronous_standby_names') <> '' AND current_setting('synchronous_commit') NOT IN ('off', 'local')`

// inspectSchema connects to the database and finds out what it was migrated to.
func inspectSchema(ctx context.Context, url string) (*pgx.Conn, Inspection, error) {
	var i Inspection
	if err := i.readWanted(); err != nil {
		return nil, i, err
	}

	conn, err := connect(ctx, url)
	if err != nil {
		return nil, i, ship.Errorf(ship.Unavailable, "cannot connect to the database: %w", err)
	}
	registerIDs(conn.TypeMap())
	i.Servers = len(servers(conn.Config()))
	if err := i.readVersions(ctx, conn); err != nil {
		_ = conn.Close(ctx)
		return nil, i, fmt.Errorf("inspect the database: %w", explain(err))
	}
	return conn, i, nil
}

// readVersions fills in the versions of the server and of the tables, and how
// far its clock is ahead.
func (i *Inspection) readVersions(ctx context.Context, conn *pgx.Conn) error {
	var clock time.Time
	var hasTables, hasQueue bool
	before := time.Now()
	if err := conn.QueryRow(ctx, sqlServer).Scan(&i.Server, &clock, &hasTables, &hasQueue, &i.Standbys, &i.Synchronous); err != nil {
		return err
	}

	// The server read its clock about halfway through the round trip.
	i.ClockAhead = clock.Sub(before.Add(time.Since(before) / 2))

	if err := conn.QueryRow(ctx, sqlIsOld).Scan(&i.Old); err != nil {
		return err
	}
	if err := i.Login.read(ctx, conn); err != nil {
		return err
	}

	// A login that owns nothing sees the versions through a role. One that was
	// never granted it, or whose owner has not migrated since it was, sees
	// nothing: as far as it can tell, the database is not migrated.
	if !i.Login.OwnsTables && hasTables {
		if _, err := conn.Exec(ctx, "SET ROLE "+roleSys); isDenied(err) {
			return nil
		} else if err != nil {
			return err
		}
		defer func() { _, _ = conn.Exec(ctx, "RESET ROLE") }()
	}
	if hasTables {
		if err := conn.QueryRow(ctx, sqlSchemaVersion).Scan(&i.Schema); err != nil && !isDenied(err) {
			return err
		}
	}
	if hasQueue {
		if err := conn.QueryRow(ctx, sqlQueueVersion).Scan(&i.Queue); err != nil && !isDenied(err) {
			return err
		}
	}
	return nil
}

const sqlSchemaVersion = `SELECT coalesce(max(version_id), 0) FROM goose_db_version WHERE is_applied`

const sqlQueueVersion = `SELECT coalesce(max(version), 0)::int FROM river_migration WHERE line = 'main'`

// readWanted fills in what this program was made for.
func (i *Inspection) readWanted() error {
	files, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return fmt.Errorf("embedded migrations: %w", err)
	}
	for _, file := range files {
		number, _, _ := strings.Cut(strings.TrimPrefix(file, "migrations/"), "_")
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return fmt.Errorf("migration %s has no number", file)
		}
		i.SchemaWanted = max(i.SchemaWanted, n)
	}

	queue, err := rivermigrate.New(riverpgxv5.New(nil), nil)
	if err != nil {
		return fmt.Errorf("queue migrations: %w", err)
	}
	for _, migration := range queue.AllVersions() {
		i.QueueWanted = max(i.QueueWanted, migration.Version)
	}
	return nil
}

// sqlMissingRoles asks whether a role may be taken: from version 16 on, a member
// of a role may not be allowed to.
const sqlMissingRoles = `
SELECT coalesce(array_agg(w), '{}') FROM unnest($1::text[]) AS w
WHERE NOT EXISTS (
  SELECT FROM pg_roles r
  WHERE r.rolname = w
    AND pg_has_role(current_user, r.oid, CASE WHEN current_setting('server_version_num')::int >= 160000 THEN 'SET' ELSE 'MEMBER' END)
)`

// sqlUnsecuredTables finds tables of tenants whose row-level security is off, or
// does not bind their owner.
const sqlUnsecuredTables = `
SELECT coalesce(array_agg(c.relname::text ORDER BY c.relname), '{}')
FROM pg_class c
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'account_id' AND NOT a.attisdropped
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
  AND NOT (c.relrowsecurity AND c.relforcerowsecurity)`

// readRowSecurity fills in what keeps tenants apart: roles and policies.
func (i *Inspection) readRowSecurity(ctx context.Context, conn *pgx.Conn) error {
	if err := conn.QueryRow(ctx, sqlMissingRoles, []string{roleApp, roleGroup, roleSys}).Scan(&i.MissingRoles); err != nil {
		return fmt.Errorf("check roles: %w", err)
	}
	if err := conn.QueryRow(ctx, sqlUnsecuredTables).Scan(&i.Unfenced); err != nil {
		return fmt.Errorf("check row-level security: %w", err)
	}
	return nil
}

const sqlMissingPartitions = `
SELECT coalesce(array_agg(a.name ORDER BY a.parent, a.number), '{}')
FROM partitions_around($1) a
WHERE a.number >= 0 AND to_regclass(a.name) IS NULL`

// readPartitions fills in the partitions of now and of the near future that are
// missing.
func (i *Inspection) readPartitions(ctx context.Context, conn *pgx.Conn, now time.Time) error {
	batch := &pgx.Batch{}
	if !i.Login.OwnsTables {
		batch.Queue(sqlRole, roleSys)
	}
	batch.Queue(sqlMissingPartitions, now).QueryRow(func(r pgx.Row) error { return r.Scan(&i.MissingPartitions) })
	if err := conn.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("check partitions: %w", err)
	}
	return nil
}
