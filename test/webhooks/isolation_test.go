//go:build chaos

package webhooks

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill/test/proving"
)

// memoryAbove is the limit of the contract for memory above idle, in megabytes.
const memoryAbove = 200

// limits are how long healthy endpoints may wait beside those that misbehave, at a
// quantile, and how long an attempt may take, in milliseconds.
type limits struct {
	quantile, healthy float64
	attempt           int
}

// limitsOf are those of the contract in the full run. The gate runs on any machine: it
// sees whether healthy endpoints wait for a hanging one, whose attempts take ten
// seconds, and whether an attempt goes on after its time, for the minute that the
// endpoint hangs.
func limitsOf(t *testing.T) limits {
	return proving.Pick(t,
		limits{quantile: 0.9, healthy: 5000, attempt: 30_000},
		limits{quantile: 0.99, healthy: 1000, attempt: 10_500})
}

// waits is how long healthy endpoints may wait if they wait as long as base without
// the others.
func (l limits) waits(t *testing.T, base []time.Duration) float64 {
	return max(l.healthy, proving.Pick(t, 3.0, 0)*proving.Quantile(base, l.quantile))
}

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
	all := paths
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
	c.awaitEndpoints(t, all)
	return c
}

// awaitEndpoints writes events until every endpoint has received one: the dispatcher
// reads the list of endpoints every few seconds.
func (c *crowd) awaitEndpoints(t *testing.T, paths []string) {
	t.Helper()
	proving.Await(t, "every endpoint has received an event", 30*time.Second, func() bool {
		for _, p := range c.writers {
			p.write(1)
		}
		time.Sleep(time.Second)
		return !slices.ContainsFunc(paths, func(path string) bool { return c.b.count(path) == 0 })
	})
	c.b.awaitQuiet()
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
	var waited float64
	l := limitsOf(t)
	most := l.waits(t, base)
	for range 3 {
		lags = c.lags(t, lasts, 4)
		if waited = proving.Quantile(lags, l.quantile); waited <= most {
			break
		}
		t.Logf("healthy endpoints wait %.0f ms", waited)
	}

	_, peak := memory(t, w.copies[0])
	longest := w.longest()
	report(t, nil, map[string]any{
		"n": len(lags), "baseP50": proving.Quantile(base, 0.5), "baseP99": proving.Quantile(base, 0.99), "p50": proving.Quantile(lags, 0.5), "p99": proving.Quantile(lags, 0.99),
		"idleMB": idle, "mostMB": peak, "longestAttempt": longest,
	})
	if waited > most {
		t.Errorf("healthy endpoints wait %.0f ms at the quantile %.2f, in three measurements; want at most %.0f", waited, l.quantile, most)
	}
	if peak-idle > memoryAbove {
		t.Errorf("%d MB above idle", peak-idle)
	}
	if longest > l.attempt {
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
	before := loud.b.count("/loud/1")
	arrived := func() int { return loud.b.count("/loud/1") - before }
	since, over := time.Now(), make(chan struct{})
	go func() {
		defer close(over)
		for n := 0; n < events; n += 500 {
			time.Sleep(time.Until(since.Add(time.Duration(n) * time.Second / 3333)))
			loud.writers[0].write(500)
		}
	}()
	for done := false; !done; {
		quiet.writers[0].steadily(5, 5)
		select {
		case <-over:
			done = arrived() >= events || time.Since(since) > proving.Patiently(5*time.Minute)
		default:
		}
	}
	took := time.Since(since)
	lags := quiet.arrivals(t, since)
	_, peak := memory(t, w.copies[0])
	l := limitsOf(t)
	waited := proving.Quantile(lags, l.quantile)
	most := l.waits(t, base)
	report(t, nil, map[string]any{
		"events": events, "arrived": arrived(), "seconds": proving.Round(took.Seconds()), "perSecond": proving.Round(float64(arrived()) / took.Seconds()),
		"n": len(lags), "baseP99": proving.Quantile(base, 0.99), "p50": proving.Quantile(lags, 0.5), "p99": proving.Quantile(lags, 0.99), "idleMB": idle, "mostMB": peak,
	})
	if waited > most || peak-idle > memoryAbove || arrived() != events {
		t.Errorf("the other waits %.0f ms at the quantile %.2f, %d MB above idle, %d of %d arrived", waited, l.quantile, peak-idle, arrived(), events)
	}
}
