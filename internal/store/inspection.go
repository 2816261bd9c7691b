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
	Owner             bool     // the address is that of the tables' owner
	MissingRoles      []string // that are not there, or that the owner may not take
	Unfenced          []string // tables of tenants without forced row-level security
	MissingPartitions []string // that are needed now or soon
	Vitals            Vitals
	Violations        []Violation // of what always holds of purchases
}

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
	return ship.Errorf(ship.Conflict, "the database is at migration %d and queue version %d, but this program needs %d and %d: run \"waybill migrate\"",
		i.Schema, i.Queue, i.SchemaWanted, i.QueueWanted)
}

// Inspect looks at the database at url as its owner. It changes nothing. What
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
	if err := i.readPartitions(ctx, conn, now); err != nil {
		return i, explain(err)
	}

	// The rest is read under the roles.
	if len(i.MissingRoles) > 0 {
		return i, nil
	}

	batch := &pgx.Batch{}
	i.Vitals.queue(batch)
	queueInvariants(batch, now, &i.Violations) // under the system's role, as the vitals left it
	err = conn.SendBatch(ctx, batch).Close()
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
  to_regclass('goose_db_version') IS NOT NULL, to_regclass('river_migration') IS NOT NULL`

// inspectSchema connects to the database and finds out what it was migrated to.
func inspectSchema(ctx context.Context, url string) (*pgx.Conn, Inspection, error) {
	var i Inspection
	if err := i.readWanted(); err != nil {
		return nil, i, err
	}

	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, i, ship.Errorf(ship.Unavailable, "cannot connect to the database: %w", err)
	}
	registerIDs(conn.TypeMap())
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
	if err := conn.QueryRow(ctx, sqlServer).Scan(&i.Server, &clock, &hasTables, &hasQueue); err != nil {
		return err
	}

	// The server read its clock about halfway through the round trip.
	i.ClockAhead = clock.Sub(before.Add(time.Since(before) / 2))

	if err := conn.QueryRow(ctx, sqlIsOld).Scan(&i.Old); err != nil {
		return err
	}
	if hasTables {
		if err := conn.QueryRow(ctx, sqlSchemaVersion).Scan(&i.Schema); err != nil {
			return err
		}
	}
	if hasQueue {
		return conn.QueryRow(ctx, sqlQueueVersion).Scan(&i.Queue)
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

const sqlOwner = `SELECT pg_has_role(current_user, relowner, 'USAGE') FROM pg_class WHERE oid = 'shipments'::regclass`

// readRowSecurity fills in what keeps tenants apart: roles, policies and the
// tables' owner.
func (i *Inspection) readRowSecurity(ctx context.Context, conn *pgx.Conn) error {
	if err := conn.QueryRow(ctx, sqlMissingRoles, []string{roleApp, roleGroup, roleSys}).Scan(&i.MissingRoles); err != nil {
		return fmt.Errorf("check roles: %w", err)
	}
	if err := conn.QueryRow(ctx, sqlUnsecuredTables).Scan(&i.Unfenced); err != nil {
		return fmt.Errorf("check row-level security: %w", err)
	}
	if err := conn.QueryRow(ctx, sqlOwner).Scan(&i.Owner); err != nil {
		return fmt.Errorf("check the owner: %w", err)
	}
	return nil
}

const sqlMissingTables = `SELECT coalesce(array_agg(w), '{}') FROM unnest($1::text[]) AS w WHERE to_regclass(w) IS NULL`

// readPartitions fills in the partitions of now and of the near future that are
// missing.
func (i *Inspection) readPartitions(ctx context.Context, conn *pgx.Conn, now time.Time) error {
	var wanted []string
	for _, p := range partitioned {
		from := p.period.start(now.UTC())
		for range p.period.ahead + 1 {
			wanted = append(wanted, p.table+"_"+from.Format(p.period.name))
			from = p.period.next(from)
		}
	}

	if err := conn.QueryRow(ctx, sqlMissingTables, wanted).Scan(&i.MissingPartitions); err != nil {
		return fmt.Errorf("check partitions: %w", err)
	}
	return nil
}
