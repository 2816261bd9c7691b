package carrierkit

import (
	"cmp"
	"context"
	"crypto/x509"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
)

// TrafficOptions are the limits of Traffic. A field that is zero takes its
// default.
type TrafficOptions struct {
	// How long a step of a call may take. The deadline of the whole call comes
	// with its ctx.
	Connect   time.Duration
	Handshake time.Duration
	FirstByte time.Duration

	IdleConns int            // kept for reads, per carrier
	IdleFor   time.Duration  // and for how long
	RootCAs   *x509.CertPool // CAs that sign for carriers; nil means the host's

	// In flight at once, per carrier: purchases, look-ups and voids; rates and
	// checks; tracking.
	Labels, Rates, Tracks int
	// Share of these that one connection may hold while another is active, and
	// for how long one that called is taken to be active.
	Share     float64
	ActiveFor time.Duration

	// Shares of the quota that are reserved: rates and tracking leave the first
	// untouched, tracking leaves both. A negative share reserves nothing.
	KeepForLabels float64
	KeepForRates  float64

	LongestHold time.Duration // a carrier's Retry-After is honoured up to this
	UnsaidHold  time.Duration // the pause after a 429 that does not say how long

	Breaker BreakerOptions

	// Requests for tokens: how many a second go to one host (a negative number
	// does not limit them), which share of them one account may have while others
	// wait, and how long one may wait for its turn.
	TokenRate     int
	TokenShare    float64
	TokenPatience time.Duration

	// UserAgent is how the program names itself to carriers: "Waybill/1.2.3".
	UserAgent string

	// Dial returns what connects to a carrier; nil, or a nil function, connects to
	// any address. It is for carriers whose address a person chose.
	Dial func(carrier string) DialContext
	// Transport sends requests in place of connections of our own. Tests break
	// exchanges with it below everything that reads an answer; nil connects.
	Transport http.RoundTripper
	// Wrap is put around each transport, for traces or recordings. It may not
	// send a request twice. It sees answers unpacked.
	Wrap func(http.RoundTripper) http.RoundTripper
	// Probe is asked, on a goroutine of its own and never twice at once for a
	// connection, for a harmless call such as a check: purchases are refused,
	// and only the answer to another operation can let them through again.
	// Without it they wait for somebody to ask for rates.
	Probe func(carrier, connection string)
}

// DialContext connects to an address, as http.Transport does.
type DialContext func(ctx context.Context, network, address string) (net.Conn, error)

// DefaultTrafficOptions suit a service of many accounts.
func DefaultTrafficOptions() TrafficOptions {
	return TrafficOptions{
		Connect:   3 * time.Second,
		Handshake: 3 * time.Second,
		FirstByte: 2 * time.Minute, // every operation has a deadline of its own, a purchase up to this
		IdleConns: 64,
		IdleFor:   30 * time.Second,

		Labels:    32,
		Rates:     64,
		Tracks:    16,
		Share:     0.25,
		ActiveFor: 10 * time.Second,

		KeepForLabels: 0.2,
		KeepForRates:  0.2,
		LongestHold:   time.Hour,
		UnsaidHold:    time.Second,

		Breaker: BreakerOptions{
			Window:    30 * time.Second,
			Calls:     20,
			Failures:  0.5,
			Timeouts:  5,
			FirstWait: 5 * time.Second,
			LastWait:  time.Minute,
			Patience:  5 * time.Second,
		},

		TokenRate:     2,
		TokenShare:    0.25,
		TokenPatience: time.Minute,
		UserAgent:     "Waybill",
	}
}

// withDefaults fills the fields that are zero.
func (o TrafficOptions) withDefaults() TrafficOptions {
	defaults := DefaultTrafficOptions()
	o.Connect = cmp.Or(o.Connect, defaults.Connect)
	o.Handshake = cmp.Or(o.Handshake, defaults.Handshake)
	o.FirstByte = cmp.Or(o.FirstByte, defaults.FirstByte)
	o.IdleFor = cmp.Or(o.IdleFor, defaults.IdleFor)
	o.ActiveFor = cmp.Or(o.ActiveFor, defaults.ActiveFor)
	o.LongestHold = cmp.Or(o.LongestHold, defaults.LongestHold)
	o.UnsaidHold = cmp.Or(o.UnsaidHold, defaults.UnsaidHold)
	o.Breaker.Window = cmp.Or(o.Breaker.Window, defaults.Breaker.Window)
	o.Breaker.FirstWait = cmp.Or(o.Breaker.FirstWait, defaults.Breaker.FirstWait)
	o.Breaker.LastWait = cmp.Or(o.Breaker.LastWait, defaults.Breaker.LastWait)
	o.Breaker.Patience = cmp.Or(o.Breaker.Patience, defaults.Breaker.Patience)

	o.TokenRate = cmp.Or(o.TokenRate, defaults.TokenRate)
	o.TokenShare = cmp.Or(o.TokenShare, defaults.TokenShare)
	o.TokenPatience = cmp.Or(o.TokenPatience, defaults.TokenPatience)
	o.UserAgent = cmp.Or(o.UserAgent, defaults.UserAgent)

	o.IdleConns = cmp.Or(o.IdleConns, defaults.IdleConns)
	o.Labels = cmp.Or(o.Labels, defaults.Labels)
	o.Rates = cmp.Or(o.Rates, defaults.Rates)
	o.Tracks = cmp.Or(o.Tracks, defaults.Tracks)
	o.Share = cmp.Or(o.Share, defaults.Share)
	o.KeepForLabels = cmp.Or(o.KeepForLabels, defaults.KeepForLabels)
	o.KeepForRates = cmp.Or(o.KeepForRates, defaults.KeepForRates)
	o.Breaker.Calls = cmp.Or(o.Breaker.Calls, defaults.Breaker.Calls)
	o.Breaker.Failures = cmp.Or(o.Breaker.Failures, defaults.Breaker.Failures)
	o.Breaker.Timeouts = cmp.Or(o.Breaker.Timeouts, defaults.Breaker.Timeouts)
	return o
}

// Traffic is all that this process sends to carriers. It is made once. A
// carrier that hangs, refuses or limits is kept from harming the others, and a
// call that it lets pass is sent at most once. It is safe for concurrent use.
type Traffic struct {
	o      TrafficOptions
	tokens *tokenGates

	mu       sync.Mutex
	carriers map[string]*pool
	lines    map[lineKey]*line
}

type lineKey struct{ carrier, connection string }

// pool holds what the connections of one carrier share.
type pool struct {
	reads, effects        http.RoundTripper
	labels, rates, tracks *bulkhead
}

// bulkheadOf returns the bulkhead that a call of the operation belongs to.
func (p *pool) bulkheadOf(op carrier.Operation) *bulkhead {
	switch priorityOf(op) {
	case ratePriority:
		return p.rates
	case trackPriority:
		return p.tracks
	}
	return p.labels
}

// NewTraffic returns the traffic of a process.
func NewTraffic(options TrafficOptions) *Traffic {
	options = options.withDefaults()
	return &Traffic{
		o:        options,
		tokens:   newTokenGates(options),
		carriers: map[string]*pool{},
		lines:    map[lineKey]*line{},
	}
}

// Doer returns what a driver of the connection is opened with. The same carrier
// and connection have the same Doer, paced to the quota of the first spec.
//
// Its errors are *ship.Error when the request was not sent: Limited for a
// quota or a pause that the carrier asked for, Unavailable for a carrier that
// is busy or down. Any other error is the transport's.
func (t *Traffic) Doer(spec carrier.Spec, connection string) carrier.Doer {
	t.mu.Lock()
	defer t.mu.Unlock()

	key := lineKey{spec.Name, connection}
	if existing := t.lines[key]; existing != nil {
		return existing
	}

	shared := t.carriers[spec.Name]
	if shared == nil {
		shared = &pool{
			reads:   newTransport(t.o, spec.Name, false),
			effects: newTransport(t.o, spec.Name, true),
			labels:  newBulkhead(t.o.Labels, t.o),
			rates:   newBulkhead(t.o.Rates, t.o),
			tracks:  newBulkhead(t.o.Tracks, t.o),
		}
		t.carriers[spec.Name] = shared
	}

	added := &line{
		traffic:    t,
		pool:       shared,
		key:        key,
		account:    connection,
		pace:       newPacer(spec.Quota, t.o, time.Now()),
		operations: map[carrier.Operation]*operationState{},
	}
	t.lines[key] = added
	return added
}

// A Stat is the state of one operation of one connection.
type Stat struct {
	Carrier, Connection string
	Operation           carrier.Operation // empty for a call of none, such as a shared token's
	Breaker             string            // "closed", "open" or "half-open"
	InFlight            int               // sent and not answered
	Waiting             int               // for the quota or for a slot
	QuotaLeft           int               // calls that the connection may make now; -1 without a quota
	HeldFor             time.Duration     // the pause that the carrier asked for
	Sent, Shed          uint64            // calls since the start, made and refused by us
}

// Stats returns the state of every operation that was ever used, sorted by
// carrier, connection and operation.
func (t *Traffic) Stats() []Stat {
	t.mu.Lock()
	lines := make([]*line, 0, len(t.lines))
	for _, one := range t.lines {
		lines = append(lines, one)
	}
	t.mu.Unlock()

	var all []Stat
	for _, one := range lines {
		all = append(all, one.stats()...)
	}
	slices.SortFunc(all, func(a, b Stat) int {
		return cmp.Or(cmp.Compare(a.Carrier, b.Carrier), cmp.Compare(a.Connection, b.Connection), cmp.Compare(a.Operation, b.Operation))
	})
	return all
}

// Waits says how long the next call of each operation would wait at a
// connection, of rates how long some calls would: for the quota, for a pause that
// the carrier asked for, or because the carrier does not answer. It is nil for a connection that was not used.
func (t *Traffic) Waits(connection string) map[carrier.Operation]time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key, found := range t.lines {
		if key.connection == connection {
			return found.waits()
		}
	}
	return nil
}

// WaitFor says how long it takes at a connection until so many calls of the
// operation can have been made. It is zero for a connection that was not used.
func (t *Traffic) WaitFor(connection string, op carrier.Operation, calls int) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key, found := range t.lines {
		if key.connection == connection {
			return found.waitFor(op, calls)
		}
	}
	return 0
}

// Close ends the connections that are idle. Calls under way go on.
func (t *Traffic) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, shared := range t.carriers {
		for _, transport := range []http.RoundTripper{shared.reads, shared.effects} {
			(&http.Client{Transport: transport}).CloseIdleConnections()
		}
	}
}
