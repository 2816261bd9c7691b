//go:build chaos

package load

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// mix is what clients ask for, in turns: four purchases, eight look-ups, a list
// and a search. The scans of the parcels come in addition, five each: pushed by
// the carrier for the live half, made by the service for the simulated half.
var mix = []kind{
	createLive, lookup, lookup, createSandbox, lookup, lookup, list,
	createLive, lookup, lookup, createSandbox, lookup, lookup, search,
}

// creationsInMix is how many purchases are in a round of the mix.
const creationsInMix = 4

// eventsOfShipment is how many events a shipment has at its end: creation,
// label and five scans.
const eventsOfShipment = 7

// A parcel is a shipment that was bought, and how many of its scans are pushed.
type parcel struct {
	id, number string
	isLive     bool
	scans      int
	due        time.Time // of the next scan
}

// An operation is a request that is due.
type operation struct {
	kind   kind
	due    time.Time
	parcel parcel // of a push
}

// remembered is how many parcels look-ups choose from. A new one replaces any of
// them, so there are old ones among them.
const remembered = 1 << 15

// A generator is the clients of the API and the carrier that pushes. It speaks
// HTTP/1.1 by hand: a full client would take as much CPU as the service, on the
// same cores.
type generator struct {
	*world
	meter *meter
	next  atomic.Int64 // of the mix
	order atomic.Int64

	queue chan operation // due now
	scans chan parcel    // due later, the soonest first

	mu     sync.Mutex
	recent []parcel
}

func newGenerator(w *world) *generator {
	return &generator{
		world: w,
		meter: newMeter(),
		queue: make(chan operation, 1<<16),
		scans: make(chan parcel, 1<<18),
	}
}

// backlog is how many operations are due and not begun.
func (g *generator) backlog() int { return len(g.queue) }

// carry pushes the scans of live parcels when they are due, until ctx ends.
func (g *generator) carry(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case next := <-g.scans:
			time.Sleep(time.Until(next.due))
			g.queue <- operation{kind: push, due: next.due, parcel: next}
		}
	}
}

// saturate keeps each of the clients busy, one request after the other. What the
// carrier has to push comes first.
func (g *generator) saturate(ctx context.Context, clients int, lasts time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, lasts)
	defer cancel()

	g.run(clients, func() (operation, bool) {
		select {
		case due := <-g.queue:
			return due, true
		default:
			return operation{kind: g.nextOfMix(), due: time.Now()}, ctx.Err() == nil
		}
	})
}

// pace sends so many requests of the mix a second, whether or not earlier ones
// are answered. Times count from the moment at which a request is due.
func (g *generator) pace(ctx context.Context, clients int, perSecond float64, lasts time.Duration) {
	arrivals := make(chan struct{})
	go func() {
		defer close(arrivals)
		start := time.Now()
		for n := 0; ctx.Err() == nil; n++ {
			after := time.Duration(float64(n) / perSecond * float64(time.Second))
			if after >= lasts {
				return
			}
			due := start.Add(after)
			time.Sleep(time.Until(due))
			g.queue <- operation{kind: g.nextOfMix(), due: due}
		}
	}()

	g.run(clients, func() (operation, bool) {
		select {
		case due := <-g.queue:
			return due, true
		case <-arrivals:
			return operation{}, false
		}
	})
}

// deliver pushes what is left of the scans.
func (g *generator) deliver(ctx context.Context, clients int) {
	g.run(clients, func() (operation, bool) {
		select {
		case due := <-g.queue:
			return due, true
		case <-time.After(2 * scanStep):
			return operation{}, false
		case <-ctx.Done():
			return operation{}, false
		}
	})
}

func (g *generator) nextOfMix() kind { return mix[int(g.next.Add(1))%len(mix)] }

// run has clients do operations until there are none.
func (g *generator) run(clients int, next func() (operation, bool)) {
	var running sync.WaitGroup
	for range clients {
		running.Go(func() {
			connection := &line{addr: g.service.Addr}
			defer connection.close()
			for {
				one, ok := next()
				if !ok {
					return
				}
				g.do(connection, one)
			}
		})
	}
	running.Wait()
}

// do makes one request, and notes how long it took since it was due.
func (g *generator) do(connection *line, one operation) {
	want := http.StatusOK
	if one.kind == createLive || one.kind == createSandbox {
		want = http.StatusCreated
	}

	status, answer, err := connection.send(g.request(connection.buffer[:0], one))
	switch {
	case err != nil:
		g.meter.fail(one.kind, "%v", err)
		connection.close()
		return
	case status != want:
		g.meter.fail(one.kind, "%d %.300s", status, answer)
		return
	}
	g.meter.done(one.kind, time.Since(one.due))

	switch one.kind {
	case createLive, createSandbox:
		bought := parcel{
			id:     string(field(answer, "id")),
			number: string(field(answer, "trackingNumber")),
			isLive: one.kind == createLive,
		}
		g.remember(bought)
		if bought.isLive {
			g.scanLater(bought)
		}
	case push:
		one.parcel.scans++
		g.scanLater(one.parcel)
	}
}

// field returns a text of a JSON object, the first of that name.
func field(answer []byte, name string) []byte {
	_, rest, _ := bytes.Cut(answer, []byte(`"`+name+`":"`))
	value, _, _ := bytes.Cut(rest, []byte(`"`))
	return value
}

// scanLater has the carrier push the next scan of a parcel. One parcel in 50
// stays on its way, so that the service polls the carrier about it.
func (g *generator) scanLater(p parcel) {
	isStuck := p.scans == 2 && rand.IntN(50) == 0
	if p.scans == len(scanCodes) || isStuck {
		return
	}
	p.due = time.Now().Add(scanStep)
	g.scans <- p
}

func (g *generator) remember(p parcel) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.recent) < remembered {
		g.recent = append(g.recent, p)
		return
	}
	g.recent[rand.IntN(remembered)] = p
}

// any returns a parcel that was bought before.
func (g *generator) any() parcel {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.recent) == 0 {
		return parcel{}
	}
	return g.recent[rand.IntN(len(g.recent))]
}

// request writes an operation's request.
func (g *generator) request(buffer []byte, one operation) []byte {
	switch one.kind {
	case createLive:
		return g.creation(buffer, g.liveKey, `,"carrier":"ups","service":"ground"`)
	case createSandbox:
		return g.creation(buffer, g.testKey, "")
	case push:
		return g.scan(buffer, one.parcel)
	case list:
		filter := []string{"", "&status=in_transit", "&status=delivered", "&carrier=ups"}[rand.IntN(4)]
		return g.get(buffer, g.anyKey(), "/v1/shipments?limit=20"+filter)
	case search:
		words := fmt.Sprintf("order-%d", 1+rand.Int64N(max(1, g.order.Load())))
		if rand.IntN(2) == 0 {
			words = lastNames[rand.IntN(len(lastNames))]
		}
		return g.get(buffer, g.anyKey(), "/v1/shipments?query="+words)
	}

	known := g.any()
	key := g.testKey
	if known.isLive {
		key = g.liveKey
	}
	switch {
	case known.id == "":
		return g.get(buffer, key, "/v1/shipments?limit=1")
	case rand.IntN(2) == 0:
		return g.get(buffer, key, "/v1/shipments/"+known.id)
	}
	return g.get(buffer, key, "/v1/tracking/"+known.number)
}

func (g *generator) anyKey() string {
	if rand.IntN(2) == 0 {
		return g.liveKey
	}
	return g.testKey
}

var (
	firstNames = []string{"Ada", "Grace", "Hedy", "Mary", "Annie", "Katherine", "Alan", "Edsger", "Barbara", "Donald"}
	lastNames  = []string{"Lovelace", "Hopper", "Lamarr", "Jackson", "Easley", "Johnson", "Turing", "Dijkstra", "Liskov", "Knuth"}
)

const shop = `"origin":{"name":"Shop","address1":"1 Market Street","city":"San Francisco","state":"CA","zip":"94105","country":"US","phone":"4155550100"}`

func (g *generator) creation(buffer []byte, key, rest string) []byte {
	n := strconv.FormatInt(g.order.Add(1), 10)
	name := firstNames[rand.IntN(len(firstNames))] + " " + lastNames[rand.IntN(len(lastNames))]
	body := `{"orderId":"order-` + n + `","destination":{"name":"` + name + `","address1":"350 5th Avenue","city":"New York","state":"NY","zip":"10118","country":"US"},` +
		`"parcel":{"weight":2.5,"dimensions":{"length":10,"width":8,"height":4}},` + shop + rest + `}`

	buffer = fmt.Appendf(buffer, "POST /v1/shipments HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n", g.service.Addr, key)
	buffer = fmt.Appendf(buffer, "Content-Type: application/json\r\nIdempotency-Key: load-%s\r\nContent-Length: %d\r\n\r\n", n, len(body))
	return append(buffer, body...)
}

func (g *generator) get(buffer []byte, key, path string) []byte {
	return fmt.Appendf(buffer, "GET %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", path, g.service.Addr, key)
}

// scanCodes are the scans of a parcel, in UPS's codes.
var scanCodes = [...]struct{ kind, code, status, text string }{
	{"P", "PU", "038", "Pickup Scan"},
	{"I", "DP", "005", "Departed from Facility"},
	{"I", "AR", "010", "Arrived at Facility"},
	{"I", "OT", "021", "Out For Delivery"},
	{"D", "FS", "011", "DELIVERED"},
}

// scan writes the push of a parcel's next scan.
func (g *generator) scan(buffer []byte, p parcel) []byte {
	scan := scanCodes[p.scans]
	now := time.Now().UTC()
	date := now.Format("20060102")
	clock := now.Format("150405")
	body := fmt.Sprintf(`{"trackingNumber":%q,"activityLocation":{"city":"LOUISVILLE","stateProvince":"KY","country":"US"},`+
		`"activityStatus":{"type":%q,"code":%q,"description":%q,"descriptionCode":%q},`+
		`"localActivityDate":%q,"localActivityTime":%q,"gmtActivityDate":%q,"gmtActivityTime":%q,"gmtOffset":"+00.00"}`,
		p.number, scan.kind, scan.code, scan.text, scan.status, date, clock, date, clock)

	buffer = fmt.Appendf(buffer, "POST %s HTTP/1.1\r\nHost: %s\r\nCredential: %s\r\n", g.pushPath, g.service.Addr, g.secret)
	buffer = fmt.Appendf(buffer, "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n", len(body))
	return append(buffer, body...)
}

// A line is one connection to the service.
type line struct {
	addr   string
	conn   net.Conn
	reader *bufio.Reader
	buffer []byte
	answer bytes.Buffer
}

// send sends a request and returns the answer, which is valid until the next.
func (l *line) send(request []byte) (status int, answer []byte, err error) {
	l.buffer = request
	if l.conn == nil {
		if l.conn, err = net.Dial("tcp", l.addr); err != nil {
			return 0, nil, err
		}
		l.reader = bufio.NewReaderSize(l.conn, 16<<10)
	}
	_ = l.conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := l.conn.Write(request); err != nil {
		return 0, nil, err
	}

	response, err := http.ReadResponse(l.reader, nil)
	if err != nil {
		return 0, nil, err
	}
	l.answer.Reset()
	_, err = io.Copy(&l.answer, response.Body)
	return response.StatusCode, l.answer.Bytes(), err
}

func (l *line) close() {
	if l.conn != nil {
		_ = l.conn.Close()
	}
	l.conn = nil
}
