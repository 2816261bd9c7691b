//go:build chaos

package purchases

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/test/proving"
)

// A failingOver is how many primaries die while how much is bought.
type failingOver struct {
	failovers int
	rate      float64       // purchases a second
	between   time.Duration // fail-overs, once there is a standby again
	settles   time.Duration
}

// writableWithin is how long a cell may be without writes.
const writableWithin = 30 * time.Second

// TestFailover buys while primaries of a cell are killed: every other time Postgres
// alone, and every other time with its Patroni, as if the machine had lost its power.
// Whatever was acknowledged must be there, and the carriers' ledgers must have sold
// each label once.
func TestFailover(t *testing.T) {
	p := proving.Pick(t,
		failingOver{failovers: 2, rate: 4, between: 3 * time.Second, settles: 3 * time.Minute},
		failingOver{failovers: 20, rate: 4, between: 5 * time.Second, settles: 10 * time.Minute})
	seed := proving.Seed(t)
	cell := proving.NewPatroni(t, 2)
	w := newWorldOn(t, nil, cell.URL)
	for _, s := range w.carriers {
		w.turn(s, badDay())
	}

	start := time.Now()
	c := w.newClients(64, 0.02)
	load := c.buyOn(seed, p)
	var watched *order
	proving.Await(t, "a first purchase", time.Minute, func() bool {
		watched = load.acknowledged()
		return watched != nil
	})
	prober := w.newProber(watched)

	var outages []time.Duration
	for i := range p.failovers {
		time.Sleep(p.between)
		primary := cell.Primary()
		if primary == nil {
			t.Fatal("there is no primary to kill")
		}

		isMachine := i%2 == 1
		if isMachine {
			cell.KillMachine(primary)
		} else {
			cell.KillPostgres(primary)
		}
		outage := prober.untilWritable(fmt.Sprintf("probe-%x-%d", seed, i))
		outages = append(outages, outage)
		t.Logf("fail-over %d, machine %t: writes again after %.1f s", i+1, isMachine, outage.Seconds())

		if isMachine {
			cell.ReviveMachine(primary)
		}
		cell.AwaitStandby(2 * time.Minute)
	}

	orders := append(load.end(), prober.orders...)
	w.turnAll(emulator.Faults{})
	tail, late := w.settle(p.settles)
	boughtAnyway := prober.boughtAnyway()
	c.vanish = 0
	c.buyAll(open(orders), seed+1, time.Second, time.Minute)
	j := w.judge(orders)
	j.add("not settled", late...)
	j.add("wrong answers without a primary", prober.violations...)
	j.add("refused and bought", boughtAnyway...)
	for answer, n := range c.answers {
		if strings.HasPrefix(answer, "500") {
			j.add("internal errors", fmt.Sprintf("%d times %s", n, answer))
		}
	}
	slowest := slices.Max(outages)
	if slowest > writableWithin {
		j.add("no writes for too long", slowest.String())
	}

	figures := j.figures(c, tail)
	figures["failovers"] = len(outages)
	figures["writesAgainSeconds"] = seconds(outages)
	figures["slowestWriteAgainSeconds"] = proving.Round(slowest.Seconds())
	figures["readsWithoutPrimary"] = prober.reads
	figures["refusedWithoutPrimary"] = len(prober.refused)
	proving.Report(t, "failover.json", func(out *proving.Proof) {
		out.N, out.Seed, out.Settings = len(orders), seed, w.settings
		out.Failovers = len(outages)
		out.Violations, out.Bound95 = j.total(), proving.Upper95(j.total())/float64(len(orders))
		out.Seconds = proving.Round(time.Since(start).Seconds())
	}, figures)
	j.complain(t)
	w.guard(t)
}

// seconds are durations as a report has them.
func seconds(list []time.Duration) (out []float64) {
	for _, d := range list {
		out = append(out, proving.Round(d.Seconds()))
	}
	return out
}

// A steadyLoad buys at a steady rate until it is ended.
type steadyLoad struct {
	stop chan struct{}
	all  sync.WaitGroup

	mu     sync.Mutex
	orders []*order
	first  *order // that was acknowledged
}

// buyOn begins to buy. Each client insists until its answer is definite.
func (c *clients) buyOn(seed uint64, p failingOver) *steadyLoad {
	load := &steadyLoad{stop: make(chan struct{})}
	load.all.Go(func() {
		tick := time.NewTicker(time.Duration(float64(time.Second) / p.rate))
		defer tick.Stop()
		for i := uint64(0); ; i++ {
			select {
			case <-load.stop:
				return
			case <-tick.C:
			}
			o := newOrder(fmt.Sprintf("failover-%x-%d", seed, i), carrierNames[i%uint64(len(carrierNames))])
			load.mu.Lock()
			load.orders = append(load.orders, o)
			load.mu.Unlock()
			load.all.Go(func() {
				c.insist(o, rand.New(rand.NewPCG(seed, i+2)), time.Now().Add(p.settles))
				load.mu.Lock()
				defer load.mu.Unlock()
				if load.first == nil && o.status == http.StatusCreated {
					load.first = o
				}
			})
		}
	})
	return load
}

// acknowledged is the first order that was bought; nil as long as none was.
func (l *steadyLoad) acknowledged() *order {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.first
}

// end waits until every client has its answer, and returns the orders.
func (l *steadyLoad) end() []*order {
	close(l.stop)
	l.all.Wait()
	return l.orders
}

// A prober asks all the time while there is no primary: for a purchase, and for a
// shipment that was acknowledged before.
type prober struct {
	*world
	watched    *order
	orders     []*order
	refused    []string       // keys of purchases that were answered "not done"
	reads      map[string]int // by status, and whether the answer says how old it is
	violations []string
}

func (w *world) newProber(watched *order) *prober {
	return &prober{world: w, watched: watched, reads: map[string]int{}}
}

// untilWritable asks for a purchase until it is made, and returns how long that took.
func (p *prober) untilWritable(key string) time.Duration {
	p.t.Helper()
	began := time.Now()
	for i := 0; time.Since(began) < 3*time.Minute; i++ {
		// Each is another purchase: what a request without a primary leaves behind
		// must be seen by the judge.
		o := newOrder(fmt.Sprintf("%s-%d", key, i), "ups")
		p.orders = append(p.orders, o)
		copy := p.copies[i%len(p.copies)]
		p.read(copy)
		status, header, answer, err := p.ask(copy, http.MethodPost, "/v1/shipments", o.key, o.body)
		o.requests++
		switch {
		case err != nil:
		case status == http.StatusCreated:
			o.status, o.answer, o.took = status, answer, time.Since(began)
			if err := json.Unmarshal(answer, &o.shipment); err != nil {
				p.t.Error(err)
			}
			return o.took
		case status == http.StatusAccepted: // written down, and the carrier is slow
			return time.Since(began)
		case status == http.StatusServiceUnavailable && header.Get("Retry-After") == "":
			p.violations = append(p.violations, "503 without Retry-After: "+string(answer))
		case status == http.StatusServiceUnavailable && strings.Contains(string(answer), `"code":"service_unavailable"`):
			p.refused = append(p.refused, o.key)
		case status == http.StatusInternalServerError:
			p.violations = append(p.violations, "500 to a purchase: "+string(answer))
		}
		time.Sleep(100 * time.Millisecond)
	}
	p.t.Fatalf("%s: no purchase within three minutes", key)
	return 0
}

// boughtAnyway returns the purchases that were refused and written down all the same:
// somebody would buy them later.
func (p *prober) boughtAnyway() (list []string) {
	p.t.Helper()
	rows, err := p.pool.Query(p.t.Context(), `SELECT key FROM idempotency_keys WHERE key = ANY($1)`, p.refused)
	if err != nil {
		p.t.Fatal(err)
	}
	list, err = pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		p.t.Fatal(err)
	}
	return list
}

// read asks for the shipment that was acknowledged: it is there, or the service says
// that it cannot say.
func (p *prober) read(copy *proving.Process) {
	status, header, answer, err := p.ask(copy, http.MethodGet, "/v1/shipments/"+p.watched.shipment.ID, "", "")
	if err != nil {
		p.reads["no answer"]++
		return
	}
	name := fmt.Sprint(status)
	asOf := header.Get("Data-As-Of")
	if asOf != "" {
		name += " from a standby"
	}
	p.reads[name]++

	var found shipment
	switch status {
	case http.StatusOK:
		if err := json.Unmarshal(answer, &found); err != nil || found.TrackingNumber != p.watched.shipment.TrackingNumber {
			p.violations = append(p.violations, fmt.Sprintf("%s was read as %s", p.watched.shipment.ID, answer))
		}
		if _, err := time.Parse(time.RFC3339, asOf); asOf != "" && err != nil {
			p.violations = append(p.violations, "Data-As-Of is "+asOf)
		}
	case http.StatusServiceUnavailable:
		if header.Get("Retry-After") == "" {
			p.violations = append(p.violations, "503 without Retry-After: "+string(answer))
		}
	default:
		p.violations = append(p.violations, fmt.Sprintf("%d to a read: %s", status, answer))
	}
}

// ask is call with the header of the answer.
func (p *prober) ask(copy *proving.Process, method, path, key, body string) (int, http.Header, []byte, error) {
	request, err := http.NewRequest(method, "http://"+copy.Addr+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, nil, err
	}
	request.Header.Set("Authorization", "Bearer "+p.key)
	request.Header.Set("Content-Type", "application/json")
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	response, err := p.http.Do(request)
	if err != nil {
		return 0, nil, nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	return response.StatusCode, maps.Clone(response.Header), answer, err
}

// TestFailoverRunbook does what docs/failover.md tells an operator to do, with the settings
// of a node alone, and asks for the same as a stranger.
func TestFailoverRunbook(t *testing.T) {
	proving.Pick(t, 1, 1)
	cell := proving.NewPatroni(t, 2)

	list := cell.Control("list")
	if !strings.Contains(list, "Leader") || !strings.Contains(list, "Sync Standby") {
		t.Errorf("patronictl list shows no primary with its standby:\n%s", list)
	}
	if admitted := cell.AdmitStrangers(); len(admitted) > 0 {
		t.Errorf("these answer a client without a certificate: %v", admitted)
	}

	before := cell.Primary()
	cell.Control("switchover", "--force")
	proving.Await(t, "another primary", time.Minute, func() bool {
		now := cell.Primary()
		return now != nil && now != before
	})
	cell.AwaitStandby(2 * time.Minute)
}
