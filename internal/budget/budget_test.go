package budget_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/waybillhq/waybill/internal/budget"
	"github.com/waybillhq/waybill/internal/ship"
)

const owner ship.AccountID = "acct_1"

// reserve takes bytes, or fails the test.
func reserve(t *testing.T, b *budget.Budget, bytes int64) (release func()) {
	t.Helper()
	release, err := b.Reserve(t.Context(), owner, bytes)
	if err != nil {
		t.Fatal(err)
	}
	return release
}

func TestWorkWaitsForItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(budget.Options{Bytes: budget.Minimum, Waiting: 1, Wait: 5 * time.Second})
		release := reserve(t, b, budget.Minimum)
		go func() {
			time.Sleep(3 * time.Second)
			release()
			release() // a second time frees nothing
		}()

		start := time.Now()
		first := reserve(t, b, budget.Minimum/2)
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("waited %s, want 3s", took)
		}
		second := reserve(t, b, budget.Minimum/2)
		if _, err := b.Reserve(t.Context(), owner, 1); err == nil {
			t.Error("a byte beyond the budget was reserved")
		}
		first()
		second()
	})
}

func TestWorkIsTurnedAwayWhenTheQueueIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(budget.Options{Bytes: budget.Minimum, Waiting: 1, Wait: 5 * time.Second})
		release := reserve(t, b, budget.Minimum)
		defer release()

		ended := make(chan error, 1)
		go func() {
			_, err := b.Reserve(t.Context(), owner, 1)
			ended <- err
		}()
		synctest.Wait()

		start := time.Now()
		_, err := b.Reserve(t.Context(), owner, 1)
		if time.Since(start) != 0 {
			t.Error("it waited without a place in the queue")
		}
		for _, err := range []error{err, <-ended} {
			full, ok := errors.AsType[*ship.Error](err)
			if !ok || full.Kind != ship.Unavailable || full.RetryAfter != 5*time.Second {
				t.Errorf("%v, want unavailable with a time to come back", err)
			}
		}

		// Who leaves gives the place in the queue back.
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := b.Reserve(ctx, owner, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, want the client's own end", err)
		}

		if refused := metric(t, b, "waybill_heavy_work_refused_total"); refused != 3 {
			t.Errorf("%v refusals are counted, want 3", refused)
		}
		if waiting := metric(t, b, "waybill_heavy_work_waiting"); waiting != 0 {
			t.Errorf("%v are waiting", waiting)
		}
	})
}

// metric returns the value of one metric of the budget.
func metric(t *testing.T, b *budget.Budget, name string) float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(budget.Set{b})
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == name {
			found := family.GetMetric()[0]
			return found.GetCounter().GetValue() + found.GetGauge().GetValue()
		}
	}
	t.Fatalf("there is no %s", name)
	return 0
}

func TestMoreThanAllIsAll(t *testing.T) {
	b := budget.New(budget.Options{Bytes: budget.Minimum})
	reserve(t, b, 10*budget.Minimum)()
	reserve(t, b, budget.Minimum)()

	var none *budget.Budget
	reserve(t, none, budget.Minimum)()
}

func TestBusyIsCalledOnceForWorkThatOverlaps(t *testing.T) {
	var calls []bool
	b := budget.New(budget.Options{Bytes: budget.Minimum, Busy: func(busy bool) { calls = append(calls, busy) }})
	first := reserve(t, b, 1)
	second := reserve(t, b, 1)
	first()
	if len(calls) != 1 || !calls[0] {
		t.Errorf("while work is under way: %v", calls)
	}
	second()
	if len(calls) != 2 || calls[1] {
		t.Errorf("after the last: %v", calls)
	}
}

// TestNobodyIsKeptOutByOneAccount has one account ask for everything, again and
// again: another one begins as soon as any work ends, in a full queue too.
func TestNobodyIsKeptOutByOneAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(budget.Options{Bytes: 256 << 20, Waiting: 8, Wait: 5 * time.Second})
		const piece = 64 << 20
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		defer running.Wait()
		defer stop()
		greedy := func() {
			for ctx.Err() == nil {
				release, err := b.Reserve(ctx, owner, piece)
				if err != nil {
					time.Sleep(20 * time.Millisecond)
					continue
				}
				time.Sleep(time.Second)
				release()
			}
		}
		for range 40 {
			running.Go(greedy)
		}
		synctest.Wait()

		for range 20 {
			start := time.Now()
			release, err := b.Reserve(t.Context(), "acct_2", piece)
			if err != nil {
				t.Fatalf("the other account is refused: %v", err)
			}
			if took := time.Since(start); took > time.Second {
				t.Errorf("the other account waited %s, longer than one piece of work", took)
			}
			time.Sleep(100 * time.Millisecond)
			release()
		}
	})
}

// TestAnAccountMayHaveEverythingThatNobodyElseWaitsFor fills a budget by one account.
func TestAnAccountMayHaveEverythingThatNobodyElseWaitsFor(t *testing.T) {
	b := budget.New(budget.Options{Bytes: 256 << 20, Waiting: 1, Wait: time.Millisecond})
	for range 4 {
		defer reserve(t, b, 64<<20)()
	}
}
