package carrierkit

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// line is one connection's way to its carrier.
type line struct {
	traffic *Traffic
	road    *road
	key     lineKey
	pace    *pacer

	mu      sync.Mutex
	jobs    map[carrier.Operation]*job
	probing bool      // Probe is at work
	probeAt time.Time // and not before this again
}

// job is one operation over a line.
type job struct {
	breaker           *breaker
	inFlight, waiting int
	sent, shed        uint64
}

// pass is the permission to send one request.
type pass struct {
	op     carrier.Operation
	slot   int64 // of the quota
	era    int   // of the breaker
	waited time.Duration
	sentAt time.Time
}

// Do sends the request once, when it is its turn, or says why it did not.
func (l *line) Do(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	p, err := l.enter(ctx, carrier.OperationOf(ctx))
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, err
	}

	// A request that has an effect must reach the carrier once at most, so it
	// goes where nothing is sent again.
	via := l.road.reads
	if carrier.IsEffect(ctx) {
		via = l.road.effects
		req = once(req)
	}

	resp, err := via.RoundTrip(req)
	if err != nil {
		l.leave(p, l.traffic.judge(ctx, err, p.waited, time.Since(p.sentAt)))
		return nil, err
	}

	// The call ends when its body is read: until then it holds its slot.
	l.obey(p.op, resp)
	resp.Body = &watched{ReadCloser: resp.Body, done: func(err error) {
		switch {
		case err != nil:
			l.leave(p, l.traffic.judge(ctx, err, p.waited, time.Since(p.sentAt)))
		case resp.StatusCode >= http.StatusInternalServerError:
			l.leave(p, failed)
		default:
			l.leave(p, answered)
		}
	}}
	return resp, nil
}

// enter waits for the quota and then for a slot. Only then, because a slot
// that waits for the quota would be lost to the carrier's other connections.
func (l *line) enter(ctx context.Context, op carrier.Operation) (*pass, error) {
	began := time.Now()
	j, err := l.arrive(op, began)
	if err != nil {
		return nil, err
	}
	waiting, cancel := patience(ctx, began)
	defer cancel()
	p := &pass{op: op}
	p.slot, err = l.pace.take(waiting, laneOf(op))
	if err != nil {
		return nil, l.refuse(j, err)
	}
	if err := l.road.bulkheadOf(op).enter(waiting, l.key.connection); err != nil {
		l.pace.giveBack(p.slot)
		return nil, l.refuse(j, err)
	}
	// The wait may have been long: what was learnt meanwhile counts.
	if err := l.admit(ctx, j, p, began); err != nil {
		l.road.bulkheadOf(op).leave(l.key.connection)
		l.pace.giveBack(p.slot)
		return nil, err
	}
	return p, nil
}

// patience is how long the call may wait for its turn. An effect leaves the
// carrier half of its time: one that is sent just before its deadline is one
// whose answer is lost.
func patience(ctx context.Context, now time.Time) (context.Context, context.CancelFunc) {
	until, ok := ctx.Deadline()
	if !ok || !carrier.IsEffect(ctx) {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, now.Add(until.Sub(now)/2))
}

// arrive counts a call that wants to be sent, and refuses one that need not
// wait to be refused.
func (l *line) arrive(op carrier.Operation, now time.Time) (*job, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	j := l.jobs[op]
	if j == nil {
		j = &job{breaker: newBreaker(l.traffic.o.Breaker, op == carrier.OpBuy, now)}
		l.jobs[op] = j
	}
	if retry, yes := j.breaker.refuses(now); yes {
		j.shed++
		l.askForProbe(j.breaker, now)
		return nil, down(retry)
	}
	j.waiting++
	return j, nil
}

// refuse counts a call that waited and is not sent.
func (l *line) refuse(j *job, err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	j.waiting--
	j.shed++
	return err
}

// admit is the last word before the call is sent.
func (l *line) admit(ctx context.Context, j *job, p *pass, began time.Time) error {
	held := l.pace.heldFor()
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	var err error
	if retry, yes := j.breaker.refuses(now); yes {
		err = down(retry)
	} else if held > 0 {
		err = quiet(held)
	} else if gone := ctx.Err(); gone != nil {
		err = &ship.Error{Kind: ship.Unavailable, Message: "there was no time left; nothing was sent", Err: gone}
	}
	j.waiting--
	if err != nil {
		j.shed++
		return err
	}
	j.inFlight++
	j.sent++
	p.era, p.sentAt, p.waited = j.breaker.admit(), now, now.Sub(began)
	return nil
}

// leave ends a call that was sent.
func (l *line) leave(p *pass, o outcome) {
	l.road.bulkheadOf(p.op).leave(l.key.connection)
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	j := l.jobs[p.op]
	j.inFlight--
	j.breaker.record(now, p.era, o)
	if buys := l.jobs[carrier.OpBuy]; buys != nil && o == answered {
		switch p.op {
		case carrier.OpRates, carrier.OpCheck, carrier.OpFind:
			buys.breaker.vouched(now)
		}
	}
}

// obey keeps the pause that the answer asks for: after a 429 for all that the
// connection does, after a 503 for the operation that is out of order, so that
// a lost purchase can still be looked up.
func (l *line) obey(op carrier.Operation, resp *http.Response) {
	now := time.Now()
	pause := min(RetryAfter(resp.Header, now), l.traffic.o.LongestHold)
	switch resp.StatusCode {
	case http.StatusTooManyRequests:
		if pause == 0 {
			pause = l.traffic.o.UnsaidHold
		}
		l.pace.hold(pause)
	case http.StatusServiceUnavailable:
		l.mu.Lock()
		defer l.mu.Unlock()
		b := l.jobs[op].breaker
		if until := now.Add(pause); until.After(b.paused) {
			b.paused = until
		}
	}
}

// askForProbe has somebody make a call that can close the breaker, when it is
// time and no call of its own can.
func (l *line) askForProbe(b *breaker, now time.Time) {
	probe := l.traffic.o.Probe
	if probe == nil || !b.foreign || !b.open || now.Before(b.until) || l.probing || now.Before(l.probeAt) {
		return
	}
	l.probing = true
	go func() {
		defer func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.probing, l.probeAt = false, time.Now().Add(b.o.FirstWait)
		}()
		probe(l.key.carrier, l.key.connection)
	}()
}

func (l *line) stats() []Stat {
	left, held := l.pace.left(), l.pace.heldFor()
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	all := make([]Stat, 0, len(l.jobs))
	for op, j := range l.jobs {
		all = append(all, Stat{
			Carrier: l.key.carrier, Connection: l.key.connection, Operation: op,
			Breaker: j.breaker.state(now), InFlight: j.inFlight, Waiting: j.waiting,
			QuotaLeft: left, HeldFor: max(held, j.breaker.paused.Sub(now), 0), Sent: j.sent, Shed: j.shed,
		})
	}
	return all
}

// waits is how long the next call of each operation would wait.
func (l *line) waits() map[carrier.Operation]time.Duration {
	list := map[carrier.Operation]time.Duration{}
	now := time.Now()
	for _, op := range []carrier.Operation{carrier.OpRates, carrier.OpBuy, carrier.OpTrack} {
		list[op] = l.pace.next(laneOf(op))
	}

	l.mu.Lock()
	defer l.mu.Unlock()
	for op := range list {
		if j := l.jobs[op]; j != nil {
			if retry, refused := j.breaker.refuses(now); refused {
				list[op] = max(list[op], retry)
			}
		}
	}
	return list
}

// down is the error of a call to a carrier that is left alone.
func down(retry time.Duration) error {
	return &ship.Error{Kind: ship.Unavailable, Message: "the carrier does not answer at the moment; nothing was sent", RetryAfter: retry}
}
