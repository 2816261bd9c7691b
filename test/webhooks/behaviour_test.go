//go:build chaos

package webhooks

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// behaviours is a server whose endpoints behave as their path says, once they
// are let loose; before that they all behave well.
type behaviours struct {
	url   string
	loose atomic.Bool
	bomb  []byte
	over  chan struct{} // closed at the end, so that what hangs can go

	mu      sync.Mutex
	arrived map[string]map[string]time.Time // first arrival of each event at each path
	again   int                             // arrivals after the first
	last    map[string]int                  // sequence of each shipment at each path
	late    int                             // arrivals before which a later one of the shipment came
}

func newBehaviours(t *testing.T) *behaviours {
	b := &behaviours{arrived: map[string]map[string]time.Time{}, last: map[string]int{}, over: make(chan struct{}), bomb: gzipBomb(t)}
	srv := httptest.NewServer(b)
	t.Cleanup(srv.Close)
	t.Cleanup(func() { close(b.over) })
	b.url = srv.URL
	return b
}

// gzipBomb is 64 MB of zeros, packed.
func gzipBomb(t *testing.T) []byte {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := io.Copy(z, io.LimitReader(zeros{}, 64<<20)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func (b *behaviours) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	now := time.Now()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	b.note(r.URL.Path, r.Header.Get("webhook-id"), body, now)
	if !b.loose.Load() {
		return
	}
	switch {
	case strings.HasPrefix(r.URL.Path, "/hang"):
		b.pause(r, time.Minute)
	case strings.HasPrefix(r.URL.Path, "/slow"):
		rw.Header().Set("Content-Length", "100")
		for range 100 {
			_, _ = rw.Write([]byte("x"))
			_ = http.NewResponseController(rw).Flush()
			if b.pause(r, time.Second) {
				return
			}
		}
	case strings.HasPrefix(r.URL.Path, "/huge"):
		_, _ = io.Copy(rw, io.LimitReader(zeros{}, 50<<20))
	case strings.HasPrefix(r.URL.Path, "/bomb"):
		rw.Header().Set("Content-Encoding", "gzip")
		_, _ = rw.Write(b.bomb)
	case strings.HasPrefix(r.URL.Path, "/fail"):
		rw.WriteHeader(http.StatusServiceUnavailable)
	}
}

// pause waits, and reports whether the other side has gone.
func (b *behaviours) pause(r *http.Request, d time.Duration) bool {
	select {
	case <-r.Context().Done():
		return true
	case <-b.over:
		return true
	case <-time.After(d):
		return false
	}
}

func (b *behaviours) note(path, id string, body []byte, now time.Time) {
	var e logEvent
	_ = json.Unmarshal(body, &e)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.arrived[path] == nil {
		b.arrived[path] = map[string]time.Time{}
	}
	if _, had := b.arrived[path][id]; had {
		b.again++
		return
	}
	b.arrived[path][id] = now
	key := path + " " + e.Data.Shipment.ID
	if e.Sequence < b.last[key] {
		b.late++
	}
	b.last[key] = e.Sequence
}

// awaitQuiet waits until nothing has arrived for a while.
func (b *behaviours) awaitQuiet() {
	total := func() (n int) {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, events := range b.arrived {
			n += len(events)
		}
		return n
	}
	for before := -1; before != total(); time.Sleep(2 * time.Second) {
		before = total()
	}
}

// reset forgets what arrived, and has everyone behave.
func (b *behaviours) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.arrived, b.last, b.again, b.late = map[string]map[string]time.Time{}, map[string]int{}, 0, 0
	b.loose.Store(false)
}

// seen is how often an event came twice, and how often too late.
func (b *behaviours) seen() (twice, late int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.again, b.late
}
