package worker

import (
	"context"
	"log/slog"
	"testing"
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
