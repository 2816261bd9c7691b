package carrierkit_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// load is a mix of calls to three carriers, and how long each took.
type load struct {
	traffic *carrierkit.Traffic
	address map[string]string // by carrier
	within  time.Duration     // the deadline of a call
	every   time.Duration     // between calls

	mu     sync.Mutex
	took   []time.Duration // of the healthy carriers
	failed []error         // of the healthy carriers
	shed   int             // calls to A that were refused without being sent
	late   int             // calls to A that ended after their deadline
	silent int             // errors of A without an explanation
}

var loadOperations = []carrier.Operation{carrier.OpRates, carrier.OpRates, carrier.OpRates, carrier.OpBuy, carrier.OpTrack}

// run sends n calls and waits for them.
func (l *load) run(ctx context.Context, n int) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { l.call(ctx, i) })
		time.Sleep(l.every)
	}
	all.Wait()
}

func (l *load) call(ctx context.Context, i int) {
	name, op := string("abc"[i%3]), loadOperations[rand.IntN(len(loadOperations))]
	ctx, cancel := context.WithTimeout(carrier.WithOperation(ctx, op), l.within)
	defer cancel()
	began := time.Now()
	err := carrierkit.Call{Method: "POST", URL: l.address[name], Body: 1, Effect: op == carrier.OpBuy}.
		Do(ctx, l.traffic.Doer(carrier.Spec{Name: name}, fmt.Sprint("account", i/3%4)), nil)
	took := time.Since(began)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case name != "a":
		l.took = append(l.took, took)
		if err != nil {
			l.failed = append(l.failed, err)
		}
	case err != nil:
		kind := ship.KindOf(err)
		if kind == ship.Unavailable && took < l.within/2 {
			l.shed++
		}
		if kind != ship.Unavailable && kind != ship.Uncertain || err.Error() == "" {
			l.silent++
		}
		if took > l.within+l.within/4 {
			l.late++
		}
	}
}

// p99 returns the 99th percentile of the healthy carriers since the last call.
func (l *load) p99() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.Sort(l.took)
	p := l.took[len(l.took)*99/100]
	l.took = l.took[:0]
	return p
}

// With a simulated clock: 200 calls a second, during which A hangs for 30 s.
func TestACarrierThatHangsCostsTheOthersNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hanging bool
		l := &load{within: 8 * time.Second, every: 5 * time.Millisecond, address: map[string]string{"a": "http://a.test", "b": "http://b.test", "c": "http://c.test"}}
		l.traffic = over(func(r *http.Request) (*http.Response, error) {
			if hanging && r.URL.Host == "a.test" {
				return hangs(r)
			}
			time.Sleep(50*time.Millisecond + rand.N(100*time.Millisecond))
			return says(200)
		})
		l.run(t.Context(), 2_000)
		baseline := l.p99()
		hanging = true
		l.run(t.Context(), 6_000)
		during := l.p99()
		if len(l.failed) > 0 || float64(during) > 1.3*float64(baseline) {
			t.Errorf("p99 was %v and is %v; %d failed", baseline, during, len(l.failed))
		}
		if l.shed < 1_000 || l.late > 0 || l.silent > 0 {
			t.Errorf("of 2,000 calls to the one that hangs %d were shed, %d late, %d without a word", l.shed, l.late, l.silent)
		}
		hanging = false
		time.Sleep(2 * time.Minute)
		l.run(t.Context(), 600) // purchases work again once rates have been answered
		shed := l.shed
		l.run(t.Context(), 600)
		if l.shed != shed {
			t.Errorf("when it is well again %d calls are shed", l.shed-shed)
		}
	})
}

// The same over real connections, beside a control: the same load at the same
// time, with a healthy A. Other load on the machine affects both alike; the
// best of five rounds counts.
func TestACarrierThatHangsCostsTheOthersNothingOverHTTP(t *testing.T) {
	well := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		time.Sleep(15 * time.Millisecond)
		fmt.Fprint(w, "{}")
	})
	silent := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	var report string
	for range 5 {
		control, subject := newHTTPLoad(well, well), newHTTPLoad(silent, well)
		var both sync.WaitGroup
		both.Go(func() { control.run(t.Context(), 300) })
		both.Go(func() { subject.run(t.Context(), 300) })
		both.Wait()
		control.traffic.Close()
		subject.traffic.Close()
		baseline, during := control.p99(), subject.p99()
		report = fmt.Sprintf("p99 is %v and beside one that hangs %v, %d failed; of 100 calls to that one %d were shed, %d late, %d without a word",
			baseline, during, len(subject.failed), subject.shed, subject.late, subject.silent)
		if during <= max(baseline*13/10, baseline+5*time.Millisecond) && len(subject.failed) == 0 && subject.shed > 20 && subject.late == 0 && subject.silent == 0 {
			t.Log(report)
			return
		}
	}
	t.Error(report)
}

// newHTTPLoad is 100 calls a second to an A at one address and a B and a C at
// another, with slots so few that a carrier that hangs fills its own.
func newHTTPLoad(a, others string) *load {
	return &load{
		within: 500 * time.Millisecond, every: 10 * time.Millisecond,
		address: map[string]string{"a": a, "b": others, "c": others},
		traffic: carrierkit.NewTraffic(carrierkit.TrafficOptions{Labels: 4, Rates: 8, Tracks: 4}),
	}
}
