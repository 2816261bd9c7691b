//go:build chaos

package upgrade

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// A sink receives webhooks and counts how often each event came.
type sink struct {
	url    string
	secret string // set before the first event

	mu      sync.Mutex
	got     map[string]int
	invalid int // signatures
}

func newSink(t *testing.T) *sink {
	t.Helper()
	s := &sink{got: map[string]int{}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// ServeHTTP receives an event.
func (s *sink) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the sender died
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	s.got[r.Header.Get("webhook-id")]++
	verifier, err := standardwebhooks.NewWebhook(s.secret)
	if err == nil {
		err = verifier.Verify(body, r.Header)
	}
	if err != nil {
		s.invalid++
	}
}

// missing returns how many of the events did not come.
func (s *sink) missing(events []event) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range events {
		if s.got[e.ID] == 0 {
			n++
		}
	}
	return n
}

// repeated returns how many deliveries were not the first of their event.
func (s *sink) repeated() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, times := range s.got {
		n += times - 1
	}
	return n
}
