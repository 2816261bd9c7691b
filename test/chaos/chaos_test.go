//go:build chaos

// Package chaos kills copies of the binary and Postgres while clients create
// shipments, and counts what was lost or doubled.
package chaos

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waybillhq/waybill/test/proving"
)

// plan is how much chaos there is.
type plan struct {
	creations int
	clients   int
	kills     int // of copies of the binary
	crashes   int // of Postgres
	lasts     time.Duration
}

func TestChaosShort(t *testing.T) {
	run(t, plan{creations: 5000, clients: 16, kills: 40, crashes: 3, lasts: 45 * time.Second})
}

func TestChaosLong(t *testing.T) {
	if os.Getenv("PROVE") != "full" {
		t.Skip("PROVE=full runs it: make prove WHAT=chaos SIZE=full")
	}
	run(t, plan{creations: 100_000, clients: 32, kills: 500, crashes: 20, lasts: 15 * time.Minute})
}

// acks are the shipments that clients were told of, by idempotency key.
type acks struct {
	mu sync.Mutex
	m  map[string]string
}

// add reports whether the key was acknowledged with another shipment before.
func (a *acks) add(key, id string) (other string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if had := a.m[key]; had != "" && had != id {
		return had
	}
	a.m[key] = id
	return ""
}

func run(t *testing.T, p plan) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	w := newWorld(t, 2)
	acked := &acks{m: map[string]string{}}
	stop := make(chan struct{})
	var killers sync.WaitGroup
	killers.Go(func() { w.killCopies(seed, p.kills, p.lasts/time.Duration(p.kills), stop) })
	killers.Go(func() { w.crashPostgres(p.crashes, p.lasts/time.Duration(p.crashes+1), stop) })

	var next, requests, doubled atomic.Int64
	pause := p.lasts * time.Duration(p.clients) / time.Duration(p.creations)
	var clients sync.WaitGroup
	start := time.Now()
	for c := range p.clients {
		clients.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(c)))
			for {
				n := next.Add(1)
				if n > int64(p.creations) || t.Failed() {
					return
				}
				began := time.Now()
				key := fmt.Sprintf("chaos-%d", n)
				id := w.create(t, rng, key, &requests)
				if other := acked.add(key, id); other != "" {
					doubled.Add(1)
					t.Errorf("key %s made %s and %s", key, other, id)
				}
				time.Sleep(pause - time.Since(began))
			}
		})
	}
	clients.Wait()
	killers.Wait()
	close(stop)
	took := time.Since(start)
	w.waitUntilSettled(t)
	lost := w.countLost(t, acked.m)
	missing := w.countMissingEvents(t, acked.m)
	twice := w.countTwice(t)
	t.Logf("%d creations acknowledged with %d requests in %.0f s; %d kills of the binary, %d of Postgres: %d lost, %d with missing events, %d doubled",
		len(acked.m), requests.Load(), took.Seconds(), w.kills.Load(), w.postgres.Crashes.Load(), lost, missing, doubled.Load()+int64(twice))
	if len(acked.m) != p.creations || lost+missing+twice > 0 {
		t.Errorf("%d of %d acknowledged, %d lost, %d with missing events, %d orders with two shipments", len(acked.m), p.creations, lost, missing, twice)
	}
	if w.kills.Load() < int64(p.kills) || w.postgres.Crashes.Load() < int64(p.crashes) {
		t.Errorf("only %d and %d kills were done", w.kills.Load(), w.postgres.Crashes.Load())
	}
}

// create posts until the shipment is acknowledged, always with the same key,
// to any copy.
func (w *world) create(t *testing.T, rng *rand.Rand, key string, requests *atomic.Int64) string {
	name := "Jane Doe"
	if rng.IntN(20) == 0 {
		name = "FAULT REFUSE UPS" // takes the way of a live carrier, with an intent
	}
	body := fmt.Sprintf(`{"orderId":"order-%s","destination":{"name":%q,"address1":"350 5th Avenue","city":"New York","state":"NY","zip":"10118","country":"US"},"parcel":{"weight":2.5}}`, key, name)
	deadline := time.Now().Add(proving.Patiently(90 * time.Second))
	for time.Now().Before(deadline) {
		requests.Add(1)
		status, answer, err := w.post(w.copies[rng.IntN(len(w.copies))], "/v1/shipments", key, body)
		if err == nil && (status == http.StatusCreated || status == http.StatusAccepted) {
			var sh struct{ ID string }
			if err := json.Unmarshal(answer, &sh); err != nil || sh.ID == "" {
				t.Errorf("answer of %s: %s", key, answer)
			}
			return sh.ID
		}
		if err == nil && status < 500 && status != http.StatusConflict && status != http.StatusTooManyRequests {
			t.Errorf("%s: %d %s", key, status, answer)
			return ""
		}
		time.Sleep(time.Duration(20+rng.IntN(80)) * time.Millisecond)
	}
	t.Errorf("%s was never answered", key)
	return ""
}
