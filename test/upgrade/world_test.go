//go:build chaos

package upgrade

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/test/proving"
)

// A server is a copy of one of the releases.
type server struct {
	*proving.Process
	isOld bool
}

// A world is a database with copies of two releases, and what clients asked of them.
type world struct {
	*testing.T
	postgres *proving.Cluster
	account  string
	key      string
	client   *http.Client // with the cookies of a person who is signed in
	sink     *sink

	// inUse is held for reading by each request, and for writing by whoever takes a
	// copy out of service, as a load balancer waits for requests before a copy stops.
	inUse  sync.RWMutex
	active []*server

	requests atomic.Int64
	failures atomic.Int64

	mu          sync.Mutex
	slowest     time.Duration // since it was last taken
	isMigrating bool          // has begun
	isMigrated  bool
	parcels     []*parcel
	others      int             // shipments of batches and /v2
	isMissing   map[string]bool // paths that the old release does not have
	notSearched int             // parcels of before the migration that an old copy did not find by number
}

// newWorld starts a copy of the old release on a database that it has made itself.
func newWorld(t *testing.T, old release) (*world, *server) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		T:        t,
		postgres: proving.NewCluster(t),
		client: &http.Client{
			Jar:           jar,
			Timeout:       35 * time.Second,
			Transport:     &http.Transport{MaxIdleConnsPerHost: 64},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}

	w.run(old.binary, "migrate")
	copy := w.start("old", old.binary, true)
	w.serve(copy)

	setup := w.run(old.binary, "member", "setup")
	_, token, _ := strings.Cut(strings.TrimSpace(setup), "token=")
	w.signUp(copy, token)
	w.account = regexp.MustCompile(`acct_\w+`).FindString(w.run(old.binary, "account", "list"))
	w.key = strings.TrimSpace(w.run(old.binary, "key", "create", "--account", w.account, "--name", "upgrade"))
	w.probePaths(copy, "/v1/batches", "/v2/shipments")
	w.sink = newSink(t)
	w.sink.secret = w.addWebhook(copy, w.sink.url)
	return w, copy
}

// env is the environment of the commands and copies of both releases.
func (w *world) env() []string {
	return []string{
		"DATABASE_URL=" + w.postgres.URL, "RATE_LIMIT=1000000", "RATE_BURST=1000000", "SANDBOX_STEP=0",
		"PURCHASE_TIMEOUT=1s", "BUY_TIMEOUT=2s", "SETTLE_AFTER=3s", "LOOK_EVERY=1s", "JOB_RETRY_AFTER=1s",
		"DATABASE_CONNECTIONS=16", "WEBHOOK_ALLOW_LOOPBACK=on",
	}
}

// run runs a command of a release that must succeed.
func (w *world) run(binary string, args ...string) string {
	w.Helper()
	cmd := exec.Command(binary, args...)
	cmd.Env = append(os.Environ(), w.env()...)
	return proving.Output(w.T, cmd)
}

// start starts a copy, and waits until it is ready. Clients do not use it yet.
func (w *world) start(name, binary string, isOld bool) *server {
	w.Helper()
	started := &server{Process: proving.NewCopy(w.T, name, w.TempDir(), w.env), isOld: isOld}
	command := started.Command
	started.Command = func() *exec.Cmd {
		cmd := command()
		cmd.Path = binary
		cmd.Args[0] = binary
		return cmd
	}
	started.Start(w.T)
	w.Cleanup(func() { started.End(w.T) })
	proving.Ready(w.T, []*proving.Process{started.Process})
	return started
}

// serve has clients use the copies from now on, and no others. It returns when no
// request to another is open.
func (w *world) serve(copies ...*server) {
	w.inUse.Lock()
	defer w.inUse.Unlock()
	w.active = copies
}

// addWebhook adds a webhook to the account, and returns its secret.
func (w *world) addWebhook(at *server, address string) string {
	w.Helper()
	var created struct{ Secret string }
	if !w.call(at, http.MethodPost, "/v1/webhooks", "", fmt.Sprintf(`{"url":%q}`, address), &created) {
		w.FailNow()
	}
	return created.Secret
}

// signUp makes the first owner, whose session the client then has.
func (w *world) signUp(at *server, token string) {
	w.Helper()
	response, err := w.client.PostForm("http://"+at.Addr+"/app/setup", url.Values{
		"token":       {token},
		"accountName": {"Northwind"},
		"name":        {"Dana"},
		"email":       {"dana@example.com"},
		"password":    {"a long sentence about boxes"},
	})
	if err != nil {
		w.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusSeeOther {
		w.Fatalf("set up: %s", response.Status)
	}
}

// call makes a request, which fails with any status from 300 on, and reads the
// answer into out, which may be nil.
func (w *world) call(at *server, method, path, key, body string, out any) bool {
	status, answer, err := w.send(at, method, path, key, body)
	if err == nil && status < 300 && out != nil {
		err = json.Unmarshal(answer, out)
	}
	if err == nil && status < 300 {
		return true
	}
	w.fail("%s: %s %s %s: %d %v %.300s", at.Name, method, path, body, status, err, answer)
	return false
}

// send makes a request of the API or, with the session of a person, of the dashboard.
func (w *world) send(at *server, method, path, key, body string) (int, []byte, error) {
	request, err := http.NewRequest(method, "http://"+at.Addr+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	if strings.HasPrefix(path, "/v1/") && !strings.Contains(path, "?token=") {
		request.Header.Set("Authorization", "Bearer "+w.key)
	}
	if strings.HasPrefix(path, "/v2/") {
		request.SetBasicAuth(w.key, "")
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}

	w.requests.Add(1)
	began := time.Now()
	response, err := w.client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)

	w.mu.Lock()
	w.slowest = max(w.slowest, time.Since(began))
	w.mu.Unlock()
	return response.StatusCode, answer, err
}

// fail counts a failed request, or an answer that is not what was promised. The first
// are shown.
func (w *world) fail(format string, args ...any) {
	w.Helper()
	if w.failures.Add(1) <= 20 {
		w.Errorf(time.Now().Format("15:04:05.000 ")+format, args...)
	}
}

// takeSlowest returns how long the slowest request took since it was last asked for.
func (w *world) takeSlowest() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	slowest := w.slowest
	w.slowest = 0
	return slowest
}

// count returns one number from the database, past row-level security.
func (w *world) count(sql string) (n int) {
	w.Helper()
	conn, err := pgx.Connect(context.Background(), w.postgres.URL)
	if err != nil {
		w.Fatal(err)
	}
	defer conn.Close(context.Background())
	if err := conn.QueryRow(context.Background(), sql).Scan(&n); err != nil {
		w.Fatalf("%s: %v", sql, err)
	}
	return n
}

// all returns the parcels that were created so far.
func (w *world) all() []*parcel {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.parcels)
}
