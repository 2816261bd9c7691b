package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/waybillhq/waybill/internal/ship"
)

// Migrations: roles, tables, the queue, and the instance.

//go:embed migrations/*.sql
var migrations embed.FS

// Migrate brings the database at url to this program's schema: our tables, then
// River's, then the partitions for now. Any number of copies may do so at once;
// one works and the others wait.
func Migrate(ctx context.Context, url string) error {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return fmt.Errorf("database address: %w", err)
	}
	cfg.MaxConns = 4
	usePrimary(cfg.ConnConfig)
	cfg.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, sqlLimitLockWait)
		return err
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer pool.Close()

	// What was migrated before a lock was not available is not done again.
	for start := time.Now(); ; {
		err := migrate(ctx, pool)
		if !isLockFailure(err) || time.Since(start) > lockPatience {
			return err
		}

		select {
		case <-time.After(lockPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Copies of the previous release serve while a migration runs. Whoever asks for a
// table that it waits for stands behind it, and a deadlock ends with an error for
// one of the two. So the migration waits for less than Postgres does before it
// looks for deadlocks (a second), gives its locks back, and tries again.
const (
	sqlLimitLockWait = `SET lock_timeout = '500ms'`
	lockPause        = time.Second
	lockPatience     = 10 * time.Minute
)

// isLockFailure reports whether a statement failed because of what others have
// locked.
func isLockFailure(err error) bool {
	failure, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (failure.Code == lockNotAvailable || failure.Code == deadlockDetected)
}

// Postgres's codes for locks that a statement did not get.
const (
	lockNotAvailable = "55P03"
	deadlockDetected = "40P01"
)

// migrate does the work of Migrate, if nobody keeps a table locked.
func migrate(ctx context.Context, pool *pgxpool.Pool) error {
	if err := requireMigratable(ctx, pool); err != nil {
		return err
	}

	if _, err := pool.Exec(ctx, sqlMakeRoles); err != nil {
		return explainRoles(err)
	}
	if err := migrateTables(ctx, pool); err != nil {
		return err
	}
	if err := migrateQueue(ctx, pool); err != nil {
		return err
	}
	if _, err := pool.Exec(ctx, sqlMakeInstance, randomKey()); err != nil {
		return fmt.Errorf("create the instance: %w", err)
	}
	if _, err := pool.Exec(ctx, sqlMakePartitions, time.Now()); err != nil {
		return fmt.Errorf("create partitions: %w", err)
	}
	if _, err := pool.Exec(ctx, sqlFenceNewTables); err != nil {
		return fmt.Errorf("fence the cell: %w", err)
	}
	return nil
}

// requireMigratable refuses databases that cannot be migrated, and logins that
// cannot migrate.
func requireMigratable(ctx context.Context, pool *pgxpool.Pool) error {
	// The migrations of an old database have other numbers: some would be
	// skipped, and others would fail halfway.
	var old bool
	if err := pool.QueryRow(ctx, sqlIsOld).Scan(&old); err != nil {
		return fmt.Errorf("inspect the database: %w", explain(err))
	}
	if old {
		return errOld()
	}

	var login Login
	if err := login.read(ctx, pool); err != nil {
		return fmt.Errorf("inspect the login: %w", explain(err))
	}
	if !login.OwnsTables {
		return login.cannotMigrate()
	}
	return nil
}

// sqlIsOld tells a database that was created before v0.1.0, when migrations
// were numbered anew: its first migration created this table, and no later one
// does.
const sqlIsOld = `SELECT to_regclass('journeys') IS NOT NULL`

// errOld is the error of a database that was created before v0.1.0.
func errOld() error {
	return ship.Errorf(ship.Conflict, "this database was created by a version before v0.1.0 and cannot be upgraded: "+
		"create a new database and set DATABASE_URL to it, or give \"waybill dev\" a new --data-dir; databases from v0.1.0 on are upgraded by \"waybill migrate\"")
}

// SchemaHash identifies a state of the schema: two programs with the same hash
// migrate an empty database to the same state.
func SchemaHash() string {
	hash := sha256.New()
	err := fs.WalkDir(migrations, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := migrations.ReadFile(path)
		hash.Write(data)
		return err
	})
	if err != nil {
		panic(err) // the files are embedded
	}

	hash.Write([]byte(sqlPrepareQueue))
	return hex.EncodeToString(hash.Sum(nil))[:12]
}

// sqlMakeRoles makes the roles besides the owner. waybill_app sees one tenant at
// a time by row-level security; waybill_group reads those of a group of
// look-ups; waybill_sys sees all and runs sweeps, jobs and sign-in. Roles belong to the cluster and not to the database, so
// they may be there already, or be missing after a restore elsewhere.
//
// A login that may not create roles works if an administrator has created and
// granted them before (deploy/init-database.sh does): what is there is not
// created or granted again. From version 16 on, whoever creates a role is a
// member of it without being allowed to take it, so what is asked is whether
// the role may be taken.
const sqlMakeRoles = `
DO $$
DECLARE
  r text;
  may_take text := CASE WHEN current_setting('server_version_num')::int >= 160000 THEN 'SET' ELSE 'MEMBER' END;
BEGIN
  FOREACH r IN ARRAY ARRAY['waybill_app', 'waybill_group', 'waybill_sys'] LOOP
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = r) THEN
      BEGIN
        EXECUTE format('CREATE ROLE %I NOLOGIN', r);
      EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; -- another copy did it just now
      END;
    END IF;
    IF NOT pg_has_role(current_user, r, may_take) THEN
      BEGIN
        EXECUTE format('GRANT %I TO CURRENT_USER', r);
      EXCEPTION WHEN unique_violation OR internal_error THEN NULL; -- likewise
      END;
    END IF;
    IF NOT has_schema_privilege(r, 'public', 'usage') THEN
      EXECUTE format('GRANT USAGE ON SCHEMA public TO %I', r);
    END IF;
  END LOOP;
END $$`

// explainRoles says what an administrator has to do for a login that may not
// create the roles itself.
func explainRoles(err error) error {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == insufficientPrivilege {
		return fmt.Errorf("the database user cannot create or grant the roles %[1]s, %[2]s and %[3]s: "+
			"have an administrator run deploy/init-database.sh, or CREATE ROLE %[1]s NOLOGIN; CREATE ROLE %[2]s NOLOGIN; CREATE ROLE %[3]s NOLOGIN; "+
			"GRANT %[1]s, %[2]s, %[3]s TO that user: %[4]w",
			roleApp, roleGroup, roleSys, err)
	}
	return fmt.Errorf("create the roles: %w", err)
}

// insufficientPrivilege is Postgres's code for what a login may not do.
const insufficientPrivilege = "42501"

// migrateTables runs the migrations of this program's own tables.
func migrateTables(ctx context.Context, pool *pgxpool.Pool) error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return fmt.Errorf("embedded migrations: %w", err)
	}

	// Any number of copies may migrate at once: one works, the others wait.
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 600)) // looks every second, for ten minutes
	if err != nil {
		return fmt.Errorf("migration lock: %w", err)
	}

	db := stdlib.OpenDBFromPool(pool)
	defer func() { _ = db.Close() }()
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files, goose.WithSessionLocker(locker))
	if err != nil {
		return fmt.Errorf("migrations: %w", err)
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}

// sqlPrepareQueue drops the two indexes that only a search by arguments would
// use (they halve the queue's rate), and lets both roles use the queue; which
// migrations it has had, they may only read. A tenant's transaction sees and adds
// the jobs of its own tenant alone. The policies are not forced on the owner,
// because River's migrations change rows. What is granted is not granted again:
// that would touch the catalogue at every start, and two copies that do so at once
// fail.
const sqlPrepareQueue = `
DO $$
DECLARE t regclass;
BEGIN
  DROP INDEX IF EXISTS river_job_args_index, river_job_metadata_index;
  FOR t IN SELECT oid FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND relname LIKE 'river\_%' LOOP
    IF t = 'river_migration'::regclass THEN
      IF NOT has_table_privilege('waybill_sys', t, 'SELECT') THEN
        GRANT SELECT ON river_migration TO waybill_sys;
      END IF;
    ELSIF NOT has_table_privilege('waybill_sys', t, 'DELETE') THEN
      EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO waybill_sys', t);
    END IF;
  END LOOP;
  IF has_table_privilege('waybill_sys', 'river_migration', 'INSERT') THEN
    REVOKE INSERT, UPDATE, DELETE ON river_migration FROM waybill_sys;
  END IF;
  IF NOT has_sequence_privilege('waybill_app', 'river_job_id_seq', 'USAGE') THEN
    GRANT USAGE ON SEQUENCE river_job_id_seq TO waybill_sys, waybill_app;
    GRANT SELECT, INSERT, UPDATE ON river_job TO waybill_app;
    GRANT SELECT ON river_queue TO waybill_app;
  END IF;
  IF NOT EXISTS (SELECT FROM pg_policy WHERE polrelid = 'river_job'::regclass AND polname = 'tenant') THEN
    CREATE POLICY tenant ON river_job TO waybill_app USING (
      args->>'account' = (SELECT account_text(nullif(current_setting('waybill.account', true), '')::uuid))
      AND (args->>'livemode')::boolean = (SELECT nullif(current_setting('waybill.livemode', true), '')::boolean));
    CREATE POLICY system ON river_job TO waybill_sys USING (true);
    ALTER TABLE river_job ENABLE ROW LEVEL SECURITY;
  END IF;
END $$`

// lockSchema keeps copies of the program from changing the queue's tables or
// the partitions at once; the function make_partitions takes it too.
const lockSchema = 0x7761796270 // "wayb" and p

// migrateQueue runs River's migrations.
func migrateQueue(ctx context.Context, pool *pgxpool.Pool) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(lockSchema)); err != nil {
			return fmt.Errorf("lock the schema: %w", err)
		}

		// The transaction only holds the lock: River migrates on connections of
		// its own.
		migrator, err := rivermigrate.New(riverpgxv5.New(pool), nil)
		if err != nil {
			return fmt.Errorf("queue migrations: %w", err)
		}
		if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
			return fmt.Errorf("migrate the queue: %w", err)
		}
		if _, err := pool.Exec(ctx, sqlPrepareQueue); err != nil {
			return fmt.Errorf("prepare the queue: %w", err)
		}
		return nil
	})
}

const sqlMakeInstance = `INSERT INTO instance (signing_key) VALUES ($1) ON CONFLICT DO NOTHING`

func randomKey() []byte {
	key := make([]byte, 32)
	rand.Read(key) // never fails
	return key
}
