//go:build chaos

package webhooks

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waybillhq/waybill/test/proving"
)

// A killing is how much is killed while how much changes.
type killing struct {
	changes, clients int
	kills, crashes   int
	lasts            time.Duration
	fails            int // of one event at one sink, at most
}

const sinks = 3

func TestProveKills(t *testing.T) {
	p := proving.Pick(t,
		killing{changes: 2000, clients: 8, kills: 30, crashes: 2, lasts: 20 * time.Second, fails: 1},
		killing{changes: 20_000, clients: 16, kills: 500, crashes: 20, lasts: 9 * time.Minute, fails: 2})
	proving.Beside(t)
	seed := proving.Seed(t)
	w := newWorld(t, 2)
	var all []*sink
	for n := range uint64(sinks) {
		s := newSink(t, seed+n, p.fails)
		s.mu.Lock()
		_, s.secret = w.hook(w.account, s.url)
		s.mu.Unlock()
		all = append(all, s)
	}
	start := time.Now()
	made := w.change(seed, p)
	proving.Ready(t, w.copies)
	log, violations := w.awaitLog(made)
	ids := map[string]bool{}
	for _, e := range log {
		ids[e.ID] = true
	}
	tail := w.awaitAll(all, ids, &violations)
	duplicates := 0
	for _, s := range all {
		duplicates += s.conclude(ids, &violations)
	}
	report(t, killProof(p, w, seed, len(log), duplicates, violations, start), map[string]any{"drainedAfterSeconds": proving.Round(tail.Seconds())})
	t.Logf("%d events for %d sinks: %d duplicates, %d violations; %d kills, %d crashes; all there %.1f s after the last kill", len(log), sinks, duplicates, len(violations), w.kills.Load(), w.postgres.Crashes.Load(), tail.Seconds())
	for _, v := range violations[:min(10, len(violations))] {
		t.Error(v)
	}
}

func killProof(p killing, w *world, seed uint64, events, duplicates int, violations []string, start time.Time) func(*proving.Proof) {
	return func(out *proving.Proof) {
		out.N, out.Changes, out.Seed = events*sinks, p.changes, seed
		out.Kills, out.Crashes = w.kills.Load(), w.postgres.Crashes.Load()
		out.Duplicates, out.Violations = duplicates, len(violations)
		out.Bound95 = proving.Upper95(len(violations)) / float64(events*sinks)
		out.Seconds = proving.Round(time.Since(start).Seconds())
	}
}

// awaitLog reads the log until it has all changes. It shows an event when all
// transactions before it have ended, also those of a process that was killed; on a slow
// machine this takes a while.
func (w *world) awaitLog(made *changes) (log []logEvent, violations []string) {
	for until := time.Now().Add(proving.Patiently(10 * time.Second)); ; time.Sleep(time.Second) {
		log = w.readLog()
		violations = made.check(log)
		if len(violations) == 0 || time.Now().After(until) {
			return log, violations
		}
	}
}

// awaitAll waits until every sink has everything, or nothing has come for long and
// nothing is to be tried again.
func (w *world) awaitAll(all []*sink, ids map[string]bool, violations *[]string) time.Duration {
	start := time.Now()
	least := -1       // events that were missing, at the least
	lastCame := start // when the least was reached
	for time.Since(start) < 30*time.Minute {
		left := 0
		for _, s := range all {
			n, _ := s.missing(ids)
			left += n
		}
		if left == 0 {
			return time.Since(start)
		}
		if least < 0 || left < least {
			least = left
			lastCame = time.Now()
		}
		if time.Since(lastCame) > proving.Patiently(20*time.Second) && w.count("SELECT count(*) FROM webhook_retries") == 0 {
			break
		}
		time.Sleep(200 * time.Millisecond)
	}
	for n, s := range all {
		if left, example := s.missing(ids); left > 0 {
			*violations = append(*violations, fmt.Sprintf("sink %d never got %d of %d events, such as %s", n, left, len(ids), example))
		}
	}
	return time.Since(start)
}

// conclude adds what the sink saw to the violations, and counts what came
// more than once though it was accepted.
func (s *sink) conclude(ids map[string]bool, violations *[]string) (duplicates int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*violations = append(*violations, s.violations...)
	for id, r := range s.got {
		duplicates += max(0, r.accepted-1)
		if !ids[id] {
			*violations = append(*violations, id+" arrived but is not in the log")
		}
	}
	return duplicates
}

// changes are what the service has acknowledged: the changes of each shipment.
type changes struct {
	mu sync.Mutex
	of map[string]int
}

// change makes shipments and moves them on while copies and Postgres are
// killed.
func (w *world) change(seed uint64, p killing) *changes {
	made := &changes{of: map[string]int{}}
	var killers, clients sync.WaitGroup
	killers.Go(func() { w.killCopies(seed, p.kills, p.lasts/time.Duration(p.kills)) })
	killers.Go(func() { w.crashPostgres(p.crashes, p.lasts/time.Duration(p.crashes+1)) })
	var next atomic.Int64
	pause := p.lasts * time.Duration(p.clients) / time.Duration(p.changes)
	for c := range p.clients {
		clients.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(c)))
			shipment, steps := "", 0
			for next.Add(1) <= int64(p.changes) && !w.t.Failed() {
				began := time.Now()
				if steps == 0 {
					shipment, steps = w.create(rng), 1+rng.IntN(3)
				} else {
					w.advance(rng, shipment, []string{"picked_up", "in_transit", "delivered"}[rng.IntN(3)])
					steps--
				}
				made.mu.Lock()
				made.of[shipment]++
				made.mu.Unlock()
				time.Sleep(pause - time.Since(began))
			}
		})
	}
	clients.Wait()
	killers.Wait()
	return made
}

func (w *world) create(rng *rand.Rand) string {
	var sh struct{ ID string }
	answer := w.insist(rng, "/v1/shipments", fmt.Sprintf("key-%x", rng.Uint64()), map[string]any{
		"orderId": fmt.Sprintf("order-%x", rng.Uint64()), "parcel": map[string]any{"weight": 2.5},
		"destination": map[string]any{"name": "Jane Doe", "address1": "350 5th Avenue", "city": "New York", "state": "NY", "zip": "10118", "country": "US"},
	})
	if err := json.Unmarshal(answer, &sh); err != nil || sh.ID == "" {
		w.t.Errorf("a creation was answered %s", answer)
	}
	return sh.ID
}

// advance has no key: one that was cut short is locked for a minute, and a
// second scan is a change like any other.
func (w *world) advance(rng *rand.Rand, shipment, status string) {
	w.insist(rng, "/v1/sandbox/shipments/"+shipment+"/advance", "", map[string]any{"status": status})
}

// insist posts until it is acknowledged, with the same key, to any copy.
func (w *world) insist(rng *rand.Rand, path, key string, body any) []byte {
	for deadline := time.Now().Add(proving.Patiently(90 * time.Second)); time.Now().Before(deadline); {
		status, answer, err := w.call(w.copies[rng.IntN(len(w.copies))], w.account, http.MethodPost, path, key, body)
		if err == nil && status >= 200 && status < 300 {
			return answer
		}
		if err == nil && status < 500 && status != http.StatusConflict && status != http.StatusTooManyRequests {
			w.t.Errorf("%s: %d %s", path, status, answer)
			return nil
		}
		time.Sleep(time.Duration(20+rng.IntN(80)) * time.Millisecond)
	}
	w.t.Errorf("%s was never answered", path)
	return nil
}

// readLog follows the log of the account from its beginning.
func (w *world) readLog() (log []logEvent) {
	query := "?limit=100"
	for {
		var page struct {
			Data       []logEvent
			NextCursor string
		}
		w.must(w.account, http.MethodGet, "/v1/events"+query, nil, &page)
		if len(page.Data) == 0 {
			return log
		}
		log = append(log, page.Data...)
		query = "?limit=100&after=" + page.NextCursor
	}
}

// check compares the log with what was acknowledged: each change has its
// event, and sequences have no gaps.
func (c *changes) check(log []logEvent) (violations []string) {
	seen := map[string]int{}
	for _, e := range log {
		id := e.Data.Shipment.ID
		if seen[id]++; e.Sequence != seen[id] {
			violations = append(violations, fmt.Sprintf("event %d of %s has the sequence %d", seen[id], id, e.Sequence))
		}
	}
	for id, n := range c.of {
		if seen[id] < n+1 { // a creation writes two
			violations = append(violations, fmt.Sprintf("%d changes of %s were acknowledged, the log has %d events", n, id, seen[id]))
		}
	}
	return violations
}
