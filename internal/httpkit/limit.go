package httpkit

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// A Limiter gives each key a rate and a burst (GCRA): all that it remembers of
// a key is when its bucket is full again. It counts in this process alone, and
// its memory is bounded.
type Limiter struct {
	every  time.Duration // between requests at the full rate
	burst  int
	policy string
	clock  func() time.Time

	mu   sync.Mutex
	due  map[string]int64 // when the bucket is full again, in Unix nanoseconds
	next time.Time        // when full buckets are dropped
}

// maxBuckets bounds the keys that are remembered. A flood of new ones beyond
// it makes all start afresh, which favours clients and never memory.
const maxBuckets = 100_000

// NewLimiter allows rate requests a second with a burst. A rate of zero or
// less sets no limit.
func NewLimiter(rate, burst int) *Limiter {
	if rate <= 0 {
		return nil
	}
	return NewSlowLimiter(time.Second/time.Duration(rate), burst)
}

// NewSlowLimiter allows a request in every period, with a burst.
func NewSlowLimiter(every time.Duration, burst int) *Limiter {
	burst = max(burst, 1)
	window := int((every*time.Duration(burst) + time.Second - 1) / time.Second)
	return &Limiter{
		every:  every,
		burst:  burst,
		policy: `"default";q=` + strconv.Itoa(burst) + `;w=` + strconv.Itoa(window),
		clock:  time.Now,
		due:    make(map[string]int64),
	}
}

// take counts a request of key. It returns how many more may come at once,
// and, when it is one too many, how long to wait.
func (l *Limiter) take(key string) (left int, wait time.Duration) {
	at := l.clock()
	now := at.UnixNano()
	capacity := int64(l.every) * int64(l.burst)

	l.mu.Lock()
	defer l.mu.Unlock()
	l.dropFull(at, now)

	// A request that is refused is not counted: the bucket fills up whether or
	// not the client keeps asking.
	due := max(l.due[key], now) + int64(l.every)
	if over := due - now - capacity; over > 0 {
		return 0, time.Duration(over)
	}
	l.due[key] = due
	return int((capacity - (due - now)) / int64(l.every)), 0
}

// dropFull drops the buckets that are full again: they are as good as new ones.
func (l *Limiter) dropFull(at time.Time, now int64) {
	if len(l.due) >= maxBuckets {
		clear(l.due)
		return
	}

	if at.Before(l.next) {
		return
	}
	l.next = at.Add(10 * time.Second)
	for key, due := range l.due {
		if due <= now {
			delete(l.due, key)
		}
	}
}

// Admit counts a request of key and sets the headers that show the client its
// limit. The error is Limited when the request is one too many.
func (l *Limiter) Admit(h http.Header, key string) error {
	if l == nil {
		return nil
	}

	left, wait := l.take(key)
	reset := 1
	if wait > 0 {
		reset = int((wait + time.Second - 1) / time.Second)
	}
	h.Set("RateLimit-Policy", l.policy)
	h.Set("RateLimit", `"default";r=`+strconv.Itoa(left)+`;t=`+strconv.Itoa(reset))

	if wait == 0 {
		return nil
	}
	return &ship.Error{
		Kind:       ship.Limited,
		Code:       "rate_limited",
		RetryAfter: wait,
		Message:    "the key has exceeded its rate limit; wait for the number of seconds in Retry-After",
	}
}
