package carrierkit_test

import (
	"context"
	"math/rand/v2"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// hourly is the quota that a new USPS account begins with.
var hourly = carrier.Quota{Calls: 60, Per: time.Hour, Burst: 5}

// diary records when each request was sent.
type diary struct {
	mu  sync.Mutex
	at  []time.Time
	ops []carrier.Operation
}

func (d *diary) answer(r *http.Request) (*http.Response, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at = append(d.at, time.Now())
	d.ops = append(d.ops, carrier.OperationOf(r.Context()))
	return says(200)
}

func (d *diary) sent() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.at)
}

// most returns the largest number of calls in any period of the given length.
func (d *diary) most(in time.Duration) int {
	most := 0
	for i := range d.at {
		n := 0
		for _, at := range d.at[i:] {
			if at.Sub(d.at[i]) < in {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

func TestNoPeriodHoldsMoreCallsThanTheQuota(t *testing.T) {
	operations := []carrier.Operation{carrier.OpBuy, carrier.OpFind, carrier.OpVoid, carrier.OpRates, carrier.OpCheck, carrier.OpTrack, ""}
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			q := carrier.Quota{Calls: 1 + rnd.IntN(80), Per: time.Duration(1+rnd.IntN(7200)) * time.Second}
			q.Burst = rnd.IntN(q.Calls + 1)
			var d diary
			via := over(d.answer).Doer(carrier.Spec{Quota: q}, "a")
			var all sync.WaitGroup
			for range 6 * q.Calls { // for three periods, twice what it takes
				time.Sleep(time.Duration(rnd.Int64N(int64(q.Per) / int64(q.Calls))))
				op, within := operations[rnd.IntN(len(operations))], time.Duration(rnd.Int64N(int64(q.Per/4)))
				all.Go(func() { _ = send(t.Context(), via, op, within) })
			}
			all.Wait()
			if most := d.most(q.Per); most > q.Calls || len(d.at) < q.Calls {
				t.Errorf("seed %d, %+v: %d calls in one period of %d in all", seed, q, most, len(d.at))
			}
			burst := q.Burst
			if burst == 0 {
				burst = q.Calls
			}
			if most := d.most(q.Per / time.Duration(q.Calls)); most > burst+1 {
				t.Errorf("seed %d, %+v: %d calls at once", seed, q, most)
			}
		})
	}
}

func TestAQuotaIsUsedUpWhenThereIsDemand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d diary
		via := over(d.answer).Doer(carrier.Spec{Quota: hourly}, "a")
		for range 10 * 60 {
			go func() { _ = send(t.Context(), via, carrier.OpFind, time.Hour) }()
			time.Sleep(time.Minute)
		}
		if sent := d.sent(); sent < 590 {
			t.Errorf("%d calls in ten hours, want close to 600", sent)
		}
		time.Sleep(time.Hour)
	})
}

// Even under endless rate and tracking requests, every purchase gets the calls
// it needs.
func TestSixtyCallsAnHourLeaveRoomForPurchases(t *testing.T) {
	for name, q := range map[string]carrier.Quota{"in bursts of five": hourly, "in any burst": {Calls: 60, Per: time.Hour}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var d diary
				via := over(d.answer).Doer(carrier.Spec{Quota: q}, "a")
				for second := range 6 * 3600 {
					time.Sleep(time.Second)
					_ = send(t.Context(), via, carrier.OpRates, time.Millisecond)
					_ = send(t.Context(), via, carrier.OpTrack, time.Millisecond)
					if second%600 != 599 {
						continue
					}
					for _, op := range []carrier.Operation{"", carrier.OpBuy} { // a token first
						if err := send(t.Context(), via, op, 20*time.Second); err != nil {
							t.Fatalf("%q after %d s: %v, retry after %v", op, second, err, retryAfter(err))
						}
					}
				}
				count := map[carrier.Operation]int{}
				for _, op := range d.ops {
					count[op]++
				}
				if d.most(time.Hour) > 60 || count[carrier.OpRates]+count[carrier.OpTrack] < 6*36 {
					t.Errorf("%d calls in an hour; in all %v", d.most(time.Hour), count)
				}
				t.Log(count)
			})
		})
	}
}

// Tracking that asks all day leaves a share for rates, and both leave one for
// labels.
func TestTrackingLeavesRoomForRates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d diary
		via := over(d.answer).Doer(carrier.Spec{Quota: carrier.Quota{Calls: 60, Per: time.Hour}}, "a")
		for _, step := range []struct {
			op   carrier.Operation
			want int
		}{{carrier.OpTrack, 36}, {carrier.OpRates, 12}, {carrier.OpBuy, 12}} {
			sent := 0
			for range 100 {
				if send(t.Context(), via, step.op, time.Millisecond) == nil {
					sent++
				}
			}
			if sent != step.want {
				t.Errorf("%d calls for %s were sent, want %d", sent, step.op, step.want)
			}
		}
	})
}

func TestTheMostUrgentWaiterGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d diary
		via := over(d.answer).Doer(carrier.Spec{Quota: carrier.Quota{Calls: 100, Per: 100 * time.Second, Burst: 10}}, "a")
		for range 10 {
			_ = send(t.Context(), via, carrier.OpBuy, time.Second)
		}
		var all sync.WaitGroup
		for _, op := range []carrier.Operation{carrier.OpTrack, carrier.OpRates, carrier.OpVoid, carrier.OpFind, carrier.OpTrack, carrier.OpRates, carrier.OpVoid, carrier.OpBuy} {
			all.Go(func() { _ = send(t.Context(), via, op, time.Hour) })
			synctest.Wait()
		}
		all.Wait()
		want := []carrier.Operation{
			carrier.OpFind, carrier.OpBuy, carrier.OpVoid, carrier.OpVoid, carrier.OpRates, carrier.OpRates, carrier.OpTrack, carrier.OpTrack,
		}
		if got := d.ops[10:]; !slices.Equal(got, want) {
			t.Errorf("sent %v, want %v", got, want)
		}
	})
}

func TestAWaitPastTheDeadlineIsRefusedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d diary
		via := over(d.answer).Doer(carrier.Spec{Quota: hourly}, "a")
		for range 5 {
			if err := send(t.Context(), via, carrier.OpFind, time.Second); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		err := send(t.Context(), via, carrier.OpFind, 59*time.Second)
		if ship.KindOf(err) != ship.Limited || retryAfter(err) != time.Minute || time.Since(began) > 0 || len(d.at) != 5 {
			t.Errorf("err = %v, retry after %v, took %v", err, retryAfter(err), time.Since(began))
		}
		if err := send(t.Context(), via, carrier.OpFind, 61*time.Second); err != nil || time.Since(began) != time.Minute {
			t.Errorf("with time to wait: %v after %v", err, time.Since(began))
		}
	})
}

// A purchase that is sent just before its deadline would lose its answer.
func TestAPurchaseLeavesTheCarrierHalfOfItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d diary
		via := over(d.answer).Doer(carrier.Spec{Quota: carrier.Quota{Calls: 60, Per: 10 * time.Minute, Burst: 1}}, "a")
		_ = send(t.Context(), via, carrier.OpFind, time.Second)
		if err := send(t.Context(), via, carrier.OpBuy, 19*time.Second); ship.KindOf(err) != ship.Limited || len(d.at) != 1 {
			t.Errorf("with 10 s to wait of 19: %v", err)
		}
		if err := send(t.Context(), via, carrier.OpBuy, 21*time.Second); err != nil {
			t.Errorf("with 10 s to wait of 21: %v", err)
		}
	})
}

func TestA429TellsThoseThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := 0
		via := over(func(*http.Request) (*http.Response, error) {
			sent++
			time.Sleep(time.Second)
			return says(429, "Retry-After", "10")
		}).Doer(carrier.Spec{Quota: carrier.Quota{Calls: 60, Per: time.Hour, Burst: 1}}, "a")
		go func() { _ = send(t.Context(), via, carrier.OpBuy, time.Minute) }()
		synctest.Wait()
		began := time.Now()
		err := send(t.Context(), via, carrier.OpFind, time.Hour)
		if ship.KindOf(err) != ship.Limited || retryAfter(err) != 10*time.Second || time.Since(began) != time.Second || sent != 1 {
			t.Errorf("err = %v, retry after %v, took %v, %d sent", err, retryAfter(err), time.Since(began), sent)
		}
	})
}

func TestWaitersThatLeaveTakeNothingWithThem(t *testing.T) {
	before := runtime.NumGoroutine()
	synctest.Test(t, func(t *testing.T) {
		var d diary
		traffic := over(d.answer)
		via := traffic.Doer(carrier.Spec{Quota: carrier.Quota{Calls: 10, Per: 10 * time.Hour, Burst: 10}}, "a")
		for range 10 {
			_ = send(t.Context(), via, carrier.OpFind, time.Second)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range 10_000 {
			all.Go(func() {
				if err := send(ctx, via, carrier.OpFind, 1e6*time.Hour); ship.KindOf(err) != ship.Limited {
					t.Errorf("a waiter that left: %v", err)
				}
			})
		}
		synctest.Wait()
		if got := stat(t, traffic, carrier.OpFind); got.Waiting != 10_000 {
			t.Errorf("%d wait", got.Waiting)
		}
		cancel()
		all.Wait()
		time.Sleep(11 * time.Hour)
		if got := stat(t, traffic, carrier.OpFind); got.Waiting != 0 || got.QuotaLeft != 10 || got.Sent != 10 {
			t.Errorf("afterwards %+v", got)
		}
	})

	// Goroutines that have returned are counted for another moment.
	after := runtime.NumGoroutine()
	for deadline := time.Now().Add(5 * time.Second); after > before+2 && time.Now().Before(deadline); after = runtime.NumGoroutine() {
		time.Sleep(time.Millisecond)
	}
	if after > before+2 {
		t.Errorf("%d goroutines, %d before", after, before)
	}
}

// A call that acquired quota but then got no slot gives the quota back.
func TestACallThatIsNotSentCostsNoQuota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		traffic := over(hangs, func(o *carrierkit.TrafficOptions) { o.Rates = 1 })
		via := traffic.Doer(carrier.Spec{Quota: carrier.Quota{Calls: 100, Per: time.Hour}}, "a")
		go func() { _ = send(t.Context(), via, carrier.OpRates, time.Minute) }()
		synctest.Wait()
		for range 20 {
			_ = send(t.Context(), via, carrier.OpRates, time.Second)
		}
		if got := stat(t, traffic, carrier.OpRates); got.QuotaLeft != 99 || got.Shed != 20 {
			t.Errorf("stats = %+v", got)
		}
		time.Sleep(time.Hour)
	})
}

func TestWhatIsGivenBackGoesToTheNextThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		traffic := over(hangs, func(o *carrierkit.TrafficOptions) { o.Labels, o.KeepForLabels, o.KeepForRates = 1, -1, -1 })
		via := traffic.Doer(carrier.Spec{Quota: carrier.Quota{Calls: 60, Per: time.Hour, Burst: 2}}, "a")
		go func() { _ = send(t.Context(), via, carrier.OpFind, 10*time.Second) }() // is sent
		time.Sleep(time.Millisecond)
		go func() { _ = send(t.Context(), via, carrier.OpFind, time.Second) }() // has quota and no slot
		time.Sleep(time.Millisecond)
		go func() { _ = send(t.Context(), via, carrier.OpRates, time.Hour) }() // has a slot and no quota
		time.Sleep(time.Second)
		if got := stat(t, traffic, carrier.OpRates); got.Sent != 1 {
			t.Errorf("after the second gave up: %+v", got)
		}
		time.Sleep(time.Hour)
	})
}

// The quota stays correct even if callers give up at the very moment of their
// turn.
func TestLeavingAtTheMomentOfTheTurnCostsNothing(t *testing.T) {
	const quota = 20_000_000
	traffic := over(func(*http.Request) (*http.Response, error) { return says(200) })
	via := traffic.Doer(carrier.Spec{Quota: carrier.Quota{Calls: quota, Per: 1000 * time.Second, Burst: 1}}, "a") // a turn each 50 us
	var all sync.WaitGroup
	for range 4_000 {
		ctx, cancel := context.WithCancel(t.Context())
		all.Go(func() { _ = send(ctx, via, carrier.OpFind, time.Minute) })
		time.AfterFunc(rand.N(100*time.Millisecond), cancel)
	}
	all.Wait()
	got := stat(t, traffic, carrier.OpFind)
	if got.QuotaLeft != quota-int(got.Sent) || got.Sent+got.Shed != 4_000 || got.Waiting+got.InFlight != 0 {
		t.Errorf("%d calls were counted: %+v", quota-got.QuotaLeft, got)
	}
	t.Logf("%d sent, %d left early", got.Sent, got.Shed)
}

// A page can say what an account can still do, and until when the rest waits.
func TestWaitsTellWhatIsLimitedAndForHowLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &diary{}
		traffic := over(d.answer)
		via := traffic.Doer(carrier.Spec{Quota: carrier.Quota{Calls: 60, Per: time.Hour, Burst: 20}}, "a")
		if waits := traffic.Waits("nobody"); waits != nil {
			t.Errorf("a connection that was not used waits for %v", waits)
		}

		_ = calls(t, via, carrier.OpRates, 16) // what the burst leaves beside its share for labels
		waits := traffic.Waits("a")
		if waits[carrier.OpRates] != 10*time.Minute || waits[carrier.OpBuy] != 0 {
			t.Errorf("after a burst of rates: %v", waits)
		}
		if wait := traffic.WaitFor("a", carrier.OpRates, 1); wait != time.Minute {
			t.Errorf("the next call waits for %v", wait)
		}
		if wait := traffic.WaitFor("a", carrier.OpRates, 60); wait < time.Hour || wait > 2*time.Hour {
			t.Errorf("sixty more take %v", wait)
		}
		time.Sleep(time.Minute)
		if wait := traffic.WaitFor("a", carrier.OpRates, 1); wait != 0 {
			t.Errorf("a minute later a call waits for %v", wait)
		}

		// One call a minute is not what a person means by working.
		time.Sleep(9 * time.Minute)
		if wait := traffic.Waits("a")[carrier.OpRates]; wait != 0 {
			t.Errorf("ten minutes later rates wait for %v", wait)
		}
	})
}

func TestAPauseThatTheCarrierAskedForLimitsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		traffic := over(func(*http.Request) (*http.Response, error) {
			return says(http.StatusTooManyRequests, "Retry-After", "600")
		})
		via := traffic.Doer(carrier.Spec{Quota: hourly}, "a")
		_ = calls(t, via, carrier.OpRates, 1)
		for op, wait := range traffic.Waits("a") {
			if wait != 10*time.Minute {
				t.Errorf("%s waits for %v, want 10 minutes", op, wait)
			}
		}
	})
}
