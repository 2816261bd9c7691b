package webhook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
	"github.com/waybillhq/waybill/internal/wire"
)

// stage is a log with a tenant, endpoints and dispatchers on a real Postgres.
type stage struct {
	t      *testing.T
	store  *store.Store
	tenant ship.Tenant
	n      int
}

func newStage(t *testing.T) *stage {
	t.Helper()
	return &stage{t: t, store: storetest.Open(t), tenant: ship.Tenant{Account: ship.NewAccountID(7, time.Now())}}
}

func (s *stage) service() *Service {
	s.t.Helper()
	box, err := seal.New([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		s.t.Fatal(err)
	}
	sender := NewSender(SenderOptions{Policy: Policy{Loopback: true}, Log: slog.New(slog.DiscardHandler)})
	s.t.Cleanup(sender.Close)
	return New(Config{Store: s.store, Box: box, Sender: sender, BaseURL: "http://test", Log: slog.New(slog.DiscardHandler)})
}

// run starts a dispatcher and returns a function that stops it.
func (s *stage) run() (stop func()) {
	d := NewDispatcher(s.service(), nil)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { d.Run(ctx); close(done) }()
	stop = sync.OnceFunc(func() { cancel(); <-done })
	s.t.Cleanup(stop)
	return stop
}

func (s *stage) endpoint(url string) Endpoint {
	s.t.Helper()
	e, err := s.service().Create(s.t.Context(), s.tenant, Settings{URL: &url})
	if err != nil {
		s.t.Fatal(err)
	}
	return e
}

// record creates shipments, each with its two events, and returns the events.
func (s *stage) record(shipments int) []string {
	s.t.Helper()
	var ids []string
	for range shipments {
		s.n++
		now := time.Now().UTC().Truncate(time.Millisecond)
		sh := ship.Shipment{
			ID: ship.NewShipmentID(7, now), Tenant: s.tenant, State: ship.StatePurchased, Order: ship.Order{OrderID: fmt.Sprint(s.n), Parcels: []ship.Parcel{{Weight: 1}}},
			Purchase: ship.Purchase{Carrier: "ups", TrackingNumber: fmt.Sprint("N", s.n), BoughtAt: now},
		}
		c := store.Creation{Shipment: sh, Label: ship.Label{Format: "scene", Data: []byte("{}")}}
		for i, id := range ship.NewEventIDs(7, now, 2) {
			c.Events[i] = ship.Event{ID: id, Snapshot: ship.Snapshot{Status: ship.Created, State: ship.StatePurchased, BaseURL: "http://test"}}
			ids = append(ids, string(id))
		}
		if _, err := s.store.Create(s.t.Context(), c); err != nil {
			s.t.Fatal(err)
		}
	}
	return ids
}

// inbox is an endpoint that counts what arrives.
type inbox struct {
	mu   sync.Mutex
	got  map[string]int
	list []string
	url  string
	deny func(id string) int // a status other than 200; 0 accepts
}

func newInbox(t *testing.T) *inbox {
	in := &inbox{got: map[string]int{}}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		id := r.Header.Get("webhook-id")
		in.mu.Lock()
		deny := in.deny
		in.mu.Unlock()
		if deny != nil {
			if status := deny(id); status != 0 {
				w.WriteHeader(status)
				return
			}
		}
		in.mu.Lock()
		in.got[id]++
		in.list = append(in.list, id)
		in.mu.Unlock()
	}))
	t.Cleanup(srv.Close)
	in.url = srv.URL + "/hook"
	return in
}

func (in *inbox) denying(f func(id string) int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.deny = f
}

// waitFor waits until all ids arrived, and reports how many came twice.
func (in *inbox) waitFor(t *testing.T, ids []string, within time.Duration) (twice int) {
	t.Helper()
	deadline := time.Now().Add(within)
	for {
		missing := 0
		in.mu.Lock()
		twice = 0
		for _, id := range ids {
			switch n := in.got[id]; {
			case n == 0:
				missing++
			case n > 1:
				twice++
			}
		}
		in.mu.Unlock()
		if missing == 0 {
			return twice
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d events never arrived", missing, len(ids))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func TestEveryEventReachesEveryEndpointOnce(t *testing.T) {
	s := newStage(t)
	a, b := newInbox(t), newInbox(t)
	s.endpoint(a.url)
	s.endpoint(b.url)
	s.run()
	ids := s.record(100)
	for _, in := range []*inbox{a, b} {
		if twice := in.waitFor(t, ids, 20*time.Second); twice > 0 {
			t.Errorf("%d events came twice", twice)
		}
	}
}

func TestAnEndpointGetsWhatHappenedSinceItWasMade(t *testing.T) {
	s := newStage(t)
	before := s.record(3)
	in := newInbox(t)
	s.endpoint(in.url)
	ids := s.record(5)
	s.run()
	in.waitFor(t, ids, 20*time.Second)
	for _, id := range before {
		if in.got[id] > 0 {
			t.Errorf("an event from before arrived")
		}
	}
}

func TestAnotherCopyGoesOnWhereOneStopped(t *testing.T) {
	s := newStage(t)
	in := newInbox(t)
	s.endpoint(in.url)
	stop := s.run()
	first := s.record(20)
	in.waitFor(t, first, 20*time.Second)
	stop()
	second := s.record(20)
	s.run()
	if twice := in.waitFor(t, append(first, second...), 20*time.Second); twice > 0 {
		t.Errorf("%d events came twice after an orderly stop", twice)
	}
}

func TestAFailedDeliveryHoldsUpNothingAndComesAgain(t *testing.T) {
	s := newStage(t)
	in := newInbox(t)
	var mu sync.Mutex
	var poison string
	refused := 0
	in.denying(func(id string) int {
		mu.Lock()
		defer mu.Unlock()
		if id == poison && refused < 1 {
			refused++
			return 500
		}
		return 0
	})
	s.endpoint(in.url)
	s.run()
	in.waitFor(t, s.record(2), 20*time.Second) // verified
	ids := s.record(10)
	mu.Lock()
	poison = ids[4]
	mu.Unlock()
	rest := append(append([]string{}, ids[:4]...), ids[5:]...)
	in.waitFor(t, rest, 10*time.Second)
	in.waitFor(t, ids, 25*time.Second)
}

func TestADeadEndpointIsParkedAndDrainedInOrder(t *testing.T) {
	s := newStage(t)
	in := newInbox(t)
	in.denying(func(string) int { return 503 })
	e := s.endpoint(in.url)
	s.run()
	ids := s.record(40)
	parked := func() bool {
		got, err := s.store.EndpointToSend(t.Context(), s.tenant, e.ID)
		if err != nil {
			t.Fatal(err)
		}
		return got.Parked
	}
	for deadline := time.Now().Add(20 * time.Second); !parked(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it was never parked")
		}
	}
	if again, err := s.service().Probe(t.Context(), s.tenant, e.ID); err != nil || again == 0 {
		t.Fatalf("a failing probe: again %s, %v", again, err)
	}
	in.denying(nil)
	if again, err := s.service().Probe(t.Context(), s.tenant, e.ID); err != nil || again != 0 {
		t.Fatalf("a probe that arrives: again %s, %v", again, err)
	}
	more := s.record(5)
	in.waitFor(t, append(ids, more...), 30*time.Second)
}

// TestAProbeGoesOnBehindAnEventThatCannotBeSent has the oldest waiting event fail on
// our own side whenever it is rendered.
func TestAProbeGoesOnBehindAnEventThatCannotBeSent(t *testing.T) {
	s := newStage(t)
	in := newInbox(t)
	e := s.endpoint(in.url)
	s.record(3)
	_, err := s.store.System().Exec(t.Context(), "UPDATE webhook_endpoints SET parked = true, cursor_txid = '3', cursor_id = '00000000-0000-0000-0000-000000000000', cursor_at = now() WHERE id = $1", [16]byte(e.ID.Raw()))
	if err != nil {
		t.Fatal(err)
	}

	// The log shows an event when the transactions before it have ended.
	parked, err := s.store.EndpointToSend(t.Context(), s.tenant, e.ID)
	if err != nil {
		t.Fatal(err)
	}
	for {
		waiting, err := s.store.Waiting(t.Context(), parked, 0)
		if err != nil {
			t.Fatal(err)
		}
		if waiting.Event.Event.ID != "" {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}

	var broken ship.EventID
	service := s.service()
	service.formats = map[string]Format{SignV1: {
		Body: func(entry Entry) ([]byte, error) {
			if broken == "" {
				broken = entry.Event.ID
			}
			if entry.Event.ID == broken {
				return nil, errors.New("it cannot be rendered")
			}
			return wire.EventBody(entry.Event, entry.Shipment, entry.Tracker)
		},
		Sign: func([]byte, time.Time, *url.URL, []byte) http.Header { return http.Header{} },
	}}
	if again, err := service.Probe(t.Context(), s.tenant, e.ID); err == nil || again == 0 {
		t.Errorf("with the first event: again in %s, %v", again, err)
	}
	if again, err := service.Probe(t.Context(), s.tenant, e.ID); err != nil || again != 0 {
		t.Errorf("with another: again in %s, %v", again, err)
	}
}

func TestRecoverSendsOnlyWhatIsMissing(t *testing.T) {
	s := newStage(t)
	in := newInbox(t)
	e := s.endpoint(in.url)
	s.run()
	since := time.Now().Add(-time.Second)
	got := s.record(5)
	in.waitFor(t, got, 20*time.Second)
	off := false
	if _, err := s.service().Update(t.Context(), s.tenant, e.ID, Settings{Enabled: &off}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Second)
	missed := s.record(5)
	if _, err := s.service().Recover(t.Context(), s.tenant, e.ID, since); err != nil {
		t.Fatal(err)
	}
	in.waitFor(t, missed, 20*time.Second)
	time.Sleep(time.Second)
	if twice := in.waitFor(t, append(got, missed...), time.Second); twice > 0 {
		t.Errorf("%d events came twice", twice)
	}
}
