package privacy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/batch"
	"github.com/waybillhq/waybill/internal/failpoint"
	"github.com/waybillhq/waybill/internal/privacy"
	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// people is how many shipments the person has: more than one portion erases.
const people = 60

// newService returns the service over a database.
func newService(t *testing.T, url string) *privacy.Service {
	t.Helper()
	st, err := store.Open(context.Background(), store.Options{URL: url, Connections: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)
	box, err := seal.New([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	return privacy.New(privacy.Config{Store: st, Box: box, Log: slog.New(slog.DiscardHandler), RedactCells: batch.RedactCells})
}

// TestErasingProcess is not a test: it is the process that TestAnErasureSurvivesKills
// starts and kills. Its arguments are the database, the account and the erasure.
func TestErasingProcess(t *testing.T) {
	if flag.NArg() != 3 {
		t.Skip("started without an erasure")
	}
	service := newService(t, flag.Arg(0))
	tenant := ship.Tenant{Account: ship.AccountID(flag.Arg(1))}
	for range 20 {
		again, err := service.WorkErasure(t.Context(), tenant, ship.ErasureID(flag.Arg(2)))
		if err != nil {
			t.Fatal(err)
		}
		if again == 0 {
			return
		}
	}
	t.Fatal("the erasure does not end")
}

// An erasing is a database with a person in it, and the erasure of that person.
type erasing struct {
	*testing.T
	url    string
	owner  *pgx.Conn
	tenant ship.Tenant
	id     ship.ErasureID
}

// newErasing plants the person wherever an erasure has a step.
func newErasing(t *testing.T) *erasing {
	t.Helper()
	e := &erasing{T: t, url: storetest.URL(t), tenant: storetest.Tenant()}
	e.owner = storetest.Conn(t, e.url)
	service := newService(t, e.url)
	st := service.Store
	ctx := t.Context()

	for i := range people {
		shipment := storetest.Shipment(e.tenant, fmt.Sprint("order ", i))
		shipment.Order.Destination.Name = "Quetzalina Kanari"
		shipment.Order.Destination.Address1 = "77 Quetzal Street"
		shipment.Order.Destination.Email = "quetzalina@kanari.example"
		if _, err := st.Create(ctx, storetest.Bought(shipment, fmt.Sprint("1Z", i))); err != nil {
			t.Fatal(err)
		}
	}
	tracker, _, err := st.Follow(ctx, e.tenant, ship.NewKeyID(7, time.Now()), ship.NewTrackerID(7, time.Now()), "1ZTRACKED", "ups")
	if err != nil {
		t.Fatal(err)
	}
	endpoint, event, now := ship.NewEndpointID(7, time.Now()), ship.NewEventIDs(7, time.Now(), 1)[0], storetest.Now()
	lines := store.Batch{
		ID: ship.NewBatchID(7, now), Tenant: e.tenant, Name: "orders.csv", State: "ready", Header: []string{"order", "name", "e-mail"},
		Mapping: []byte(`{"columns":["order","name","email"]}`),
	}
	if err := st.AddBatch(ctx, lines, [][]string{{"1", "Quetzalina Kanari", "quetzalina@kanari.example"}}); err != nil {
		t.Fatal(err)
	}
	if err := st.AddAttempts(ctx, []store.WebhookAttempt{{ID: ship.NewAttemptID(7, now), Tenant: e.tenant, Endpoint: endpoint, Event: event, Number: 1, Trigger: "auto", Outcome: "failed"}}); err != nil {
		t.Fatal(err)
	}
	if err := st.AddRequests(ctx, []store.Request{{ID: ship.RequestIDOf(ship.NewRawID(7, now)), Tenant: e.tenant, Key: ship.NewKeyID(7, now), Method: "GET", Route: "/v1/shipments/{id}", Path: "/v1/shipments/quetzalina@kanari.example", Status: 404}}); err != nil {
		t.Fatal(err)
	}
	if _, err := st.AddPushes(ctx, []store.Push{{ID: ship.NewRawID(7, now), Tenant: e.tenant, Connection: ship.NewConnectionID(7, now), Body: []byte(`{"receivedBy":"Quetzalina Kanari"}`)}}, now); err != nil {
		t.Fatal(err)
	}
	account := [16]byte(e.tenant.Account.Raw())
	e.exec("DELETE FROM pending_pushes WHERE account_id = $1", account)
	e.exec("UPDATE webhook_attempts SET response_body = 'for Quetzalina Kanari' WHERE account_id = $1", account)
	e.exec(`INSERT INTO tracking_events (subject_id, account_id, livemode, piece, code, occurred_at, status, description)
		SELECT id, account_id, livemode, 0, 'DL', now(), 'delivered', 'Signed by QUETZALINA KANARI' FROM shipment_states WHERE account_id = $1 AND (id = $2 OR tracking_number = '1Z7')`, account, [16]byte(tracker.Raw()))
	e.exec(`INSERT INTO idempotency_keys (account_id, livemode, key, fingerprint, response_status, response_body)
		VALUES ($1, false, 'rates', '', 200, convert_to('{"to":"77 Quetzal Street"}', 'UTF8'))`, account)
	e.exec(`UPDATE events SET snapshot = (snapshot::jsonb || '{"description":"Left with Quetzalina"}')::json WHERE account_id = $1`, account)
	e.exec(`INSERT INTO exports (account_id, livemode, id, subject_kind, subject_hash, state, encrypted_file, expires_at)
		VALUES ($1, false, gen_random_uuid(), 'email', '', 'done', 'quetzal', now() + interval '1 day')`, account)

	made, err := service.RequestErasure(ctx, e.tenant, ship.Person{Email: "quetzalina@kanari.example"})
	if err != nil {
		t.Fatal(err)
	}
	e.id = made.ID
	if found := e.holding(); len(found) < 8 {
		t.Fatalf("the person is in %v alone: the test shows little", found)
	}
	return e
}

func (e *erasing) exec(sql string, args ...any) {
	e.Helper()
	if tag, err := e.owner.Exec(e.Context(), sql, args...); err != nil || tag.RowsAffected() == 0 {
		e.Fatalf("%s: %v, %v", sql, tag, err)
	}
}

// holding returns the columns that have the person in them.
func (e *erasing) holding() (found []string) {
	e.Helper()
	rows, err := e.owner.Query(e.Context(), `
		SELECT ARRAY[c.relname::text, a.attname::text, format_type(a.atttypid, NULL)] FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
		WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relnamespace = 'public'::regnamespace AND NOT a.attisdropped
		  AND format_type(a.atttypid, NULL) IN ('text', 'json', 'jsonb', 'bytea', 'text[]') ORDER BY 1`)
	if err != nil {
		e.Fatal(err)
	}
	columns, err := pgx.CollectRows(rows, pgx.RowTo[[]string])
	if err != nil || len(columns) < 100 {
		e.Fatalf("%d columns, %v", len(columns), err)
	}

	for _, c := range columns {
		value := fmt.Sprintf("%q::text", c[1])
		if c[2] == "bytea" {
			value = fmt.Sprintf("encode(%q, 'escape')", c[1])
		}
		var has bool
		err := e.owner.QueryRow(e.Context(), fmt.Sprintf("SELECT EXISTS (SELECT FROM %q WHERE %s ~* 'quetzal|kanari')", c[0], value)).Scan(&has)
		if err != nil {
			e.Fatal(err)
		}
		if has {
			found = append(found, c[0]+"."+c[1])
		}
	}
	return found
}

// work runs the erasure in a process of its own, which passes or dies at a point.
// It reports whether it was killed.
func (e *erasing) work(point string) (killed bool) {
	e.Helper()
	command := exec.CommandContext(e.Context(), os.Args[0], "-test.run=^TestErasingProcess$", "-test.count=1", e.url, string(e.tenant.Account), string(e.id))
	command.Env = append(os.Environ(), failpoint.Variable+"="+point)
	var out bytes.Buffer
	command.Stdout = &out
	command.Stderr = &out
	err := command.Run()
	if status, ok := command.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() && status.Signal() == syscall.SIGKILL {
		return true
	}
	if err != nil {
		e.Fatalf("%q: %v\n%s", point, err, out.String())
	}
	return false
}

// state returns what the erasure says of itself.
func (e *erasing) state() (state string, hasSubject bool, counts map[string]int) {
	e.Helper()
	var text []byte
	err := e.owner.QueryRow(e.Context(), "SELECT state, encrypted_subject IS NOT NULL, counts FROM erasures").Scan(&state, &hasSubject, &text)
	if err != nil {
		e.Fatal(err)
	}
	if err := json.Unmarshal(text, &counts); err != nil {
		e.Fatal(err)
	}
	return state, hasSubject, counts
}

// TestAnErasureSurvivesKills kills the process that erases at every step: with a
// portion written and not committed, and just committed. Until nothing is left the
// erasure never says that it is done; another process continues it, and what it has
// erased then is what an erasure without a kill erases.
func TestAnErasureSurvivesKills(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts many processes")
	}
	t.Parallel()

	// Without a kill: the points that are passed, and the counts.
	plain := newErasing(t)
	trace := filepath.Join(t.TempDir(), "trace")
	if plain.work("?" + trace) {
		t.Fatal("killed without a point")
	}
	state, _, want := plain.state()
	if found := plain.holding(); state != store.ErasureDone || len(found) > 0 || want["shipments"] != people || want["trackers"] != 1 {
		t.Fatalf("without a kill: %s, %v, in %v", state, want, found)
	}
	text, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	var points []string
	hits := map[string]int{}
	for name := range strings.Lines(string(text)) {
		name = strings.TrimSpace(name)
		hits[name]++
		if hits[name] <= 2 {
			points = append(points, fmt.Sprintf("%s#%d", name, hits[name]))
		}
	}
	if len(points) < 22 || !slices.Contains(points, "wrote erasure shipments#2") || !slices.Contains(points, "committed erasure exports#1") {
		t.Fatalf("only these points are passed: %v", points)
	}

	for _, point := range points {
		t.Run(point, func(t *testing.T) {
			e := newErasing(t)
			if !e.work(point) {
				t.Fatal("it did not die")
			}
			found := e.holding()
			if state, hasSubject, _ := e.state(); (state == store.ErasureDone) == hasSubject || state == store.ErasureDone && len(found) > 0 {
				t.Fatalf("after the kill it is %s, has its subject: %t, and the person is in %v", state, hasSubject, found)
			}

			if e.work("") {
				t.Fatal("killed without a point")
			}
			if state, hasSubject, got := e.state(); state != store.ErasureDone || hasSubject || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("continued, it is %s with %v, want %v", state, got, want)
			}
			if found := e.holding(); len(found) > 0 {
				t.Errorf("the person is still in %v", found)
			}
		})
	}
}
