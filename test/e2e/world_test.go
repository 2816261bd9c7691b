// Package e2e runs the real binary as a user would: from the command line,
// over HTTP, through the public client, on a database of its own.
package e2e

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/store/storetest"
)

// world is a migrated database and what runs on it. With CELLS=2 it is two cells
// behind a router, and accounts are in the one and the other in turn.
type world struct {
	t        *testing.T
	database string
	cells    []string          // their databases; the first is the directory. None without CELLS
	homes    map[string]string // databases of accounts
	stderr   io.Writer         // of servers
}

func newWorld(t *testing.T) *world {
	t.Helper()
	needBinary(t)
	w := &world{t: t, database: storetest.URL(t), homes: map[string]string{}, stderr: os.Stderr}
	if os.Getenv("CELLS") == "2" {
		w.cells = []string{w.database, storetest.URL(t)}
		w.addCells("http://127.0.0.1:1", "http://127.0.0.1:1")
	}
	return w
}

// addCells makes the databases cells, whose copies of the service are at the addresses.
// Each holds half of the shards.
func (w *world) addCells(addresses ...string) {
	w.t.Helper()
	for i, database := range w.cells {
		name := fmt.Sprint("cell-", i+1)
		w.run("cell", "add", name, "--url", addresses[i], "--cell-database", database)
		if i == 0 {
			// Nothing is in these shards yet, so nothing has to be moved.
			_, err := storetest.Conn(w.t, w.database).Exec(w.t.Context(), "UPDATE shards SET cell = 'cell-2', epoch = 1 WHERE shard >= 2048")
			if err != nil {
				w.t.Fatal(err)
			}
		}
	}
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func binary(t *testing.T) string { return filepath.Join(root(t), "bin", "waybill") }

func needBinary(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(binary(t)); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("bin/waybill is not built")
		}
		t.Skip("bin/waybill is not built: make build")
	}
}

// run runs a command of the binary and returns its standard output.
func (w *world) run(args ...string) string {
	w.t.Helper()
	return w.runAt(w.database, args...)
}

// runAt runs a command on a database.
func (w *world) runAt(database string, args ...string) string {
	w.t.Helper()
	cmd := exec.Command(binary(w.t), args...)
	cmd.Env = w.env("DATABASE_URL=" + database)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		w.t.Fatalf("waybill %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}

func (w *world) env(more ...string) []string {
	env := append(os.Environ(), "DATABASE_URL="+w.database, "METRICS_LISTEN=off", "LOG_LEVEL=ERROR", "RATE_LIMIT=100000", "RATE_BURST=100000", "DATABASE_CONNECTIONS=12")
	return append(env, more...)
}

// account makes an account and a key of it.
func (w *world) account(name string, keyFlags ...string) (account, key string) {
	w.t.Helper()
	home := w.database
	if len(w.cells) > 0 {
		home = w.cells[len(w.homes)%len(w.cells)]
	}
	account = strings.Fields(w.runAt(home, "account", "create", "--name", name))[0]
	w.homes[account] = home
	return account, w.key(account, keyFlags...)
}

func (w *world) key(account string, flags ...string) string {
	w.t.Helper()
	home := cmp.Or(w.homes[account], w.database)
	return strings.TrimSpace(w.runAt(home, append([]string{"key", "create", "--account", account, "--name", "e2e"}, flags...)...))
}

// serve starts a copy of the service, or one for each cell and a router, and returns
// the address for clients.
func (w *world) serve(env ...string) (url string, pid int) {
	w.t.Helper()
	if len(w.cells) == 0 {
		return w.start("serve", env...)
	}

	var addresses []string
	for _, database := range w.cells {
		url, _ := w.start("serve", append(env, "DATABASE_URL="+database, "TRUSTED_PROXIES=127.0.0.1/32")...)
		addresses = append(addresses, url)
	}
	w.addCells(addresses...)
	return w.start("route", env...)
}

// start starts a program that listens, and returns its address.
func (w *world) start(command string, env ...string) (url string, pid int) {
	w.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	cmd := exec.Command(binary(w.t), command)
	cmd.Env = w.env(append(env, "LISTEN="+addr)...)
	cmd.Stderr = w.stderr
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { stop(w.t, cmd) })
	url = "http://" + addr
	deadline := time.Now().Add(10 * time.Second)
	for time.Now().Before(deadline) {
		if resp, err := http.Get(url + "/readyz"); err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return url, cmd.Process.Pid
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
	w.t.Fatal("the service did not become ready")
	return "", 0
}

// stop ends a process gracefully and expects it to end well.
func stop(t *testing.T, cmd *exec.Cmd) {
	_ = cmd.Process.Signal(syscall.SIGTERM)
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("%v ended with %v", cmd.Args[1:], err)
		}
	case <-time.After(30 * time.Second):
		_ = cmd.Process.Kill()
		t.Errorf("%v did not stop", cmd.Args[1:])
	}
}

// dev starts `waybill dev` and returns what it says when it is ready.
func dev(t *testing.T, args ...string) (ready struct{ URL, APIKey string }) {
	t.Helper()
	needBinary(t)
	cmd := exec.Command(binary(t), append([]string{"dev", "--json", "--listen", "127.0.0.1:0"}, args...)...)
	cmd.Env = append(os.Environ(), "DATABASE_URL=", "LOG_LEVEL=ERROR", "METRICS_LISTEN=off", "XDG_DATA_HOME="+t.TempDir())
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, cmd) })
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(line, &ready); err != nil || ready.URL == "" || ready.APIKey == "" {
		t.Fatalf("dev says %q (%v)", line, err)
	}
	return ready
}

// call makes one request and returns the answer, its body read.
func call(t *testing.T, method, url, key, body string, headers ...string) (*http.Response, []byte) {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, data
}

// order is a creation's body.
const order = `{"orderId":"1001","destination":{"name":"Jane Doe","address1":"350 5th Avenue","city":"New York","state":"NY","zip":"10118","country":"US"},"parcel":{"weight":2.5,"dimensions":{"length":10,"width":8,"height":4}}}`

// create makes a shipment and returns it.
func create(t *testing.T, url, key string) (sh struct{ ID, TrackingNumber, Carrier, LabelURL string }) {
	t.Helper()
	resp, body := call(t, "POST", url+"/v1/shipments", key, order)
	if resp.StatusCode != http.StatusCreated {
		t.Fatalf("creation answers %d %s", resp.StatusCode, body)
	}
	if err := json.Unmarshal(body, &sh); err != nil {
		t.Fatal(err)
	}
	return sh
}
