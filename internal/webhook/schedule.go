package webhook

import (
	"math/rand/v2"
	"time"
)

// schedule lists how long to wait after each failed attempt.
var schedule = []time.Duration{
	10 * time.Second, time.Minute, 5 * time.Minute, 30 * time.Minute,
	2 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 48 * time.Hour,
}

// retryDelay returns how long to wait after attempt n failed, counted from 1;
// false after the last. A longer wait that the endpoint asks for is honoured.
func retryDelay(n int, asked time.Duration) (time.Duration, bool) {
	if n < 1 || n > len(schedule) {
		return 0, false
	}
	return max(jitter(schedule[n-1]), asked), true
}

// jitter returns d plus or minus up to a fifth, so that deliveries that failed
// together are not retried together.
func jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.8 + 0.4*rand.Float64()))
}

// Bounds of the probing of a parked endpoint.
const (
	firstProbe     = 10 * time.Second
	maxProbeDelay  = time.Hour
	maxFailingTime = 5 * 24 * time.Hour // one that fails for longer is disabled
)

// probeDelay returns how long to wait after the nth probe failed, counted from
// 1.
func probeDelay(n int) time.Duration {
	return min(jitter(firstProbe<<min(n-1, 10)), maxProbeDelay)
}
