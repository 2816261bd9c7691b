//go:build chaos

package cells_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/emulator/ups"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/test/proving"
)

// city is cells with a server and a copy of the service each, a router, and an
// emulated carrier. All but the carrier can be killed. The first cell's server is
// the directory too.
type city struct {
	t        *testing.T
	clusters []*proving.Cluster
	copies   []*proving.Process
	router   *proving.Process
	carrier  *proving.Process
	ledger   string // file of the carrier
	sink     *sink
	http     *http.Client
	tries    atomic.Int64 // that clients made again

	mu         sync.Mutex
	violations map[string]int // by kind
}

func nameOf(cell int) string { return fmt.Sprint("eu-", cell+1) }

// quickly are the waits of the service, as in the proof of purchases.
var quickly = []string{
	"PURCHASE_TIMEOUT=2s", "BUY_TIMEOUT=3s", "SETTLE_AFTER=4s", "LOOK_EVERY=600ms", "LOOKUP_SCALE=0.001", "REBUY_FOR=60s", "SWEEP_EVERY=2s", "LATE_SWEEP_EVERY=5s",
	"QUOTE_TIMEOUT=2s", "JOB_RESCUE_AFTER=15s", "JOB_RETRY_AFTER=1s", "RATE_LIMIT=0", "SANDBOX_STEP=0", "DATABASE_CONNECTIONS=8", "WEBHOOK_ALLOW_LOOPBACK=on",
}

// secretKey seals what is secret, in all cells.
const secretKey = "Y2VsbHMtY2VsbHMtY2VsbHMtY2VsbHMtY2VsbHMtMTIzNDU2Nzg="

func newCity(t *testing.T, cells int, options string) *city {
	t.Helper()
	dir := t.TempDir()
	c := &city{
		t:          t,
		ledger:     filepath.Join(dir, "ups.jsonl"),
		http:       &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
		violations: map[string]int{},
	}
	c.sink = newSink(t)
	c.router = &proving.Process{Name: "router", Addr: proving.FreeAddr(t), Log: filepath.Join(dir, "router.log")}
	c.startCarrier(dir)
	for i := range cells {
		c.clusters = append(c.clusters, proving.NewCluster(t, "WAYBILL_PG_OPTIONS=-c wal_level=logical "+options, "WAYBILL_PG_SHARED_BUFFERS=64MB"))
		c.waybill(i, "migrate")
	}
	for i := range cells {
		c.copies = append(c.copies, proving.NewCopy(t, nameOf(i), dir, func() []string { return append(c.env(i), "CELL="+nameOf(i)) }))
		c.waybill(0, "cell", "add", nameOf(i), "--url", "http://"+c.copies[i].Addr, "--cell-database", c.clusters[i].URL)
	}

	c.router.Command = func() *exec.Cmd {
		cmd := exec.Command(proving.Binary(), "route")
		cmd.Env = append(append(os.Environ(), c.env(0)...), "LISTEN="+c.router.Addr)
		return cmd
	}
	for _, p := range c.programs() {
		p.Start(t)
		t.Cleanup(func() { p.End(t) })
	}
	proving.Ready(t, c.programs())
	return c
}

// programs are the router and the copies of the service.
func (c *city) programs() []*proving.Process {
	return append([]*proving.Process{c.router}, c.copies...)
}

// startCarrier starts an emulated UPS, of whose sales 3 in 100 are not answered.
func (c *city) startCarrier(dir string) {
	c.t.Helper()
	faults, err := json.Marshal(emulator.Faults{
		Latency: emulator.Duration(5 * time.Millisecond),
		Spread:  emulator.Duration(30 * time.Millisecond),
		Buy:     map[string]float64{"reset": 0.02, "500": 0.01},
	})
	if err != nil {
		c.t.Fatal(err)
	}
	file := filepath.Join(dir, "ups.faults")
	if err := os.WriteFile(file, faults, 0o600); err != nil {
		c.t.Fatal(err)
	}

	c.carrier = &proving.Process{Name: "ups", Addr: proving.FreeAddr(c.t), Log: filepath.Join(dir, "ups.log")}
	c.carrier.Command = func() *exec.Cmd {
		return exec.Command(proving.Binary(), "emulate", "ups", "--listen", c.carrier.Addr, "--ledger", c.ledger, "--faults", file, "--lookup-scale", "0")
	}
	c.carrier.Start(c.t)
	c.t.Cleanup(func() { c.carrier.End(c.t) })
	proving.Await(c.t, "the carrier listens", time.Minute, func() bool { return c.carrier.Answers("/_emulator/faults") })
}

func (c *city) env(cell int) []string {
	databases := make([]string, len(c.clusters))
	for i, cluster := range c.clusters {
		databases[i] = nameOf(i) + "=" + cluster.URL
	}
	return append([]string{
		"DATABASE_URL=" + c.clusters[cell].URL,
		"CELL_DATABASES=" + strings.Join(databases, ","),
		"CARRIER_URLS=ups=http://" + c.carrier.Addr,
		"BASE_URL=http://" + c.router.Addr,
		"SECRET_KEY=" + secretKey,
		"LOG_LEVEL=ERROR",
	}, quickly...)
}

func (c *city) command(cell int, args ...string) *exec.Cmd {
	cmd := exec.Command(proving.Binary(), args...)
	cmd.Env = append(os.Environ(), c.env(cell)...)
	return cmd
}

func (c *city) waybill(cell int, args ...string) string {
	c.t.Helper()
	return proving.Output(c.t, c.command(cell, args...))
}

// conn is a connection to a cell's database, past row-level security.
func (c *city) conn(cell int) *pgx.Conn {
	c.t.Helper()
	conn, err := pgx.Connect(c.t.Context(), c.clusters[cell].URL)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// violate notes a broken promise. The first of each kind are shown.
func (c *city) violate(kind, format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.violations[kind]++
	if c.violations[kind] <= 5 {
		c.t.Errorf(kind+": "+format, args...)
	}
}

func (c *city) violated() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, count := range c.violations {
		n += count
	}
	return n
}

// A request is one of a client.
type request struct {
	method, path string
	key          string // of the API
	idempotency  string
	body         string
	header       map[string]string
}

// once sends a request to an address.
func (c *city) once(ctx context.Context, address string, in request) (status int, answer []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, in.method, "http://"+address+in.path, strings.NewReader(in.body))
	if err != nil {
		return 0, nil, err
	}
	if in.key != "" {
		r.Header.Set("Authorization", "Bearer "+in.key)
	}
	if in.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if in.idempotency != "" {
		r.Header.Set("Idempotency-Key", in.idempotency)
	}
	for name, value := range in.header {
		r.Header.Set(name, value)
	}
	response, err := c.http.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(response.Body)
	return response.StatusCode, answer, err
}

// patience is how long a client sends a request again.
const patience = 5 * time.Minute

// insist sends a request to the router, and again as the client libraries do, until
// it is answered with one of the statuses. An answer that is none of these and not
// worth another try is an error that a client sees.
func (c *city) insist(in request, into any, wanted ...int) bool {
	var status int
	var answer []byte
	var err error
	for began := time.Now(); time.Since(began) < patience; {
		status, answer, err = c.once(context.Background(), c.router.Addr, in)
		for _, want := range wanted {
			if err == nil && status == want {
				if into != nil {
					if err := json.Unmarshal(answer, into); err != nil {
						c.violate("answer", "%s %s: %v in %.300s", in.method, in.path, err, answer)
						return false
					}
				}
				return true
			}
		}
		isRetryable := err != nil || status >= 500 || status == http.StatusConflict || status == http.StatusTooManyRequests || status == http.StatusAccepted
		if !isRetryable {
			break
		}
		c.tries.Add(1)
		time.Sleep(100 * time.Millisecond)
	}
	c.violate("error", "%s %s: %d %.300s %v", in.method, in.path, status, answer, err)
	return false
}

// newShop creates an account in the first cell, with keys, a connection to the
// carrier and webhooks.
func (c *city) newShop(name string) *shop {
	c.t.Helper()
	account := strings.Fields(c.waybill(0, "account", "create", "--name", name))[0]
	id, ok := ship.ParseAccountID(account)
	if !ok {
		c.t.Fatalf("%q is no account", account)
	}
	s := &shop{city: c, name: name, account: id, shard: int(id.Raw().Shard()), made: map[string]string{}, bought: map[string]string{}}
	s.keys[sandbox] = strings.TrimSpace(c.waybill(0, "key", "create", "--account", account))
	s.keys[live] = strings.TrimSpace(c.waybill(0, "key", "create", "--live", "--account", account))

	connection := strings.TrimSpace(c.waybill(0, "connection", "add", "--account", account, "--live", "--carrier", "ups", "--name", "Main",
		"--set", "client_id="+ups.ClientID, "--set", "client_secret="+ups.ClientSecret, "--set", "account_number="+ups.Account))
	push := strings.Fields(c.waybill(0, "connection", "push", connection))
	s.pushPath = strings.TrimPrefix(push[1], "http://"+c.router.Addr)
	s.pushSecret = push[3]
	return s
}
