//go:build chaos

// Package purchases proves what the service promises about money: one live
// label a purchase, whatever dies when. Copies of the real binary run beside
// each other on a cluster of their own, against stand-in carriers that are
// processes of their own and whose ledgers are the judge.
package purchases

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// world is a cluster, two copies of the binary, four carriers and an account
// that is connected to all of them.
type world struct {
	t        *testing.T
	root     string
	dir      string // logs, ledgers, spools
	pgDir    string
	pgData   string
	database string
	settings []string
	pool     *pgxpool.Pool // of the owner, past row-level security
	account  string
	key      string
	copies   []*process
	carriers []*stand
	http     *http.Client
	watch    *watch // for secrets in answers

	kills, crashes, stops atomic.Int64
}

// fast are the waits of the service, ten to a hundred times shorter than the
// defaults, so that minutes show what days would. Nothing else differs from
// production: it is the same binary.
var fast = []string{
	"PURCHASE_TIMEOUT=2s",           // 20s
	"SETTLE_AFTER=4s",               // 60s
	"LOOK_EVERY=600ms",              // 60s
	"LOOKUP_LAG=4s",                 // 15m, which caps the 1 to 10 minutes of the carriers
	"REBUY_FOR=60s",                 // 10m
	"SWEEP_EVERY=2s",                // 60s
	"LATE_SWEEP_EVERY=5s",           // 1h
	"QUOTE_TIMEOUT=2s",              // 4s
	"JOB_RESCUE_AFTER=15s",          // 1m
	"JOB_RETRY_AFTER=1s",            // 30s
	"RATE_LIMIT=0",                  // one key stands for many clients
	"CARRIER_QUOTAS=usps=0,fedex=0", // USPS allows 60 calls an hour
	"DATABASE_CONNECTIONS=16",
}

func newWorld(t *testing.T, settings ...string) *world {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, root: root, dir: t.TempDir(), pgDir: t.TempDir(), settings: append(append([]string{}, fast...), settings...), watch: newWatch()}
	w.http = &http.Client{Timeout: 6 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	w.postgres("start")
	t.Cleanup(func() { w.postgres("destroy") })
	_, base, _ := strings.Cut(strings.TrimSpace(w.postgres("status")), "data in ")
	w.pgData = filepath.Join(base, "data")
	w.database = strings.TrimSpace(w.postgres("url"))
	t.Cleanup(w.end)
	w.settings = w.known(w.settings)
	w.openStands()
	w.waybill("migrate")
	w.account = strings.Fields(w.waybill("account", "create", "--name", "purchases"))[0]
	w.connect()
	w.key = strings.TrimSpace(w.waybill("key", "create", "--live", "--account", w.account, "--name", "purchases"))
	w.watch.add("API key", w.key)
	if w.pool, err = pgxpool.New(t.Context(), w.database+"&pool_max_conns=8"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.pool.Close)
	w.openCopies(2)
	return w
}

// known are the settings that the binary has: a proof names no others.
func (w *world) known(settings []string) (list []string) {
	help := "\n" + w.waybill("settings")
	for _, s := range settings {
		name, _, _ := strings.Cut(s, "=")
		if strings.Contains(help, "\n"+name+"=") || strings.Contains(help, "\n"+name+"\n") {
			list = append(list, s)
		}
	}
	return list
}

// connect gives the account the credentials of all four carriers.
func (w *world) connect() {
	for _, s := range w.carriers {
		args := []string{"connection", "add", "--account", w.account, "--live", "--carrier", s.name, "--name", "Main"}
		for field, value := range s.accepts {
			args = append(args, "--set", field+"="+value)
		}
		w.waybill(args...)
	}
}

// openCopies starts copies of the service, each with a disk of its own.
func (w *world) openCopies(n int) {
	for i := range n {
		name := fmt.Sprintf("copy%d", i+1)
		p := &process{name: name, addr: freeAddr(w.t), metrics: freeAddr(w.t), spool: filepath.Join(w.dir, name+".spool"), logName: filepath.Join(w.dir, name+".log")}
		p.command = func() *exec.Cmd {
			cmd := exec.Command(w.binary(), "serve")
			cmd.Env = append(w.env(), "LISTEN="+p.addr, "METRICS_LISTEN="+p.metrics, "SPOOL_DIR="+p.spool)
			return cmd
		}
		w.copies = append(w.copies, p)
		p.start(w.t)
	}
	w.waitReady()
}

// end ends all processes, and shows what the copies complained of in a failed
// test.
func (w *world) end() {
	for _, p := range w.processes() {
		p.end()
		if text, err := os.ReadFile(p.logName); w.t.Failed() && err == nil && p.spool != "" {
			w.t.Logf("%s said last: %s", p.name, text[max(0, len(text)-3000):])
		}
	}
}

func (w *world) processes() (all []*process) {
	all = append(all, w.copies...)
	for _, s := range w.carriers {
		all = append(all, &s.process)
	}
	return all
}

// binary is what is proven. WAYBILL is another than the checkout's own.
func (w *world) binary() string {
	if given := os.Getenv("WAYBILL"); given != "" {
		return given
	}
	return filepath.Join(w.root, "bin/waybill")
}

func (w *world) env() []string {
	urls := make([]string, len(w.carriers))
	for i, s := range w.carriers {
		urls[i] = s.name + "=http://" + s.addr
	}
	env := append(os.Environ(), "DATABASE_URL="+w.database, "CARRIER_URLS="+strings.Join(urls, ","), "LOG_LEVEL=WARN", "BASE_URL=http://ship.test", "SECRET_KEY="+secretKey)
	return append(env, w.settings...)
}

// secretKey seals what is secret; the database alone opens nothing.
const secretKey = "cHVyY2hhc2VzLXB1cmNoYXNlcy1wdXJjaGFzZXMtMTIzNDU2Nzg="

// freeAddr is below the range that the kernel uses for outgoing connections:
// nobody takes it while its program is down.
func freeAddr(t *testing.T) string {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 12000+rand.IntN(8000)))
		if err == nil {
			defer l.Close()
			return l.Addr().String()
		}
	}
	t.Fatal("there is no free port")
	return ""
}

func (w *world) postgres(args ...string) string {
	cmd := exec.Command(filepath.Join(w.root, "scripts/postgres"), args...)
	cmd.Env = append(os.Environ(), "WAYBILL_PG_DIR="+w.pgDir, "WAYBILL_PG_PORT=", "WAYBILL_PG_SHARED_BUFFERS=128MB")
	return w.output(cmd)
}

func (w *world) waybill(args ...string) string {
	cmd := exec.Command(w.binary(), args...)
	cmd.Env = w.env()
	return w.output(cmd)
}

func (w *world) output(cmd *exec.Cmd) string {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		w.t.Fatalf("%v: %v\n%s%s", cmd.Args, err, out, stderr.String())
	}
	return string(out)
}

func (w *world) waitReady() {
	for _, p := range w.copies {
		w.await(p.name+" is ready", 60*time.Second, func() bool { return w.answers("http://" + p.addr + "/readyz") })
	}
}

func (w *world) answers(address string) bool {
	resp, err := w.http.Get(address)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// count returns one number from the database.
func (w *world) count(sql string, args ...any) (n int) {
	w.t.Helper()
	if err := w.pool.QueryRow(context.Background(), sql, args...).Scan(&n); err != nil {
		w.t.Fatal(err)
	}
	return n
}

// await waits until ok, for as long as it may take.
func (w *world) await(what string, limit time.Duration, ok func() bool) time.Duration {
	w.t.Helper()
	start := time.Now()
	for !ok() {
		if time.Since(start) > limit {
			w.t.Fatalf("%s: not within %s", what, limit)
		}
		time.Sleep(100 * time.Millisecond)
	}
	return time.Since(start)
}
