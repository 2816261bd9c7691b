//go:build chaos

package chaos

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
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// world is a cluster of its own and copies of the binary beside each other.
type world struct {
	t        *testing.T
	root     string
	pgDir    string
	database string
	key      string
	copies   []*instance
	http     *http.Client
	kills    atomic.Int64
	crashes  atomic.Int64
}

// instance is one copy of the binary, started again whenever it ends, as a
// supervisor does: without a database it ends by itself.
type instance struct {
	addr  string
	mu    sync.Mutex
	cmd   *exec.Cmd
	ended bool
	done  chan struct{}
}

func newWorld(t *testing.T, copies int) *world {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, root: root, pgDir: t.TempDir(), http: &http.Client{Timeout: 35 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	w.postgres("start")
	t.Cleanup(func() { w.postgres("destroy") })
	w.database = strings.TrimSpace(w.postgres("url"))
	w.waybill("migrate")
	account := strings.Fields(w.waybill("account", "create", "--name", "chaos"))[0]
	w.key = strings.TrimSpace(w.waybill("key", "create", "--account", account, "--name", "chaos"))
	for range copies {
		c := &instance{addr: freeAddr(t), done: make(chan struct{})}
		w.copies = append(w.copies, c)
		go w.supervise(c)
	}
	t.Cleanup(func() {
		for _, c := range w.copies {
			c.mu.Lock()
			c.ended = true
			c.mu.Unlock()
			c.kill()
			<-c.done
		}
	})
	for _, c := range w.copies {
		w.waitReady(c)
	}
	return w
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
	cmd.Env = append(os.Environ(), "WAYBILL_PG_DIR="+w.pgDir)
	return w.output(cmd)
}

func (w *world) waybill(args ...string) string {
	cmd := exec.Command(filepath.Join(w.root, "bin/waybill"), args...)
	cmd.Env = w.env("")
	return w.output(cmd)
}

func (w *world) output(cmd *exec.Cmd) string {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		w.t.Fatalf("%v: %v\n%s", cmd.Args, err, stderr.String())
	}
	return string(out)
}

func (w *world) env(listen string) []string {
	env := append(os.Environ(), "DATABASE_URL="+w.database, "METRICS_LISTEN=off", "LOG_LEVEL=ERROR", "RATE_LIMIT=1000000", "RATE_BURST=1000000",
		"SANDBOX_STEP=0", "PURCHASE_TIMEOUT=1s", "SETTLE_AFTER=3s", "LOOK_EVERY=1s", "JOB_RESCUE_AFTER=15s", "JOB_RETRY_AFTER=1s", "DATABASE_CONNECTIONS=16")
	if listen != "" {
		env = append(env, "LISTEN="+listen)
	}
	return env
}

// supervise runs a copy until the end.
func (w *world) supervise(c *instance) {
	defer close(c.done)
	for {
		cmd := exec.Command(filepath.Join(w.root, "bin/waybill"), "serve")
		cmd.Env = w.env(c.addr)
		c.mu.Lock()
		if c.ended {
			c.mu.Unlock()
			return
		}
		err := cmd.Start()
		c.cmd = cmd
		c.mu.Unlock()
		if err != nil {
			w.t.Errorf("start a copy: %v", err)
			return
		}
		_ = cmd.Wait()
		time.Sleep(50 * time.Millisecond)
	}
}

// kill ends a copy without warning, and reports whether it was there.
func (c *instance) kill() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cmd != nil && c.cmd.Process != nil && c.cmd.Process.Signal(syscall.SIGKILL) == nil
}

func (w *world) waitReady(c *instance) {
	for range 600 {
		resp, err := w.http.Get("http://" + c.addr + "/readyz")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	w.t.Error("a copy did not become ready")
}

// killCopies kills random copies and starts them again.
func (w *world) killCopies(seed uint64, n int, every time.Duration, stop <-chan struct{}) {
	rng := rand.New(rand.NewPCG(seed, 1<<40))
	for range n {
		select {
		case <-time.After(every/2 + time.Duration(rng.Int64N(int64(every)))):
		case <-stop:
			return
		}
		c := w.copies[rng.IntN(len(w.copies))]
		for !c.kill() {
			time.Sleep(10 * time.Millisecond) // it is being started
		}
		w.kills.Add(1)
	}
}

// crashPostgres kills the postmaster with all that it knows and starts it
// again; the data directory must be enough.
func (w *world) crashPostgres(seed uint64, n int, every time.Duration, stop <-chan struct{}) {
	for range n {
		select {
		case <-time.After(every):
		case <-stop:
			return
		}
		pid, err := w.postmaster()
		if err != nil {
			w.t.Errorf("find the postmaster: %v", err)
			return
		}
		_ = syscall.Kill(pid, syscall.SIGKILL)
		w.crashes.Add(1)
		time.Sleep(200 * time.Millisecond)
		w.postgres("start")
	}
}

// postmaster is the parent of any backend.
func (w *world) postmaster() (int, error) {
	conn, err := pgx.Connect(context.Background(), w.database)
	if err != nil {
		return 0, err
	}
	defer conn.Close(context.Background())
	var backend, parent int
	if err := conn.QueryRow(context.Background(), "SELECT pg_backend_pid()").Scan(&backend); err != nil {
		return 0, err
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", backend))
	if err != nil {
		return 0, err
	}
	_, after, _ := strings.Cut(string(status), "PPid:")
	_, err = fmt.Sscan(after, &parent)
	return parent, err
}

func (w *world) post(c *instance, path, key, body string) (int, []byte, error) {
	req, err := http.NewRequest("POST", "http://"+c.addr+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", key)
	return w.do(req)
}

func (w *world) get(path string) (int, []byte, error) {
	req, err := http.NewRequest("GET", "http://"+w.copies[0].addr+path, nil)
	if err != nil {
		return 0, nil, err
	}
	return w.do(req)
}

func (w *world) do(req *http.Request) (int, []byte, error) {
	req.Header.Set("Authorization", "Bearer "+w.key)
	resp, err := w.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp.StatusCode, data, err
}

// query returns one number from the database, past row-level security.
func (w *world) query(t *testing.T, sql string) int {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), w.database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var n int
	if err := conn.QueryRow(context.Background(), sql).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// waitUntilSettled waits for the jobs that killed copies left behind.
func (w *world) waitUntilSettled(t *testing.T) {
	for _, c := range w.copies {
		w.waitReady(c)
	}
	for range 240 {
		if w.query(t, "SELECT count(*) FROM journeys WHERE state IN ('purchasing', 'uncertain')") == 0 {
			return
		}
		time.Sleep(500 * time.Millisecond)
	}
	t.Error("some purchases never settled")
}

func (w *world) countLost(t *testing.T, acked map[string]string) (lost int) {
	for key, id := range acked {
		status, _, err := w.get("/v1/shipments/" + id)
		if err != nil || status != http.StatusOK {
			lost++
			t.Errorf("%s: %s answers %d %v", key, id, status, err)
		}
	}
	return lost
}

// countMissingEvents follows the log from its beginning and counts the
// shipments that it does not tell of, whole and in sequence.
func (w *world) countMissingEvents(t *testing.T, acked map[string]string) (missing int) {
	told := map[string][]string{}
	query := "?limit=100"
	for {
		status, body, err := w.get("/v1/events" + query)
		if err != nil || status != http.StatusOK {
			t.Fatalf("events: %d %v %s", status, err, body)
		}
		var page struct {
			Data []struct {
				Type     string
				Sequence int
				Data     struct{ Shipment struct{ ID string } }
			}
			NextCursor string
		}
		if err := json.Unmarshal(body, &page); err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Data {
			id := e.Data.Shipment.ID
			told[id] = append(told[id], fmt.Sprintf("%d %s", e.Sequence, e.Type))
		}
		if len(page.Data) == 0 {
			break
		}
		query = "?limit=100&after=" + page.NextCursor
	}
	for key, id := range acked {
		if got := fmt.Sprint(told[id]); got != "[1 shipment.created 2 label.generated]" {
			missing++
			t.Errorf("%s: the log tells %s of %s", key, got, id)
		}
	}
	return missing
}

// countTwice counts orders that have more than one shipment; every order had
// one idempotency key.
func (w *world) countTwice(t *testing.T) int {
	return w.query(t, "SELECT count(*) FROM (SELECT name FROM names WHERE kind IN ('o', 'p') GROUP BY account_id, livemode, name HAVING count(*) > 1) x")
}
