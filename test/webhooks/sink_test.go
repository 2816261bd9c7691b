//go:build chaos

package webhooks

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// sink is an endpoint that fails now and then, and remembers everything.
type sink struct {
	url  string
	seed uint64
	most int // failures of one event, at most

	mu         sync.Mutex
	secret     string
	got        map[string]*receipt
	of         map[string]string // event of each shipment and sequence
	requests   int
	failed     int
	violations []string
}

// receipt is what a sink knows of one event.
type receipt struct {
	tries, fails, accepted int
	sum                    [32]byte
}

func newSink(t *testing.T, seed uint64, most int) *sink {
	s := &sink{seed: seed, most: most, got: map[string]*receipt{}, of: map[string]string{}}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	s.url = srv.URL
	return s
}

// verdict is what happens to the nth try of an event: fixed by the seed.
func (s *sink) verdict(id string, try int) int {
	h := fnv.New64a()
	fmt.Fprint(h, s.seed, s.url, id, try)
	return int(h.Sum64() % 100)
}

func (s *sink) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the sender died
	}
	status := s.receive(r.Header, body)
	if status == 0 {
		conn, _, err := http.NewResponseController(rw).Hijack()
		if err == nil {
			_ = conn.Close()
		}
		return
	}
	rw.WriteHeader(status)
}

// receive takes an event in and decides on the answer: 5 in 100 are refused
// and 1 is dropped without one, but no event more often than it may.
func (s *sink) receive(h http.Header, body []byte) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	id, sum := h.Get("webhook-id"), sha256.Sum256(body)
	r := s.got[id]
	if r == nil {
		r = &receipt{sum: sum}
		s.got[id] = r
		s.inspect(id, body)
	}
	r.tries++
	if r.sum != sum {
		s.violate("%s came with two bodies", id)
	}
	if err := s.verify(h, body); err != nil {
		s.violate("%s: %v", id, err)
	}
	v := s.verdict(id, r.tries)
	if r.fails < s.most && v < 6 {
		r.fails++
		s.failed++
		if v == 5 {
			return 0
		}
		return http.StatusInternalServerError
	}
	r.accepted++
	return http.StatusOK
}

func (s *sink) verify(h http.Header, body []byte) error {
	v, err := standardwebhooks.NewWebhook(s.secret)
	if err != nil {
		return err
	}
	return v.Verify(body, h)
}

// inspect looks into a body that comes for the first time: no two events may
// tell the same.
func (s *sink) inspect(id string, body []byte) {
	var e logEvent
	if err := json.Unmarshal(body, &e); err != nil || e.ID != id {
		s.violate("%s has the body %.200s", id, body)
		return
	}
	key := fmt.Sprint(e.Data.Shipment.ID, " ", e.Sequence)
	if other := s.of[key]; other != "" {
		s.violate("%s and %s both tell of %s", id, other, key)
	}
	s.of[key] = id
}

// violate notes a broken promise; s.mu is held.
func (s *sink) violate(format string, args ...any) {
	s.violations = append(s.violations, fmt.Sprintf(format, args...))
}

// logEvent is what the tests read of an event.
type logEvent struct {
	ID, Type string
	Sequence int
	Data     struct{ Shipment struct{ ID string } }
}

// missing counts the events that were not accepted yet.
func (s *sink) missing(ids map[string]bool) (n int, example string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range ids {
		if r := s.got[id]; r == nil || r.accepted == 0 {
			n++
			example = id
		}
	}
	return n, example
}
