package store_test

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

func inspect(t *testing.T, url string) store.Inspection {
	t.Helper()
	i, err := store.Inspect(t.Context(), url, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func TestAMigratedDatabaseIsHealthy(t *testing.T) {
	t.Parallel()
	i := inspect(t, storetest.URL(t))
	if err := i.NeedsMigration(); err != nil {
		t.Error(err)
	}
	if i.Server < 150000 || !i.Login.OwnsTables || i.Schema == 0 || i.Queue == 0 {
		t.Errorf("inspection = %+v", i)
	}
	if len(i.MissingRoles)+len(i.Unfenced)+len(i.MissingPartitions) != 0 {
		t.Errorf("missing roles %v, unfenced %v, missing partitions %v", i.MissingRoles, i.Unfenced, i.MissingPartitions)
	}
	if i.ClockAhead.Abs() > 5*time.Second || len(i.Vitals.Open) != 0 {
		t.Errorf("clock %s, open %v", i.ClockAhead, i.Vitals.Open)
	}
}

func TestAnEmptyDatabaseNeedsMigration(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	exec(t, url, "DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
	if i := inspect(t, url); i.NeedsMigration() == nil || i.Schema != 0 || i.Queue != 0 {
		t.Errorf("inspection = %+v", i)
	}
}

func TestWhatIsMissingIsFound(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	today := "events_" + time.Now().UTC().Format("20060102")
	exec(t, url, "ALTER TABLE lookup_keys NO FORCE ROW LEVEL SECURITY", "ALTER TABLE labels DISABLE ROW LEVEL SECURITY", "DROP TABLE "+today)
	i := inspect(t, url)
	if !slices.Equal(i.Unfenced, []string{"labels", "lookup_keys"}) {
		t.Errorf("unfenced %v", i.Unfenced)
	}
	if !slices.Equal(i.MissingPartitions, []string{today}) {
		t.Errorf("missing partitions %v, want %s", i.MissingPartitions, today)
	}
	late, err := store.Inspect(t.Context(), url, time.Now().AddDate(1, 0, 0))
	if err != nil || len(late.MissingPartitions) < 6 {
		t.Errorf("a year later: missing partitions %v, %v", late.MissingPartitions, err)
	}
}

func TestVitalsCountWhatIsOpen(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	st, err := store.Open(t.Context(), store.Options{URL: url, Connections: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	conn := storetest.Conn(t, url)
	account := ship.NewAccountID(7, time.Now()).Raw()
	open := map[ship.State]int{ship.StateUncertain: 2, ship.StateVoiding: 1, ship.StateNeedsReview: 3, ship.StatePurchased: 4}
	old := time.Now().Add(-time.Hour)
	if _, err := st.Vitals(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := store.MaintainPartitions(t.Context(), url, old, nil); err != nil { // an hour ago may be last month
		t.Fatal(err)
	}
	for state, n := range open {
		for range n {
			id := ship.NewShipmentID(7, old).Raw()
			if _, err := conn.Exec(t.Context(), "INSERT INTO shipment_states (id, account_id, livemode, state, status, sequence) VALUES ($1, $2, false, $3, 'created', 1)",
				[16]byte(id), [16]byte(account), string(state)); err != nil {
				t.Fatal(err)
			}
		}
	}
	v, err := st.Vitals(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	delete(open, ship.StatePurchased)
	for state, n := range open {
		if v.Open[state] != n {
			t.Errorf("%s: %d, want %d", state, v.Open[state], n)
		}
	}
	if len(v.Open) != len(open) || v.OldestOpen.Round(time.Minute) != time.Hour {
		t.Errorf("open %v, oldest %s", v.Open, v.OldestOpen)
	}
}

// TestTheHorizonIsSeenWithoutPrivileges has a session of another login, in another
// database of the server, write and stay open. The login that serves may not see since
// when.
func TestTheHorizonIsSeenWithoutPrivileges(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	address := storetest.ServingURL(t, f.url)
	serving, err := store.Open(ctx, store.Options{URL: address, Connections: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer serving.Close()

	elsewhere, err := storetest.Conn(t, os.Getenv("DATABASE_URL")).Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = elsewhere.Rollback(context.Background()) }()
	var pid int
	var database string
	if err := elsewhere.QueryRow(ctx, "SELECT pg_backend_pid(), current_database() FROM pg_current_xact_id()").Scan(&pid, &database); err != nil {
		t.Fatal(err)
	}

	// What is committed after it is not shown to readers.
	newer, err := f.owner.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	addEvent(t, newer, f.tenant)
	if err := newer.Commit(ctx); err != nil {
		t.Fatal(err)
	}

	var vitals store.Vitals

	// First without a privilege, then as an owner with pg_read_all_stats: the owner here
	// is a superuser. Transactions of other tests may be older, but they end.
	for _, security := range []string{"INVOKER", "DEFINER"} {
		if _, err := f.owner.Exec(ctx, "ALTER FUNCTION log_horizon_holders() SECURITY "+security); err != nil {
			t.Fatal(err)
		}
		isNamed := func(h store.HorizonHolder) bool {
			return h.PID == pid && h.Database == database && h.Since.IsZero() == (security == "INVOKER")
		}

		var holders []store.HorizonHolder
		for begun := time.Now(); vitals.HorizonAge < 50*time.Millisecond || !slices.ContainsFunc(holders, isNamed); time.Sleep(20 * time.Millisecond) {
			if vitals, err = serving.Vitals(ctx); err != nil {
				t.Fatal(err)
			}
			found, err := store.Inspect(ctx, address, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			holders = found.Vitals.HorizonHolders
			if time.Since(begun) > 30*time.Second {
				t.Fatalf("as %s, the horizon has stood still for %s, held by %+v; want the session %d", security, vitals.HorizonAge, holders, pid)
			}
		}
	}

	if err := elsewhere.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	for begun := time.Now(); vitals.HorizonAge >= 50*time.Millisecond; time.Sleep(20 * time.Millisecond) {
		if vitals, err = serving.Vitals(ctx); err != nil {
			t.Fatal(err)
		}
		if time.Since(begun) > 30*time.Second {
			t.Fatalf("with nothing in the way, the horizon has stood still for %s", vitals.HorizonAge)
		}
	}
}

func TestAnUnreachableDatabaseIsUnavailable(t *testing.T) {
	t.Parallel()
	_, err := store.InspectSchema(t.Context(), "postgres://u:hunter2@127.0.0.1:1/none")
	if ship.KindOf(err) != ship.Unavailable {
		t.Errorf("err = %v", err)
	}
}

func exec(t *testing.T, url string, statements ...string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	for _, sql := range statements {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
}

func TestVitalsNameTheEndpointsThatWereGivenUp(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	st, err := store.Open(t.Context(), store.Options{URL: url, Connections: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	conn, tenant := storetest.Conn(t, url), storetest.Tenant()
	var ids []string
	for _, state := range []string{"enabled = true", "parked = true", "enabled = false, disabled_reason = 'client'", "enabled = false, disabled_reason = 'failing'"} {
		e, err := st.AddEndpoint(t.Context(), tenant, ship.NewEndpointID(7, time.Now()), hookSettings())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Exec(t.Context(), "UPDATE webhook_endpoints SET "+state+" WHERE id = $1", [16]byte(e.ID.Raw())); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, string(e.ID))
	}
	if v, err := st.Vitals(t.Context()); err != nil || v.Parked != 1 || !slices.Equal(v.GivenUp, ids[3:]) {
		t.Errorf("%d are parked, %v given up, %v", v.Parked, v.GivenUp, err)
	}
}
