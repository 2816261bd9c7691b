package carrierkit

import (
	"context"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// tokenGates let the requests for tokens pass, by host. Carriers limit them by
// the address that they come from, so all connections of a process share the
// limit: FedEx locks out an address that asks more than three times a second.
type tokenGates struct {
	options TrafficOptions

	mu    sync.Mutex
	hosts map[string]*tokenGate
}

func newTokenGates(options TrafficOptions) *tokenGates {
	return &tokenGates{options: options, hosts: map[string]*tokenGate{}}
}

// of returns the gate of a host.
func (g *tokenGates) of(host string) *tokenGate {
	g.mu.Lock()
	defer g.mu.Unlock()

	gate := g.hosts[host]
	if gate == nil {
		gate = &tokenGate{options: g.options}
		g.hosts[host] = gate
	}
	return gate
}

// recentTokens is how many of the last requests count for an account's share.
const recentTokens = 8

// tokenGate lets the requests for tokens of one host pass: at most TokenRate in
// any second. If several accounts wait, the next one is that with the fewest of
// the last requests, so an account that has had its share goes behind the
// others.
//
// No lock is held while anybody waits, and one timer serves all that wait.
type tokenGate struct {
	options TrafficOptions

	mu       sync.Mutex
	held     time.Time   // the host itself asked for a pause until then
	issued   time.Time   // when it last issued a token
	sent     []time.Time // the last TokenRate requests
	recent   []string    // the accounts of the last requests
	waiting  []*tokenWaiter
	timerSet bool
}

// tokenWaiter is one request that waits; err may be read once ready is closed.
type tokenWaiter struct {
	account string
	ready   chan struct{}
	err     error
}

// enter returns when the account may send a request for a token, or why it may
// not.
func (g *tokenGate) enter(ctx context.Context, account string) error {
	g.mu.Lock()
	now := time.Now()
	if pause := g.held.Sub(now); pause > 0 {
		g.mu.Unlock()
		return tokensPaused(pause)
	}

	waiter := &tokenWaiter{account: account, ready: make(chan struct{})}
	g.waiting = append(g.waiting, waiter)
	g.serve(now)
	g.mu.Unlock()

	limit := time.NewTimer(g.options.TokenPatience)
	defer limit.Stop()
	select {
	case <-waiter.ready:
		return waiter.err
	case <-ctx.Done():
		g.abandon(waiter)
		return &ship.Error{Kind: ship.Unavailable, Message: "the time limit was reached before the carrier was asked for a token; nothing was sent", Err: ctx.Err()}
	case <-limit.C:
		g.abandon(waiter)
		return &ship.Error{
			Kind:       ship.Limited,
			Message:    "too many connections need a token of this carrier at once; nothing was sent",
			RetryAfter: time.Second,
		}
	}
}

// abandon removes a request that does not wait any longer. If it was let pass
// at the same moment, its turn is lost: the host has room again in a second.
func (g *tokenGate) abandon(waiter *tokenWaiter) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, other := range g.waiting {
		if other == waiter {
			g.waiting = append(g.waiting[:i], g.waiting[i+1:]...)
			return
		}
	}
}

// serve lets requests pass as long as the host has room, and sets the timer for
// the next.
func (g *tokenGate) serve(now time.Time) {
	for len(g.waiting) > 0 {
		if g.options.TokenRate > 0 && len(g.sent) == g.options.TokenRate {
			if wait := g.sent[0].Add(time.Second).Sub(now); wait > 0 {
				g.wake(wait)
				return
			}
			g.sent = g.sent[1:]
		}

		next := g.next()
		waiter := g.waiting[next]
		g.waiting = append(g.waiting[:next], g.waiting[next+1:]...)
		if g.options.TokenRate > 0 {
			g.sent = append(g.sent, now)
		}
		g.recent = append(g.recent, waiter.account)
		if len(g.recent) > recentTokens {
			g.recent = g.recent[1:]
		}
		close(waiter.ready)
	}
}

// next returns which request passes next: the first of the account with the
// fewest of the recent ones. Accounts within their share are equal.
func (g *tokenGate) next() int {
	share := max(int(g.options.TokenShare*recentTokens), 1)
	had := map[string]int{}
	for _, account := range g.recent {
		had[account]++
	}

	best := 0
	for i, waiter := range g.waiting {
		if max(had[waiter.account], share-1) < max(had[g.waiting[best].account], share-1) {
			best = i
		}
	}
	return best
}

func (g *tokenGate) wake(in time.Duration) {
	if g.timerSet {
		return
	}
	g.timerSet = true
	time.AfterFunc(in, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.timerSet = false
		g.serve(time.Now())
	})
}

// hold keeps requests for tokens from the host for a while; those that wait get
// an error.
func (g *tokenGate) hold(pause time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()

	now := time.Now()
	if until := now.Add(pause); until.After(g.held) {
		g.held = until
	}
	for _, waiter := range g.waiting {
		waiter.err = tokensPaused(g.held.Sub(now))
		close(waiter.ready)
	}
	g.waiting = nil
}

// noteIssued records that the host issued a token.
func (g *tokenGate) noteIssued() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.issued = time.Now()
}

// issuedSince reports whether the host issued a token after a time.
func (g *tokenGate) issuedSince(at time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.issued.After(at)
}

// tokensPaused is the error of a token that cannot be requested, because the
// host asked for a pause.
func tokensPaused(retry time.Duration) error {
	return &ship.Error{
		Kind:       ship.Limited,
		Message:    "the carrier asked for a pause of token requests; nothing was sent",
		RetryAfter: retry,
	}
}

// A tokenTicket marks the context of a request for a token. The line that
// carries the request says there how far it came.
type tokenTicket struct {
	// queued and sent are called when the request begins to wait in our own
	// queues, and when it leaves them.
	queued, sent func()

	mu   sync.Mutex
	gate *tokenGate // nil if no line carries the request
	held bool       // it did not leave our queues
}

type tokenTicketKey struct{}

func withTokenTicket(ctx context.Context, ticket *tokenTicket) context.Context {
	return context.WithValue(ctx, tokenTicketKey{}, ticket)
}

func tokenTicketOf(ctx context.Context) *tokenTicket {
	ticket, _ := ctx.Value(tokenTicketKey{}).(*tokenTicket)
	return ticket
}

// pass waits until the request for a token may be sent.
func (t *tokenTicket) pass(ctx context.Context, gate *tokenGate, account string) error {
	t.mu.Lock()
	t.gate = gate
	t.held = true
	t.mu.Unlock()

	t.queued()
	err := gate.enter(ctx, account)
	if err == nil {
		t.sent()
	}
	return err
}

// leave records that the request goes to the carrier.
func (t *tokenTicket) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.held = false
}

// fate returns the gate that the request passed, and whether it was sent.
func (t *tokenTicket) fate() (gate *tokenGate, wasSent bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.gate, !t.held
}
