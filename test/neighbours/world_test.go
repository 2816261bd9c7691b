//go:build chaos

// Package neighbours proves that no account pays for what another one does: one holds
// each resource that accounts share, while another buys, prints, tracks and receives
// webhooks.
package neighbours

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/emulator/ups"
	"github.com/waybillhq/waybill/test/proving"
)

// world is a cell of one copy of the service, a router before it, an emulated carrier
// and a plug-in. Both accounts are served by the same copy.
type world struct {
	t       *testing.T
	dir     string
	cluster *proving.Cluster
	copy    *proving.Process
	router  *proving.Process
	carrier *proving.Process
	plugin  *proving.Process
}

const (
	cell         = "eu-1"
	pluginName   = "pigeon_post"
	pluginSecret = "whsec_bmVpZ2hib3Vycy1wbHVnLWluLXNlY3JldC0wMTIzNDU2Nzg="
	secretKey    = "bmVpZ2hib3Vycy1uZWlnaGJvdXJzLW5laWdoYm91cnMtMTIzNDU="
)

// settings differ from the defaults where an emulated carrier, or the addresses of one
// machine, need it. Every limit and share is that of production.
var settings = []string{
	"CARRIER_QUOTAS=ups=0", "LOOKUP_SCALE=0.001", "WEBHOOK_ALLOW_LOOPBACK=on", "CARRIER_PLUGIN_NETWORKS=127.0.0.0/8", "LOG_LEVEL=ERROR",
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{t: t, dir: dir, cluster: proving.NewCluster(t, "WAYBILL_PG_OPTIONS=-c max_connections=120")}
	w.router = &proving.Process{Name: "router", Addr: proving.FreeAddr(t), Log: filepath.Join(dir, "router.log")}
	w.startCarrier()
	w.startPlugin()

	w.waybill("migrate")
	w.copy = proving.NewCopy(t, cell, dir, w.env)
	w.waybill("cell", "add", cell, "--url", "http://"+w.copy.Addr, "--cell-database", w.cluster.URL)
	w.waybill("carrier", "add", pluginName, "--url", "http://"+w.plugin.Addr, "--secret", pluginSecret)
	w.router.Command = func() *exec.Cmd { return w.command("route", "LISTEN="+w.router.Addr) }
	for _, p := range []*proving.Process{w.copy, w.router} {
		p.Start(t)
		t.Cleanup(func() { p.End(t) })
	}
	proving.Ready(t, []*proving.Process{w.copy, w.router})
	return w
}

// startCarrier starts an emulated UPS that answers as quickly as a real carrier at its
// best.
func (w *world) startCarrier() {
	w.t.Helper()
	faults := w.write("ups.faults", emulator.Faults{
		Latency: emulator.Duration(40 * time.Millisecond),
		Spread:  emulator.Duration(20 * time.Millisecond),
	})
	w.carrier = w.start("ups", func(address string) *exec.Cmd {
		return exec.Command(proving.Binary(), "emulate", "ups", "--listen", address, "--ledger", filepath.Join(w.dir, "ups.jsonl"), "--faults", faults, "--lookup-scale", "0")
	})
}

// startPlugin starts the plug-in of the proof of purchases. It hangs on every purchase.
func (w *world) startPlugin() {
	w.t.Helper()
	faults := w.write("plugin.faults", emulator.Faults{
		HangFor: emulator.Duration(30 * time.Second),
		Buy:     map[string]float64{"hang": 1},
	})
	w.plugin = w.start(pluginName, func(address string) *exec.Cmd {
		cmd := exec.Command("python3", "../purchases/carrier.py", address, filepath.Join(w.dir, "plugin.jsonl"), faults)
		cmd.Env = append(os.Environ(), "PLUGIN_SECRET="+pluginSecret)
		return cmd
	})
}

func (w *world) write(name string, faults emulator.Faults) (file string) {
	w.t.Helper()
	file = filepath.Join(w.dir, name)
	text, err := json.Marshal(faults)
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return file
}

// start runs a carrier until the test ends.
func (w *world) start(name string, command func(address string) *exec.Cmd) *proving.Process {
	w.t.Helper()
	p := &proving.Process{Name: name, Addr: proving.FreeAddr(w.t), Log: filepath.Join(w.dir, name+".log")}
	p.Command = func() *exec.Cmd { return command(p.Addr) }
	p.Start(w.t)
	w.t.Cleanup(func() { p.End(w.t) })
	proving.Await(w.t, name+" listens", time.Minute, func() bool { return p.Answers("/_emulator/faults") })
	return p
}

func (w *world) env() []string {
	return append([]string{
		"DATABASE_URL=" + w.cluster.URL,
		"CELL=" + cell,
		"CELL_DATABASES=" + cell + "=" + w.cluster.URL,
		"CARRIER_URLS=ups=http://" + w.carrier.Addr,
		"BASE_URL=http://" + w.router.Addr,
		"SECRET_KEY=" + secretKey,
		"UPLOAD_DIR=" + w.dir,
	}, settings...)
}

func (w *world) command(name string, more ...string) *exec.Cmd {
	cmd := exec.Command(proving.Binary(), name)
	cmd.Env = append(append(os.Environ(), w.env()...), more...)
	return cmd
}

func (w *world) waybill(args ...string) string {
	w.t.Helper()
	cmd := exec.Command(proving.Binary(), args...)
	cmd.Env = append(os.Environ(), w.env()...)
	return strings.TrimSpace(proving.Output(w.t, cmd))
}

// An account is one of the two, and how its clients reach the service.
type account struct {
	*world
	id   string
	live string // key
	http *http.Client
}

func (w *world) newAccount(name string) *account {
	w.t.Helper()
	a := &account{
		world: w,
		id:    strings.Fields(w.waybill("account", "create", "--name", name))[0],
		http:  &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 256}},
	}
	a.live = a.key("--live")
	return a
}

func (a *account) key(flags ...string) string {
	a.t.Helper()
	return a.waybill(append([]string{"key", "create", "--account", a.id, "--name", "neighbours"}, flags...)...)
}

func (a *account) connect(carrier string, credentials map[string]string) {
	a.t.Helper()
	args := []string{"connection", "add", "--account", a.id, "--live", "--carrier", carrier, "--name", "Main"}
	for field, value := range credentials {
		args = append(args, "--set", field+"="+value)
	}
	a.waybill(args...)
}

var (
	upsCredentials    = map[string]string{"client_id": ups.ClientID, "client_secret": ups.ClientSecret, "account_number": ups.Account}
	pluginCredentials = map[string]string{"account_number": "A1", "api_key": "live-key-of-pigeons"}
)

// A request is one of a client.
type request struct {
	method, path string
	key          string // of the API
	idempotency  string
	contentType  string // JSON if empty
	body         []byte
}

// send sends a request through the router. Status is 0 if there was no answer.
func (a *account) send(ctx context.Context, in request) (status int, answer []byte) {
	address := in.path
	if strings.HasPrefix(address, "/") {
		address = "http://" + a.router.Addr + address
	}
	r, err := http.NewRequestWithContext(ctx, in.method, address, bytes.NewReader(in.body))
	if err != nil {
		return 0, []byte(err.Error())
	}
	r.Header.Set("Authorization", "Bearer "+in.key)
	r.Header.Set("Content-Type", "application/json")
	if in.contentType != "" {
		r.Header.Set("Content-Type", in.contentType)
	}
	if in.idempotency != "" {
		r.Header.Set("Idempotency-Key", in.idempotency)
	}
	response, err := a.http.Do(r)
	if err != nil {
		return 0, []byte(err.Error())
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(response.Body)
	if err != nil {
		return 0, []byte(err.Error())
	}
	return response.StatusCode, answer
}

// must sends a request that has to succeed, and reads its answer into out.
func (a *account) must(in request, out any) {
	a.t.Helper()
	status, answer := a.send(a.t.Context(), in)
	if status < 200 || status > 299 {
		a.t.Fatalf("%s %s: %d %.300s", in.method, in.path, status, answer)
	}
	if out == nil {
		return
	}
	if err := json.Unmarshal(answer, out); err != nil {
		a.t.Fatalf("%s %s: %v in %.300s", in.method, in.path, err, answer)
	}
}

const (
	shipFrom = `{"name":"Warehouse","company":"Shop","address1":"1 Market St","city":"San Francisco","state":"CA","zip":"94105","country":"US","phone":"+14155550100"}`
	shipTo   = `{"name":"Ada Lovelace","address1":"350 5th Avenue","city":"New York","state":"NY","zip":"10118","country":"US","phone":"+12125550100"}`
	parcel   = `{"weight":2.5,"weightUnit":"lb","dimensions":{"length":10,"width":8,"height":4,"unit":"in"}}`
)

// newOrder is the body of a purchase.
func newOrder(id, carrier string) []byte {
	return fmt.Appendf(nil, `{"orderId":%q,"carrier":%q,"origin":%s,"destination":%s,"parcel":%s}`, id, carrier, shipFrom, shipTo, parcel)
}

// shipment is as much of an answer as is read here.
type shipment struct {
	ID             string
	TrackingNumber string
	Labels         struct{ PDF, ZPL, PNG string }
}
