package store_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// TestTheServingLoginOwnsNothing attacks the database with what somebody has who
// took over the service: its login, and every role that the login can take.
func TestTheServingLoginOwnsNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	fill(t, f, f.tenant)
	serving := storetest.ServingURL(t, f.url)
	address, err := url.Parse(serving)
	if err != nil {
		t.Fatal(err)
	}
	login := address.User.Username()

	owned := one[[]string](t, f.owner, `
		SELECT coalesce(array_agg(what), '{}') FROM (
			SELECT relname::text AS what FROM pg_class WHERE relowner = $1::text::regrole
			UNION ALL SELECT proname FROM pg_proc WHERE proowner = $1::text::regrole
			UNION ALL SELECT nspname FROM pg_namespace WHERE nspowner = $1::text::regrole
			UNION ALL SELECT datname FROM pg_database WHERE datdba = $1::text::regrole
			UNION ALL SELECT typname FROM pg_type WHERE typowner = $1::text::regrole
			UNION ALL SELECT classid::regclass::text FROM pg_shdepend WHERE deptype = 'o' AND refobjid = $1::text::regrole
		) owned`, login)
	if len(owned) > 0 {
		t.Errorf("the login owns %v", owned)
	}
	for _, role := range []string{"waybill_app", "waybill_group", "waybill_sys"} {
		if n := one[int](t, f.owner, "SELECT count(*)::int FROM pg_class WHERE relowner = $1::text::regrole", role); n > 0 {
			t.Errorf("%s owns %d relations", role, n)
		}
	}

	account := [16]byte(f.tenant.Account.Raw())
	owner := one[string](t, f.owner, "SELECT current_user::text")
	entries := one[int](t, f.owner, "SELECT count(*) FROM audit_log")
	today := "events_" + now().Format("20060102")
	conn := storetest.Conn(t, serving)
	for _, role := range []string{"NONE", "waybill_app", "waybill_group", "waybill_sys"} {
		for _, attack := range []struct {
			sql  string
			args []any
		}{
			{sql: "SET ROLE " + pgx.Identifier{owner}.Sanitize()},
			{sql: "SET SESSION AUTHORIZATION " + pgx.Identifier{owner}.Sanitize()},
			{sql: "UPDATE audit_log SET actor = 'nobody'"},
			{sql: "DELETE FROM audit_log"},
			{sql: "TRUNCATE audit_log"},
			{sql: "DROP TABLE audit_log"},
			{sql: "ALTER TABLE audit_log DISABLE ROW LEVEL SECURITY"},
			{sql: "ALTER TABLE audit_log ADD COLUMN x int"},
			{sql: "CREATE TRIGGER hide BEFORE INSERT ON audit_log FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()"},
			{sql: "CREATE RULE hide AS ON INSERT TO audit_log DO INSTEAD NOTHING"},
			{sql: "CREATE POLICY open ON shipments TO waybill_app USING (true)"},
			{sql: "ALTER TABLE audit_log DISABLE TRIGGER await_chaining"},
			{sql: "UPDATE audit_chain SET hash = ''"},
			{sql: "DELETE FROM audit_chain"},
			{sql: "INSERT INTO audit_anchors (account_id, number, hash) SELECT id, 9, '' FROM accounts"},
			{sql: "DELETE FROM audit_anchors"},
			{sql: "SELECT prune_audit_log(now())"},
			{sql: "DROP TABLE shipments"},
			{sql: "DROP TABLE " + today},
			{sql: "ALTER TABLE events DETACH PARTITION " + today},
			{sql: "CREATE TABLE public.own (x int)"},
			{sql: "CREATE FUNCTION public.own() RETURNS int LANGUAGE sql AS 'SELECT 1'"},
			{sql: "CREATE OR REPLACE FUNCTION public.create_due_partitions() RETURNS void LANGUAGE sql AS 'SELECT'"},
			{sql: "CREATE ROLE waybill_friend LOGIN"},
			{sql: "UPDATE goose_db_version SET version_id = 1"},
			{sql: "UPDATE river_migration SET version = 1"},
			{sql: "UPDATE partition_rules SET min_keep = '0'"},
			{sql: "INSERT INTO partition_rules VALUES ('audit_log', 'day', 1, '', '0')"},
			{sql: "SELECT make_partitions(now() + interval '10 years')"},
			{sql: "SELECT drop_partition('events', now() + interval '10 years')"},
			{sql: "SELECT drop_expired_partition('audit_log', '400 days')"},
			{sql: "SELECT drop_expired_partition('shipments', '4000 days')"},
			{sql: "SELECT drop_expired_shipments('0')"},
			{sql: "SELECT drop_expired_shipments('-10 years')"},
			{sql: "SELECT drop_expired_shipments(NULL)"},
			{sql: "UPDATE partition_rules SET group_min_keep = '0'"},
			{sql: "SELECT drop_expired_partition('events', '-10 years')"},
			{sql: "SELECT drop_expired_partition('events', '0')"},
			{sql: "SELECT drop_expired_partition('events', '29 days')"},
			{sql: "SELECT drop_expired_partition('events', NULL)"},
			{sql: "SELECT drop_expired_partition(NULL, '400 days')"},
			{sql: "SELECT drop_expired_partition($1, '400 days')", args: []any{`events" CASCADE; DROP TABLE shipments; --`}},
			{sql: "SELECT drop_expired_partition($1, '400 days')", args: []any{"public.events"}},
			{sql: "SELECT drop_expired_partition($1, '400 days')", args: []any{"event_"}},
			{sql: "SELECT secure_table('audit_log', 'account', 'DELETE', 'DELETE')"},
		} {
			name := role + ": " + attack.sql
			tx, err := conn.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Exec(t.Context(), "SET LOCAL ROLE "+role); err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Exec(t.Context(), "SELECT set_config('waybill.account', $1, true), set_config('waybill.livemode', 'false', true)", fmt.Sprintf("%x", account)); err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Exec(t.Context(), attack.sql, attack.args...); !denied(err) {
				t.Errorf("%s: %v, want it refused", name, err)
			}
			_ = tx.Rollback(t.Context())
		}
	}

	// A grant that nobody may make is a warning and no error.
	_, _ = conn.Exec(t.Context(), "SET ROLE waybill_sys; GRANT DELETE ON audit_log TO waybill_sys; RESET ROLE")
	if one[bool](t, f.owner, "SELECT has_table_privilege('waybill_sys', 'audit_log', 'DELETE')") {
		t.Error("it granted itself the right to delete from the audit log")
	}
	if n := one[int](t, f.owner, "SELECT count(*) FROM audit_log"); n != entries {
		t.Errorf("the audit log has %d entries, it had %d", n, entries)
	}

	// A function or table of the same name that the attacker made for itself is
	// not what the owner's functions use.
	for _, sql := range []string{
		"SET ROLE NONE",
		"CREATE TEMP TABLE partition_rules (parent text, period text, ahead smallint, storage text, min_keep interval)",
		"INSERT INTO pg_temp.partition_rules VALUES ('shipments', 'year', 1, '', '0')",
		"CREATE FUNCTION pg_temp.now() RETURNS timestamptz LANGUAGE sql AS $$ SELECT '2100-01-01'::timestamptz $$",
		"GRANT ALL ON pg_temp.partition_rules TO PUBLIC",
		"SET search_path = pg_temp, public",
		"SET ROLE waybill_sys",
	} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	if _, err := conn.Exec(t.Context(), "SELECT public.drop_expired_partition('shipments', '0')"); !denied(err) {
		t.Errorf("with rules of its own: %v", err)
	}
	if _, err := conn.Exec(t.Context(), "SELECT public.drop_expired_partition('api_requests', '0')"); err != nil {
		t.Error(err)
	}
	if one[*string](t, f.owner, "SELECT to_regclass($1)::text", "api_requests_"+now().Format("20060102")) == nil {
		t.Error("today's partition was dropped")
	}
}

// TestTheServingLoginMaintainsPartitions has the service's own upkeep with the
// login that owns nothing.
func TestTheServingLoginMaintainsPartitions(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	serving := storetest.ServingURL(t, f.url)
	st, err := store.Open(t.Context(), store.Options{URL: serving, Connections: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)

	// Partitions of forty days ago are due to be dropped, tomorrow's is missing.
	past := now().AddDate(0, 0, -40)
	if err := store.MaintainPartitions(t.Context(), f.url, past, nil); err != nil {
		t.Fatal(err)
	}
	old := "events_" + past.Format("20060102")
	tomorrow := "events_" + now().AddDate(0, 0, 1).Format("20060102")
	if _, err := f.owner.Exec(t.Context(), "DROP TABLE "+tomorrow); err != nil {
		t.Fatal(err)
	}
	if list := partitionsOf(t, f.owner, "events"); !slices.Contains(list, old) || slices.Contains(list, tomorrow) {
		t.Fatalf("partitions %v", list)
	}

	if err := st.MaintainPartitions(t.Context(), nil, nil); err != nil {
		t.Fatal(err)
	}
	if list := partitionsOf(t, f.owner, "events"); slices.Contains(list, old) || !slices.Contains(list, tomorrow) {
		t.Errorf("partitions %v", list)
	}
	if owner := one[string](t, f.owner, "SELECT relowner::regrole::text FROM pg_class WHERE relname = $1", tomorrow); strings.HasPrefix(owner, "waybill_serve") {
		t.Errorf("the new partition belongs to %s", owner)
	}

	found := inspect(t, serving)
	if err := found.NeedsMigration(); err != nil || found.Login.OwnsTables || len(found.Login.Powers) > 0 || len(found.MissingPartitions)+len(found.MissingRoles) > 0 {
		t.Errorf("inspection %+v, %v", found, err)
	}
}

// TestAPartitionInUseDoesNotKeepTheOthers has a statement hold on to a table, so that
// its partitions cannot be dropped now.
func TestAPartitionInUseDoesNotKeepTheOthers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	past := now().AddDate(0, 0, -40)
	if err := store.MaintainPartitions(t.Context(), f.url, past, nil); err != nil {
		t.Fatal(err)
	}
	old := "events_" + past.Format("20060102")
	if list := partitionsOf(t, f.owner, "events"); !slices.Contains(list, old) {
		t.Fatalf("partitions %v", list)
	}

	reading, err := f.owner.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reading.Rollback(t.Context()) }()
	if _, err := reading.Exec(t.Context(), "LOCK TABLE api_requests IN ACCESS SHARE MODE"); err != nil {
		t.Fatal(err)
	}
	if err := f.MaintainPartitions(t.Context(), nil, nil); ship.KindOf(err) != ship.Unavailable {
		t.Errorf("with a table in use: %v", err)
	}
	if err := reading.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if list := partitionsOf(t, f.owner, "events"); slices.Contains(list, old) {
		t.Errorf("partitions %v", list)
	}
}

// TestEveryPartitionedTableHasARule keeps a new partitioned table from being
// forgotten.
func TestEveryPartitionedTableHasARule(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	missing := one[[]string](t, f.owner, `
		SELECT coalesce(array_agg(coalesce(c.relname::text, r.parent)), '{}')
		FROM (SELECT relname FROM pg_class WHERE relkind = 'p' AND relnamespace = 'public'::regnamespace) c
		FULL JOIN partition_rules r ON r.parent = c.relname
		WHERE c.relname IS NULL OR r.parent IS NULL`)
	if len(missing) > 0 {
		t.Errorf("tables without a rule, or rules without a table: %v", missing)
	}
}

// TestAnOlderSchemaTellsTheServingLoginWhatToRun has a database that a new
// release of the program has not migrated yet.
func TestAnOlderSchemaTellsTheServingLoginWhatToRun(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	serving := storetest.ServingURL(t, f.url)
	if _, err := f.owner.Exec(t.Context(), "DELETE FROM goose_db_version WHERE version_id = (SELECT max(version_id) FROM goose_db_version)"); err != nil {
		t.Fatal(err)
	}

	found, err := store.InspectSchema(t.Context(), serving)
	if err != nil || found.Schema != found.SchemaWanted-1 {
		t.Fatalf("inspection %+v, %v", found, err)
	}
	for what, err := range map[string]error{"serve": found.NeedsMigration(), "migrate": store.Migrate(t.Context(), serving)} {
		if err == nil || !strings.Contains(err.Error(), "cannot migrate: set MIGRATE_DATABASE_URL") || !strings.Contains(err.Error(), found.Login.Owner) {
			t.Errorf("%s: %v", what, err)
		}
	}
	wantKind(t, "migrate", store.Migrate(t.Context(), serving), ship.Forbidden)
}

func TestAServingLoginThatExistsKeepsItsPassword(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	serving := storetest.ServingURL(t, f.url)
	address, err := url.Parse(serving)
	if err != nil {
		t.Fatal(err)
	}
	login := address.User.Username()
	if again, err := store.CreateServingLogin(t.Context(), f.url, login); err != nil || again != "" {
		t.Errorf("again: %q, %v", again, err)
	}
	if names, err := store.ServingLogins(t.Context(), f.url); err != nil || !slices.Contains(names, login) {
		t.Errorf("logins %v, %v", names, err)
	}
	storetest.Conn(t, serving)

	owner := one[string](t, f.owner, "SELECT current_user::text")
	if _, err := store.CreateServingLogin(t.Context(), f.url, owner); err == nil || !strings.Contains(err.Error(), "owns the tables") {
		t.Errorf("the owner as the login that serves: %v", err)
	}
	if _, err := store.CreateServingLogin(t.Context(), serving, login+"_2"); err == nil || !strings.Contains(err.Error(), "init-database.sh") {
		t.Errorf("made by a login that may not: %v", err)
	}
}
