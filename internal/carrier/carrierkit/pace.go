package carrierkit

import (
	"container/list"
	"context"
	"math"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// A priority orders the calls that wait for a carrier's quota: a lower one goes
// first, whenever it came.
type priority int

const (
	labelPriority priority = iota
	voidPriority
	ratePriority
	trackPriority
	priorities
)

// priorityOf returns the priority of an operation. A call of no operation
// fetches a token, which a purchase may wait for.
func priorityOf(op carrier.Operation) priority {
	switch op {
	case carrier.OpVoid, carrier.OpPickup, carrier.OpManifest, carrier.OpDocument:
		return voidPriority
	case carrier.OpRates, carrier.OpCheck:
		return ratePriority
	case carrier.OpTrack, carrier.OpCheckAddress, carrier.OpProof, carrier.OpPoints, carrier.OpDuties:
		return trackPriority
	}
	return labelPriority
}

// paceSlots divide the quota's period.
const paceSlots = 64

// pacer keeps the calls of one connection within its quota: never more than
// Calls in any period, and after a burst no faster than the quota on average.
// x/time/rate has only one queue and a bucket, which lets twice the quota pass
// in a period that begins with a full one.
//
// No lock is held while anybody waits, and one timer serves all waiting calls.
type pacer struct {
	quota     carrier.Quota
	interval  time.Duration
	keepCalls [priorities]int // of the quota, for calls of a lower priority number
	keepBurst [priorities]int // of the burst

	mu    sync.Mutex
	due   time.Time // when the calls so far would have been made without a burst
	spent *window
	queue [priorities]list.List // of *waiter
	timer *time.Timer
	held  time.Time // the carrier itself asked for a pause until then
}

// waiter is one call that waits; err may be read once ready is closed.
type waiter struct {
	ready chan struct{}
	slot  int64
	err   error
}

// newPacer keeps the shares of the quota that the options set aside for labels
// and for rates.
func newPacer(quota carrier.Quota, options TrafficOptions, now time.Time) *pacer {
	p := &pacer{quota: quota}
	if quota.Calls <= 0 || quota.Per <= 0 {
		return p
	}

	if p.quota.Burst <= 0 || p.quota.Burst > quota.Calls {
		p.quota.Burst = quota.Calls
	}
	p.interval = max(quota.Per/time.Duration(quota.Calls), 1)
	p.spent = newWindow(quota.Per, paceSlots, now)

	for level, share := range map[priority]float64{
		ratePriority:  options.KeepForLabels,
		trackPriority: options.KeepForLabels + options.KeepForRates,
	} {
		if share <= 0 {
			continue
		}
		// A purchase may need a token first: two calls.
		keep := func(total int) int { return max(min(max(int(math.Ceil(share*float64(total))), 2), total-1), 0) }
		p.keepCalls[level] = keep(quota.Calls)
		p.keepBurst[level] = keep(p.quota.Burst)
	}
	return p
}

// acquire returns when the call may be made. If that would be after the
// deadline of ctx, it returns the error at once. What is acquired and not used
// is released.
func (p *pacer) acquire(ctx context.Context, level priority) (slot int64, err error) {
	p.mu.Lock()
	now := time.Now()
	if now.Before(p.held) {
		defer p.mu.Unlock()
		return 0, paused(p.held.Sub(now))
	}
	if p.spent == nil {
		p.mu.Unlock()
		return 0, nil
	}

	ahead := p.ahead(level)
	wait := p.wait(now, level, ahead)
	if ahead == 0 && wait == 0 {
		defer p.mu.Unlock()
		return p.spend(now), nil
	}
	if until, ok := ctx.Deadline(); ok && now.Add(wait).After(until) {
		defer p.mu.Unlock()
		return 0, quotaExceeded(wait, nil)
	}

	waiting := &waiter{ready: make(chan struct{})}
	position := p.queue[level].PushBack(waiting)
	p.serve(now)
	p.mu.Unlock()

	select {
	case <-waiting.ready:
		return waiting.slot, waiting.err
	case <-ctx.Done():
		return 0, p.abandon(ctx, level, position)
	}
}

// ahead returns how many waiting calls go before a new one.
func (p *pacer) ahead(level priority) int {
	n := 0
	for i := range level + 1 {
		n += p.queue[i].Len()
	}
	return n
}

// abandon removes a waiter from the queue, because its ctx has ended.
func (p *pacer) abandon(ctx context.Context, level priority, position *list.Element) error {
	p.mu.Lock()
	defer p.mu.Unlock()

	// The waiter may have been served at the same moment. Then its call is
	// released, as nobody makes it.
	now := time.Now()
	waiting := position.Value.(*waiter)
	select {
	case <-waiting.ready:
		if waiting.err != nil {
			return waiting.err
		}
		p.unspend(now, waiting.slot)
	default:
		p.queue[level].Remove(position)
	}
	return quotaExceeded(max(p.wait(now, level, 0), time.Second), ctx.Err())
}

// release returns what was acquired for a call that was not sent.
func (p *pacer) release(slot int64) {
	p.mu.Lock()
	defer p.mu.Unlock()

	if p.spent != nil {
		p.unspend(time.Now(), slot)
	}
}

// hold keeps all calls from being made for a while; those that wait get an
// error.
func (p *pacer) hold(pause time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()

	now := time.Now()
	if until := now.Add(pause); until.After(p.held) {
		p.held = until
	}
	for level := range p.queue {
		queue := &p.queue[level]
		for first := queue.Front(); first != nil; first = queue.Front() {
			waiting := queue.Remove(first).(*waiter)
			waiting.err = paused(p.held.Sub(now))
			close(waiting.ready)
		}
	}
}

// heldFor returns how long the carrier's pause lasts.
func (p *pacer) heldFor() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(time.Until(p.held), 0)
}

// next returns how long a call of the priority would wait if it were made now.
func (p *pacer) next(level priority) time.Duration { return p.last(level, 1) }

// last returns how long the last of so many calls of the priority would wait if
// all were made now.
func (p *pacer) last(level priority, calls int) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()

	now := time.Now()
	pause := max(p.held.Sub(now), 0)
	if p.spent == nil {
		return pause
	}
	return max(pause, p.wait(now, level, p.ahead(level)+max(calls, 1)-1))
}

// several returns how many calls of the priority make a handful of work: ten, or as
// many as the quota has for it at once.
func (p *pacer) several(level priority) int {
	if p.spent == nil {
		return 1
	}
	atOnce := min(p.quota.Burst-p.keepBurst[level], p.quota.Calls-p.keepCalls[level])
	return max(min(atOnce, 10), 1)
}

// left returns how many calls the quota has at this moment; -1 if it has no
// limit.
func (p *pacer) left() int {
	p.mu.Lock()
	defer p.mu.Unlock()

	if p.spent == nil {
		return -1
	}
	return p.quota.Calls - p.spent.sum(time.Now())
}

// wait returns how long a call of the priority waits with the given number of
// calls ahead of it.
func (p *pacer) wait(now time.Time, level priority, ahead int) time.Duration {
	burst := p.due.Sub(now)
	if p.due.Before(now) {
		burst = 0
	}
	burst += time.Duration(ahead+1+p.keepBurst[level]-p.quota.Burst) * p.interval

	var period time.Duration
	if room := p.quota.Calls - p.keepCalls[level] - ahead - 1; room >= 0 {
		period = p.spent.fallsTo(now, room).Sub(now)
	} else { // the queue by itself is more than a period's worth
		period = p.quota.Per + time.Duration(-room)*p.interval
	}
	return max(burst, period, 0)
}

func (p *pacer) spend(now time.Time) (slot int64) {
	if p.due.Before(now) {
		p.due = now
	}
	p.due = p.due.Add(p.interval)
	return p.spent.add(now, 1)
}

func (p *pacer) unspend(now time.Time, slot int64) {
	p.due = p.due.Add(-p.interval)
	p.spent.undo(now, slot)
	p.serve(now)
}

// serve lets the first waiters go whose time has come, and sets the timer for
// the next. A priority that must wait also stops lower ones, for which a larger
// part of the quota is reserved.
func (p *pacer) serve(now time.Time) {
	for level := range p.queue {
		queue := &p.queue[level]
		for first := queue.Front(); first != nil; first = queue.Front() {
			if wait := p.wait(now, priority(level), 0); wait > 0 {
				p.wake(wait)
				return
			}
			waiting := queue.Remove(first).(*waiter)
			waiting.slot = p.spend(now)
			close(waiting.ready)
		}
	}
}

func (p *pacer) wake(in time.Duration) {
	if p.timer != nil {
		p.timer.Reset(in)
		return
	}
	p.timer = time.AfterFunc(in, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.serve(time.Now())
	})
}

// quotaExceeded is the error of a call that the quota has no room for.
func quotaExceeded(retry time.Duration, cause error) error {
	return &ship.Error{
		Kind:       ship.Limited,
		Message:    "the carrier's quota is used up for now; nothing was sent",
		RetryAfter: retry,
		Err:        cause,
	}
}

// paused is the error of a call while the carrier asks for a pause.
func paused(retry time.Duration) error {
	return &ship.Error{Kind: ship.Limited, Message: "the carrier is rate-limiting this account; nothing was sent", RetryAfter: retry}
}
