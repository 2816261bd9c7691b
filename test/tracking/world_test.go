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

// world is a cluster, copies of the binary, three carriers that push and an
// account that is connected to all of them.
type world struct {
	t        *testing.T
	dir      string // logs and ledgers
	postgres *proving.Cluster
	settings []string
	pool     *pgxpool.Pool // of the owner, past row-level security
	account  string
	key      string
	copies   []*proving.Process
	stands   []*stand
	http     *http.Client

	kills atomic.Int64
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
	w := &world{t: t, dir: t.TempDir(), postgres: proving.NewCluster(t), settings: settings}
	w.http = &http.Client{Timeout: proving.Patiently(12 * time.Second), Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
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
	pool, err := pgxpool.New(t.Context(), w.postgres.URL+"&pool_max_conns=8")
	if err != nil {
		t.Fatal(err)
	}
	w.pool = pool
	t.Cleanup(w.pool.Close)
	for _, p := range w.copies {
		p.Start(t)
	}
	proving.Ready(w.t, w.copies)
	return w
}

// connect gives the account the credentials of the carriers, and learns where
// and with which secret they push.
func (w *world) connect() {
	for _, s := range w.stands {
		args := []string{"connection", "add", "--account", w.account, "--live", "--carrier", s.Name, "--name", "Main"}
		for field, value := range s.accepts {
			args = append(args, "--set", field+"="+value)
		}
		s.connection = strings.TrimSpace(w.waybill(args...))
		said := strings.Fields(w.waybill("connection", "push", s.connection))
		s.path, s.secret = strings.TrimPrefix(said[1], "http://"+w.copies[0].Addr), said[3]
	}
}

// placeCopies finds addresses for copies of the service. Carriers are told the
// first's.
func (w *world) placeCopies(n int) {
	for i := range n {
		w.copies = append(w.copies, proving.NewCopy(w.t, fmt.Sprintf("copy%d", i+1), w.dir, w.env))
	}
}

func (w *world) end() {
	for _, p := range w.copies {
		p.End(w.t)
	}
	for _, s := range w.stands {
		s.End(w.t)
	}
}

// secretKey encrypts the credentials of the live connections.
const secretKey = "dHJhY2tpbmctdHJhY2tpbmctdHJhY2tpbmctMTIzNDU2Nzg5MDEy"

func (w *world) env() []string {
	urls := make([]string, len(w.stands))
	for i, s := range w.stands {
		urls[i] = s.Name + "=" + s.url
	}
	env := []string{"DATABASE_URL=" + w.postgres.URL, "CARRIER_URLS=" + strings.Join(urls, ","), "BASE_URL=http://" + w.copies[0].Addr, "SECRET_KEY=" + secretKey}
	if os.Getenv("PROFILE") != "" {
		env = append(env, "PROFILING=on")
	}
	return append(env, w.settings...)
}

func (w *world) waybill(args ...string) string {
	cmd := exec.Command(proving.Binary(), args...)
	cmd.Env = append(os.Environ(), w.env()...)
	return proving.Output(w.t, cmd)
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
	for until := time.Now().Add(proving.Patiently(15 * time.Second)); status == http.StatusServiceUnavailable && time.Now().Before(until); {
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
	req, err := http.NewRequest(method, "http://"+w.copies[0].Addr+path, bytes.NewReader(body))
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

// count returns one number from the database.
func (w *world) count(sql string, args ...any) (n int) {
	w.t.Helper()
	if err := w.pool.QueryRow(context.Background(), sql, args...).Scan(&n); err != nil {
		w.t.Fatal(err)
	}
	return n
}
