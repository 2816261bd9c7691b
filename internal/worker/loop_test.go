package worker

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestALoopOutlivesAPanic(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	calls := 0
	Loop{Name: "odd", Least: time.Millisecond, Most: time.Millisecond, Log: slog.New(slog.DiscardHandler), Do: func(context.Context) (int, error) {
		if calls++; calls == 3 {
			cancel()
		}
		panic("odd")
	}}.Run(ctx)
	if calls != 3 {
		t.Errorf("called %d times", calls)
	}
}

func TestALoopsEndDoesNotInterruptAWholeCall(t *testing.T) {
	t.Parallel()

	for _, whole := range []time.Duration{0, time.Minute} {
		ctx, end := context.WithCancel(t.Context())
		var seen error
		Loop{
			Name: "write a buffer",
			Do: func(ctx context.Context) (int, error) {
				end()
				seen = ctx.Err()
				return 0, seen
			},
			Least: time.Minute,
			Most:  time.Minute,
			Whole: whole,
			Log:   slog.New(slog.DiscardHandler),
		}.Run(ctx)

		if interrupted := seen != nil; interrupted != (whole == 0) {
			t.Errorf("whole %s: the call saw %v", whole, seen)
		}
	}
}

func TestALoopKeepsItsPaceUntilACallIsFull(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		begun := time.Now()
		var called []time.Duration
		did := []int{1, 9, 10, 0}
		Loop{
			Name: "count",
			Do: func(context.Context) (int, error) {
				called = append(called, time.Since(begun))
				if len(called) > len(did) {
					end()
					return 0, nil
				}
				return did[len(called)-1], nil
			},
			Least: time.Minute,
			Most:  time.Minute,
			Pace:  time.Second,
			Full:  10,
			Log:   slog.New(slog.DiscardHandler),
		}.Run(ctx)

		want := []time.Duration{0, time.Second, 2 * time.Second, 2 * time.Second, 2*time.Second + time.Minute}
		if !slices.Equal(called, want) {
			t.Errorf("called at %v, want %v", called, want)
		}
	})
}
