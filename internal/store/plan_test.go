package store_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// A node is one of a plan.
type node struct {
	Type     string  `json:"Node Type"`
	Relation string  `json:"Relation Name"`
	Index    string  `json:"Index Name"`
	Loops    int     `json:"Actual Loops"`
	Rows     int     `json:"Actual Rows"`
	Millis   float64 `json:"Actual Total Time"` // of each loop
	Fetches  int     `json:"Heap Fetches"`      // of rows, by an index only scan
	Plans    []node  `json:"Plans"`
}

// walk gives every node that was run to fn.
func (n node) walk(fn func(node)) {
	if n.Loops > 0 {
		fn(n)
	}
	for _, p := range n.Plans {
		p.walk(fn)
	}
}

// planOf runs a statement of the package as the role, planned for any values,
// and returns how it was done.
func planOf(t *testing.T, conn *pgx.Conn, role, name string, args ...string) (plan node) {
	t.Helper()
	err := pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
		plan = planIn(t, tx, role, name, args...)
		return nil
	})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return plan
}

// planIn does it in a transaction that is under way.
func planIn(t *testing.T, tx pgx.Tx, role, name string, args ...string) node {
	t.Helper()
	sql := constants(t)[name]
	if sql == "" {
		t.Fatalf("there is no %s", name)
	}
	for _, s := range []string{
		"SET LOCAL ROLE " + role, "SET LOCAL plan_cache_mode = force_generic_plan", "PREPARE " + name + " AS " + sql,
	} {
		if _, err := tx.Exec(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	var text []byte
	if err := tx.QueryRow(t.Context(), "EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE "+name+" ("+strings.Join(args, ", ")+")", pgx.QueryExecModeSimpleProtocol).Scan(&text); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var plans []struct{ Plan node }
	if err := json.Unmarshal(text, &plans); err != nil {
		t.Fatal(err)
	}
	return plans[0].Plan
}

func quoted(id ship.RawID) string { return fmt.Sprintf("'%x'", id[:]) }

// many gives the tables what makes a bad plan slow.
func many(t *testing.T, f *fixture, rows int) {
	t.Helper()
	first, account := ship.NewRawID(7, now()), f.tenant.Account.Raw()
	values := strings.NewReplacer("{first}", fmt.Sprintf("%x", first[:8]), "{account}", fmt.Sprintf("%x", account[:]), "{rows}", fmt.Sprint(rows))
	for _, sql := range []string{
		`CREATE FUNCTION numbered(n int) RETURNS uuid LANGUAGE sql AS $$ SELECT ('{first}' || lpad(to_hex(n), 16, '0'))::uuid $$`,
		`INSERT INTO sandbox_polls (subject_id, account_id, livemode, due_at) SELECT numbered(n), '{account}', false, now() + interval '1 second' * (n - 300) FROM generate_series(1, {rows}) n`,
		`INSERT INTO shipment_states (id, account_id, livemode, state, status, sequence) SELECT numbered(n), '{account}', false, 'purchased', 'created', 1 FROM generate_series(1, {rows} / 8) n`,
		`INSERT INTO lookup_keys (account_id, livemode, kind, value, subject_id) SELECT account_id, livemode, 't', 'n' || right(id::text, 8), id FROM shipment_states`,
		`INSERT INTO shipments (id, account_id, livemode, response_version, request, purchase) SELECT numbered(n), '{account}', false, 1, '{}', '{}' FROM generate_series(1, {rows} / 8) n`,
		`INSERT INTO events (id, account_id, livemode, subject_id, kind, sequence, body_version, snapshot)
		 SELECT numbered(n), CASE WHEN n % 100 = 0 THEN '{account}' ELSE '{first}0000000000000000' END::uuid, false, numbered(n % 1000 + 1), 'shipment.created', 1, 1, '{}' FROM generate_series(1, {rows} / 8) n`,
		`ANALYZE`,
	} {
		if _, err := f.owner.Exec(t.Context(), values.Replace(sql)); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

func empty(t *testing.T, f *fixture, table string) bool {
	t.Helper()
	return one[bool](t, f.owner, "SELECT NOT EXISTS (SELECT FROM "+table+")")
}

// Years that are kept make a look-up no slower: their partitions are not opened.
func TestALookupOpensThePartitionsOfItsRange(t *testing.T) {
	t.Parallel()
	f := withOldYears(t)
	shipment := f.create(t, f.tenant, "o", "1Z1")
	account := quoted(f.tenant.Account.Raw())
	year := shipment.CreatedAt().Format("_2006")
	lowest := quoted(ship.RawIDAt(shipment.CreatedAt().Add(-time.Minute)))
	below := quoted(ship.RawIDAt(shipment.CreatedAt().Add(time.Minute)))

	for name, table := range map[string]string{"sqlFind": "shipment_states", "sqlFindScans": "tracking_events"} {
		planOf(t, f.owner, "waybill_sys", name, account, "false", "'1Z1'", lowest, below).walk(func(n node) {
			if strings.HasPrefix(n.Relation, table) && n.Relation != table+year {
				t.Errorf("%s opens %s; want %s alone", name, n.Relation, table+year)
			}
		})
	}
}

func TestPlansStayOnTheirIndexes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	many(t, f, 100_000)
	sh := f.create(t, f.tenant, "o", "1Z1")
	f.intend(t, f.tenant, "open")
	account, id := quoted(f.tenant.Account.Raw()), quoted(sh.ID.Raw())
	year := sh.CreatedAt().Format("_2006")
	today := time.Now().UTC().Format("_20060102")
	for _, tc := range []struct {
		role, name string
		args       []string
		relations  string // that were touched
		indexes    string // that were used
	}{
		{"waybill_sys", "sqlDuePolls", []string{"now()", "now()", "200"}, "sandbox_polls", "sandbox_polls_due"},
		{"waybill_sys", "sqlShipment", []string{account, "false", id}, "shipment_states" + year + " shipments" + year, "shipment_states" + year + "_pkey shipments" + year + "_pkey"},
		{"waybill_sys", "sqlTrackingState", []string{account, "false", id}, "shipment_states" + year, "shipment_states" + year + "_pkey"},
		{"waybill_sys", "sqlFind", []string{account, "false", "'1Z1'", "'00000000-0000-0000-0000-000000000000'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'"}, "lookup_keys shipment_states" + year, "lookup_keys_pkey shipment_states" + year + "_pkey"},
		{"waybill_sys", "sqlOpen", []string{"'00000000-0000-0000-0000-000000000000'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'", "1000"}, "", "shipment_states" + year + "_id_idx"},
		{"waybill_sys", "sqlLogEnd", []string{account, "false", "'0'", id}, "", "events" + today + "_account_id_livemode_txid_id_idx"},
		{"waybill_sys", "sqlLog", []string{account, "false", "'0'", id, "NULL", "20"}, "", "events" + today + "_account_id_livemode_txid_id_idx"},
	} {
		relations, indexes := map[string]bool{}, map[string]bool{}
		planOf(t, f.owner, tc.role, tc.name, tc.args...).walk(func(n node) {
			if n.Type == "Seq Scan" && n.Loops > 0 && !empty(t, f, n.Relation) {
				t.Errorf("%s reads all of %s", tc.name, n.Relation)
			}
			if n.Relation != "" {
				relations[n.Relation] = true
			}
			if n.Index != "" {
				indexes[n.Index] = true
			}
		})
		if got := strings.Join(slices.Sorted(maps.Keys(relations)), " "); tc.relations != "" && got != tc.relations {
			t.Errorf("%s touches %s; want %s", tc.name, got, tc.relations)
		}
		if got := strings.Join(slices.Sorted(maps.Keys(indexes)), " "); !strings.Contains(got, tc.indexes) {
			t.Errorf("%s uses %s; want %s", tc.name, got, tc.indexes)
		}
	}
}

// TestTheLogStaysOnItsIndexBehindALongTransaction plans where nothing that the
// statistics know of is below the horizon yet, as beside a transaction that
// lasts. An own old snapshot shows the same, and holds no other test up.
func TestTheLogStaysOnItsIndexBehindALongTransaction(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	old, err := storetest.Conn(t, f.url).BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := old.Exec(t.Context(), "SELECT pg_current_snapshot()"); err != nil {
		t.Fatal(err)
	}
	many(t, f, 20_000)
	account, none := quoted(f.tenant.Account.Raw()), quoted(ship.RawID{})
	want := "events" + time.Now().UTC().Format("_20060102") + "_account_id_livemode_txid_id_idx"
	for name, args := range map[string][]string{
		"sqlLog":         {account, "false", "'0'", none, "NULL", "20"},
		"sqlLogEnd":      {account, "false", "'0'", none},
		"sqlTenantHeads": {"'0'", none, "100", account, "false"},
		"sqlWaitingLog":  {account, "false", "'0'", none, "'{}'"},
		"sqlRecent":      {account, "false", "NULL", none, "NULL", "20"},
		"sqlRecentReach": {account, "false", "NULL", none, "1000"},
		"sqlRecentOf":    {account, "false", "NULL", none, "'{label.generated}'", "20", "1000"},
	} {
		used := map[string]bool{}
		planIn(t, old, "waybill_sys", name, args...).walk(func(n node) { used[n.Index] = true })
		if !used[want] {
			t.Errorf("%s uses %v; want %s", name, slices.Sorted(maps.Keys(used)), want)
		}
	}
}
