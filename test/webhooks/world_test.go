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
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/waybillhq/waybill/test/proving"
)

// world is a cluster of its own and copies of the binary beside each other.
type world struct {
	t        *testing.T
	postgres *proving.Cluster
	pool     *pgxpool.Pool // of the owner, past row-level security
	account  account       // the first
	copies   []*proving.Process
	http     *http.Client
	kills    atomic.Int64
	slow     float64 // how much slower than a quiet machine this one is
}

// account is a client of the service.
type account struct{ id, key string }

func newWorld(t *testing.T, copies int, env ...string) *world {
	t.Helper()
	w := &world{t: t, slow: proving.Slowness(t), postgres: proving.NewCluster(t), http: &http.Client{Timeout: 35 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	w.waybill("migrate")
	w.account = w.newAccount()
	pool, err := pgxpool.New(t.Context(), w.postgres.URL+"&pool_max_conns=8")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	w.pool = pool
	for range copies {
		w.addCopy(env...)
	}
	return w
}

// addCopy starts one more copy, and waits until it answers.
func (w *world) addCopy(env ...string) {
	w.t.Helper()
	c := proving.NewCopy(w.t, fmt.Sprintf("copy%d", len(w.copies)+1), w.t.TempDir(), func() []string { return w.env(env) })
	w.copies = append(w.copies, c)
	c.Start(w.t)
	w.t.Cleanup(func() { c.End(w.t) })
	proving.Ready(w.t, w.copies)
}

func (w *world) newAccount() account {
	id := strings.Fields(w.waybill("account", "create", "--name", "prove"))[0]
	return account{id, strings.TrimSpace(w.waybill("key", "create", "--account", id, "--name", "prove"))}
}

func (w *world) waybill(args ...string) string {
	cmd := exec.Command(proving.Binary(), args...)
	cmd.Env = append(os.Environ(), "DATABASE_URL="+w.postgres.URL)
	return proving.Output(w.t, cmd)
}

// env is that of a copy; what is given wins.
func (w *world) env(given []string) []string {
	base := append(proving.Slowed(fast, w.slow), []string{
		"DATABASE_URL=" + w.postgres.URL, "RATE_LIMIT=0",
		"SANDBOX_STEP=0", "DATABASE_CONNECTIONS=16", "WEBHOOK_ALLOW_LOOPBACK=on",
	}...)
	return append(base, given...)
}

// fast are shorter waits than the defaults, but for slow machines.
var fast = []string{"PURCHASE_TIMEOUT=1s", "BUY_TIMEOUT=2s", "SETTLE_AFTER=3s", "LOOK_EVERY=1s", "JOB_RESCUE_AFTER=15s", "JOB_RETRY_AFTER=1s"}

// killCopies kills random copies and starts them again.
func (w *world) killCopies(seed uint64, n int, every time.Duration) {
	rng := rand.New(rand.NewPCG(seed, 1<<40))
	for range n {
		time.Sleep(every/2 + time.Duration(rng.Int64N(int64(every))))
		w.copies[rng.IntN(len(w.copies))].Kill()
		w.kills.Add(1)
	}
}

// crashPostgres kills Postgres now and then.
func (w *world) crashPostgres(n int, every time.Duration) {
	for range n {
		time.Sleep(every)
		w.postgres.Crash()
	}
}

// call makes a request of a copy and returns the status and the answer.
func (w *world) call(c *proving.Process, a account, method, path, key string, body any) (int, []byte, error) {
	var in io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return 0, nil, err
		}
		in = bytes.NewReader(text)
	}
	req, err := http.NewRequest(method, "http://"+c.Addr+path, in)
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

// must makes a request that has to work, and reads the answer into out. What the API
// calls worth another try is tried again.
func (w *world) must(a account, method, path string, body, out any) {
	w.t.Helper()
	status, answer, err := w.call(w.copies[0], a, method, path, "", body)
	for until := time.Now().Add(proving.Patiently(15 * time.Second)); err == nil && status == http.StatusServiceUnavailable && time.Now().Before(until); {
		time.Sleep(200 * time.Millisecond)
		status, answer, err = w.call(w.copies[0], a, method, path, "", body)
	}
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
