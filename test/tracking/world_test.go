//go:build chaos

// Package tracking proves what the service promises about what carriers push:
// nothing that was answered is lost, nothing is told twice, and nobody but the
// carrier is believed. Copies of the real binary run beside each other on a
// cluster of their own, against stand-in carriers, and a model is the judge.
package tracking

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// world is a cluster, copies of the binary, three carriers that push and an
// account that is connected to all of them.
type world struct {
	t        *testing.T
	root     string
	dir      string // logs and ledgers
	pgDir    string
	pgData   string
	database string
	settings []string
	pool     *pgxpool.Pool // of the owner, past row-level security
	account  string
	key      string
	copies   []*process
	stands   []*stand
	http     *http.Client

	kills, crashes atomic.Int64
}

// settings that differ from the defaults: nothing that touches tracking.
var settings = []string{
	"RATE_LIMIT=0",                        // one key stands for many clients
	"CARRIER_QUOTAS=usps=0,ups=0,fedex=0", // USPS allows 60 calls an hour
	"DATABASE_CONNECTIONS=16",
	"WEBHOOK_ALLOW_LOOPBACK=on",
	"SANDBOX_STEP=0",
}

// newWorld opens a world; what is given stands before USPS.
func newWorld(t *testing.T, copies int, first ...*answering) *world {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, root: root, dir: t.TempDir(), pgDir: t.TempDir(), settings: settings}
	w.http = &http.Client{Timeout: 12 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	w.postgres("start")
	t.Cleanup(func() { w.postgres("destroy") })
	_, base, _ := strings.Cut(strings.TrimSpace(w.postgres("status")), "data in ")
	w.pgData = filepath.Join(base, "data")
	w.database = strings.TrimSpace(w.postgres("url"))
	t.Cleanup(w.end)
	w.openStands()
	for _, a := range first {
		w.before(a)
	}
	w.placeCopies(copies)
	w.waybill("migrate")
	w.account = strings.Fields(w.waybill("account", "create", "--name", "tracking"))[0]
	w.key = strings.TrimSpace(w.waybill("key", "create", "--live", "--account", w.account, "--name", "tracking"))
	w.connect()
	if w.pool, err = pgxpool.New(t.Context(), w.database+"&pool_max_conns=8"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.pool.Close)
	for _, p := range w.copies {
		p.start(t)
	}
	w.waitReady()
	return w
}

// connect gives the account the credentials of the carriers, and learns where
// and with which secret they push.
func (w *world) connect() {
	for _, s := range w.stands {
		args := []string{"connection", "add", "--account", w.account, "--live", "--carrier", s.name, "--name", "Main"}
		for field, value := range s.accepts {
			args = append(args, "--set", field+"="+value)
		}
		s.connection = strings.TrimSpace(w.waybill(args...))
		said := strings.Fields(w.waybill("connection", "push", s.connection))
		s.path, s.secret = strings.TrimPrefix(said[1], "http://"+w.copies[0].addr), said[3]
	}
}

// placeCopies finds addresses for copies of the service. Carriers are told the
// first's.
func (w *world) placeCopies(n int) {
	for i := range n {
		name := fmt.Sprintf("copy%d", i+1)
		p := &process{name: name, addr: freeAddr(w.t), metrics: freeAddr(w.t), logName: filepath.Join(w.dir, name+".log")}
		p.command = func() *exec.Cmd {
			cmd := exec.Command(w.binary(), "serve")
			cmd.Env = append(w.env(), "LISTEN="+p.addr, "METRICS_LISTEN="+p.metrics, "SPOOL_DIR="+filepath.Join(w.dir, name+".spool"))
			return cmd
		}
		w.copies = append(w.copies, p)
	}
}

// end ends all processes, and shows what the copies complained of in a failed
// test.
func (w *world) end() {
	for _, p := range w.copies {
		p.end()
		if text, err := os.ReadFile(p.logName); w.t.Failed() && err == nil {
			w.t.Logf("%s said last: %s", p.name, text[max(0, len(text)-3000):])
		}
	}
	for _, s := range w.stands {
		s.end()
	}
}

// binary is what is proven. WAYBILL is another than the checkout's own.
func (w *world) binary() string {
	if given := os.Getenv("WAYBILL"); given != "" {
		return given
	}
	return filepath.Join(w.root, "bin/waybill")
}

func (w *world) env() []string {
	urls := make([]string, len(w.stands))
	for i, s := range w.stands {
		urls[i] = s.name + "=" + s.url
	}
	env := append(os.Environ(), "DATABASE_URL="+w.database, "CARRIER_URLS="+strings.Join(urls, ","), "LOG_LEVEL=WARN", "BASE_URL=http://"+w.copies[0].addr)
	if os.Getenv("PROFILE") != "" {
		env = append(env, "PROFILING=on")
	}
	return append(env, w.settings...)
}

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
	cmd.Env = append(os.Environ(), "WAYBILL_PG_DIR="+w.pgDir, "WAYBILL_PG_PORT=")
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

// must makes a request of the API that has to work, and reads the answer. What
// the API itself calls worth another try is tried again.
func (w *world) must(method, path string, body, out any) {
	w.t.Helper()
	var text []byte
	if body != nil {
		text = marshal(body)
	}
	status, answer := w.ask(method, path, text)
	for range 5 {
		if status != http.StatusServiceUnavailable {
			break
		}
		time.Sleep(300 * time.Millisecond)
		status, answer = w.ask(method, path, text)
	}
	if status > 299 {
		w.t.Fatalf("%s %s: %d %s", method, path, status, answer)
	}
	if err := json.Unmarshal(answer, out); err != nil {
		w.t.Fatalf("%s %s: %v in %s", method, path, err, answer)
	}
}

func (w *world) ask(method, path string, body []byte) (status int, answer []byte) {
	w.t.Helper()
	req, err := http.NewRequest(method, "http://"+w.copies[0].addr+path, bytes.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+w.key)
	req.Header.Set("Content-Type", "application/json")
	resp, err := w.http.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.StatusCode, answer
}

// crashPostgres kills the postmaster with all that it knows and starts it
// again; the data directory must be enough.
func (w *world) crashPostgres() {
	var pid int
	file, err := os.ReadFile(filepath.Join(w.pgData, "postmaster.pid"))
	if _, scanned := fmt.Sscan(string(file), &pid); err != nil || scanned != nil {
		w.t.Errorf("find the postmaster: %v %v", err, scanned)
		return
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
	w.crashes.Add(1)
	time.Sleep(200 * time.Millisecond)
	w.postgres("start")
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
