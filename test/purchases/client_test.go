//go:build chaos

package purchases

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/waybillhq/waybill/test/proving"
)

// order is one purchase that a client wants, and what it was told of it.
type order struct {
	key     string
	carrier string // "" lets the service choose
	body    string

	status   int    // of the definite answer; zero while there is none
	code     string // of a refusal
	answer   []byte // the first 201
	shipment shipment
	requests int
	took     time.Duration
}

// shipment is as much of the API's answer as the judge needs.
type shipment struct {
	ID             string
	Carrier        string
	LabelStatus    string
	TrackingNumber string
	LabelURL       string
	Rate           struct{ Amount, Currency string }
}

// address as all four carriers take it.
const (
	shipFrom = `{"name":"Warehouse","company":"Shop","address1":"1 Market St","city":"San Francisco","state":"CA","zip":"94105","country":"US","phone":"+14155550100"}`
	shipTo   = `{"name":"Ada Lovelace","address1":"350 5th Avenue","city":"New York","state":"NY","zip":"10118","country":"US","phone":"+12125550100"}`
	parcel   = `{"weight":2.5,"weightUnit":"lb","dimensions":{"length":10,"width":8,"height":4,"unit":"in"}}`
)

// newOrder is a purchase with a key and an order id of its own.
func newOrder(key, carrier string, extra ...string) *order {
	fields := append([]string{
		`"orderId":"order-` + key + `"`, `"origin":` + shipFrom, `"destination":` + shipTo, `"parcel":` + parcel,
	}, extra...)
	if carrier != "" {
		fields = append(fields, `"carrier":"`+carrier+`"`)
	}
	return &order{key: key, carrier: carrier, body: "{" + strings.Join(fields, ",") + "}"}
}

// newOrders are n purchases over the four carriers. One in ten leaves the
// choice to the service, and one in ten refuses a second shipment of an order.
func newOrders(prefix string, n int, rng *rand.Rand) []*order {
	list := make([]*order, n)
	for i := range list {
		carrier, extra := carrierNames[i%len(carrierNames)], []string(nil)
		if rng.IntN(10) == 0 {
			carrier = ""
		}
		if rng.IntN(10) == 0 {
			extra = append(extra, `"onDuplicateOrder":"reject"`)
		}
		list[i] = newOrder(fmt.Sprintf("%s-%d", prefix, i), carrier, extra...)
	}
	return list
}

// call makes a request of a copy and returns the status and the answer.
func (w *world) call(p *proving.Process, method, path, key, body string) (int, []byte, error) {
	return w.callWith(w.key, p, method, path, key, body)
}

// callWith is call with another key of the API.
func (w *world) callWith(apiKey string, p *proving.Process, method, path, key, body string) (int, []byte, error) {
	var in io.Reader
	if body != "" {
		in = strings.NewReader(body)
	}
	req, err := http.NewRequest(method, "http://"+p.Addr+path, in)
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+apiKey)
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	resp, err := w.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	w.watch.see("an answer to "+method+" "+path, data)
	for _, values := range resp.Header {
		for _, v := range values {
			w.watch.see("a header of an answer", []byte(v))
		}
	}
	return resp.StatusCode, data, err
}

// get reads from any copy that answers.
func (w *world) get(path string, out any) int {
	w.t.Helper()
	status, answer, err := w.ask(http.MethodGet, path, "", "")
	if err != nil || status >= 500 {
		w.t.Fatalf("GET %s: %d %v %s", path, status, err, answer)
	}
	if out != nil && status == http.StatusOK {
		if err := json.Unmarshal(answer, out); err != nil {
			w.t.Fatalf("GET %s: %v in %s", path, err, answer)
		}
	}
	return status
}

// ask repeats a request to any copy until it is answered definitely: on a slow machine
// a request may take longer than the client or the database waits.
func (w *world) ask(method, path, key, body string) (status int, answer []byte, err error) {
	for until := time.Now().Add(proving.Patiently(30 * time.Second)); ; time.Sleep(200 * time.Millisecond) {
		status, answer, err = w.call(w.copies[rand.IntN(len(w.copies))], method, path, key, body)
		isOpen := err != nil || status >= http.StatusBadGateway || status == http.StatusConflict || status == http.StatusTooManyRequests
		if !isOpen || time.Now().After(until) {
			return status, answer, err
		}
	}
}

// clients buy orders. As many requests as they may make are under way at once.
type clients struct {
	*world
	slots  chan struct{}
	vanish float64 // share of the requests after which a client is gone
	gone   atomic.Int64

	mu      sync.Mutex
	answers map[string]int // by status and code
}

func (w *world) newClients(atOnce int, vanish float64) *clients {
	return &clients{world: w, slots: make(chan struct{}, atOnce), vanish: vanish, answers: map[string]int{}}
}

// insist buys an order: it sends the same request to any copy until the answer
// is definite, or the time is over.
func (c *clients) insist(o *order, rng *rand.Rand, until time.Time) {
	began := time.Now()
	for wait := 50 * time.Millisecond; time.Now().Before(until); wait = min(2*wait, proving.Times(time.Second, c.slow)) {
		c.slots <- struct{}{}
		o.requests++
		p := c.copies[rng.IntN(len(c.copies))]
		if rng.Float64() < c.vanish {
			c.hangUp(p, o, rng)
			<-c.slots
			time.Sleep(time.Duration(rng.IntN(1000)) * time.Millisecond)
			continue
		}
		status, answer, err := c.call(p, http.MethodPost, "/v1/shipments", o.key, o.body)
		<-c.slots
		c.count(status, answer)
		if err == nil && c.definite(o, status, answer) {
			o.took = time.Since(began)
			return
		}
		time.Sleep(wait/2 + time.Duration(rng.Int64N(int64(wait))))
	}
}

// count counts an answer by its status and code; none is 0.
func (c *clients) count(status int, answer []byte) {
	var problem struct{ Code string }
	_ = json.Unmarshal(answer, &problem)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers[strings.TrimSpace(fmt.Sprintf("%d %s", status, problem.Code))]++
}

// definite notes an answer, and reports whether it is the last.
func (c *clients) definite(o *order, status int, answer []byte) bool {
	switch status {
	case http.StatusCreated:
		o.status, o.answer = status, answer
		if err := json.Unmarshal(answer, &o.shipment); err != nil || o.shipment.ID == "" {
			c.t.Errorf("%s: 201 %s", o.key, answer)
		}
		return true
	case http.StatusAccepted:
		// Only a person ends a purchase in review; asking again does not.
		var now shipment
		if err := json.Unmarshal(answer, &now); err == nil && now.LabelStatus == "needs_review" {
			o.status = status
			return true
		}
		return false
	case http.StatusConflict, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return false
	}
	var problem struct{ Code string }
	_ = json.Unmarshal(answer, &problem)
	o.status, o.code = status, problem.Code
	if problem.Code != "carrier_rejected" {
		c.t.Errorf("%s: %d %s", o.key, status, answer)
	}
	return true
}

// hangUp sends a request, or the beginning of it, and is gone: at any byte, or
// a moment after the last.
func (c *clients) hangUp(p *proving.Process, o *order, rng *rand.Rand) {
	c.gone.Add(1)
	conn, err := net.DialTimeout("tcp", p.Addr, time.Second)
	if err != nil {
		return
	}
	defer conn.Close()
	var text bytes.Buffer
	fmt.Fprintf(&text, "POST /v1/shipments HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nIdempotency-Key: %s\r\nContent-Length: %d\r\n\r\n%s",
		p.Addr, c.key, o.key, len(o.body), o.body)
	if rng.IntN(3) == 0 {
		text.Truncate(rng.IntN(text.Len()))
	}
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	_, _ = conn.Write(text.Bytes())
	time.Sleep(time.Duration(rng.IntN(250)) * time.Millisecond)
}
