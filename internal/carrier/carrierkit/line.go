package carrierkit

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// line is the path of one connection to its carrier. A call passes the breaker
// of its operation, the quota, and a bulkhead, in this order.
type line struct {
	traffic *Traffic
	pool    *pool
	key     lineKey
	pace    *pacer

	mu         sync.Mutex
	account    string // that the connection belongs to
	operations map[carrier.Operation]*operationState
	probing    bool      // Probe is running
	probeAt    time.Time // no further probe before this
}

// operationState is the state of one operation on a line.
type operationState struct {
	breaker           *breaker
	inFlight, waiting int
	sent, shed        uint64
}

// permit is the permission to send one request.
type permit struct {
	op     carrier.Operation
	slot   int64 // of the quota
	era    int   // of the breaker
	waited time.Duration
	sentAt time.Time
}

// OfAccount says which account the connection belongs to; without it, each
// connection is taken for an account. The connections of an account share what
// it may have of the requests for tokens.
func (l *line) OfAccount(account string) carrier.Doer {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.account = account
	return l
}

// Do sends the request once, when it is its turn, or returns why it did not.
func (l *line) Do(request *http.Request) (*http.Response, error) {
	ctx := request.Context()
	granted, err := l.enterAs(ctx, request.URL.Host)
	if err != nil {
		if request.Body != nil {
			_ = request.Body.Close()
		}
		return nil, err
	}

	// A request that has an effect must reach the carrier once at most, so it
	// goes over a transport that never sends anything again.
	via := l.pool.reads
	if carrier.IsEffect(ctx) {
		via = l.pool.effects
		request = once(request)
	}

	l.setUserAgent(request)
	response, err := via.RoundTrip(request)
	if err != nil {
		l.leave(granted, l.traffic.outcomeOf(ctx, err, granted.waited, time.Since(granted.sentAt)))
		return nil, err
	}

	// The call ends when its body is read: until then it holds its slot.
	l.applyPause(granted.op, response)
	response.Body = &watched{ReadCloser: response.Body, done: func(err error) {
		switch {
		case err != nil:
			l.leave(granted, l.traffic.outcomeOf(ctx, err, granted.waited, time.Since(granted.sentAt)))
		case response.StatusCode >= http.StatusInternalServerError:
			l.leave(granted, failed)
		default:
			l.leave(granted, answered)
		}
	}}
	return response, nil
}

// enterAs waits until the request may be sent. A request for a token first
// waits for its turn among all that go to the host.
func (l *line) enterAs(ctx context.Context, host string) (*permit, error) {
	ticket := tokenTicketOf(ctx)
	if ticket == nil {
		return l.enter(ctx, carrier.OperationOf(ctx))
	}

	l.mu.Lock()
	account := l.account
	l.mu.Unlock()
	if err := ticket.pass(ctx, l.traffic.tokens.of(host), account); err != nil {
		return nil, err
	}
	granted, err := l.enter(ctx, carrier.OperationOf(ctx))
	if err == nil {
		ticket.leave()
	}
	return granted, err
}

// setUserAgent names the program. What a driver adds after its own product name
// is kept: some carriers ask for more.
func (l *line) setUserAgent(request *http.Request) {
	name := l.traffic.o.UserAgent
	if _, added, ok := strings.Cut(request.Header.Get("User-Agent"), " "); ok {
		name += " " + added
	}
	request.Header.Set("User-Agent", name)
}

// enter waits for the quota and then for a slot.
func (l *line) enter(ctx context.Context, op carrier.Operation) (*permit, error) {
	began := time.Now()
	state, err := l.arrive(op, began)
	if err != nil {
		return nil, err
	}

	// The quota comes first: a slot that waits for the quota would be lost to
	// the carrier's other connections.
	waiting, cancel := withWaitLimit(ctx, began)
	defer cancel()
	granted := &permit{op: op}
	granted.slot, err = l.pace.acquire(waiting, priorityOf(op))
	if err != nil {
		return nil, l.refuse(state, err)
	}
	if err := l.pool.bulkheadOf(op).enter(waiting, l.key.connection); err != nil {
		l.pace.release(granted.slot)
		return nil, l.refuse(state, err)
	}

	// The wait may have been long, and the breaker may have opened meanwhile.
	if err := l.admit(ctx, state, granted, began); err != nil {
		l.pool.bulkheadOf(op).leave(l.key.connection)
		l.pace.release(granted.slot)
		return nil, err
	}
	return granted, nil
}

// withWaitLimit bounds how long the call may wait for its turn. A call with an
// effect leaves the carrier half of its time: if it were sent just before its
// deadline, its answer would be lost.
func withWaitLimit(ctx context.Context, now time.Time) (context.Context, context.CancelFunc) {
	until, ok := ctx.Deadline()
	if !ok || !carrier.IsEffect(ctx) {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, now.Add(until.Sub(now)/2))
}

// arrive counts a call that wants to be sent, and refuses one at once that
// would be refused after its wait.
func (l *line) arrive(op carrier.Operation, now time.Time) (*operationState, error) {
	l.mu.Lock()
	defer l.mu.Unlock()

	state := l.operations[op]
	if state == nil {
		state = &operationState{breaker: newBreaker(l.traffic.o.Breaker, op == carrier.OpBuy, now)}
		l.operations[op] = state
	}
	if retry, isRefused := state.breaker.refuses(now); isRefused {
		state.shed++
		l.askForProbe(state.breaker, now)
		return nil, unreachable(retry)
	}
	state.waiting++
	return state, nil
}

// refuse counts a call that waited and was not sent.
func (l *line) refuse(state *operationState, err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	state.waiting--
	state.shed++
	return err
}

// admit is the last check before the call is sent.
func (l *line) admit(ctx context.Context, state *operationState, granted *permit, began time.Time) error {
	held := l.pace.heldFor()
	l.mu.Lock()
	defer l.mu.Unlock()

	now := time.Now()
	var err error
	if retry, isRefused := state.breaker.refuses(now); isRefused {
		err = unreachable(retry)
	} else if held > 0 {
		err = paused(held)
	} else if ended := ctx.Err(); ended != nil {
		err = &ship.Error{Kind: ship.Unavailable, Message: "the time limit was reached before the carrier was called; nothing was sent", Err: ended}
	}

	state.waiting--
	if err != nil {
		state.shed++
		return err
	}
	state.inFlight++
	state.sent++
	granted.era = state.breaker.admit()
	granted.sentAt = now
	granted.waited = now.Sub(began)
	return nil
}

// leave ends a call that was sent.
func (l *line) leave(granted *permit, result outcome) {
	l.pool.bulkheadOf(granted.op).leave(l.key.connection)
	l.mu.Lock()
	defer l.mu.Unlock()

	now := time.Now()
	state := l.operations[granted.op]
	state.inFlight--
	state.breaker.record(now, granted.era, result)

	// Purchases never probe a carrier themselves, so the answer to a harmless
	// operation is what lets them through again.
	if buys := l.operations[carrier.OpBuy]; buys != nil && result == answered {
		switch granted.op {
		case carrier.OpRates, carrier.OpCheck, carrier.OpFind:
			buys.breaker.recordOther(now)
		}
	}
}

// applyPause keeps the pause that the answer asks for: after a 429 for all that
// the connection does, after a 503 only for the operation that is out of order,
// so that a lost purchase can still be looked up.
func (l *line) applyPause(op carrier.Operation, response *http.Response) {
	now := time.Now()
	pause := min(RetryAfter(response.Header, now), l.traffic.o.LongestHold)
	switch response.StatusCode {
	case http.StatusTooManyRequests:
		if pause == 0 {
			pause = l.traffic.o.UnsaidHold
		}
		l.pace.hold(pause)

	case http.StatusServiceUnavailable:
		l.mu.Lock()
		defer l.mu.Unlock()
		b := l.operations[op].breaker
		if until := now.Add(pause); until.After(b.paused) {
			b.paused = until
		}
	}
}

// askForProbe starts a call that can close the breaker, when it is time and no
// call of its own can.
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
			l.probing = false
			l.probeAt = time.Now().Add(b.o.FirstWait)
		}()
		probe(l.key.carrier, l.key.connection)
	}()
}

func (l *line) stats() []Stat {
	left := l.pace.left()
	held := l.pace.heldFor()
	l.mu.Lock()
	defer l.mu.Unlock()

	now := time.Now()
	all := make([]Stat, 0, len(l.operations))
	for op, state := range l.operations {
		all = append(all, Stat{
			Carrier:    l.key.carrier,
			Connection: l.key.connection,
			Operation:  op,
			Breaker:    state.breaker.state(now),
			InFlight:   state.inFlight,
			Waiting:    state.waiting,
			QuotaLeft:  left,
			HeldFor:    max(held, state.breaker.paused.Sub(now), 0),
			Sent:       state.sent,
			Shed:       state.shed,
		})
	}
	return all
}

// waits returns how long the next call of each operation would wait. Of rates it is
// how long a handful of calls would: a quota that has one call a minute left for
// them is used up for anybody with more than one order.
func (l *line) waits() map[carrier.Operation]time.Duration {
	list := map[carrier.Operation]time.Duration{}
	now := time.Now()
	for _, op := range []carrier.Operation{carrier.OpRates, carrier.OpBuy, carrier.OpTrack, carrier.OpCheckAddress} {
		list[op] = l.pace.next(priorityOf(op))
	}
	list[carrier.OpRates] = l.pace.last(ratePriority, l.pace.several(ratePriority))

	l.mu.Lock()
	defer l.mu.Unlock()
	for op := range list {
		if state := l.operations[op]; state != nil {
			if retry, isRefused := state.breaker.refuses(now); isRefused {
				list[op] = max(list[op], retry)
			}
		}
	}
	return list
}

// waitFor returns how long it takes until so many calls of the operation can have
// been made, if nobody else makes any.
func (l *line) waitFor(op carrier.Operation, calls int) time.Duration {
	wait := l.pace.last(priorityOf(op), calls)

	l.mu.Lock()
	defer l.mu.Unlock()
	if state := l.operations[op]; state != nil {
		if retry, isRefused := state.breaker.refuses(time.Now()); isRefused {
			wait = max(wait, retry)
		}
	}
	return wait
}

// unreachable is the error of a call whose breaker is open.
func unreachable(retry time.Duration) error {
	return &ship.Error{
		Kind:       ship.Unavailable,
		Message:    "the carrier is not responding at the moment; nothing was sent",
		RetryAfter: retry,
		Err:        carrier.ErrCircuitOpen,
	}
}
