//go:build chaos

package tracking

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill/test/proving"
)

// arrivals is a client's endpoint: it notes when it first heard of the scans of
// a parcel.
type arrivals struct {
	mu sync.Mutex
	of map[string]time.Time
}

func (a *arrivals) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	var e struct {
		Type string
		Data struct {
			Shipment struct{ TrackingNumber string }
		}
	}
	now := time.Now()
	if json.NewDecoder(r.Body).Decode(&e) != nil || e.Type == "shipment.created" || e.Type == "label.generated" {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if number := e.Data.Shipment.TrackingNumber; a.of[number].IsZero() {
		a.of[number] = now
	}
}

func (a *arrivals) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.of)
}

// TestProveFreshness measures from the moment in which a carrier begins to push
// to the arrival of the webhook, at a gentle pace.
func TestProveFreshness(t *testing.T) {
	lasts := proving.Pick(t, 6*time.Second, time.Minute)
	proving.Beside(t)
	const perSecond = 25
	n := int(lasts.Seconds() * perSecond)
	m := model{seed: proving.Seed(t), began: time.Now().UTC().Truncate(time.Second), scans: 8}
	w := newWorld(t, 2)
	sink := &arrivals{of: map[string]time.Time{}}
	srv := httptest.NewServer(sink)
	t.Cleanup(srv.Close)
	var made struct{ ID string }
	w.must("POST", "/v1/webhooks", map[string]any{"url": srv.URL}, &made)
	w.seed(0, n+1)
	// The log is full of parcels that were bought just now: their webhooks are
	// not what is measured.
	w.push(texts(w.request(m.parcel(n), delivery{scans: 1})))
	proving.Await(w.t, "the endpoint hears", time.Minute, func() bool { return sink.count() == 1 })
	// So is the sharing out of endpoints between copies that have just started.
	proving.Await(w.t, "both copies send", time.Minute, func() bool {
		return w.count("SELECT count(DISTINCT worker) FROM webhook_slots WHERE lease_until > now()") == len(w.copies)
	})
	began := make([]time.Time, n)
	s := &sender{world: w, other: map[int]int{}}
	var group sync.WaitGroup
	start := time.Now()
	for i := range n {
		time.Sleep(time.Until(start.Add(time.Duration(i) * time.Second / perSecond)))
		group.Go(func() {
			one := w.request(m.parcel(i), delivery{scans: 1})
			lines := make([]line, len(w.copies))
			began[i] = time.Now()
			took := s.insist(rand.New(rand.NewPCG(1, uint64(i))), lines, one.text())
			for _, l := range lines {
				l.close()
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			s.took = append(s.took, took)
		})
	}
	group.Wait()
	proving.Await(w.t, "everything arrives", time.Minute, func() bool { return sink.count() == n+1 })
	var lags []time.Duration
	for i := range n {
		lags = append(lags, sink.of[numberOf(i)].Sub(began[i]))
	}
	p99, answered := proving.Quantile(lags, 0.99), proving.Quantile(s.took, 0.99)
	report(t, nil, map[string]any{
		"n": n, "perSecond": perSecond, "p50": proving.Quantile(lags, 0.5), "p99": p99, "max": proving.Quantile(lags, 1), "answerP50": proving.Quantile(s.took, 0.5), "answerP99": answered,
	})
	// The gate runs on any machine: it sees that everything arrives, the full proof when.
	if proving.Pick(t, true, false) {
		return
	}
	if p99 > 2000 {
		t.Errorf("p99 is %.0f ms, want at most 2000", p99)
	}
	if answered > 100 {
		t.Errorf("pushes are answered within %.0f ms, want at most 100", answered)
	}
}
