//go:build chaos

// Package webhooks proves what the service promises about webhooks: with
// copies of the real binary beside each other, on a cluster of their own,
// against sinks that fail, hang and lie.
package webhooks

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

	"github.com/jackc/pgx/v5/pgxpool"
)

// world is a cluster of its own and copies of the binary beside each other.
type world struct {
	t        *testing.T
	root     string
	pgDir    string
	database string
	pool     *pgxpool.Pool // of the owner, past row-level security
	account  account       // the first
	copies   []*instance
	http     *http.Client
	kills    atomic.Int64
	crashes  atomic.Int64
}

// account is a client of the service.
type account struct{ id, key string }

// instance is one copy of the binary, started again whenever it ends, as a
// supervisor does.
type instance struct {
	addr  string
	env   []string
	log   *os.File
	mu    sync.Mutex
	cmd   *exec.Cmd
	ended bool
	done  chan struct{}
}

func newWorld(t *testing.T, copies int, env ...string) *world {
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
	w.account = w.newAccount()
	if w.pool, err = pgxpool.New(t.Context(), w.database+"&pool_max_conns=8"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.pool.Close)
	for range copies {
		c := w.newInstance(env)
		w.copies = append(w.copies, c)
		go w.supervise(c)
	}
	t.Cleanup(w.end)
	for _, c := range w.copies {
		w.waitReady(c)
	}
	return w
}

func (w *world) newInstance(env []string) *instance {
	log, err := os.CreateTemp(w.t.TempDir(), "copy*.log")
	if err != nil {
		w.t.Fatal(err)
	}
	return &instance{addr: freeAddr(w.t), env: env, log: log, done: make(chan struct{})}
}

// end kills the copies, and shows what they complained of in a failed test.
func (w *world) end() {
	for n, c := range w.copies {
		c.mu.Lock()
		c.ended = true
		c.mu.Unlock()
		c.kill()
		<-c.done
		if text, err := os.ReadFile(c.log.Name()); w.t.Failed() && err == nil {
			w.t.Logf("copy %d said last: %s", n, text[max(0, len(text)-4000):])
		}
		_ = c.log.Close()
	}
}

func (w *world) newAccount() account {
	id := strings.Fields(w.waybill("account", "create", "--name", "prove"))[0]
	return account{id, strings.TrimSpace(w.waybill("key", "create", "--account", id, "--name", "prove"))}
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
	cmd := exec.Command(filepath.Join(w.root, "bin/waybill"), args...)
	cmd.Env = append(os.Environ(), "DATABASE_URL="+w.database)
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

// supervise runs a copy until the end.
func (w *world) supervise(c *instance) {
	defer close(c.done)
	for {
		cmd := exec.Command(filepath.Join(w.root, "bin/waybill"), "serve")
		cmd.Env = append(os.Environ(), "DATABASE_URL="+w.database, "LISTEN="+c.addr, "METRICS_LISTEN=off", "LOG_LEVEL=WARN", "RATE_LIMIT=0",
			"SANDBOX_STEP=0", "PURCHASE_TIMEOUT=1s", "SETTLE_AFTER=3s", "LOOK_EVERY=1s", "JOB_RESCUE_AFTER=15s", "JOB_RETRY_AFTER=1s", "DATABASE_CONNECTIONS=16", "WEBHOOK_ALLOW_LOOPBACK=on")
		cmd.Env = append(cmd.Env, c.env...)
		cmd.Stderr = c.log
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

// kill ends a copy without warning.
func (c *instance) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cmd != nil {
		_ = c.cmd.Process.Signal(syscall.SIGKILL)
	}
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
func (w *world) killCopies(seed uint64, n int, every time.Duration) {
	rng := rand.New(rand.NewPCG(seed, 1<<40))
	for range n {
		time.Sleep(every/2 + time.Duration(rng.Int64N(int64(every))))
		w.copies[rng.IntN(len(w.copies))].kill()
		w.kills.Add(1)
	}
}

// crashPostgres kills the postmaster with all that it knows and starts it
// again; the data directory must be enough.
func (w *world) crashPostgres(n int, every time.Duration) {
	for range n {
		time.Sleep(every)
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

// postmaster is the process that the cluster's pid file names.
func (w *world) postmaster() (pid int, err error) {
	_, base, _ := strings.Cut(strings.TrimSpace(w.postgres("status")), "data in ")
	file, err := os.ReadFile(filepath.Join(base, "data", "postmaster.pid"))
	if err != nil {
		return 0, err
	}
	_, err = fmt.Sscan(string(file), &pid)
	return pid, err
}

// call makes a request of a copy and returns the status and the answer.
func (w *world) call(c *instance, a account, method, path, key string, body any) (int, []byte, error) {
	var in io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return 0, nil, err
		}
		in = bytes.NewReader(text)
	}
	req, err := http.NewRequest(method, "http://"+c.addr+path, in)
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+a.key)
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	resp, err := w.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp.StatusCode, data, err
}

// must makes a request that has to work, and reads the answer into out.
func (w *world) must(a account, method, path string, body, out any) {
	w.t.Helper()
	status, answer, err := w.call(w.copies[0], a, method, path, "", body)
	if err != nil || status > 299 {
		w.t.Fatalf("%s %s: %d %v %s", method, path, status, err, answer)
	}
	if out != nil {
		if err := json.Unmarshal(answer, out); err != nil {
			w.t.Fatalf("%s %s: %v in %s", method, path, err, answer)
		}
	}
}

// hook makes a webhook that posts to url.
func (w *world) hook(a account, url string) (id, secret string) {
	w.t.Helper()
	var made struct{ ID, Secret string }
	w.must(a, http.MethodPost, "/v1/webhooks", map[string]any{"url": url}, &made)
	return made.ID, made.Secret
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
