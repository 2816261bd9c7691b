//go:build chaos

package webhooks

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill/test/proving"
)

// The limits of the contract.
const (
	healthyP99   = 1000 // milliseconds, beside endpoints that misbehave
	memoryAbove  = 200  // megabytes, above idle
	longestMilli = 10_500
)

// A crowd is endpoints of several accounts, some of which misbehave.
type crowd struct {
	w        *world
	b        *behaviours
	accounts []account
	writers  []*writer
	healthy  map[*writer][]string
}

// newCrowd makes endpoints with the given paths, at most 20 an account, and
// has each answer once.
func newCrowd(t *testing.T, w *world, paths []string) *crowd {
	t.Helper()
	c := &crowd{w: w, b: newBehaviours(t), healthy: map[*writer][]string{}}
	for len(paths) > 0 {
		n := min(20, len(paths))
		a := w.newAccount()
		p := w.newWriter(a, 16)
		for _, path := range paths[:n] {
			w.hook(a, c.b.url+path)
			if strings.HasPrefix(path, "/ok") {
				c.healthy[p] = append(c.healthy[p], path)
			}
		}
		paths = paths[n:]
		c.writers, c.accounts = append(c.writers, p), append(c.accounts, a)
	}
	time.Sleep(2500 * time.Millisecond) // the dispatcher has heard of them
	return c
}

// lags writes events to every account at a rate for a while, and returns the
// lags of the healthy endpoints.
func (c *crowd) lags(t *testing.T, lasts time.Duration, perSecond float64) []time.Duration {
	t.Helper()
	since := time.Now()
	var wg sync.WaitGroup
	for _, p := range c.writers {
		wg.Go(func() { p.steadily(int(lasts.Seconds()*perSecond), perSecond) })
	}
	wg.Wait()
	return c.arrivals(t, since)
}

// arrivals waits until the healthy endpoints have everything.
func (c *crowd) arrivals(t *testing.T, since time.Time) (all []time.Duration) {
	t.Helper()
	proving.Await(t, "the healthy endpoints have everything", 30*time.Second, func() bool {
		all = nil
		left := 0
		for p, paths := range c.healthy {
			list, missing := p.lags(c.b, paths, since)
			all, left = append(all, list...), left+missing
		}
		return left == 0
	})
	return all
}

// spread returns n paths: some of each kind, the rest healthy, mixed.
func spread(n int, kinds map[string]int) []string {
	paths := make([]string, n)
	at := 0
	for kind, some := range kinds {
		for i := range some {
			for paths[at%n] != "" {
				at++
			}
			paths[at%n] = fmt.Sprintf("/%s/%d", kind, i)
			at += 7
		}
	}
	for i := range paths {
		if paths[i] == "" {
			paths[i] = fmt.Sprintf("/ok/%d", i)
		}
	}
	return paths
}

// memory is what a copy takes, in megabytes: now and at most.
func memory(t *testing.T, c *proving.Process) (now, most int) {
	t.Helper()
	pid := c.PID()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	field := func(name string) (kb int) {
		_, after, _ := strings.Cut(string(text), name)
		_, _ = fmt.Sscan(after, &kb)
		return kb / 1024
	}
	return field("VmRSS:"), field("VmHWM:")
}

// longest is the longest attempt so far, in milliseconds.
func (w *world) longest() int {
	return w.count("SELECT coalesce(max(total_ms), 0) FROM webhook_attempts")
}

// misbehave measures the healthy endpoints of a crowd before and after the
// others are let loose. The machine is shared, so they may be measured three
// times.
func misbehave(t *testing.T, kinds map[string]int, lasts time.Duration) {
	w := newWorld(t, 1)
	c := newCrowd(t, w, spread(50, kinds))
	c.lags(t, time.Second, 4) // every endpoint answers once
	base := c.lags(t, lasts/4, 4)
	idle, _ := memory(t, w.copies[0])
	c.b.loose.Store(true)

	var lags []time.Duration
	var p99 float64
	for range 3 {
		lags = c.lags(t, lasts, 4)
		if p99 = proving.Quantile(lags, 0.99); p99 <= healthyP99 {
			break
		}
		t.Logf("healthy endpoints wait %.0f ms at p99", p99)
	}

	_, most := memory(t, w.copies[0])
	longest := w.longest()
	report(t, nil, map[string]any{
		"n": len(lags), "baseP50": proving.Quantile(base, 0.5), "baseP99": proving.Quantile(base, 0.99), "p50": proving.Quantile(lags, 0.5), "p99": p99,
		"idleMB": idle, "mostMB": most, "longestAttempt": longest,
	})
	if p99 > healthyP99 {
		t.Errorf("healthy endpoints wait %.0f ms at p99, in three measurements", p99)
	}
	if most-idle > memoryAbove {
		t.Errorf("%d MB above idle", most-idle)
	}
	if longest > longestMilli {
		t.Errorf("an attempt took %d ms", longest)
	}
}

func TestProveOneHanging(t *testing.T) {
	lasts := proving.Pick(t, 12*time.Second, time.Minute)
	proving.Beside(t)
	misbehave(t, map[string]int{"hang": 1}, lasts)
}

func TestProveManyMisbehaving(t *testing.T) {
	lasts := proving.Pick(t, 20*time.Second, 2*time.Minute)
	proving.Beside(t)
	misbehave(t, map[string]int{"hang": 10, "slow": 5, "huge": 5, "bomb": 3}, lasts)
}

// TestProveBurst has one account burst while another goes on as ever.
func TestProveBurst(t *testing.T) {
	events := proving.Pick(t, 20_000, 200_000)
	w := newWorld(t, 1)
	loud, quiet := newCrowd(t, w, []string{"/loud/1"}), newCrowd(t, w, []string{"/ok/1"})
	loud.lags(t, time.Second, 4)
	base := quiet.lags(t, 3*time.Second, 5)
	idle, _ := memory(t, w.copies[0])
	since, over := time.Now(), make(chan struct{})
	go func() {
		defer close(over)
		for n := 0; n < events; n += 500 {
			time.Sleep(time.Until(since.Add(time.Duration(n) * time.Second / 3333)))
			loud.writers[0].write(500)
		}
	}()
	arrived := func() int {
		loud.b.mu.Lock()
		defer loud.b.mu.Unlock()
		return len(loud.b.arrived["/loud/1"])
	}
	for done := false; !done; {
		quiet.writers[0].steadily(5, 5)
		select {
		case <-over:
			done = arrived() >= events || time.Since(since) > 15*time.Minute
		default:
		}
	}
	took := time.Since(since)
	lags := quiet.arrivals(t, since)
	_, most := memory(t, w.copies[0])
	p99 := proving.Quantile(lags, 0.99)
	report(t, nil, map[string]any{
		"events": events, "arrived": arrived(), "seconds": proving.Round(took.Seconds()), "perSecond": proving.Round(float64(arrived()) / took.Seconds()),
		"n": len(lags), "baseP99": proving.Quantile(base, 0.99), "p50": proving.Quantile(lags, 0.5), "p99": p99, "idleMB": idle, "mostMB": most,
	})
	if p99 > healthyP99 || most-idle > memoryAbove || arrived() < events {
		t.Errorf("p99 of the other %.0f ms, %d MB above idle, %d of %d arrived", p99, most-idle, arrived(), events)
	}
}
