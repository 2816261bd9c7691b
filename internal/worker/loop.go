package worker

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"
)

// A Loop calls a function again and again. It is for work that is too frequent
// and too small to be a job, and that may be done late.
type Loop struct {
	Name  string
	Do    func(context.Context) (did int, err error)
	Least time.Duration // wait after a call that did nothing
	Most  time.Duration // the wait doubles up to this while there is nothing to do
	Log   *slog.Logger

	// Pace, if set, is the wait after a call that did something, for work that
	// costs less in large portions. A call that did Full or more has left some,
	// and is followed by the next at once.
	Pace time.Duration
	Full int

	// Whole, if set, bounds a call that the end of the loop must not interrupt:
	// one that has taken records out of a buffer and would lose them.
	Whole time.Duration
}

// maxPause bounds the pause between two calls that fail.
const maxPause = 10 * time.Second

// Run calls Do until ctx ends: at once, or at its pace, while there is
// something to do, else after a wait. A failure is logged when it begins, not
// each time.
func (l Loop) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()

	wait := l.Least
	pause := time.Duration(0) // zero while calls succeed
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}

		did, err := l.callSafely(ctx)
		switch {
		case ctx.Err() != nil:
			// What failed because the program stops is no failure.
			return

		case err != nil:
			if pause == 0 {
				l.Log.WarnContext(ctx, "background work failed", "work", l.Name, "error", err)
			}
			pause = min(max(2*pause, l.Most), max(maxPause, l.Most))
			timer.Reset(pause)
			continue

		case did > 0:
			wait = l.Least
			timer.Reset(l.pause(did))

		default:
			timer.Reset(wait)
			wait = min(2*wait, l.Most)
		}

		if pause > 0 {
			l.Log.InfoContext(ctx, "background work recovered", "work", l.Name)
			pause = 0
		}
	}
}

// pause is the wait after a call that did something.
func (l Loop) pause(did int) time.Duration {
	if did >= l.Full {
		return 0
	}
	return l.Pace
}

// callSafely turns a panic into an error: one bad record must not stop the
// program.
func (l Loop) callSafely(ctx context.Context) (did int, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v", cause)
			l.Log.ErrorContext(ctx, "panic in background work", "work", l.Name, "cause", cause, "stack", string(debug.Stack()))
		}
	}()

	if l.Whole > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), l.Whole)
		defer cancel()
	}
	return l.Do(ctx)
}
