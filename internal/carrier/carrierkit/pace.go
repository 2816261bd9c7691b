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

// A lane is a place in the queue for a carrier's quota; a lower one goes
// first, whenever it came.
type lane int

const (
	labelLane lane = iota
	voidLane
	rateLane
	trackLane
	lanes
)

// laneOf is the lane of an operation. A call of no operation fetches a token,
// which a purchase may wait for.
func laneOf(op carrier.Operation) lane {
	switch op {
	case carrier.OpVoid:
		return voidLane
	case carrier.OpRates, carrier.OpCheck:
		return rateLane
	case carrier.OpTrack:
		return trackLane
	}
	return labelLane
}

// paceSlots divide the quota's period.
const paceSlots = 64

// pacer keeps the calls of one connection within its quota: never more than
// Calls in any period, and after a burst no faster than the quota on average.
// x/time/rate knows one queue only and a bucket, which lets twice the quota
// pass in a period that begins with a full one.
//
// No lock is held while anybody waits, and one timer serves all that wait.
type pacer struct {
	quota     carrier.Quota
	interval  time.Duration
	keepCalls [lanes]int // of the quota, for the lanes before
	keepBurst [lanes]int // of the burst

	mu    sync.Mutex
	due   time.Time // when the calls so far would have been made without a burst
	spent *window
	queue [lanes]list.List // of *waiter
	timer *time.Timer
	held  time.Time // the carrier itself asked for quiet until then
}

// waiter is one call that waits; err may be read once ready is closed.
type waiter struct {
	ready chan struct{}
	slot  int64
	err   error
}

// newPacer keeps the shares of the quota that o says for labels and for rates.
func newPacer(q carrier.Quota, o TrafficOptions, now time.Time) *pacer {
	p := &pacer{quota: q}
	if q.Calls <= 0 || q.Per <= 0 {
		return p
	}
	if p.quota.Burst <= 0 || p.quota.Burst > q.Calls {
		p.quota.Burst = q.Calls
	}
	p.interval = max(q.Per/time.Duration(q.Calls), 1)
	p.spent = newWindow(q.Per, paceSlots, now)
	for l, share := range map[lane]float64{rateLane: o.KeepForLabels, trackLane: o.KeepForLabels + o.KeepForRates} {
		if share <= 0 {
			continue
		}
		// A purchase may need a token first: two calls.
		keep := func(of int) int { return max(min(max(int(math.Ceil(share*float64(of))), 2), of-1), 0) }
		p.keepCalls[l], p.keepBurst[l] = keep(q.Calls), keep(p.quota.Burst)
	}
	return p
}

// take returns when the call may be made. If that would be after the deadline
// of ctx, the error says so at once. What is taken and not used is given back.
func (p *pacer) take(ctx context.Context, l lane) (slot int64, err error) {
	p.mu.Lock()
	now := time.Now()
	if now.Before(p.held) {
		defer p.mu.Unlock()
		return 0, quiet(p.held.Sub(now))
	}
	if p.spent == nil {
		p.mu.Unlock()
		return 0, nil
	}
	ahead := 0
	for i := range l + 1 {
		ahead += p.queue[i].Len()
	}
	wait := p.wait(now, l, ahead)
	if ahead == 0 && wait == 0 {
		defer p.mu.Unlock()
		return p.spend(now), nil
	}
	if until, ok := ctx.Deadline(); ok && now.Add(wait).After(until) {
		defer p.mu.Unlock()
		return 0, spentUp(wait, nil)
	}
	w := &waiter{ready: make(chan struct{})}
	place := p.queue[l].PushBack(w)
	p.serve(now)
	p.mu.Unlock()

	select {
	case <-w.ready:
		return w.slot, w.err
	case <-ctx.Done():
		return 0, p.abandon(ctx, l, place)
	}
}

// abandon takes a waiter out of the queue whose ctx has ended.
func (p *pacer) abandon(ctx context.Context, l lane, place *list.Element) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	w, now := place.Value.(*waiter), time.Now()
	select {
	case <-w.ready:
		if w.err != nil {
			return w.err
		}
		p.unspend(now, w.slot)
	default:
		p.queue[l].Remove(place)
	}
	return spentUp(max(p.wait(now, l, 0), time.Second), ctx.Err())
}

// giveBack returns what was taken for a call that was not sent.
func (p *pacer) giveBack(slot int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.spent != nil {
		p.unspend(time.Now(), slot)
	}
}

// hold keeps all calls from being made for a while; those that wait are told.
func (p *pacer) hold(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if until := now.Add(d); until.After(p.held) {
		p.held = until
	}
	for l := range p.queue {
		for e := p.queue[l].Front(); e != nil; e = p.queue[l].Front() {
			w := p.queue[l].Remove(e).(*waiter)
			w.err = quiet(p.held.Sub(now))
			close(w.ready)
		}
	}
}

// heldFor is how long the carrier wants no calls.
func (p *pacer) heldFor() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(time.Until(p.held), 0)
}

// next is how long a call of the lane would wait that is made now.
func (p *pacer) next(l lane) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	wait := max(p.held.Sub(now), 0)
	if p.spent == nil {
		return wait
	}
	ahead := 0
	for i := range l + 1 {
		ahead += p.queue[i].Len()
	}
	return max(wait, p.wait(now, l, ahead))
}

// left is how many calls the quota has at this moment; -1 if it has no limit.
func (p *pacer) left() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.spent == nil {
		return -1
	}
	return p.quota.Calls - p.spent.sum(time.Now())
}

// wait is how long a call of the lane waits that has so many before it.
func (p *pacer) wait(now time.Time, l lane, ahead int) time.Duration {
	burst := p.due.Sub(now)
	if p.due.Before(now) {
		burst = 0
	}
	burst += time.Duration(ahead+1+p.keepBurst[l]-p.quota.Burst) * p.interval
	var period time.Duration
	if room := p.quota.Calls - p.keepCalls[l] - ahead - 1; room >= 0 {
		period = p.spent.fallsTo(now, room).Sub(now)
	} else { // the queue alone is more than a period's worth
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
// the next. A lane that must wait stops those behind it, which keep more back.
func (p *pacer) serve(now time.Time) {
	for l := range p.queue {
		for e := p.queue[l].Front(); e != nil; e = p.queue[l].Front() {
			if wait := p.wait(now, lane(l), 0); wait > 0 {
				p.wake(wait)
				return
			}
			w := p.queue[l].Remove(e).(*waiter)
			w.slot = p.spend(now)
			close(w.ready)
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

// spentUp is the error of a call that the quota has no room for.
func spentUp(retry time.Duration, cause error) error {
	return &ship.Error{Kind: ship.Limited, Message: "the carrier's quota is used up for now; nothing was sent", RetryAfter: retry, Err: cause}
}

// quiet is the error of a call while the carrier wants none.
func quiet(retry time.Duration) error {
	return &ship.Error{Kind: ship.Limited, Message: "the carrier asked for a pause; nothing was sent", RetryAfter: retry}
}
