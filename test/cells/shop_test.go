//go:build chaos

package cells_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/ship"
)

// The modes of an account, each with a key of its own.
const (
	sandbox = iota
	live
	modes
)

// A shop is an account whose clients create shipments in the sandbox, buy labels from
// the carrier, and follow the log in both modes.
type shop struct {
	*city
	name                 string
	account              ship.AccountID
	shard                int
	keys                 [modes]string
	readers              [modes]*reader
	pushPath, pushSecret string

	mu      sync.Mutex
	made    map[string]string // shipments of the sandbox by order
	bought  map[string]string // shipments of the carrier by order
	longest time.Duration     // that a request took, with all its tries
}

const (
	origin      = `{"name":"Warehouse","company":"Shop","address1":"1 Market St","city":"San Francisco","state":"CA","zip":"94105","country":"US","phone":"+14155550100"}`
	destination = `{"name":"Ada Lovelace","address1":"350 5th Avenue","city":"New York","state":"NY","zip":"10118","country":"US","phone":"+12125550100"}`
)

func (s *shop) creation(order string) request {
	return request{
		method:      http.MethodPost,
		path:        "/v1/shipments",
		key:         s.keys[sandbox],
		idempotency: order,
		body:        fmt.Sprintf(`{"orderId":%q,"destination":%s,"parcel":{"weight":2.5}}`, order, destination),
	}
}

func (s *shop) purchase(order string) request {
	in := s.creation(order)
	in.key = s.keys[live]
	in.body = fmt.Sprintf(`{"orderId":%q,"carrier":"ups","origin":%s,"destination":%s,"parcel":{"weight":2.5,"weightUnit":"lb","dimensions":{"length":10,"width":8,"height":4,"unit":"in"}}}`, order, origin, destination)
	return in
}

// shipment is as much of the API's answer as the tests read.
type shipment struct {
	ID             string
	OrderID        string
	LabelStatus    string
	TrackingNumber string
}

// hook has the events of both modes sent to the sink.
func (s *shop) hook() {
	for _, key := range s.keys {
		s.insist(request{method: http.MethodPost, path: "/v1/webhooks", key: key, body: fmt.Sprintf(`{"url":%q}`, s.sink.url)}, nil, http.StatusCreated)
	}
}

// open starts the clients. They end with ctx, when all that they have begun is
// answered; the readers end when they are stopped.
func (s *shop) open(ctx context.Context, clients *sync.WaitGroup) {
	clients.Go(func() {
		s.every(ctx, 400*time.Millisecond, func(n int) { s.create(fmt.Sprintf("%s-sandbox-%d", s.name, n)) })
	})
	clients.Go(func() {
		s.every(ctx, time.Second, func(n int) { s.buy(fmt.Sprintf("%s-live-%d", s.name, n)) })
	})
	for mode, key := range s.keys {
		s.readers[mode] = &reader{shop: s, key: key, seen: map[string]bool{}, sequences: map[string]int{}}
		go s.readers[mode].run(s.t.Context())
	}
}

// every calls do, and pauses after it, until ctx ends.
func (s *shop) every(ctx context.Context, pause time.Duration, do func(n int)) {
	for n := 0; ctx.Err() == nil; n++ {
		began := time.Now()
		do(n)
		s.mu.Lock()
		s.longest = max(s.longest, time.Since(began))
		s.mu.Unlock()
		time.Sleep(pause)
	}
}

func (s *shop) create(order string) {
	var got shipment
	if s.insist(s.creation(order), &got, http.StatusCreated) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.made[order] = got.ID
	}
}

// buy buys a label, and has the carrier push two scans of its parcel.
func (s *shop) buy(order string) {
	var got shipment
	if !s.insist(s.purchase(order), &got, http.StatusCreated) {
		return
	}
	s.mu.Lock()
	s.bought[order] = got.ID
	s.mu.Unlock()

	at := time.Now().Add(-time.Hour)
	s.push(got.TrackingNumber, at, "P", "PU", "038", "Pickup Scan")
	s.push(got.TrackingNumber, at.Add(time.Minute), "I", "DP", "005", "Departed from Facility")
}

// push reports a scan as the carrier does, until it is accepted.
func (s *shop) push(number string, at time.Time, kind, code, detail, words string) {
	date := at.UTC().Format("20060102")
	clock := at.UTC().Format("150405")
	body, err := json.Marshal(map[string]any{
		"trackingNumber":    number,
		"activityLocation":  map[string]string{"city": "LOUISVILLE", "stateProvince": "KY", "country": "US"},
		"activityStatus":    map[string]string{"type": kind, "code": code, "description": words, "descriptionCode": detail},
		"localActivityDate": date,
		"localActivityTime": clock,
		"gmtActivityDate":   date,
		"gmtActivityTime":   clock,
		"gmtOffset":         "+00.00",
	})
	if err != nil {
		s.t.Error(err)
		return
	}
	s.insist(request{method: http.MethodPost, path: s.pushPath, header: map[string]string{"Credential": s.pushSecret}, body: string(body)}, nil, http.StatusOK)
}

// Events of a shipment: its creation and its label, and for one of the carrier the
// two scans.
const (
	eventsOfSandbox = 2
	eventsOfLive    = 4
)

// wanted are the numbers of events by shipment.
func (s *shop) wanted(mode int) map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	list, each := s.made, eventsOfSandbox
	if mode == live {
		list, each = s.bought, eventsOfLive
	}
	wanted := map[string]int{}
	for _, id := range list {
		wanted[id] = each
	}
	return wanted
}

// A reader follows the log of an account behind a cursor.
type reader struct {
	*shop
	key string

	mu        sync.Mutex
	cursor    string
	order     []string // events as they came
	seen      map[string]bool
	sequences map[string]int // events by shipment
}

type logPage struct {
	Data []struct {
		ID       string
		Sequence int
		Data     struct{ Shipment struct{ ID string } }
	}
	NextCursor string
}

func (r *reader) run(ctx context.Context) {
	for ctx.Err() == nil {
		if r.read() == 0 {
			time.Sleep(250 * time.Millisecond)
		}
	}
}

// read reads a page, and checks that its events are new and that those of each
// shipment come in order.
func (r *reader) read() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	path := "/v1/events?limit=100"
	if r.cursor != "" {
		path += "&after=" + r.cursor
	}
	var page logPage
	if !r.insist(request{method: http.MethodGet, path: path, key: r.key}, &page, http.StatusOK) {
		return 0
	}
	if page.NextCursor != "" {
		r.cursor = page.NextCursor
	}
	for _, event := range page.Data {
		if r.seen[event.ID] {
			r.violate("event twice", "%s comes twice", event.ID)
		}
		r.seen[event.ID] = true
		r.order = append(r.order, event.ID)
		id := event.Data.Shipment.ID
		if r.sequences[id]++; r.sequences[id] != event.Sequence {
			r.violate("event out of order", "%s is event %d of %s and comes as number %d", event.ID, event.Sequence, id, r.sequences[id])
		}
	}
	return len(page.Data)
}

// missing are the events that are yet to come.
func (r *reader) missing(wanted map[string]int) (n int, example string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, want := range wanted {
		if have := r.sequences[id]; have < want {
			n += want - have
			example = fmt.Sprintf("%s has %d of %d", id, have, want)
		}
	}
	return n, example
}

// settles is how long what was begun may take to end.
const settles = 3 * time.Minute

// verify compares a shop with what its clients received. The clients have ended.
func (s *shop) verify(sales map[string][]sale) {
	s.t.Helper()
	for mode, reader := range s.readers {
		s.verifyLog(reader, s.wanted(mode))
		s.verifyList(mode)
	}

	for order, id := range s.bought {
		var got shipment
		s.insist(request{method: http.MethodGet, path: "/v1/shipments/" + id, key: s.keys[live]}, &got, http.StatusOK)
		switch labels := sales[order]; {
		case got.LabelStatus != "ready":
			s.violate("not settled", "%s is %s", order, got.LabelStatus)
		case len(labels) != 1:
			s.violate("labels", "%s has %d live labels: %v", order, len(labels), labels)
		case labels[0].Number != got.TrackingNumber:
			s.violate("labels", "%s has the label %s, recorded is %s", order, labels[0].Number, got.TrackingNumber)
		}
	}
}

// verifyLog waits for what the log owes the reader, and compares what it read during
// the moves with the log as it is now.
func (s *shop) verifyLog(r *reader, wanted map[string]int) {
	s.t.Helper()
	for began := time.Now(); ; time.Sleep(200 * time.Millisecond) {
		n, example := r.missing(wanted)
		if n == 0 {
			break
		}
		if time.Since(began) > settles {
			s.violate("event missing", "%d events of %s are missing: %s", n, s.name, example)
			break
		}
	}
	for id, have := range r.sequences {
		if want, ok := wanted[id]; !ok || have > want {
			s.violate("event of nobody", "%s has %d events, want %d", id, have, want)
		}
	}

	again := &reader{shop: s, key: r.key, seen: map[string]bool{}, sequences: map[string]int{}}
	for more := 1; more > 0; {
		more = again.read()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Equal(again.order, r.order) {
		s.violate("cursor order", "%s: %d events were read behind the cursor, %d are in the log, or in another order", s.name, len(r.order), len(again.order))
	}
	for _, id := range r.order {
		s.sink.expect(id)
	}
}

// verifyList compares the list of shipments with those that were acknowledged.
func (s *shop) verifyList(mode int) {
	s.t.Helper()
	acknowledged := s.made
	if mode == live {
		acknowledged = s.bought
	}
	listed := map[string]int{}
	for cursor := ""; ; {
		var page struct {
			Data       []shipment
			NextCursor string
		}
		path := "/v1/shipments?limit=100"
		if cursor != "" {
			path += "&cursor=" + cursor
		}
		if !s.insist(request{method: http.MethodGet, path: path, key: s.keys[mode]}, &page, http.StatusOK) {
			return
		}
		for _, one := range page.Data {
			listed[one.ID]++
			if acknowledged[one.OrderID] != one.ID {
				s.violate("shipment of nobody", "%s is of order %q, which is %s", one.ID, one.OrderID, acknowledged[one.OrderID])
			}
		}
		if cursor = page.NextCursor; cursor == "" || len(page.Data) == 0 {
			break
		}
	}
	for order, id := range acknowledged {
		if listed[id] != 1 {
			s.violate("shipment lost or doubled", "%s, order %s, is listed %d times", id, order, listed[id])
		}
	}
}

// A sale is a label that the carrier sold and did not take back.
type sale struct{ Number, Second string }

// sales are the live labels by order, as the carrier's ledger has them.
func (c *city) sales(orders map[string]string) map[string][]sale {
	c.t.Helper()
	file, err := os.Open(c.ledger)
	if err != nil {
		c.t.Fatal(err)
	}
	defer file.Close()

	sold := map[string]sale{}
	for lines := bufio.NewReader(file); ; {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break // a line without an end was not answered
		}
		var entry emulator.Entry
		if err != nil || json.Unmarshal(line, &entry) != nil {
			c.t.Fatalf("the ledger has %q, %v", line, err)
		}
		switch entry.Kind {
		case "sold":
			sold[entry.Number] = sale{entry.Number, entry.Second}
		case "voided":
			delete(sold, entry.Number)
		}
	}

	byOrder := map[string][]sale{}
	for _, one := range sold {
		order, ok := orders[one.Second] // a carrier is given the order, or the shipment
		if !ok {
			order = one.Second
		}
		byOrder[order] = append(byOrder[order], one)
	}
	return byOrder
}

// sink receives the webhooks of all shops.
type sink struct {
	url string

	mu       sync.Mutex
	got      map[string]int // times that an event came
	sums     map[string][32]byte
	expected map[string]bool
	changed  int // events that came with another body
}

func newSink(t *testing.T) *sink {
	s := &sink{got: map[string]int{}, sums: map[string][32]byte{}, expected: map[string]bool{}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *sink) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the sender died
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	id := r.Header.Get("webhook-id")
	sum := sha256.Sum256(body)
	if s.got[id]++; s.got[id] == 1 {
		s.sums[id] = sum
	}
	if s.sums[id] != sum {
		s.changed++
	}
}

func (s *sink) expect(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expected[id] = true
}

func (s *sink) missing() (n int, example string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.expected {
		if s.got[id] == 0 {
			n++
			example = id
		}
	}
	return n, example
}

// verifyWebhooks waits until every event was delivered, and returns how many there
// were and how many came again.
func (c *city) verifyWebhooks() (events, again int) {
	c.t.Helper()
	for began := time.Now(); ; time.Sleep(200 * time.Millisecond) {
		n, example := c.sink.missing()
		if n == 0 {
			break
		}
		if time.Since(began) > settles {
			c.violate("webhook missing", "%d events were not delivered, such as %s", n, example)
			break
		}
	}

	c.sink.mu.Lock()
	defer c.sink.mu.Unlock()
	for id, times := range c.sink.got {
		again += times - 1
		if !c.sink.expected[id] {
			c.violate("webhook of nobody", "%s is not in the log", id)
		}
	}
	if c.sink.changed > 0 {
		c.violate("webhook changed", "%d deliveries had another body than the first", c.sink.changed)
	}
	return len(c.sink.expected), again
}
