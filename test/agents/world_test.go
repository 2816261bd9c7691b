// Package agents proves that an agent with a key can do no more than the key allows,
// whatever it reads and however often it tries. Scripted agents use the service
// through the Model Context Protocol: one is careful, one repeats everything at the
// same time, and one obeys every instruction that it reads in names and addresses.
// The ledgers of the carrier emulators are the judge.
package agents

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waybillhq/waybill/client"
	"github.com/waybillhq/waybill/internal/app"
	"github.com/waybillhq/waybill/internal/cli"
	"github.com/waybillhq/waybill/internal/config"
	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/emulator/fedex"
	"github.com/waybillhq/waybill/internal/emulator/ups"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// world is a running service on a database of its own, with an account that is
// connected to two carrier emulators.
type world struct {
	t       *testing.T
	url     string
	env     map[string]string
	account string
	judge   *client.Client // a key of its own that only reads
	ledgers map[string]*emulator.Ledger
	stands  map[string]*emulator.Server
	orders  atomic.Int64
}

// fast are waits that are shorter than the defaults, so that what a carrier does not
// answer is settled within seconds.
var fast = map[string]string{
	"PURCHASE_TIMEOUT": "2s",
	"BUY_TIMEOUT":      "3s",
	"SETTLE_AFTER":     "3s",
	"LOOK_EVERY":       "300ms",
	"LOOKUP_SCALE":     "0.0001",
	"SWEEP_EVERY":      "1s",
	"JOB_RETRY_AFTER":  "1s",
	"RATE_LIMIT":       "0",
	"CARRIER_QUOTAS":   "fedex=0",
	"SANDBOX_STEP":     "0",
	"SECRET_KEY":       "YWdlbnRzLWFnZW50cy1hZ2VudHMtYWdlbnRzLTEyMzQ1Njc4OTA=",
	"LISTEN":           "127.0.0.1:0",
	"METRICS_LISTEN":   "off",
	"LOG_LEVEL":        "ERROR",
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, env: map[string]string{}, ledgers: map[string]*emulator.Ledger{}, stands: map[string]*emulator.Server{}}
	for name, value := range fast {
		w.env[name] = value
	}
	w.env["DATABASE_URL"] = storetest.URL(t)
	w.env["SPOOL_DIR"] = t.TempDir()
	w.env["WAYBILL_CONFIG_DIR"] = t.TempDir()

	var urls []string
	for name, open := range map[string]func(*emulator.Ledger) *emulator.Server{"ups": ups.New, "fedex": fedex.New} {
		ledger, err := emulator.OpenLedger("")
		if err != nil {
			t.Fatal(err)
		}
		w.ledgers[name] = ledger
		w.stands[name] = open(ledger)
		w.stands[name].LookupScale = 0
		server := httptest.NewServer(w.stands[name])
		t.Cleanup(server.Close)
		urls = append(urls, name+"="+server.URL)
	}
	slices.Sort(urls)
	w.env["CARRIER_URLS"] = strings.Join(urls, ",")

	w.account = strings.Fields(w.waybill("account", "create", "--name", "agents"))[0]
	w.connect("ups", "client_id="+ups.ClientID, "client_secret="+ups.ClientSecret, "account_number="+ups.Account)
	w.connect("fedex", "client_id="+fedex.ClientID, "client_secret="+fedex.ClientSecret, "account_number="+fedex.Account,
		"track_client_id="+fedex.TrackClientID, "track_client_secret="+fedex.TrackClientSecret)
	w.serve()
	w.judge = client.New(w.key("judge", "--live", "--scopes", "shipments:read"), client.Options{BaseURL: w.url})
	return w
}

// waybill runs a command as an operator.
func (w *world) waybill(args ...string) string {
	w.t.Helper()
	var out, errs bytes.Buffer
	err := cli.Run(context.Background(), args, cli.Streams{Env: w.lookup, Out: &out, Err: &errs})
	if err != nil {
		w.t.Fatalf("waybill %s: %v\n%s", strings.Join(args, " "), err, errs.String())
	}
	return out.String()
}

func (w *world) lookup(name string) (string, bool) {
	value, ok := w.env[name]
	return value, ok
}

func (w *world) connect(carrier string, credentials ...string) {
	args := []string{"connection", "add", "--account", w.account, "--live", "--carrier", carrier, "--name", "Main"}
	for _, one := range credentials {
		args = append(args, "--set", one)
	}
	w.waybill(args...)
}

func (w *world) key(name string, flags ...string) string {
	w.t.Helper()
	return strings.TrimSpace(w.waybill(append([]string{"key", "create", "--account", w.account, "--name", name}, flags...)...))
}

// serve runs the service until the test ends.
func (w *world) serve() {
	cfg, err := config.Load(w.lookup)
	if err != nil {
		w.t.Fatal(err)
	}
	running, err := app.New(w.t.Context(), cfg, app.AllRoles)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan struct{}), make(chan error, 1)
	running.OnReady(func() { close(ready) })
	go func() { done <- running.Run(ctx) }()
	select {
	case <-ready:
	case err := <-done:
		w.t.Fatalf("the service ended before it was ready: %v", err)
	}
	w.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Errorf("stop: %v", err)
		}
	})
	w.url = running.LocalURL()
}

// turn makes a carrier misbehave; the zero value makes it behave.
func (w *world) turn(carrier string, faults emulator.Faults) {
	w.t.Helper()
	if err := w.stands[carrier].Turn(faults); err != nil {
		w.t.Fatal(err)
	}
}

// newOrder returns the number of an order that no other job has.
func (w *world) newOrder() string { return fmt.Sprintf("A-%04d", w.orders.Add(1)) }

// A sale is a label in a carrier's ledger.
type sale struct {
	carrier string
	emulator.Entry
	voided bool
}

// sales returns all labels that carriers sold, by tracking number.
func (w *world) sales() map[string]*sale {
	all := map[string]*sale{}
	for carrier, ledger := range w.ledgers {
		for _, entry := range ledger.Entries() {
			switch entry.Kind {
			case "sold":
				all[entry.Number] = &sale{carrier: carrier, Entry: entry}
			case "voided":
				if sold := all[entry.Number]; sold != nil {
					sold.voided = true
				}
			}
		}
	}
	return all
}

// shipmentsOf returns what the service knows of an order.
func (w *world) shipmentsOf(order string) (list []client.Shipment) {
	w.t.Helper()
	for shipment, err := range w.judge.Shipments(w.t.Context(), client.ShipmentsRequest{OrderID: order}) {
		if err != nil {
			w.t.Fatal(err)
		}
		list = append(list, shipment)
	}
	return list
}

// A session is one connection of an agent: a key, and the name that the client
// gives itself.
type session struct {
	w      *world
	key    string
	client string
	calls  []string // tools that were called
	heard  []string // texts of answers
}

func (w *world) session(key string) *session {
	return &session{w: w, key: key, client: "scripted-agent"}
}

// A reply is the answer of a tool.
type reply struct {
	Status  int
	IsError bool
	Code    string // of an error of the tool
	Text    string
	value   map[string]any
}

// get returns a member of the answer as text, by its path.
func (r reply) get(path ...string) string {
	var at any = r.value
	for _, name := range path {
		object, ok := at.(map[string]any)
		if !ok {
			return ""
		}
		at = object[name]
	}
	switch value := at.(type) {
	case string:
		return value
	case nil:
		return ""
	default:
		return fmt.Sprint(value)
	}
}

// list returns a list of the answer.
func (r reply) list(name string) (all []map[string]any) {
	values, _ := r.value[name].([]any)
	for _, value := range values {
		if object, ok := value.(map[string]any); ok {
			all = append(all, object)
		}
	}
	return all
}

// post sends a message as it is, with the headers that are given as names and values.
func (w *world) post(key, body string, headers ...string) (status int, header http.Header, answer []byte) {
	request, err := http.NewRequest(http.MethodPost, w.url+"/mcp", strings.NewReader(body))
	if err != nil {
		panic(err) // the address is the test's own
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, []byte(err.Error())
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(response.Body)
	if err != nil {
		return 0, nil, []byte(err.Error())
	}
	return response.StatusCode, response.Header, answer
}

const newest = "2026-07-28"

// rpc calls a method with the newest revision.
func (s *session) rpc(method, name string, params map[string]any) (status int, answer []byte) {
	if params == nil {
		params = map[string]any{}
	}
	params["_meta"] = map[string]any{
		"io.modelcontextprotocol/protocolVersion":    newest,
		"io.modelcontextprotocol/clientCapabilities": map[string]any{},
		"io.modelcontextprotocol/clientInfo":         map[string]any{"name": s.client, "version": "1"},
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		panic(err) // maps of texts always encode
	}
	headers := []string{"MCP-Protocol-Version", newest, "Mcp-Method", method}
	if name != "" {
		headers = append(headers, "Mcp-Name", name)
	}
	status, _, answer = s.w.post(s.key, string(body), headers...)
	return status, answer
}

// ask calls a tool without remembering it, for calls at the same time.
func (s *session) ask(tool string, arguments any) reply {
	status, answer := s.rpc("tools/call", tool, map[string]any{"name": tool, "arguments": arguments})
	for range 5 {
		// The service has no database for a moment, on a busy machine.
		if status != http.StatusServiceUnavailable {
			break
		}
		time.Sleep(500 * time.Millisecond)
		status, answer = s.rpc("tools/call", tool, map[string]any{"name": tool, "arguments": arguments})
	}
	var out struct {
		Result struct {
			Content []struct {
				Text string `json:"text"`
			} `json:"content"`
			Structured map[string]any `json:"structuredContent"`
			IsError    bool           `json:"isError"`
		} `json:"result"`
		Error *struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	got := reply{Status: status}
	if err := json.Unmarshal(answer, &out); err != nil {
		got.IsError = true
		got.Text = string(answer)
		return got
	}
	if out.Error != nil {
		got.IsError = true
		got.Code = "protocol"
		got.Text = out.Error.Message
		return got
	}
	if len(out.Result.Content) > 0 {
		got.Text = out.Result.Content[0].Text
	}
	got.IsError = out.Result.IsError
	got.value = out.Result.Structured
	if got.IsError {
		_ = json.Unmarshal([]byte(got.Text), &got.value) // a protocol text has no code
		got.Code = got.get("code")
	}
	return got
}

// call calls a tool and remembers what was read.
func (s *session) call(tool string, arguments any) reply {
	got := s.ask(tool, arguments)
	s.calls = append(s.calls, tool)
	s.heard = append(s.heard, got.Text)
	if text := outsideUntrusted(got.value); instruction.MatchString(text) {
		s.w.t.Errorf("%s answers what others wrote outside of untrusted: %s", tool, text)
	}
	return got
}

// outsideUntrusted returns the texts of an answer that are not marked as written by
// others.
func outsideUntrusted(value any) string {
	switch value := value.(type) {
	case string:
		return value + "\n"
	case []any:
		var all string
		for _, item := range value {
			all += outsideUntrusted(item)
		}
		return all
	case map[string]any:
		var all string
		for name, member := range value {
			if name != "untrusted" {
				all += outsideUntrusted(member)
			}
		}
		return all
	}
	return ""
}

// isFull reports whether the proof runs at full size.
func isFull() bool { return os.Getenv("PROVE") == "full" }
