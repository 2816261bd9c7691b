//go:build chaos

package load

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/waybillhq/waybill/internal/ship"
)

// A tally is which events came, in constant memory: their number, and the sum of
// the hashes of their ids, which is the same in any order.
type tally struct {
	mu    sync.Mutex
	Count int64
	Sum   uint64
}

func (t *tally) add(id string) {
	hash := fnv.New64a()
	_, _ = io.WriteString(hash, id)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Count++
	t.Sum += hash.Sum64()
}

func (t *tally) read() (count int64, sum uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.Count, t.Sum
}

// receive starts an endpoint that verifies every delivery, and has all events of
// both modes sent to it.
func (g *generator) receive() *tally {
	received := &tally{}
	verifiers := map[string]*standardwebhooks.Webhook{}
	var mu sync.RWMutex

	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the sender gave up
		}
		mu.RLock()
		verifier := verifiers[r.URL.Path]
		mu.RUnlock()
		if err := verifier.Verify(body, r.Header); err != nil {
			g.meter.fail(webhook, "%v", err)
			w.WriteHeader(http.StatusBadRequest)
			return
		}

		id := r.Header.Get("webhook-id")
		received.add(id)
		g.meter.done(webhook, time.Since(ship.EventID(id).Raw().Time()))
	}))
	g.Cleanup(server.Close)

	for path, key := range map[string]string{"/live": g.liveKey, "/test": g.testKey} {
		verifier, err := standardwebhooks.NewWebhook(g.subscribe(key, server.URL+path))
		g.must(err)
		mu.Lock()
		verifiers[path] = verifier
		mu.Unlock()
	}
	return received
}

// follow reads the log of both modes behind a cursor, once a second until ctx
// ends.
func (g *generator) follow(ctx context.Context, running *sync.WaitGroup) *tally {
	read := &tally{}
	for _, key := range []string{g.liveKey, g.testKey} {
		running.Go(func() {
			cursor := ""
			for tick := range ticks(ctx, time.Second) {
				cursor = g.readLog(ctx, read, key, cursor, tick)
			}
		})
	}
	return read
}

// readLog reads from the cursor to the end of the log, and returns the new
// cursor.
func (g *generator) readLog(ctx context.Context, read *tally, key, cursor string, due time.Time) string {
	for ctx.Err() == nil {
		address := "http://" + g.service.Addr + "/v1/events?limit=100"
		if cursor != "" {
			address += "&after=" + url.QueryEscape(cursor)
		}
		request, err := http.NewRequest(http.MethodGet, address, nil)
		g.must(err)
		request.Header.Set("Authorization", "Bearer "+key)

		var log struct {
			Data       []struct{ ID string }
			NextCursor string
		}
		if err := g.getJSON(request, &log); err != nil {
			g.meter.fail(poll, "%v", err)
			return cursor
		}
		g.meter.done(poll, time.Since(due))

		for _, event := range log.Data {
			read.add(event.ID)
		}
		cursor = log.NextCursor
		if len(log.Data) < 100 {
			return cursor
		}
		due = time.Now()
	}
	return cursor
}

func (g *generator) getJSON(request *http.Request, into any) error {
	response, err := g.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("answered %s", response.Status)
	}
	return json.NewDecoder(response.Body).Decode(into)
}

// browse opens pages of the dashboard, two a second until ctx ends: the
// overview, the list, a search and a shipment, in both modes.
func (g *generator) browse(ctx context.Context) {
	n := 0
	for tick := range ticks(ctx, 500*time.Millisecond) {
		n++
		shown := g.any()
		mode := "test"
		if shown.isLive {
			mode = "live"
		}
		home := "http://" + g.service.Addr + "/app/" + g.account + "/" + mode
		address := [...]string{
			home,
			home + "/shipments",
			home + "/shipments?to=" + lastNames[n%len(lastNames)],
			home + "/shipments/" + shown.id,
		}[n%4]

		response, err := g.browser.Get(address)
		if err != nil {
			g.meter.fail(page, "%v", err)
			continue
		}
		_, err = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK {
			g.meter.fail(page, "%s: %s %v", address, response.Status, err)
			continue
		}
		g.meter.done(page, time.Since(tick))
	}
}

// ticks yields the times of an interval until ctx ends. One that is late counts
// from when it was due.
func ticks(ctx context.Context, interval time.Duration) func(func(time.Time) bool) {
	return func(yield func(time.Time) bool) {
		for due := time.Now(); ctx.Err() == nil; due = due.Add(interval) {
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Until(due)):
			}
			if !yield(due) {
				return
			}
		}
	}
}
