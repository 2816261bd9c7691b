package store

import (
	"context"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/waybillhq/waybill/internal/ship"
)

// Vitals are the numbers that show an operator whether the service is healthy.
type Vitals struct {
	HorizonAge     time.Duration      // for how long the oldest writer holds up the log's readers
	Open           map[ship.State]int // purchases and voids that wait for an outcome or a person
	OldestOpen     time.Duration      // of those that wait for an outcome
	JobsWaiting    int                // jobs that are due and not begun
	OldestJob      time.Duration      // since the oldest of them was due
	OrphanedLabels map[string]int     // labels that wait to be voided ("pending"), or that the carrier does not void ("void_declined")
	Parked         int                // webhook endpoints that fail and are tried now and then
	GivenUp        []string           // webhook endpoints that were switched off because they failed; at most a few
}

const sqlOpenCounts = `
SELECT state::text, count(*)::int, (min(id::text) FILTER (WHERE state <> 'needs_review'))::uuid
FROM shipment_states
WHERE state IN ('purchasing', 'uncertain', 'voiding', 'needs_review')
GROUP BY state`

const sqlCountParked = `
SELECT count(*)::int FROM webhook_endpoints
WHERE (parked OR NOT enabled) AND parked AND enabled`

// sqlDisabledEndpoints repeats the condition of an index that holds only parked
// and disabled endpoints, as sqlCountParked does.
const sqlDisabledEndpoints = `
SELECT id FROM webhook_endpoints
WHERE (parked OR NOT enabled) AND NOT enabled AND disabled_reason <> 'client'
ORDER BY id LIMIT 10`

const sqlJobsWaiting = `
SELECT count(*)::int, coalesce(extract(epoch FROM max(now() - scheduled_at)), 0)::float8
FROM river_job
WHERE state = 'available' OR state IN ('scheduled', 'retryable') AND scheduled_at < now()`

// Vitals reads them.
func (s *Store) Vitals(ctx context.Context) (Vitals, error) {
	var v Vitals
	batch := &pgx.Batch{}
	v.queue(batch)
	if err := s.sys.SendBatch(ctx, batch).Close(); err != nil {
		return v, fmt.Errorf("vitals: %w", explain(err))
	}
	return v, nil
}

// Pools are the pools of connections by what they are for.
func (s *Store) Pools() map[string]*pgxpool.Pool {
	return map[string]*pgxpool.Pool{"app": s.app, "system": s.sys}
}

// sqlRole changes the role until the transaction ends; "none" is the owner.
const sqlRole = `SELECT set_config('role', $1, true)`

const sqlCountOrphans = `
SELECT state, count(*) FROM orphaned_labels
WHERE state IN ('pending', 'void_declined')
GROUP BY state`

// queue adds the statements that fill v in to the batch, and leaves it under
// the system's role.
func (v *Vitals) queue(batch *pgx.Batch) {
	v.Open = map[ship.State]int{}
	v.OrphanedLabels = map[string]int{}

	// Only the owner may see the age of other sessions' transactions.
	batch.Queue(sqlRole, "none")
	batch.Queue(sqlHorizonAge).QueryRow(func(r pgx.Row) error {
		var age float64
		err := r.Scan(&age)
		v.HorizonAge = seconds(age)
		return err
	})

	// Only the system's role may see the rows of all tenants.
	batch.Queue(sqlRole, roleSys)
	batch.Queue(sqlJobsWaiting).QueryRow(func(r pgx.Row) error {
		var age float64
		err := r.Scan(&v.JobsWaiting, &age)
		v.OldestJob = seconds(age)
		return err
	})

	batch.Queue(sqlCountOrphans).Query(func(rows pgx.Rows) error {
		var state string
		var count int
		_, err := pgx.ForEachRow(rows, []any{&state, &count}, func() error {
			v.OrphanedLabels[state] = count
			return nil
		})
		return err
	})

	batch.Queue(sqlCountParked).QueryRow(func(r pgx.Row) error { return r.Scan(&v.Parked) })
	batch.Queue(sqlDisabledEndpoints).Query(collectInto(&v.GivenUp, func(r pgx.CollectableRow) (string, error) {
		var id ship.EndpointID
		err := r.Scan(&id)
		return string(id), err
	}))

	now := time.Now()
	batch.Queue(sqlOpenCounts).Query(func(rows pgx.Rows) error {
		var state ship.State
		var count int
		var oldest ship.RawID // zero if none waits for an outcome
		_, err := pgx.ForEachRow(rows, []any{&state, &count, &oldest}, func() error {
			v.Open[state] = count
			if !oldest.IsZero() {
				v.OldestOpen = max(v.OldestOpen, now.Sub(oldest.Time()))
			}
			return nil
		})
		return err
	})
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

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
	if err := conn.QueryRow(ctx, sqlMissingRoles, []string{roleApp, roleSys}).Scan(&i.MissingRoles); err != nil {
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
