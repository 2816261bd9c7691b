// Package verify has libraries of others verify the signatures of webhooks:
// Go's of Standard Webhooks, and, once "npm ci" has run in this folder, the
// npm packages standardwebhooks and svix.
package verify

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/waybillhq/waybill/client"
	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store/storetest"
	"github.com/waybillhq/waybill/internal/webhook"
)

const (
	rotations  = 100
	deliveries = 10_000
	senders    = 8
)

// request is what a receiver sees, with the number of rotations that the
// sender knew of.
type request struct {
	header  http.Header
	body    []byte
	version int
}

// world is what sends, and what has arrived by its id.
type world struct {
	service *webhook.Service
	sender  *webhook.Sender
	tenant  ship.Tenant
	arrived sync.Map
}

// secrets are those of the endpoint, by version; the first is its first.
type secrets []webhook.Endpoint

func TestRotationUnderLoadLosesNoSignature(t *testing.T) {
	st := storetest.Open(t)
	box, err := seal.New(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	sender := webhook.NewSender(webhook.SenderOptions{Policy: webhook.Policy{Loopback: true}})
	w := &world{service: webhook.New(webhook.Config{Store: st, Box: box, BaseURL: "https://ship.example.com", Sender: sender}), sender: sender, tenant: storetest.Tenant()}
	start := time.Now()
	known, got := w.load(t)
	t.Logf("%d deliveries through %d rotations in %s", len(got), len(known)-1, time.Since(start).Round(time.Millisecond))
	if len(got) != deliveries || len(known) != rotations+1 {
		t.Fatalf("%d deliveries and %d secrets", len(got), len(known))
	}
	if t.Failed() {
		return
	}
	lines := verifyHere(t, known, got)
	verifyInNode(t, lines)
}

// load sends the deliveries while the secret is rotated, evenly spread over
// them.
func (w *world) load(t *testing.T) (secrets, []request) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.arrived.Store(r.Header.Get("webhook-id"), request{header: r.Header, body: body})
	}))
	defer server.Close()
	made, err := w.service.Create(t.Context(), w.tenant, webhook.Settings{URL: new(server.URL), Signature: new(webhook.SignBoth)})
	if err != nil {
		t.Fatal(err)
	}
	known := secrets{made}
	var next atomic.Int64
	var group sync.WaitGroup
	list := make([]request, deliveries)
	for range senders {
		group.Go(func() {
			for n := next.Add(1); n <= deliveries; n = next.Add(1) {
				list[n-1] = w.deliver(t, made.ID, int(n))
			}
		})
	}
	for n := 1; n <= rotations; n++ {
		for next.Load() < int64(n*deliveries/(rotations+1)) {
			time.Sleep(time.Millisecond)
		}
		e, err := w.service.RotateSecret(t.Context(), w.tenant, made.ID)
		if err != nil {
			t.Fatal(err)
		}
		known = append(known, e)
	}
	group.Wait()
	return known, list
}

// deliver reads the endpoint as the dispatcher does and sends one event.
func (w *world) deliver(t *testing.T, id ship.EndpointID, n int) request {
	event := ship.NewEventIDs(w.tenant.Shard(), time.Now(), 1)[0]
	target, err := w.service.Target(t.Context(), w.tenant, id)
	if err != nil {
		t.Error(err)
		return request{}
	}
	body := fmt.Appendf(nil, `{"id":"%s","n":%d,"name":"Zoë 🚚 %s"}`, event, n, strings.Repeat("x", n%700))
	a := w.sender.Send(t.Context(), webhook.Delivery{Target: target, Event: event, Body: body, Number: 1, Trigger: webhook.TriggerAuto})
	v, ok := w.arrived.LoadAndDelete(string(event))
	if !a.Delivered() || !ok {
		t.Errorf("delivery %d: %s %s", n, a.Outcome, a.Error)
		return request{}
	}
	r := v.(request)
	r.version = target.Version - 1
	if !bytes.Equal(r.body, body) {
		t.Errorf("delivery %d changed on its way", n)
	}
	return r
}

// line is a request for the other libraries.
type line struct {
	Secret  string            `json:"secret"`
	Headers map[string]string `json:"headers"`
	Body    []byte            `json:"body"`
	Valid   bool              `json:"valid"`
}

// verifyHere checks each request with the secret that was good when it was
// sent, the one before, those beside them and a body that is changed. It
// returns questions for other libraries: all that must be accepted, and some
// of those that must not.
func verifyHere(t *testing.T, known secrets, list []request) []line {
	t.Helper()
	var lines []line
	seen, asked := map[int]int{}, 0
	ask := func(r request, version int, body []byte, valid bool) {
		if version < 0 || version >= len(known) {
			return
		}
		e := known[version]
		lib, err := standardwebhooks.NewWebhook(e.Secret)
		if err != nil {
			t.Fatal(err)
		}
		if err := lib.Verify(body, r.header); (err == nil) != valid {
			t.Errorf("sent under secret %d, secret %d, valid %t: %v", r.version, version, valid, err)
		}
		if asked++; asked%7 == 0 { // Ed25519, which the library does not know
			if _, err := client.VerifyWebhook(e.PublicKey, r.header, body); (err == nil) != valid {
				t.Errorf("sent under key %d, key %d, valid %t: %v", r.version, version, valid, err)
			}
		}
		headers := map[string]string{}
		for _, name := range []string{"webhook-id", "webhook-timestamp", "webhook-signature"} {
			headers[name] = r.header.Get(name)
		}
		if valid || asked%7 == 0 { // they take a while over each
			lines = append(lines, line{e.Secret, headers, body, valid})
		}
	}
	for _, r := range list {
		seen[r.version]++
		ask(r, r.version, r.body, true)
		ask(r, r.version-1, r.body, true)
		ask(r, r.version-2, r.body, false)
		ask(r, r.version+1, r.body, false)
		changed := slices.Clone(r.body)
		changed[len(changed)/2] ^= 1
		ask(r, r.version, changed, false)
	}
	if len(seen) < rotations/2 {
		t.Errorf("only %d of %d secrets were used", len(seen), len(known))
	}
	t.Logf("Go: %d questions, %d secrets used", asked, len(seen))
	return lines
}

// verifyInNode asks the libraries of npm.
func verifyInNode(t *testing.T, lines []line) {
	t.Helper()
	if _, err := os.Stat("node_modules"); errors.Is(err, os.ErrNotExist) {
		if os.Getenv("CI") != "" {
			t.Fatal("the npm libraries are not installed: npm ci --prefix test/verify")
		}
		t.Skip("Go's library agrees; the npm libraries are not installed: npm ci --prefix test/verify")
	}
	cmd := exec.CommandContext(t.Context(), "node", "verify.js")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var notified bytes.Buffer
	cmd.Stdout, cmd.Stderr = &notified, &notified
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(in)
	out := json.NewEncoder(w)
	for _, l := range lines {
		if err = out.Encode(l); err != nil {
			break
		}
	}
	err = errors.Join(err, w.Flush(), in.Close(), cmd.Wait())
	if text := notified.String(); err != nil || strings.Count(text, " accepted, ") != 2 {
		t.Fatalf("%v: %s", err, text)
	}
	t.Logf("node: %s", strings.ReplaceAll(strings.TrimSpace(notified.String()), "\n", "; "))
}
