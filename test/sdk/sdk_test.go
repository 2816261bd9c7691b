// Package sdk holds the client libraries to one behaviour: it runs every scenario
// of sdk/scenarios.json with each of them, against the real binary behind a proxy
// that loses, delays and changes what passes.
//
// The Go library runs with all other tests. TypeScript and Python need the build
// tag clients, node, npm, python3 and the packages that "make sdks" builds; "make
// release-check" runs them.
package sdk

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/store/storetest"
)

// A table is sdk/scenarios.json.
type table struct {
	Values    map[string]any `json:"values"`
	Scenarios []scenario     `json:"scenarios"`
}

type scenario struct {
	Name   string         `json:"name"`
	Client map[string]any `json:"client"` // settings: key, maxAttempts, maxWaitMs, timeoutMs
	Steps  []step         `json:"steps"`
}

// A step is one call and what is expected of it.
type step struct {
	Faults []fault    `json:"faults"`
	Sign   *signature `json:"sign"` // makes a delivery first

	Call    string         `json:"call"` // "shipments.create"
	Args    []any          `json:"args"`
	Params  map[string]any `json:"params"`
	Options map[string]any `json:"options"`
	Page    bool           `json:"page"` // one page of a list instead of all

	Result   any            `json:"result"`
	Error    map[string]any `json:"error"`
	Info     map[string]any `json:"info"`
	Requests *expectation   `json:"requests"`
	Save     string         `json:"save"`
}

// A signature is a webhook that the test signs itself.
type signature struct {
	Secret       string `json:"secret"`
	AheadSeconds int    `json:"aheadSeconds"`
}

// An expectation is about the requests of a step.
type expectation struct {
	Count          int    `json:"count"`
	WithKey        *int   `json:"withKey"`
	SameKey        bool   `json:"sameKey"`
	Key            string `json:"key"` // of every request
	WaitsAtLeastMs int    `json:"waitsAtLeastMs"`
}

// An order is what a driver is sent for a step.
type order struct {
	URL     string         `json:"url"`
	Key     string         `json:"key"`
	Client  map[string]any `json:"client"`
	Call    string         `json:"call"`
	Args    []any          `json:"args"`
	Params  map[string]any `json:"params"`
	Options map[string]any `json:"options"`
	Page    bool           `json:"page"`
}

// An outcome is what a driver reports of a step.
type outcome struct {
	Result any            `json:"result"`
	Error  map[string]any `json:"error"`
	Info   map[string]any `json:"info"`
}

// A library makes the calls of one language.
type library interface {
	run(t *testing.T, order order) outcome
}

func readTable(t *testing.T) table {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "sdk", "scenarios.json"))
	if err != nil {
		t.Fatal(err)
	}
	var out table
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.DisallowUnknownFields()
	var file struct {
		About string `json:"about"`
		table
	}
	if err := decoder.Decode(&file); err != nil {
		t.Fatal(err)
	}
	out = file.table
	return out
}

// runAll runs every scenario with a library.
func runAll(t *testing.T, library library) {
	t.Helper()
	scenarios := readTable(t)
	running := start(t)
	deliveries := newReceiver(t)

	for i, scenario := range scenarios.Scenarios {
		t.Run(strings.ReplaceAll(scenario.Name, " ", "_"), func(t *testing.T) {
			bench := &bench{
				library:  library,
				service:  running,
				receiver: deliveries,
				proxy:    newProxy(t, running.URL),
				path:     fmt.Sprintf("/%d", i),
				values:   map[string]any{},
			}
			for name, value := range scenarios.Values {
				bench.values[name] = value
			}
			bench.values["unique"] = fmt.Sprintf("%s-%d-%d", strings.ReplaceAll(t.Name(), "/", "-"), i, time.Now().UnixNano())[len("Test"):]
			bench.values["receiver"] = deliveries.URL + bench.path

			for n, step := range scenario.Steps {
				bench.step(t, scenario, n, step)
			}
		})
	}
}

// A bench runs the steps of one scenario.
type bench struct {
	library  library
	service  service
	receiver *receiver
	proxy    *proxy
	path     string // of the receiver
	values   map[string]any
}

func (b *bench) step(t *testing.T, scenario scenario, n int, step step) {
	t.Helper()
	name := fmt.Sprintf("step %d, %s", n+1, step.Call)

	if step.Sign != nil {
		b.values["delivery"] = sign(b.fill(step.Sign.Secret).(string), step.Sign.AheadSeconds)
	} else if delivery, ok := b.receiver.take(b.path); ok {
		b.values["delivery"] = delivery
	}

	in := order{
		URL:    b.proxy.URL,
		Key:    b.service.APIKey,
		Client: scenario.Client,
		Call:   step.Call,
		Args:   []any{},
		Page:   step.Page,
	}
	if key, ok := scenario.Client["key"].(string); ok {
		in.Key = key
	}
	for _, arg := range step.Args {
		in.Args = append(in.Args, b.fill(arg))
	}
	in.Params, _ = b.fill(anyMap(step.Params)).(map[string]any)
	in.Options, _ = b.fill(anyMap(step.Options)).(map[string]any)

	b.proxy.expect(step.Faults)
	got := b.library.run(t, in)
	b.check(t, name, step, got)
	if step.Save != "" {
		b.values[step.Save] = got.Result
	}
}

func (b *bench) check(t *testing.T, name string, step step, got outcome) {
	t.Helper()
	switch {
	case step.Error == nil && got.Error != nil:
		t.Fatalf("%s: error %v", name, got.Error)
	case step.Error != nil && got.Error == nil:
		t.Fatalf("%s: no error but %v, want %v", name, got.Result, step.Error)
	case step.Error != nil:
		want := b.fill(step.Error).(map[string]any)
		if _, hasClasses := got.Error["class"]; !hasClasses {
			delete(want, "class")
		}
		if problem := mismatch("error", got.Error, want); problem != "" {
			t.Errorf("%s: %s", name, problem)
		}
	case step.Result != nil:
		if problem := mismatch("result", got.Result, b.fill(step.Result)); problem != "" {
			t.Errorf("%s: %s", name, problem)
		}
	}
	if _, hasClasses := got.Error["class"]; step.Info != nil && hasClasses && got.Info == nil {
		t.Errorf("%s: the response of the error was not reported", name)
	}
	if step.Info != nil {
		// A library reports of a response what it can.
		for field, want := range step.Info {
			if value, ok := got.Info[field]; ok && fmt.Sprint(value) != fmt.Sprint(want) {
				t.Errorf("%s: %s of the response is %v, want %v", name, field, value, want)
			}
		}
	}

	if step.Requests != nil {
		b.checkRequests(t, name, *step.Requests)
	}
}

func (b *bench) checkRequests(t *testing.T, name string, want expectation) {
	t.Helper()
	seen := b.proxy.seen()
	if len(seen) != want.Count {
		t.Fatalf("%s: %d requests, want %d: %+v", name, len(seen), want.Count, seen)
	}

	keyed := 0
	for _, request := range seen {
		if request.key != "" {
			keyed++
		}
		if want.Key != "" && request.key != b.fill(want.Key) {
			t.Errorf("%s: key %q, want %q", name, request.key, b.fill(want.Key))
		}
		if want.SameKey && (request.key == "" || request.key != seen[0].key) {
			t.Errorf("%s: keys %q and %q, want the same", name, seen[0].key, request.key)
		}
	}
	if want.WithKey != nil && keyed != *want.WithKey {
		t.Errorf("%s: %d requests have an idempotency key, want %d", name, keyed, *want.WithKey)
	}

	if want.WaitsAtLeastMs > 0 {
		waited := seen[1].at.Sub(seen[0].at)
		least := time.Duration(want.WaitsAtLeastMs) * time.Millisecond
		if waited < least || waited > least+10*time.Second {
			t.Errorf("%s: waited %s, want %s", name, waited, least)
		}
	}
}

// fill replaces references in a value of the table. The markers $any, $some and
// $text stay: they are expectations.
func (b *bench) fill(value any) any {
	switch value := value.(type) {
	case string:
		return b.resolve(value)
	case []any:
		out := make([]any, len(value))
		for i, element := range value {
			out[i] = b.fill(element)
		}
		return out
	case map[string]any:
		if value == nil {
			return value
		}
		out := map[string]any{}
		for name, member := range value {
			out[name] = b.fill(member)
		}
		return out
	}
	return value
}

func (b *bench) resolve(text string) any {
	if !strings.HasPrefix(text, "$") || text == "$any" || text == "$some" || text == "$text" {
		return text
	}
	if references := strings.Split(text, ", "); len(references) > 1 {
		var parts []string
		for _, reference := range references {
			parts = append(parts, fmt.Sprint(b.resolve(reference)))
		}
		return strings.Join(parts, ", ")
	}

	name, path, _ := strings.Cut(text[1:], ".")
	value := b.fill(b.values[name])
	for member := range strings.SplitSeq(path, ".") {
		if member == "" {
			continue
		}
		object, _ := value.(map[string]any)
		value = object[member]
	}
	return value
}

func anyMap(value map[string]any) any { return value }

// mismatch says where a value differs from what is wanted; members that are not
// mentioned may be anything.
func mismatch(at string, got, want any) string {
	switch want := want.(type) {
	case string:
		list, isList := got.([]any)
		text, isText := got.(string)
		switch want {
		case "$any":
			return ""
		case "$some":
			if !isList || len(list) == 0 {
				return fmt.Sprintf("%s is %v, want a list with elements", at, got)
			}
			return ""
		case "$text":
			if !isText || text == "" {
				return fmt.Sprintf("%s is %v, want text", at, got)
			}
			return ""
		}
		if strings.HasSuffix(at, ".bytes") && strings.HasPrefix(text, want) {
			return ""
		}

	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return fmt.Sprintf("%s is %v, want %d elements", at, got, len(want))
		}
		for i := range want {
			if problem := mismatch(fmt.Sprintf("%s[%d]", at, i), list[i], want[i]); problem != "" {
				return problem
			}
		}
		return ""

	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s is %v, want an object", at, got)
		}
		for name, member := range want {
			if problem := mismatch(at+"."+name, object[name], member); problem != "" {
				return problem
			}
		}
		return ""
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		return fmt.Sprintf("%s is %v, want %v", at, got, want)
	}
	return ""
}

// A receiver is the endpoint of webhooks; it keeps the last test event of each
// path.
type receiver struct {
	*httptest.Server
	mu         sync.Mutex
	deliveries map[string]map[string]any
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{deliveries: map[string]map[string]any{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, in *http.Request) {
		body, err := io.ReadAll(in.Body)
		if err != nil {
			return
		}

		// Events of earlier scenarios may still be on their way.
		var event struct{ Test bool }
		if json.Unmarshal(body, &event) != nil || !event.Test {
			return
		}
		headers := map[string]any{}
		for name := range in.Header {
			headers[strings.ToLower(name)] = in.Header.Get(name)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.deliveries[in.URL.Path] = map[string]any{"headers": headers, "body": string(body)}
	}))
	t.Cleanup(r.Close)
	return r
}

// take returns the delivery since the last call, if there is one.
func (r *receiver) take(path string) (map[string]any, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delivery, ok := r.deliveries[path]
	delete(r.deliveries, path)
	return delivery, ok
}

// sign makes a webhook as the service does, by a clock that is ahead.
func sign(secret string, ahead int) map[string]any {
	const body = `{"id":"evt_1","type":"shipment.delivered","timestamp":"2026-03-01T09:30:00Z","livemode":false,"sequence":1,"late":false,"data":{"event":{"status":"delivered","description":"Delivered","location":null,"timestamp":"2026-03-01T09:30:00Z"}}}`
	timestamp := strconv.FormatInt(time.Now().Unix()+int64(ahead), 10)
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		panic(err)
	}

	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("evt_1." + timestamp + "." + body))
	return map[string]any{
		"secret": secret,
		"body":   body,
		"headers": map[string]any{
			"webhook-id":        "evt_1",
			"webhook-timestamp": timestamp,
			"webhook-signature": "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)),
		},
	}
}

// A service is a running binary with a test key.
type service struct {
	URL    string `json:"url"`
	APIKey string `json:"apiKey"`
}

// start runs the binary on a database of its own.
func start(t *testing.T) service {
	t.Helper()
	binary := filepath.Join("..", "..", "bin", "waybill")
	if _, err := os.Stat(binary); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("bin/waybill is missing; run make build first")
		}
		t.Skip("bin/waybill is missing; run make build first")
	}

	command := exec.Command(binary, "dev", "--json", "--no-sink", "--listen", "127.0.0.1:0", "--data-dir", t.TempDir())
	command.Env = append(os.Environ(), "DATABASE_URL="+storetest.URL(t), "LOG_LEVEL=ERROR", "METRICS_LISTEN=off")
	command.Stderr = os.Stderr
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		_ = command.Wait()
	})

	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var ready service
	if err := json.Unmarshal(line, &ready); err != nil || ready.URL == "" || ready.APIKey == "" {
		t.Fatalf("dev prints %q (%v)", line, err)
	}
	return ready
}
