package carrierkit

import (
	"time"
)

// The breaker is custom-made: sony/gobreaker waits the same time before every
// probe, cannot be closed by the success of another operation, and cannot be
// configured so that one operation is never its own probe. All three are needed
// here, because a carrier must not be probed with a purchase.

// BreakerOptions say when a carrier is no longer called.
type BreakerOptions struct {
	Window    time.Duration // window over which failures are counted
	Calls     int           // with fewer calls in the window the share is ignored
	Failures  float64       // share of failures that opens the breaker
	Timeouts  int           // this many timeouts in a row open it, too
	FirstWait time.Duration // before the first probe
	LastWait  time.Duration // upper limit of the wait, which doubles with each failed probe
	// Patience is how long a call must have gone unanswered to count as timed
	// out when its caller gives up.
	Patience time.Duration
}

// breakerSlots divide the window.
const breakerSlots = 10

// breaker guards one operation of one connection. Its owner holds the lock.
type breaker struct {
	o BreakerOptions
	// foreign says that the operation's own calls are never probes: only an
	// answer to another operation closes the breaker.
	foreign bool

	calls, failures *window
	timeouts        int // in a row
	era             int // outcomes of calls from an earlier era are ignored
	open            bool
	until           time.Time     // no probe before this
	wait            time.Duration // the wait that led to until; zero after an answer
	probing         bool
	paused          time.Time // the carrier itself asked for a pause until then
}

func newBreaker(options BreakerOptions, foreign bool, now time.Time) *breaker {
	return &breaker{
		o:        options,
		foreign:  foreign,
		calls:    newWindow(options.Window, breakerSlots, now),
		failures: newWindow(options.Window, breakerSlots, now),
	}
}

// refuses reports whether a call must not be sent, and when to try again.
func (b *breaker) refuses(now time.Time) (retry time.Duration, yes bool) {
	switch {
	case now.Before(b.paused):
		return max(b.paused.Sub(now), b.until.Sub(now)), true
	case !b.open:
		return 0, false
	case now.Before(b.until):
		return b.until.Sub(now), true
	case b.foreign || b.probing:
		return b.o.FirstWait, true
	}
	return 0, false
}

// admit lets a call through that is not refused; it belongs to the era that is
// returned. If the breaker is open, the call is its probe.
func (b *breaker) admit() (era int) {
	b.probing = b.open
	return b.era
}

// record records the outcome of a call that was let through.
func (b *breaker) record(now time.Time, era int, result outcome) {
	switch {
	case era != b.era:
		return
	case result == inconclusive:
		b.probing = false // the next call is the probe
		return
	case result == answered:
		b.wait = 0
		b.timeouts = 0
		if b.open {
			b.close(now)
		}
		b.calls.add(now, 1)
		return
	case b.open:
		b.trip(now)
		return
	}

	b.calls.add(now, 1)
	b.failures.add(now, 1)
	b.timeouts++
	if result != timedOut {
		b.timeouts = 0
	}

	calls := b.calls.sum(now)
	failsOften := calls >= b.o.Calls && float64(b.failures.sum(now)) >= b.o.Failures*float64(calls)
	if b.timeouts >= b.o.Timeouts || failsOften {
		b.trip(now)
	}
}

// recordOther records an answer to another operation of the same connection. It
// keeps the wait: if the next calls fail again, the breaker opens for longer.
func (b *breaker) recordOther(now time.Time) {
	if b.foreign && b.open && !now.Before(b.until) {
		b.close(now)
	}
}

func (b *breaker) trip(now time.Time) {
	b.wait = min(max(2*b.wait, b.o.FirstWait), b.o.LastWait)
	b.open = true
	b.probing = false
	b.until = now.Add(b.wait)
	b.era++
}

func (b *breaker) close(now time.Time) {
	b.open = false
	b.probing = false
	b.timeouts = 0
	b.calls = newWindow(b.o.Window, breakerSlots, now)
	b.failures = newWindow(b.o.Window, breakerSlots, now)
	b.era++
}

// state returns the state for display: "closed", "open", or "half-open" when it
// is time for a probe.
func (b *breaker) state(now time.Time) string {
	switch {
	case !b.open:
		return "closed"
	case now.Before(b.until):
		return "open"
	}
	return "half-open"
}
