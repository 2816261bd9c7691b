package carrierkit

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// fetchTimeout bounds one fetch of a token from when it is sent, whoever waits
// for it.
const fetchTimeout = 10 * time.Second

// After a fetch without an answer, or with one that does not say anything about
// the credentials, the next one follows after firstTokenWait, which doubles up to
// lastTokenWait.
const (
	firstTokenWait = 5 * time.Second
	lastTokenWait  = 10 * time.Minute
)

// othersFirst is how much longer than its host a connection pauses that was
// refused with a pause.
const othersFirst = time.Minute

// A Fetch asks the carrier for a token and returns how long it is valid.
type Fetch func(ctx context.Context) (value string, ttl time.Duration, err error)

// A Token is an access token that all callers share: one fetch serves all that
// wait for it, and it is fetched anew shortly before it expires while the old
// one is still used. No lock is held while the carrier answers.
//
// Credentials that the carrier refuses are not sent again by the same Token.
// A connection gets a new one when its credentials change, or when a person has
// it checked.
type Token struct {
	derived bool

	mu      sync.Mutex
	value   string
	renewAt time.Time
	until   time.Time
	fetch   *fetching // nil when none is under way

	refused  error         // the carrier does not accept the credentials
	failure  error         // why the last fetch failed
	wait     time.Duration // after the last failure
	retryAt  time.Time     // no fetch before this
	bannedAt time.Time     // when the carrier last asked for a pause with a refusal
	trusted  time.Time     // until then a 401 is not taken for an expired token
}

// fetching is one fetch under way; err may be read once done is closed.
type fetching struct {
	done chan struct{}
	err  error
}

// NewToken returns a token that is not fetched yet. Its fetch sends credentials.
func NewToken() *Token { return new(Token) }

// NewDerivedToken returns a token that is fetched with another token instead of
// credentials. If the carrier refuses to issue it, the other token may have
// expired, so the next caller tries again.
func NewDerivedToken() *Token { return &Token{derived: true} }

// Get returns a valid token. It waits for the carrier only if there is none.
func (t *Token) Get(ctx context.Context, fetch Fetch) (string, error) {
	for {
		t.mu.Lock()
		now := time.Now()
		value := t.value
		isValid := now.Before(t.until)
		isDue := !isValid || !now.Before(t.renewAt)
		blocked := t.blocked(now)
		if isDue && t.fetch == nil && blocked == nil {
			t.fetch = &fetching{done: make(chan struct{})}
			// A caller that gives up must not fail the others that wait.
			go t.run(context.WithoutCancel(ctx), fetch, t.fetch)
		}
		running := t.fetch
		t.mu.Unlock()

		if isValid {
			return value, nil
		}
		if running == nil {
			return "", blocked
		}
		select {
		case <-ctx.Done():
			return "", &ship.Error{Kind: ship.Unavailable, Message: "the carrier did not issue a token in time", Err: ctx.Err()}
		case <-running.done:
			if running.err != nil {
				return "", running.err
			}
		}
	}
}

// blocked returns why no fetch may be made now; nil if one may.
func (t *Token) blocked(now time.Time) error {
	if t.refused != nil {
		return t.refused
	}
	if !now.Before(t.retryAt) {
		return nil
	}

	waiting := &ship.Error{Kind: ship.Unavailable, Message: "the carrier did not issue a token"}
	if failure, ok := errors.AsType[*ship.Error](t.failure); ok {
		*waiting = *failure
	}
	waiting.Message += "; the next request for one has to wait, and nothing was sent"
	waiting.RetryAfter = t.retryAt.Sub(now)
	return waiting
}

func (t *Token) run(ctx context.Context, fetch Fetch, running *fetching) {
	// A purchase may wait for a token that a tracking call began to fetch, so
	// the fetch does not have the priority of the operation that started it.
	ctx, cancel := context.WithCancel(carrier.WithOperation(ctx, ""))
	defer cancel()

	// The time that the request waits for its turn is not the carrier's.
	limit := time.AfterFunc(fetchTimeout, cancel)
	defer limit.Stop()
	ticket := &tokenTicket{
		queued: func() { limit.Stop() },
		sent:   func() { limit.Reset(fetchTimeout) },
	}
	if !t.derived {
		ctx = withTokenTicket(ctx, ticket)
	}

	began := time.Now() // the carrier counts from its answer, which is later
	value, ttl, err := fetch(ctx)
	if err == nil && (value == "" || ttl <= 0) {
		err = &ship.Error{Kind: ship.Unavailable, Message: "the carrier sent an empty token"}
	}

	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		t.value = value
		t.until = began.Add(ttl)
		t.renewAt = t.until.Add(-min(time.Minute, ttl/10))
	}
	running.err = notSent(err)
	if !t.derived {
		running.err = t.record(running.err, ticket)
	}
	t.fetch = nil
	close(running.done)
}

// record decides from the end of a fetch when the next one may be made, and
// returns the error for those that wait for it. t.mu is held.
func (t *Token) record(err error, ticket *tokenTicket) error {
	gate, wasSent := ticket.fate()
	if err == nil {
		t.wait = 0
		t.bannedAt = time.Time{}
		if gate != nil {
			gate.noteIssued()
		}
		return nil
	}

	// A request that stayed here says nothing about the carrier.
	if !wasSent {
		return err
	}

	now := time.Now()
	failure, _ := errors.AsType[*ship.Error](err) // of notSent
	isBan := failure.Kind == ship.Forbidden && failure.RetryAfter > 0
	switch {
	case refusesCredentials(failure),
		// The host issues tokens to others since it asked this one to pause: it
		// is the credentials that are locked, not the host.
		isBan && !t.bannedAt.IsZero() && gate != nil && gate.issuedSince(t.bannedAt):
		refused := *failure
		refused.RetryAfter = 0
		refused.Message += ". They are not sent again until they change or the connection is checked"
		t.refused = &refused
		return t.refused
	}

	t.failure = err
	t.wait = min(max(2*t.wait, firstTokenWait), lastTokenWait)
	t.retryAt = now.Add(max(t.wait, failure.RetryAfter))
	if isBan {
		// Others go first after the pause: what they get shows whether it is the
		// host or these credentials.
		t.bannedAt = now
		t.retryAt = t.retryAt.Add(othersFirst)
	}
	if gate != nil {
		pause := failure.RetryAfter
		if pause == 0 && errors.Is(err, Status(http.StatusTooManyRequests)) {
			pause = gate.options.UnsaidHold
		}
		if pause > 0 {
			gate.hold(min(pause, gate.options.LongestHold, lastTokenWait))
		}
	}
	return err
}

// refusesCredentials reports whether the carrier does not accept the
// credentials. Any other refusal may be of a gateway, and passes.
func refusesCredentials(failure *ship.Error) bool {
	if failure.Kind != ship.Forbidden || failure.RetryAfter > 0 {
		return false
	}
	switch failure.Refusal.Code {
	case "invalid_client", "invalid_grant", "unauthorized_client": // of OAuth, RFC 6749 section 5.2
		return true
	}
	return errors.Is(failure, Status(http.StatusUnauthorized))
}

// Forget drops the token if it is still the one given: the carrier refused it.
func (t *Token) Forget(value string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.value == value {
		t.value = ""
		t.until = time.Time{}
		t.renewAt = time.Time{}
	}
}

// Use runs call with a token, and once more with a new one if the carrier
// answers 401. If it refuses the new one too, it is not the token: then calls
// that are answered with 401 do not fetch another for a while.
func (t *Token) Use(ctx context.Context, fetch Fetch, call func(token string) error) error {
	value, err := t.Get(ctx, fetch)
	if err != nil {
		return err
	}
	err = call(value)
	if !errors.Is(err, Status(http.StatusUnauthorized)) || t.isTrusted() {
		return err
	}

	// A request that was not authorized had no effect, so a purchase may be
	// repeated too.
	t.Forget(value)
	if value, err = t.Get(ctx, fetch); err != nil {
		return err
	}
	err = call(value)
	if errors.Is(err, Status(http.StatusUnauthorized)) {
		t.trust()
	}
	return err
}

// isTrusted reports whether a 401 is not because of the token.
func (t *Token) isTrusted() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return time.Now().Before(t.trusted)
}

// trust records that a new token was answered with 401 as well.
func (t *Token) trust() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.trusted = time.Now().Add(lastTokenWait)
}

// notSent gives a failed fetch the kind that it has for the call that waits for
// it: the call itself was not sent.
func notSent(err error) error {
	failure, ok := errors.AsType[*ship.Error](err)
	switch {
	case err == nil:
		return nil

	case !ok:
		return &ship.Error{Kind: ship.Unavailable, Message: "the carrier did not issue a token", Err: err}

	case failure.Kind == ship.Invalid, failure.Kind == ship.NotFound:
		// A token request holds nothing but credentials.
		forbidden := *failure
		forbidden.Kind = ship.Forbidden
		forbidden.Message = "the carrier does not accept the credentials"
		return &forbidden

	case failure.Kind == ship.Uncertain:
		unsent := *failure
		unsent.Kind = ship.Unavailable
		return &unsent
	}
	return err
}
