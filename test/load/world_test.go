//go:build chaos

// Package load proves that an hour of work leaves the service as it was: one
// copy of the real binary with all roles is driven at 70 % of what the machine
// can do, with purchases from an emulated carrier and the sandbox, carrier
// pushes, webhooks, a reader of the log, the dashboard and retention. Response
// times and memory must stay, and disk must grow with the shipments alone.
package load

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/waybillhq/waybill/internal/emulator/ups"
	"github.com/waybillhq/waybill/test/proving"
)

// scanStep is the time between two scans of a parcel, for simulated parcels and
// for those that the emulated carrier pushes.
const scanStep = 10 * time.Second

// settings that differ from the defaults.
var settings = []string{
	"RATE_LIMIT=0", // one key stands for many clients
	"CARRIER_QUOTAS=ups=0",
	"WEBHOOK_ALLOW_LOOPBACK=on",
	"SANDBOX_STEP=" + scanStep.String(),
	"REQUEST_LOG_FOR=24h",
	"CARRIER_LOG_FOR=24h",
	"LOG_LEVEL=WARN",
}

// postgresSettings has Postgres write checkpoints as often as it does by
// default, so that every ten minutes have two of them.
const postgresSettings = "-c checkpoint_timeout=5min"

const secretKey = "bG9hZC1sb2FkLWxvYWQtbG9hZC1sb2FkLWxvYWQtbG9hZC0xMjM0"

// A world is a cluster, one copy of the service with all roles, an emulated UPS,
// and an account that is connected to it and whose owner is signed in.
type world struct {
	*testing.T
	postgres *proving.Cluster
	pool     *pgxpool.Pool // of the owner, past row-level security
	service  *proving.Process
	carrier  *proving.Process
	browser  *http.Client // signed in
	http     *http.Client

	account  string
	liveKey  string
	testKey  string
	pushPath string // where UPS pushes to
	secret   string // that its pushes carry
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		T:        t,
		postgres: proving.NewCluster(t, "WAYBILL_PG_OPTIONS="+postgresSettings),
		http:     &http.Client{Timeout: time.Minute},
	}
	dir := t.TempDir()

	w.carrier = &proving.Process{Name: "ups", Addr: proving.FreeAddr(t), Log: filepath.Join(dir, "ups.log")}
	w.carrier.Command = func() *exec.Cmd {
		return exec.Command(proving.Binary(), "emulate", "ups",
			"--listen", w.carrier.Addr, "--ledger", filepath.Join(dir, "ups.jsonl"), "--lookup-scale", "0")
	}
	w.service = proving.NewCopy(t, "service", dir, w.env)
	t.Cleanup(func() {
		w.service.End(t)
		w.carrier.End(t)
	})

	w.waybill("migrate")
	w.carrier.Start(t)
	proving.Await(t, "the emulated UPS", 20*time.Second, func() bool { return w.carrier.Answers("/_emulator/faults") })
	w.service.Start(t)
	proving.Ready(t, []*proving.Process{w.service})

	pool, err := pgxpool.New(t.Context(), w.postgres.URL+"&pool_max_conns=3")
	w.must(err)
	t.Cleanup(pool.Close)
	w.pool = pool

	w.signIn()
	w.connect()
	return w
}

func (w *world) env() []string {
	return append([]string{
		"DATABASE_URL=" + w.postgres.URL,
		"CARRIER_URLS=ups=http://" + w.carrier.Addr + "/api",
		"BASE_URL=http://" + w.service.Addr,
		"SECRET_KEY=" + secretKey,
	}, settings...)
}

func (w *world) waybill(args ...string) string {
	w.Helper()
	cmd := exec.Command(proving.Binary(), args...)
	cmd.Env = append(os.Environ(), w.env()...)
	return strings.TrimSpace(proving.Output(w.T, cmd))
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// signIn creates the account and its owner, as the first visitor of a new
// installation does.
func (w *world) signIn() {
	w.Helper()
	jar, err := cookiejar.New(nil)
	w.must(err)
	w.browser = &http.Client{Jar: jar, Timeout: time.Minute}

	_, token, _ := strings.Cut(w.waybill("member", "setup"), "token=")
	response, err := w.browser.PostForm("http://"+w.service.Addr+"/app/setup", url.Values{
		"token":       {token},
		"accountName": {"Northwind"},
		"name":        {"Dana"},
		"email":       {"dana@example.com"},
		"password":    {"a long sentence about boxes"},
	})
	w.must(err)
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		w.Fatalf("create the owner: %s", response.Status)
	}

	accounts := strings.Split(w.waybill("account", "list"), "\n")
	w.account = strings.Fields(accounts[1])[0] // below the heading
}

// connect gives the account keys and a connection to the emulated UPS.
func (w *world) connect() {
	w.Helper()
	w.testKey = w.waybill("key", "create", "--account", w.account, "--name", "load")
	w.liveKey = w.waybill("key", "create", "--live", "--account", w.account, "--name", "load")
	connection := w.waybill("connection", "add", "--account", w.account, "--live", "--carrier", "ups", "--name", "Main",
		"--set", "client_id="+ups.ClientID, "--set", "client_secret="+ups.ClientSecret, "--set", "account_number="+ups.Account)

	push := strings.Fields(w.waybill("connection", "push", connection))
	w.pushPath = strings.TrimPrefix(push[1], "http://"+w.service.Addr)
	w.secret = push[3]

	// Running copies read connections every ten seconds.
	time.Sleep(11 * time.Second)
}

// subscribe has all events of a mode sent to a URL, and returns the secret that
// signs them.
func (w *world) subscribe(key, to string) string {
	w.Helper()
	body, err := json.Marshal(map[string]any{"url": to})
	w.must(err)
	request, err := http.NewRequest(http.MethodPost, "http://"+w.service.Addr+"/v1/webhooks", bytes.NewReader(body))
	w.must(err)
	request.Header.Set("Authorization", "Bearer "+key)
	request.Header.Set("Content-Type", "application/json")
	response, err := w.http.Do(request)
	w.must(err)
	defer response.Body.Close()

	answer, err := io.ReadAll(response.Body)
	w.must(err)
	var made struct{ Secret string }
	if err := json.Unmarshal(answer, &made); err != nil || made.Secret == "" {
		w.Fatalf("create a webhook endpoint: %s %s", response.Status, answer)
	}
	return made.Secret
}

// count returns one number from the database.
func (w *world) count(sql string, args ...any) (n int64) {
	w.Helper()
	w.must(w.pool.QueryRow(w.Context(), sql, args...).Scan(&n))
	return n
}
