//go:build chaos

package neighbours

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/waybillhq/waybill/test/proving"
)

// A shop is the account that is left alone, or ought to be.
type shop struct {
	*account

	mu       sync.Mutex
	bought   map[string]time.Time // when a shipment was answered
	notified map[string]time.Time // when its first event came
}

func (w *world) newShop() *shop {
	w.t.Helper()
	s := &shop{account: w.newAccount("shop"), bought: map[string]time.Time{}, notified: map[string]time.Time{}}
	s.connect("ups", upsCredentials)

	sink := httptest.NewServer(s)
	w.t.Cleanup(sink.Close)
	s.must(request{method: http.MethodPost, path: "/v1/webhooks", key: s.live, body: fmt.Appendf(nil, `{"url":%q}`, sink.URL)}, nil)
	return s
}

// ServeHTTP receives webhooks.
func (s *shop) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var event struct {
		Data struct{ Shipment struct{ ID string } }
	}
	if err := json.Unmarshal(body, &event); err != nil {
		return
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	id := event.Data.Shipment.ID
	if _, isKnown := s.notified[id]; !isKnown {
		s.notified[id] = time.Now()
	}
}

// The things that the shop does with each parcel.
const (
	purchases = "purchases"
	labels    = "labels"
	tracking  = "tracking"
	webhooks  = "webhooks"
)

var activities = []string{purchases, labels, tracking, webhooks}

// A day is what the shop did, and how long it took.
type day struct {
	mu      sync.Mutex
	times   map[string][]time.Duration // by activity
	refused []string
}

func newDay() *day { return &day{times: map[string][]time.Duration{}} }

func (d *day) add(activity string, took time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.times[activity] = append(d.times[activity], took)
}

func (d *day) refuse(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.refused = append(d.refused, fmt.Sprintf(format, args...))
}

func (d *day) p99(activity string) float64 { return proving.Quantile(d.times[activity], 0.99) }

// work buys, prints, tracks and hears of parcels, at a steady rate.
func (s *shop) work(d *day, name string, parcels int, perSecond float64) {
	var all sync.WaitGroup
	began := time.Now()
	for i := range parcels {
		time.Sleep(time.Until(began.Add(time.Duration(float64(i) / perSecond * float64(time.Second)))))
		all.Go(func() { s.ship(d, fmt.Sprintf("%s-%d", name, i), i) })
	}
	all.Wait()
}

// ship does all that the shop does with one parcel.
func (s *shop) ship(d *day, order string, number int) {
	answer := s.timed(d, purchases, http.StatusCreated, request{
		method: http.MethodPost, path: "/v1/shipments", idempotency: order, body: newOrder(order, "ups"),
	})
	var got shipment
	if json.Unmarshal(answer, &got) != nil || got.ID == "" {
		return // it was refused
	}
	s.mu.Lock()
	s.bought[got.ID] = time.Now()
	s.mu.Unlock()

	label := []string{got.Labels.PDF, got.Labels.PNG, got.Labels.ZPL}[number%3]
	s.timed(d, labels, http.StatusOK, request{method: http.MethodGet, path: label})
	s.timed(d, tracking, http.StatusOK, request{method: http.MethodGet, path: "/v1/tracking/" + got.TrackingNumber})
	s.hear(d, got.ID)
}

// timed makes one request of the shop, and notes how long it took.
func (s *shop) timed(d *day, activity string, want int, in request) (answer []byte) {
	in.key = s.live
	began := time.Now()
	status, answer := s.send(s.t.Context(), in)
	d.add(activity, time.Since(began))
	if status != want {
		d.refuse("%s %s: %d %.300s", in.method, in.path, status, answer)
		return nil
	}
	return answer
}

// hear waits for the first event of a shipment.
func (s *shop) hear(d *day, id string) {
	for until := time.Now().Add(proving.Patiently(time.Minute)); time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
		s.mu.Lock()
		notified, isNotified := s.notified[id]
		bought := s.bought[id]
		s.mu.Unlock()
		if isNotified {
			d.add(webhooks, max(0, notified.Sub(bought)))
			return
		}
	}
	d.refuse("%s: no event came", id)
}
