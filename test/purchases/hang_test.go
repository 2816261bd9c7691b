//go:build chaos

package purchases

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/test/proving"
)

const ratesBody = `{"origin":` + shipFrom + `,"destination":` + shipTo + `,"parcel":` + parcel + `}`

// otherRates asks the healthy carriers by name, beside one that hangs.
const otherRates = `{"origin":` + shipFrom + `,"destination":` + shipTo + `,"parcel":` + parcel + `,"carriers":["usps","fedex","dhl_express"]}`

// A hanging is how long what is measured.
type hanging struct {
	lasts  time.Duration // a phase
	phases int           // of each kind, in turn
	rate   float64       // requests a second of each kind

	// deadline is when rates are answered with those that have come.
	deadline time.Duration
	// floor is how many milliseconds the quantile of the response times may grow in any
	// case, and how long after the deadline rates may be answered.
	quantile, floor float64
}

// measured are the times of one kind of phase.
type measured struct {
	mu              sync.Mutex
	purchases, some []time.Duration // of the healthy carriers
	all             []time.Duration // rates of all carriers
	partial         int             // of these
	wrong           []string
}

// TestProveOneHanging has a carrier hang for 30 s on every call: the others do
// not notice, and rates are answered with theirs. The waits are those of
// production. The machine is shared, so it may be measured three times. What the
// others lose beside the hanging carrier is for the full run. The short run only sees
// whether they wait for it: then nine in ten would take until the deadline, which
// is far longer than any response on a slow machine.
func TestProveOneHanging(t *testing.T) {
	p := proving.Pick(t,
		hanging{lasts: 6 * time.Second, phases: 1, rate: 5, deadline: 12 * time.Second, quantile: 0.9, floor: 8000},
		hanging{lasts: 20 * time.Second, phases: 3, rate: 15, deadline: 4 * time.Second, quantile: 0.99, floor: 5})
	seed := proving.Seed(t)
	w := newWorld(t, "QUOTE_TIMEOUT="+p.deadline.String(), "PURCHASE_TIMEOUT=20s", "BUY_TIMEOUT=20s", "SETTLE_AFTER=60s")
	w.http.Timeout = time.Minute
	var wrong []string
	for try := range 3 {
		if try > 0 {
			time.Sleep(untilAskedAgain)
		}
		base, under := w.compareHanging(seed+uint64(try), p)
		if wrong = p.judge(t, base, under); len(wrong) == 0 {
			break
		}
		t.Logf("measured %d times, and not well: %s", try+1, strings.Join(wrong[:min(len(wrong), 3)], "; "))
	}
	for _, what := range wrong[:min(len(wrong), 10)] {
		t.Error(what)
	}
	w.guard(t)
}

// untilAskedAgain is how long to wait until the breaker lets the carrier be asked
// again. Before, nobody waits for the carrier, hanging or not.
const untilAskedAgain = 10 * time.Second

// compareHanging measures without and beside the hanging carrier, in turn.
func (w *world) compareHanging(seed uint64, p hanging) (base, under *measured) {
	calm := emulator.Faults{Latency: emulator.Duration(40 * time.Millisecond), Spread: emulator.Duration(20 * time.Millisecond)}
	hung := calm
	hung.Stall, hung.HangFor = 1, emulator.Duration(30*time.Second)
	base, under = &measured{}, &measured{}
	w.turnAll(calm)
	w.measure(&measured{}, seed, "warm", p, 1500*time.Millisecond)
	for phase := range p.phases {
		if phase > 0 {
			time.Sleep(untilAskedAgain)
		}
		w.measure(base, seed, fmt.Sprintf("base%d", phase), p, p.lasts)
		w.turn(w.stand("ups"), hung)
		w.measure(under, seed, fmt.Sprintf("hung%d", phase), p, p.lasts)
		w.turn(w.stand("ups"), calm)
	}
	return base, under
}

// judge says what is wrong with what was measured.
func (p hanging) judge(t *testing.T, base, under *measured) (wrong []string) {
	t.Helper()
	report(t, nil, map[string]any{
		"purchases": len(under.purchases), "purchaseBaseP99": proving.Quantile(base.purchases, 0.99), "purchaseP99": proving.Quantile(under.purchases, 0.99),
		"purchaseBaseP50": proving.Quantile(base.purchases, 0.5), "purchaseP50": proving.Quantile(under.purchases, 0.5),
		"rates": len(under.some), "ratesBaseP99": proving.Quantile(base.some, 0.99), "ratesP99": proving.Quantile(under.some, 0.99),
		"ratesOfAll": len(under.all), "ratesOfAllPartial": under.partial, "ratesOfAllLongest": proving.Quantile(under.all, 1),
	})
	for what, times := range map[string][2][]time.Duration{"purchases": {base.purchases, under.purchases}, "rates": {base.some, under.some}} {
		before, now := proving.Quantile(times[0], p.quantile), proving.Quantile(times[1], p.quantile)
		if now > max(1.3*before, before+p.floor) {
			wrong = append(wrong, fmt.Sprintf("%s of the others take %.1f ms at the quantile %.2f, %.1f ms without the hanging carrier", what, now, p.quantile, before))
		}
	}
	if longest := proving.Quantile(under.all, 1); longest > float64(p.deadline.Milliseconds())+200+p.floor {
		wrong = append(wrong, fmt.Sprintf("rates were answered after %.0f ms, the deadline is %s", longest, p.deadline))
	}
	if under.partial == 0 {
		wrong = append(wrong, "no answer was partial")
	}
	return append(append(wrong, base.wrong...), under.wrong...)
}

// measure sends requests of all kinds at a steady rate: purchases and rates of
// the healthy carriers, rates of all, and purchases of the carrier that may
// hang.
func (w *world) measure(m *measured, seed uint64, name string, p hanging, lasts time.Duration) {
	rng := rand.New(rand.NewPCG(seed, uint64(len(name))))
	var all sync.WaitGroup
	began := time.Now()
	for i := range int(lasts.Seconds() * p.rate) {
		time.Sleep(time.Until(began.Add(time.Duration(float64(i) / p.rate * float64(time.Second)))))
		c := w.copies[rng.IntN(len(w.copies))]
		key := fmt.Sprintf("%s-%x-%d", name, seed, i)
		all.Go(func() { m.time(w, c, &m.purchases, "/v1/shipments", newOrder(key, carrierNames[1+i%3])) })
		all.Go(func() { m.time(w, c, &m.some, "/v1/rates", &order{body: otherRates}) })
		if i%3 == 0 {
			all.Go(func() { m.time(w, c, &m.all, "/v1/rates", &order{body: ratesBody}) })
			all.Go(func() {
				o := newOrder("ups-"+key, "ups")
				_, _, _ = w.call(c, http.MethodPost, "/v1/shipments", o.key, o.body)
			})
		}
	}
	all.Wait()
}

// time makes one request, and notes how long it took.
func (m *measured) time(w *world, c *proving.Process, list *[]time.Duration, path string, o *order) {
	began := time.Now()
	status, answer, err := w.call(c, http.MethodPost, path, o.key, o.body)
	took := time.Since(began)
	var rates struct{ Partial bool }
	_ = json.Unmarshal(answer, &rates)
	m.mu.Lock()
	defer m.mu.Unlock()
	*list = append(*list, took)
	if err != nil || status != http.StatusOK && status != http.StatusCreated {
		m.wrong = append(m.wrong, fmt.Sprintf("POST %s: %d %v %s", path, status, err, answer))
	}
	if rates.Partial {
		m.partial++
	}
}
