package carrierkit_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// crowd is a carrier that answers after a while and records which calls are in
// flight at the same time.
type crowd struct {
	takes time.Duration
	mu    sync.Mutex
	now   map[string]int // in flight, by connection
	sum   int
	most  int
}

func (c *crowd) count(who string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now[who] += n
	c.sum += n
	c.most = max(c.most, c.sum)
}

func (c *crowd) answer(r *http.Request) (*http.Response, error) {
	who := r.URL.Fragment
	c.count(who, 1)
	defer c.count(who, -1)
	select {
	case <-time.After(c.takes):
		return says(200)
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// holds returns how many calls of the connection are in flight; of all
// connections if none is named.
func (c *crowd) holds(who string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if who == "" {
		return c.sum
	}
	return c.now[who]
}

func newCrowd(takes time.Duration) *crowd {
	return &crowd{takes: takes, now: map[string]int{}}
}

// from sends a call of the connection.
func from(ctx context.Context, traffic *carrierkit.Traffic, connection string, op carrier.Operation, within time.Duration) error {
	ctx, cancel := context.WithTimeout(carrier.WithOperation(ctx, op), within)
	defer cancel()
	return carrierkit.Call{Method: "GET", URL: "http://carrier.test/#" + connection}.Do(ctx, traffic.Doer(carrier.Spec{Name: "ups"}, connection), nil)
}

func TestACarrierHasSoManyCallsInFlight(t *testing.T) {
	for op, want := range map[carrier.Operation]int{
		carrier.OpBuy: 32, carrier.OpFind: 32, carrier.OpVoid: 32, carrier.OpRates: 64, carrier.OpCheck: 64, carrier.OpTrack: 16,
		carrier.OpCheckAddress: 16,
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newCrowd(time.Second)
			traffic := over(c.answer)
			var all sync.WaitGroup
			for range 200 {
				all.Go(func() {
					if err := from(t.Context(), traffic, "a", op, time.Minute); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			if c.most != want {
				t.Errorf("%s: %d in flight, want %d", op, c.most, want)
			}
		})
	}
}

func TestPurchasesLookUpsAndVoidsShareTheirSlotsAndRatesDoNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(time.Minute)
		traffic := over(c.answer)
		for i := range 33 {
			go func() {
				_ = from(t.Context(), traffic, "a", []carrier.Operation{carrier.OpBuy, carrier.OpFind, carrier.OpVoid}[i%3], time.Hour)
			}()
		}
		synctest.Wait()
		if got := c.holds(""); got != 32 {
			t.Errorf("%d in flight, want 32", got)
		}
		go func() { _ = from(t.Context(), traffic, "a", carrier.OpRates, time.Hour) }()
		synctest.Wait()
		if c.holds("") != 33 {
			t.Error("rates wait for purchases")
		}
		time.Sleep(time.Hour)
	})
}

func TestAFullCarrierIsBusyAndNothingIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(time.Minute)
		traffic := over(c.answer)
		for range 32 {
			go func() { _ = from(t.Context(), traffic, "a", carrier.OpBuy, time.Hour) }()
		}
		synctest.Wait()
		via := traffic.Doer(carrier.Spec{Name: "ups"}, "a")
		began := time.Now()
		err := send(t.Context(), via, carrier.OpBuy, 20*time.Second)
		if ship.KindOf(err) != ship.Unavailable || time.Since(began) != 10*time.Second || c.holds("") != 32 {
			t.Errorf("err = %v after %v, %d in flight; want unavailable after half of the time", err, time.Since(began), c.holds(""))
		}
		time.Sleep(time.Hour)
	})
}

func TestOneConnectionHoldsAQuarterWhileOthersAreAbout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(time.Second)
		traffic := over(c.answer)
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() { _ = from(t.Context(), traffic, "big", carrier.OpFind, time.Hour) })
		}
		synctest.Wait()
		if got := c.holds("big"); got != 32 {
			t.Errorf("alone it has %d slots, want all 32", got)
		}
		// Others arrive, one call at a time: the big connection falls back to
		// its share.
		for range 5 {
			for i := range 3 {
				if err := from(t.Context(), traffic, fmt.Sprint("small", i), carrier.OpFind, time.Hour); err != nil {
					t.Error(err)
				}
			}
			if got := c.holds("big"); got > 8 {
				t.Errorf("with others about it has %d slots, want 8", got)
			}
		}
		all.Wait()
		// It stays within its share between their calls, until they have gone
		// for good.
		for range 100 {
			all.Go(func() { _ = from(t.Context(), traffic, "big", carrier.OpFind, time.Hour) })
		}
		synctest.Wait()
		began := time.Now()
		if err := from(t.Context(), traffic, "small0", carrier.OpFind, time.Hour); err != nil || time.Since(began) != time.Second {
			t.Errorf("a small one was let in after %v: %v", time.Since(began)-time.Second, err)
		}
		all.Wait()
	})
}

func TestConnectionsThatWaitTakeTurns(t *testing.T) {
	for name, share := range map[string]float64{"within a share": 0.25, "without one": 1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCrowd(time.Second)
				traffic := over(c.answer, func(o *carrierkit.TrafficOptions) { o.Tracks, o.Share = 4, share })
				var all sync.WaitGroup
				for range 100 {
					all.Go(func() { _ = from(t.Context(), traffic, "big", carrier.OpTrack, time.Hour) })
				}
				synctest.Wait()
				began := time.Now()
				for i := range 4 {
					all.Go(func() {
						err := from(t.Context(), traffic, fmt.Sprint("small", i), carrier.OpTrack, time.Hour)
						if err != nil || time.Since(began) > 3*time.Second {
							t.Errorf("a small one had its answer after %v: %v", time.Since(began), err)
						}
					})
				}
				all.Wait()
				if c.most != 4 {
					t.Errorf("%d in flight", c.most)
				}
			})
		})
	}
}

// What is learned about a carrier while a call waits for its slot applies to
// that call.
func TestACallIsNotSentIfItsCarrierFailsWhileItWaits(t *testing.T) {
	for name, tc := range map[string]struct {
		first func(*http.Request) (*http.Response, error)
		want  ship.Kind
	}{
		"a pause":            {func(*http.Request) (*http.Response, error) { return says(429, "Retry-After", "60") }, ship.Limited},
		"a pause of no name": {func(*http.Request) (*http.Response, error) { return says(429) }, ship.Limited},
		"silence":            {hangs, ship.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sent := 0
				traffic := over(func(r *http.Request) (*http.Response, error) {
					sent++
					time.Sleep(time.Second)
					return tc.first(r)
				}, func(o *carrierkit.TrafficOptions) { o.Labels, o.Breaker.Timeouts = 1, 1 })
				via := traffic.Doer(carrier.Spec{Name: "ups"}, "a")
				go func() { _ = send(t.Context(), via, carrier.OpFind, 2*time.Second) }()
				synctest.Wait()
				if err := send(t.Context(), via, carrier.OpFind, time.Minute); ship.KindOf(err) != tc.want || sent != 1 || retryAfter(err) <= 0 {
					t.Errorf("err = %v, retry after %v, %d sent", err, retryAfter(err), sent)
				}
			})
		})
	}
}

func TestWaitersForASlotThatLeaveTakeNothingWithThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(time.Second)
		traffic := over(c.answer)
		var all sync.WaitGroup
		for i := range 5_000 { // many leave at the very moment that a slot is free
			all.Go(func() {
				_ = from(t.Context(), traffic, fmt.Sprint(i%7), carrier.OpRates, time.Duration(1+i%3)*time.Second)
			})
		}
		all.Wait()
		time.Sleep(time.Minute)
		c.most = 0
		for range 200 {
			all.Go(func() {
				if err := from(t.Context(), traffic, "late", carrier.OpRates, time.Minute); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if c.most != 64 {
			t.Errorf("afterwards %d slots are left of 64", c.most)
		}
	})
}
