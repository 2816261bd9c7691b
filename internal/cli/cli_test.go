package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/client"
	"github.com/waybillhq/waybill/internal/cli"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// shell runs commands with an environment of its own.
type shell map[string]string

func (s shell) lookup(name string) (string, bool) {
	v, ok := s[name]
	return v, ok
}

// run returns what a command prints, and its error.
func (s shell) run(t *testing.T, args ...string) (out, said string, err error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	err = cli.Run(t.Context(), args, cli.Streams{Env: s.lookup, Out: &stdout, Err: &stderr})
	return stdout.String(), stderr.String(), err
}

// must returns what a command prints on its standard output.
func (s shell) must(t *testing.T, args ...string) string {
	t.Helper()
	out, said, err := s.run(t, args...)
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, said)
	}
	return out
}

func newShell(t *testing.T) shell {
	t.Helper()
	return shell{"DATABASE_URL": storetest.URL(t), "LOG_LEVEL": "ERROR", "METRICS_LISTEN": "off", "SPOOL_DIR": t.TempDir()}
}

func TestAKeyIsPrintedAloneAndWorksUntilItIsRevoked(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	account := s.must(t, "account", "create", "--name", "Acme")
	if !regexp.MustCompile(`^acct_\w{26}\n$`).MatchString(account) {
		t.Errorf("account create prints %q", account)
	}
	key := s.must(t, "key", "create", "--name", "shop", "--scopes", "rates,labels", "--expires", "90d", "--network", "203.0.113.7")
	if !regexp.MustCompile(`^sk_test_\w{41}\n$`).MatchString(key) {
		t.Errorf("key create prints %q", key)
	}
	if live := s.must(t, "key", "create", "--live", "--daily-limit", "500", "--account", strings.TrimSpace(account)); !strings.HasPrefix(live, "sk_live_") {
		t.Errorf("a live key is %q", live)
	}
	list := s.must(t, "key", "list")
	if strings.Contains(list, strings.TrimSpace(key)) || !strings.Contains(list, "rates,labels") || !strings.Contains(list, "active until") || !strings.Contains(list, "500.00 USD") {
		t.Errorf("key list prints\n%s", list)
	}
	var shown struct{ ID, Name string }
	first, _, _ := strings.Cut(s.must(t, "key", "list", "--json"), "\n")
	if err := json.Unmarshal([]byte(first), &shown); err != nil || shown.Name != "shop" {
		t.Fatalf("key list --json prints %s", first)
	}
	s.must(t, "key", "revoke", shown.ID)
	if list := s.must(t, "key", "list"); !strings.Contains(list, "revoked") {
		t.Errorf("after a revocation:\n%s", list)
	}
}

func TestAnAccountIsChangedFieldByField(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.must(t, "account", "create", "--name", "Acme", "--units", "kg,cm", "--currency", "eur",
		"--origin", `{"name":"Acme","address1":"Invalidenstr. 116","city":"Berlin","zip":"10115","country":"de"}`)
	s.must(t, "account", "update", "--origin-address1", "Unter den Linden 1", "--origin-zip", "10117")
	var a struct {
		Name     string
		Origin   struct{ Address1, Zip, Country, City string }
		Units    struct{ Weight, Length string }
		Currency string
	}
	if err := json.Unmarshal([]byte(s.must(t, "account", "list", "--json")), &a); err != nil {
		t.Fatal(err)
	}
	if a.Name != "Acme" || a.Origin.Address1 != "Unter den Linden 1" || a.Origin.Zip != "10117" || a.Origin.City != "Berlin" || a.Origin.Country != "DE" ||
		a.Units.Weight != "kg" || a.Units.Length != "cm" || a.Currency != "EUR" {
		t.Errorf("account %+v", a)
	}
	file := filepath.Join(t.TempDir(), "origin.json")
	if err := os.WriteFile(file, []byte(`{"name":"Acme","address1":"1 Main St","city":"Austin","state":"Texas","zip":"78701","country":"US"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	s.must(t, "account", "update", "--origin", "@"+file)
	if list := s.must(t, "account", "list"); !strings.Contains(list, "Austin, US") {
		t.Errorf("account list prints\n%s", list)
	}
}

func TestMistakesAreExplained(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	explain := func(want string, args ...string) {
		t.Helper()
		_, _, err := s.run(t, args...)
		if err == nil || !strings.Contains(cli.Explain(err), want) {
			t.Errorf("%v: %v, want it to say %q", args, err, want)
		}
	}
	explain("there is no account yet", "key", "create")
	explain("name is required", "account", "create")
	explain("origin.zip", "account", "create", "--name", "Acme", "--origin", `{"name":"A","address1":"1 Main St","city":"Austin","state":"TX","zip":"x","country":"US"}`)
	explain("unknown field", "account", "create", "--name", "Acme", "--origin", `{"street":"1 Main St"}`)
	explain("units must be", "account", "create", "--name", "Acme", "--units", "stone")
	s.must(t, "account", "create", "--name", "Acme")
	s.must(t, "account", "create", "--name", "Other")
	explain("there are 2 accounts", "key", "create")
	explain("there is no account acct_x", "key", "list", "--account", "acct_x")
	explain("--expires is in the past", "key", "create", "--expires", "2020-01-01")
	explain("--expires must be a duration", "key", "create", "--expires", "soon")
	explain("is not a network", "key", "create", "--network", "home")
	explain("is not the id of a key", "key", "revoke", "sk_test_1")
	explain(`there is no role "cook"`, "serve", "--roles", "cook")
	explain("did you mean serve?", "sevre")
	explain("did you mean list?", "connection", "lst")
	explain(`"waybill --help" lists the commands`, "frobnicate")
	explain("got 0: waybill connection push CONNECTION_ID", "connection", "push")
	explain("unknown flag", "migrate", "--force")
	s["BASE_URL"] = "http://ship.example.com"
	explain("put a proxy that terminates TLS in front of the service", "serve")
	delete(s, "BASE_URL")
	delete(s, "DATABASE_URL")
	explain("DATABASE_URL is not set", "migrate")
	explain("DATABASE_URL is not set", "serve")
}

func TestAScopeThatIsMistypedIsCorrected(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.must(t, "account", "create", "--name", "Acme")
	_, _, err := s.run(t, "key", "create", "--scopes", "shipment:write")
	if err == nil || !strings.Contains(cli.Explain(err), "did you mean shipments:write?") {
		t.Errorf("err = %v", err)
	}
}

func TestDoctorFindsAHealthyInstallation(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	out, _, err := s.run(t, "doctor")
	if err != nil || strings.Contains(out, "FAIL") || strings.Count(out, "ok ") < 10 {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestDoctorSaysWhatIsWrongAndWhatToDo(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	day := time.Now().UTC().Format("20060102")
	if _, err := storetest.Conn(t, s["DATABASE_URL"]).Exec(t.Context(), "ALTER TABLE labels NO FORCE ROW LEVEL SECURITY; DROP TABLE events_"+day); err != nil {
		t.Fatal(err)
	}
	s["FONT_DIR"], s["LISTEN"] = t.TempDir(), "0.0.0.0:80"
	out, _, err := s.run(t, "doctor")
	if !errors.Is(err, cli.ErrUnhealthy) {
		t.Errorf("err = %v", err)
	}
	for _, want := range []string{"is not forced: labels", "are missing: events_" + day, `run "waybill migrate" now`, "apt install fonts-noto-cjk", "set BASE_URL"} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
	s["DATABASE_URL"] = "postgres://u:hunter2@127.0.0.1:1/none"
	if out, _, err := s.run(t, "doctor"); !errors.Is(err, cli.ErrUnhealthy) || !strings.Contains(out, "cannot connect") || strings.Contains(out, "hunter2") {
		t.Errorf("without a database: %v\n%s", err, out)
	}
	if out, _, err := (shell{"RATE_LIMIT": "x"}).run(t, "doctor"); !errors.Is(err, cli.ErrUnhealthy) || strings.Count(out, "FAIL") != 2 {
		t.Errorf("with wrong settings: %v\n%s", err, out)
	}
}

func TestDoctorWarnsOfLookupsThatFailTheirControl(t *testing.T) {
	t.Parallel()
	s, connection, _ := emulatedUPS(t, "{}")
	if out, _, err := s.run(t, "doctor"); err != nil || !strings.Contains(out, "none failed its last control") {
		t.Errorf("%v\n%s", err, out)
	}
	_, err := storetest.Conn(t, s["DATABASE_URL"]).Exec(t.Context(), `INSERT INTO connection_lookups (account_id, livemode, connection_id, control_at, control_found, failing_since)
SELECT account_id, livemode, id, now(), false, now() FROM connections`)
	if err != nil {
		t.Fatal(err)
	}
	out, _, err := s.run(t, "doctor")
	if err != nil || !strings.Contains(out, "do not find a purchase that exists: "+connection+" since ") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestDoctorListsAbilitiesThatAreNotConfirmed(t *testing.T) {
	t.Parallel()
	s, connection, _ := emulatedUPS(t, "{}")
	if out, _, err := s.run(t, "doctor"); err != nil || !strings.Contains(out, "none of a live connection waits to be confirmed") {
		t.Errorf("%v\n%s", err, out)
	}

	db := storetest.Conn(t, s["DATABASE_URL"])
	if _, err := db.Exec(t.Context(), "UPDATE connections SET carrier = 'gls', livemode = true"); err != nil {
		t.Fatal(err)
	}
	want := "looking up purchases for 1 live connections to GLS (for example " + connection + ")"
	if out, _, err := s.run(t, "doctor"); err != nil || !strings.Contains(out, want) {
		t.Errorf("%v, want %q:\n%s", err, want, out)
	}

	if _, err := db.Exec(t.Context(), "UPDATE connections SET confirmed = '{find}'"); err != nil {
		t.Fatal(err)
	}
	if out, _, err := s.run(t, "doctor"); err != nil || !strings.Contains(out, "none of a live connection waits to be confirmed") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestDoctorSaysThatOpenWorkKeepsAYear(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	if out, _, err := s.run(t, "doctor"); err != nil || !strings.Contains(out, "no year of shipments is past SHIPMENTS_FOR") {
		t.Errorf("%v\n%s", err, out)
	}

	at := time.Date(time.Now().Year()-3, 6, 1, 0, 0, 0, 0, time.UTC)
	if err := store.MaintainPartitions(t.Context(), s["DATABASE_URL"], at, nil); err != nil {
		t.Fatal(err)
	}
	if out, _, err := s.run(t, "doctor"); err != nil || !strings.Contains(out, "are dropped by a copy with the worker role") {
		t.Errorf("%v\n%s", err, out)
	}

	db, err := store.Open(t.Context(), store.Options{URL: s["DATABASE_URL"]})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()

	// Years without shipments are dropped before it.
	const keep = 9600 * time.Hour
	for {
		year, err := db.ExpiredYear(t.Context(), keep)
		if err != nil {
			t.Fatal(err)
		}
		if year.Year == strconv.Itoa(at.Year()) {
			break
		}
		if err := db.DropShipments(t.Context(), year, keep); err != nil {
			t.Fatal(err)
		}
	}

	shipment := storetest.Shipment(storetest.Tenant(), "old")
	shipment.ID = ship.NewShipmentID(shipment.Tenant.Shard(), at)
	if _, err := db.Create(t.Context(), storetest.Bought(shipment, "1ZOLD")); err != nil {
		t.Fatal(err)
	}
	if _, err := storetest.Conn(t, s["DATABASE_URL"]).Exec(t.Context(), "UPDATE shipment_states SET state = 'needs_review', purchased_at = NULL, last_event_at = NULL"); err != nil {
		t.Fatal(err)
	}
	out, _, err := s.run(t, "doctor")
	want := fmt.Sprintf("the shipments of %d are past SHIPMENTS_FOR, and kept because of open work: 1 purchases and voids, 0 orphaned labels, 0 parcels", at.Year())
	if err != nil || !strings.Contains(out, want) || !strings.Contains(out, string(shipment.ID)) {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestWaybillAlonePrintsHelp(t *testing.T) {
	t.Parallel()
	out := shell{}.must(t)
	for _, want := range []string{"waybill dev", "serve", "migrate", "account", "key", "doctor"} {
		if !strings.Contains(out, want) {
			t.Errorf("help lacks %q:\n%s", want, out)
		}
	}
	if out := (shell{}).must(t, "version"); !strings.HasPrefix(out, "waybill ") {
		t.Errorf("version prints %q", out)
	}
	if out := (shell{}).must(t, "settings"); !strings.Contains(out, "LISTEN=127.0.0.1:8080") {
		t.Errorf("settings prints %s", out)
	}
}

// A started command runs until it is stopped.
type started struct {
	lines chan string
	stop  func() error
}

// start begins a command and gives what it prints line by line.
func (s shell) start(t *testing.T, args ...string) started {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	if s["XDG_DATA_HOME"] == "" {
		s["XDG_DATA_HOME"] = t.TempDir() // what dev keeps
	}
	out := &lines{ch: make(chan string, 100)}
	done := make(chan error, 1)
	go func() { done <- cli.Run(ctx, args, cli.Streams{Env: s.lookup, Out: out, Err: io.Discard}) }()
	stop := func() error {
		cancel()
		select {
		case err := <-done:
			done <- err
			return err
		case <-time.After(time.Minute):
			return errors.New("it does not stop")
		}
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("%v: %v", args, err)
		}
	})
	return started{out.ch, stop}
}

type lines struct{ ch chan string }

func (l *lines) Write(b []byte) (int, error) {
	l.ch <- string(b)
	return len(b), nil
}

type place struct{ URL, APIKey, DatabaseURL, MetricsURL, DocsURL, SinkURL, AccountID, EnvFile string }

// place waits for the line of "dev --json".
func (s started) place(t *testing.T) place {
	t.Helper()
	select {
	case line := <-s.lines:
		var p place
		if err := json.Unmarshal([]byte(line), &p); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		return p
	case <-time.After(time.Minute):
		t.Fatal("it is not ready after a minute")
	}
	return place{}
}

func buy(t *testing.T, p place) {
	t.Helper()
	sh, err := client.New(p.APIKey, client.Options{BaseURL: p.URL}).CreateShipment(t.Context(), client.ShipmentRequest{
		OrderID: "o1", Destination: client.Address{Name: "Ada", Address1: "350 5th Ave", City: "New York", State: "NY", Zip: "10118", Country: "US"}, Parcel: &client.Parcel{Weight: 1},
	})
	if err != nil || sh.LabelStatus != "ready" {
		t.Fatalf("shipment %+v, %v", sh, err)
	}
}

func TestDevServesADemoAccountAndKeepsIt(t *testing.T) {
	t.Parallel()
	s := shell{"LOG_LEVEL": "ERROR", "METRICS_LISTEN": "127.0.0.1:0"}
	url := storetest.URL(t)
	first := s.start(t, "dev", "--json", "--listen", "127.0.0.1:0", "--database-url", url)
	p := first.place(t)
	buy(t, p)
	if p.DatabaseURL != url || p.MetricsURL == "" || p.DocsURL != p.URL+"/docs" {
		t.Errorf("it says %+v", p)
	}
	if err := first.stop(); err != nil {
		t.Fatal(err)
	}
	second := s.start(t, "dev", "--json", "--listen", "127.0.0.1:0", "--database-url", url)
	again := second.place(t)
	if again.AccountID != p.AccountID || again.APIKey != p.APIKey {
		t.Errorf("after a restart: %+v, before %+v", again, p)
	}
	buy(t, again)
	if list := s.must(t, "key", "list", "--database-url", url, "--json"); strings.Count(list, "\n") != 1 {
		t.Errorf("the keys are\n%s", list)
	}
	if accounts := s.must(t, "account", "list", "--database-url", url, "--json"); !strings.Contains(accounts, `"phone":"+1`) {
		t.Errorf("the demo account's origin has no phone number: %s", accounts)
	}

	// A key that was revoked, or belongs to another database, is not printed
	// again.
	id := regexp.MustCompile(`key_\w+`).FindString(s.must(t, "key", "list", "--database-url", url))
	s.must(t, "key", "revoke", id, "--database-url", url)
	if err := second.stop(); err != nil {
		t.Fatal(err)
	}
	third := s.start(t, "dev", "--json", "--listen", "127.0.0.1:0", "--database-url", url).place(t)
	if third.APIKey == p.APIKey {
		t.Error("a revoked key is used again")
	}
	buy(t, third)
}

func TestDevKeepsASecretKeyForLiveConnections(t *testing.T) {
	t.Parallel()
	s := shell{"LOG_LEVEL": "ERROR", "METRICS_LISTEN": "off"}
	url := storetest.URL(t)
	first := s.start(t, "dev", "--json", "--no-sink", "--listen", "127.0.0.1:0", "--database-url", url)
	p := first.place(t)

	// The first step in another terminal.
	out, err := exec.Command("sh", "-c", `. "$1" && printf '%s\n' "$WAYBILL_URL" "$WAYBILL_KEY" "$DATABASE_URL" "$SECRET_KEY"`, "sh", p.EnvFile).Output()
	settings := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err != nil || len(settings) != 4 || settings[0] != p.URL || settings[1] != p.APIKey || settings[2] != url {
		t.Fatalf("%s gives %q, %v", p.EnvFile, out, err)
	}
	info, err := os.Stat(p.EnvFile)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others can read the settings: %v, %v", info.Mode(), err)
	}
	terminal := shell{"DATABASE_URL": settings[2], "SECRET_KEY": settings[3], "LOG_LEVEL": "ERROR"}
	terminal.must(t, "connection", "add", "--live", "--carrier", "ups", "--account", p.AccountID,
		"--set", "client_id=a", "--set", "client_secret=b", "--set", "account_number=A1B2C3")

	if err := first.stop(); err != nil {
		t.Fatal(err)
	}
	s.start(t, "dev", "--json", "--no-sink", "--listen", "127.0.0.1:0", "--database-url", url).place(t)
	if list := terminal.must(t, "connection", "list"); !strings.Contains(list, "active") {
		t.Errorf("after a restart the connection is\n%s", list)
	}
}

func TestDevExplainsItselfToPeople(t *testing.T) {
	t.Parallel()
	s := shell{"LOG_LEVEL": "ERROR", "METRICS_LISTEN": "off"}
	d := s.start(t, "dev", "--listen", "127.0.0.1:0", "--database-url", storetest.URL(t))
	var text string
	select {
	case text = <-d.lines:
	case <-time.After(time.Minute):
		t.Fatal("it is not ready after a minute")
	}
	if !regexp.MustCompile(`(?s)API +http://127\.0\.0\.1:\d+\n.*Test key +sk_test_\w+\n.*curl -s http://127\.0\.0\.1:\d+/v1/shipments`).MatchString(text) || strings.Contains(text, "%!") {
		t.Errorf("it says\n%s", text)
	}
	url := regexp.MustCompile(`http://\S+/docs`).FindString(text)
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("%s: %d", url, resp.StatusCode)
	}
}

func TestDevHasAPostgresOfItsOwnThatTheLastOneStops(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "waybill-dev-") // the server's user has no access to t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o711); err != nil { //nolint:gosec // as above
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	data := filepath.Join(dir, "postgres")
	s := shell{"LOG_LEVEL": "ERROR", "METRICS_LISTEN": "off", "HOME": dir}
	args := []string{"dev", "--json", "--listen", "127.0.0.1:0", "--data-dir", data}
	if _, _, err := s.run(t, "doctor"); !errors.Is(err, cli.ErrUnhealthy) {
		t.Errorf("doctor without a database: %v", err)
	}
	if !hasPostgres() {
		_, _, err := s.run(t, args...)
		if err == nil || !strings.Contains(err.Error(), "there is no Postgres on this machine: install it") {
			t.Errorf("without Postgres: %v", err)
		}
		t.Skip("there is no Postgres on this machine")
	}
	first := s.start(t, args...)
	p := first.place(t)
	buy(t, p)
	second := s.start(t, args...)
	q := second.place(t)
	if q.DatabaseURL != p.DatabaseURL {
		t.Errorf("two databases: %s and %s", p.DatabaseURL, q.DatabaseURL)
	}
	if err := first.stop(); err != nil {
		t.Fatal(err)
	}
	buy(t, q)
	if err := second.stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(data, "data", "postmaster.pid")); !os.IsNotExist(err) {
		t.Errorf("Postgres still runs: %v", err)
	}
	info, err := os.Stat(filepath.Join(data, "password"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the password's file has mode %v, %v", info.Mode(), err)
	}
}

func hasPostgres() bool {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	return len(found) > 0
}
