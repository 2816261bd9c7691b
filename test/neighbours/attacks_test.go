//go:build chaos

package neighbours

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// attackKeys is how many test keys the account has: each has a rate limit of its own.
const attackKeys = 10

// An attacker is an account that takes as much as it can of what accounts share.
type attacker struct {
	*account
	keys   []string   // of test mode
	made   []shipment // in the sandbox; the first one's label is a PDF file
	number atomic.Int64

	mu      sync.Mutex
	answers map[string]int // of the attack by status; 0 is none
}

func (w *world) newAttacker() *attacker {
	w.t.Helper()
	a := &attacker{account: w.newAccount("attacker"), answers: map[string]int{}}
	a.connect(pluginName, pluginCredentials)
	for range attackKeys {
		a.keys = append(a.keys, a.key())
	}

	for _, carrier := range []string{"dhl_express", "ups"} {
		var made shipment
		a.must(request{method: http.MethodPost, path: "/v1/shipments", key: a.keys[0], body: newOrder("attack-"+carrier, carrier)}, &made)
		a.made = append(a.made, made)
	}
	a.hook()
	return a
}

// hook has the events of the attacker sent to endpoints that never answer.
func (a *attacker) hook() {
	hangs := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-a.t.Context().Done():
		}
	}))
	a.t.Cleanup(hangs.Close)
	for i := range 5 {
		a.must(request{method: http.MethodPost, path: "/v1/webhooks", key: a.keys[0], body: fmt.Appendf(nil, `{"url":"%s/%d"}`, hangs.URL, i)}, nil)
	}
}

// anyKey returns one of the test keys in turn.
func (a *attacker) anyKey() string { return a.keys[a.number.Add(1)%attackKeys] }

// unique returns a name that no other request has.
func (a *attacker) unique() string { return fmt.Sprint("attack-", a.number.Add(1)) }

func (a *attacker) count(status int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answers[fmt.Sprint(status)]++
}

// An attack holds one resource for as long as its context lasts.
type attack struct {
	resource string // the row of docs/threat-model.md
	clients  int
	once     func(*attacker, context.Context)
}

// attacks are one for each resource that accounts share.
var attacks = []attack{
	{"memory for files and back-tests", 8, (*attacker).importSheet},
	{"memory for label conversions, and the PDF renderer", 8, (*attacker).convertLabel},
	{"places in the queues for both", 40, (*attacker).queue},
	{"memory of bodies that arrive", 320, (*attacker).trickleSmallBody},
	{"files of bodies that arrive", 48, (*attacker).trickleLargeBody},
	{"bodies that a router keeps", 320, (*attacker).trickleKeyedBody},
	{"back-tests", 4, (*attacker).backTest},
	{"connections to the database", 64, (*attacker).list},
	{"places in a group of new shipments, purchases or settlements", 64, (*attacker).create},
	{"workers for batches and bulk actions", 4, (*attacker).batch},
	{"workers for purchases that are settled", 16, (*attacker).buyFromPlugin},
	{"attempts to deliver webhooks", 16, (*attacker).makeEvents},
	{"requests", 32, (*attacker).read},
	{"room in the spool", 64, (*attacker).buyFromPlugin},
	{"disk of the database", 4, (*attacker).upload},
}

// hold runs an attack until it is stopped.
func (a *attacker) hold(attack attack) (stop func()) {
	ctx, cancel := context.WithCancel(a.t.Context())
	var clients sync.WaitGroup
	for range attack.clients {
		clients.Go(func() {
			for ctx.Err() == nil {
				attack.once(a, ctx)
			}
		})
	}
	return func() {
		cancel()
		clients.Wait()
	}
}

// try makes a request of the attack with one of its keys.
func (a *attacker) try(ctx context.Context, in request) {
	if in.key == "" {
		in.key = a.anyKey()
	}
	status, _ := a.send(ctx, in)
	if ctx.Err() != nil {
		return
	}
	a.count(status)

	// A client that is refused at once would do nothing but be refused.
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		time.Sleep(20 * time.Millisecond)
	}
}

// largeSheet is a rate sheet of a few hundred zones and weights.
var largeSheet = func() []byte {
	const zones, weights = 400, 99
	var csv strings.Builder
	csv.WriteString("[sheet]\ncurrency,USD\nweight unit,lb\n[zones]\nzone,country,zip\n")
	for zip := range 20_000 {
		fmt.Fprintf(&csv, "z%d,US,%05d\n", zip%zones, zip)
	}
	csv.WriteString("[rates]\nservice,up to")
	for zone := range zones {
		fmt.Fprintf(&csv, ",zone z%d", zone)
	}
	for weight := range weights {
		fmt.Fprintf(&csv, "\nground,%d", weight+1)
		for zone := range zones {
			fmt.Fprintf(&csv, ",%d.00", 100+weight+zone%7)
		}
	}
	return fmt.Appendf(nil, `{"carrier":"ups","csv":%q}`, csv.String())
}()

func (a *attacker) importSheet(ctx context.Context) {
	a.try(ctx, request{method: http.MethodPut, path: fmt.Sprint("/v1/rate-sheets/attack-", a.number.Add(1)%8), body: largeSheet})
}

func (a *attacker) convertLabel(ctx context.Context) {
	n := int(a.number.Add(1))
	one := a.made[n%len(a.made)].Labels
	a.try(ctx, request{method: http.MethodGet, path: []string{one.PNG, one.ZPL, one.PDF}[n/2%3]})
}

func (a *attacker) queue(ctx context.Context) {
	if a.number.Add(1)%2 == 0 {
		a.importSheet(ctx)
		return
	}
	a.convertLabel(ctx)
}

func (a *attacker) backTest(ctx context.Context) {
	a.try(ctx, request{method: http.MethodPost, path: "/v1/routing/simulate", body: []byte(`{"rules":"published","last":100000}`)})
}

func (a *attacker) list(ctx context.Context) {
	a.try(ctx, request{method: http.MethodGet, path: "/v1/shipments?limit=100"})
}

func (a *attacker) create(ctx context.Context) {
	a.try(ctx, request{method: http.MethodPost, path: "/v1/shipments", body: newOrder(a.unique(), "ups")})
}

func (a *attacker) batch(ctx context.Context) {
	var lines bytes.Buffer
	for range 500 {
		lines.Write(newOrder(a.unique(), "ups"))
		lines.WriteByte('\n')
	}
	a.try(ctx, request{method: http.MethodPost, path: "/v1/batches", contentType: "application/x-ndjson", body: lines.Bytes()})
}

// buyFromPlugin buys from a carrier that sells and never answers.
func (a *attacker) buyFromPlugin(ctx context.Context) {
	order := a.unique()
	a.try(ctx, request{method: http.MethodPost, path: "/v1/shipments", key: a.live, idempotency: order, body: newOrder(order, pluginName)})
}

// makeEvents makes events for endpoints that hang.
func (a *attacker) makeEvents(ctx context.Context) { a.create(ctx) }

func (a *attacker) read(ctx context.Context) {
	a.try(ctx, request{method: http.MethodGet, path: "/v1/shipments/" + a.made[0].ID})
}

// largePicture is a document of 1 MiB in base64. Each goes to a shipment of its own, which
// takes only a few.
var largePicture = func() string {
	noise := make([]byte, 1<<20)
	_, _ = rand.Read(noise) // never fails
	return base64.StdEncoding.EncodeToString(append([]byte("\x89PNG\r\n\x1a\n"), noise...))
}()

func (a *attacker) upload(ctx context.Context) {
	key := a.anyKey()
	status, answer := a.send(ctx, request{method: http.MethodPost, path: "/v1/shipments", key: key, body: newOrder(a.unique(), "ups")})
	var made shipment
	if status != http.StatusCreated || json.Unmarshal(answer, &made) != nil {
		return
	}
	a.try(ctx, request{
		method: http.MethodPost, path: "/v1/shipments/" + made.ID + "/documents", key: key,
		body: []byte(`{"type":"other","data":"` + largePicture + `"}`),
	})
}

// Bodies that arrive no faster than they must.
const (
	trickle      = 10 << 10 // bytes a second
	trickleEvery = time.Second
	trickleFor   = 20 * time.Second
)

func (a *attacker) trickleSmallBody(ctx context.Context) {
	a.trickle(ctx, "/v1/shipments", 250<<10, "")
}

func (a *attacker) trickleKeyedBody(ctx context.Context) {
	a.trickle(ctx, "/v1/shipments", 250<<10, a.unique())
}

func (a *attacker) trickleLargeBody(ctx context.Context) {
	a.trickle(ctx, "/v1/shipments/"+a.made[0].ID+"/documents", 10<<20, "")
}

// trickle sends the most of a body at once, and the rest as slowly as the service
// accepts, so that its room is held.
func (a *attacker) trickle(ctx context.Context, path string, size int, idempotency string) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", a.router.Addr)
	if err != nil {
		a.count(0)
		return
	}
	defer conn.Close()

	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n",
		path, a.router.Addr, a.anyKey(), size)
	if idempotency != "" {
		head += "Idempotency-Key: " + idempotency + "\r\n"
	}
	slowly := min(trickle*int(trickleFor/time.Second), size*9/10)
	atOnce := `{"orderId":"` + strings.Repeat("x", size-slowly)
	if _, err := io.WriteString(conn, head+"\r\n"+atOnce[:size-slowly]); err != nil {
		a.count(0)
		return
	}

	drop := strings.Repeat("x", trickle)
	for sent := 0; sent < slowly && ctx.Err() == nil; sent += trickle {
		if _, err := io.WriteString(conn, drop[:min(trickle, slowly-sent)]); err != nil {
			a.count(0) // the service has closed it
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(trickleEvery):
		}
	}
	a.count(http.StatusProcessing) // held to its end
}
