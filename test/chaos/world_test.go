//go:build chaos

package chaos

import (
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

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/test/proving"
)

// world is a cluster of its own and copies of the binary beside each other.
type world struct {
	t        *testing.T
	postgres *proving.Cluster
	key      string
	copies   []*proving.Process
	http     *http.Client
	kills    atomic.Int64
	slow     float64 // how much slower than a quiet machine this one is
}

func newWorld(t *testing.T, copies int) *world {
	t.Helper()
	w := &world{t: t, slow: proving.Slowness(t), postgres: proving.NewCluster(t), http: &http.Client{Timeout: 35 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	w.waybill("migrate")
	account := strings.Fields(w.waybill("account", "create", "--name", "chaos"))[0]
	w.key = strings.TrimSpace(w.waybill("key", "create", "--account", account, "--name", "chaos"))
	dir := t.TempDir()
	for i := range copies {
		c := proving.NewCopy(t, fmt.Sprintf("copy%d", i+1), dir, w.env)
		w.copies = append(w.copies, c)
		c.Start(t)
		t.Cleanup(func() { c.End(t) })
	}
	proving.Ready(t, w.copies)
	return w
}

func (w *world) waybill(args ...string) string {
	cmd := exec.Command(proving.Binary(), args...)
	cmd.Env = append(os.Environ(), w.env()...)
	return proving.Output(w.t, cmd)
}

func (w *world) env() []string {
	return append(proving.Slowed(fast, w.slow), []string{
		"DATABASE_URL=" + w.postgres.URL, "LOG_LEVEL=ERROR", "RATE_LIMIT=1000000", "RATE_BURST=1000000",
		"SANDBOX_STEP=0", "DATABASE_CONNECTIONS=16",
	}...)
}

// fast are shorter waits than the defaults, but for slow machines.
var fast = []string{"PURCHASE_TIMEOUT=1s", "BUY_TIMEOUT=2s", "SETTLE_AFTER=3s", "LOOK_EVERY=1s", "JOB_RESCUE_AFTER=15s", "JOB_RETRY_AFTER=1s"}

// killCopies kills random copies and starts them again.
func (w *world) killCopies(seed uint64, n int, every time.Duration, stop <-chan struct{}) {
	rng := rand.New(rand.NewPCG(seed, 1<<40))
	for range n {
		select {
		case <-time.After(every/2 + time.Duration(rng.Int64N(int64(every)))):
		case <-stop:
			return
		}
		w.copies[rng.IntN(len(w.copies))].Kill()
		w.kills.Add(1)
	}
}

// crashPostgres kills Postgres now and then.
func (w *world) crashPostgres(n int, every time.Duration, stop <-chan struct{}) {
	for range n {
		select {
		case <-time.After(every):
		case <-stop:
			return
		}
		w.postgres.Crash()
	}
}

func (w *world) post(c *proving.Process, path, key, body string) (int, []byte, error) {
	req, err := http.NewRequest("POST", "http://"+c.Addr+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", key)
	return w.do(req)
}

// get repeats a request until it is answered definitely: on a slow machine the database
// may take longer than a request waits.
func (w *world) get(path string) (status int, answer []byte, err error) {
	for until := time.Now().Add(proving.Patiently(30 * time.Second)); ; time.Sleep(200 * time.Millisecond) {
		req, wrong := http.NewRequest("GET", "http://"+w.copies[0].Addr+path, nil)
		if wrong != nil {
			return 0, nil, wrong
		}
		status, answer, err = w.do(req)
		isOpen := err != nil || status >= http.StatusBadGateway
		if !isOpen || time.Now().After(until) {
			return status, answer, err
		}
	}
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
	conn, err := pgx.Connect(context.Background(), w.postgres.URL)
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
	proving.Ready(t, w.copies)
	proving.Await(t, "all purchases are settled", 2*time.Minute, func() bool {
		return w.query(t, "SELECT count(*) FROM shipment_states WHERE state IN ('purchasing', 'uncertain')") == 0
	})
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

// countMissingEvents counts the shipments whose events are not all in the log, in
// sequence. The log shows an event when all transactions before it have ended, also
// those of a process that was killed; on a slow machine this takes a while.
func (w *world) countMissingEvents(t *testing.T, acked map[string]string) int {
	var wrong []string
	for until := time.Now().Add(proving.Patiently(10 * time.Second)); ; time.Sleep(time.Second) {
		wrong = w.missingEvents(t, acked)
		if len(wrong) == 0 || time.Now().After(until) {
			break
		}
	}
	for _, what := range wrong {
		t.Error(what)
	}
	return len(wrong)
}

// missingEvents follows the log from its beginning and names the shipments that it
// lacks events of.
func (w *world) missingEvents(t *testing.T, acked map[string]string) (missing []string) {
	notified := map[string][]string{}
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
			notified[id] = append(notified[id], fmt.Sprintf("%d %s", e.Sequence, e.Type))
		}
		if len(page.Data) == 0 {
			break
		}
		query = "?limit=100&after=" + page.NextCursor
	}
	for key, id := range acked {
		if got := fmt.Sprint(notified[id]); got != "[1 shipment.created 2 label.generated]" {
			missing = append(missing, fmt.Sprintf("%s: the log has %s of %s", key, got, id))
		}
	}
	return missing
}

// countTwice counts orders that have more than one shipment; every order had
// one idempotency key.
func (w *world) countTwice(t *testing.T) int {
	return w.query(t, "SELECT count(*) FROM (SELECT value FROM lookup_keys WHERE kind IN ('o', 'p') GROUP BY account_id, livemode, value HAVING count(*) > 1) x")
}
