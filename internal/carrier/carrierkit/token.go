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

// fetchTimeout bounds one fetch of a token, whoever waits for it.
const fetchTimeout = 10 * time.Second

// A Fetch asks the carrier for a token and returns how long it is valid.
type Fetch func(ctx context.Context) (value string, ttl time.Duration, err error)

// A Token is an access token that all callers share: one fetch serves all that
// wait for it, and it is fetched anew shortly before it expires while the old
// one is still used. No lock is held while the carrier answers.
type Token struct {
	mu      sync.Mutex
	value   string
	renewAt time.Time
	until   time.Time
	fetch   *fetching // nil when none is under way
}

// fetching is one fetch under way; err may be read once done is closed.
type fetching struct {
	done chan struct{}
	err  error
}

// NewToken returns a token that is not fetched yet.
func NewToken() *Token { return new(Token) }

// Get returns a valid token. It waits for the carrier only if there is none.
func (t *Token) Get(ctx context.Context, fetch Fetch) (string, error) {
	for {
		t.mu.Lock()
		now := time.Now()
		value := t.value
		isValid := now.Before(t.until)
		isDue := !isValid || !now.Before(t.renewAt)
		if isDue && t.fetch == nil {
			t.fetch = &fetching{done: make(chan struct{})}
			// A caller that gives up must not fail the others that wait.
			go t.run(context.WithoutCancel(ctx), fetch, t.fetch)
		}
		running := t.fetch
		t.mu.Unlock()

		if isValid {
			return value, nil
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

func (t *Token) run(ctx context.Context, fetch Fetch, running *fetching) {
	// A purchase may wait for a token that a tracking call began to fetch, so
	// the fetch does not have the priority of the operation that started it.
	ctx, cancel := context.WithTimeout(carrier.WithOperation(ctx, ""), fetchTimeout)
	defer cancel()

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
	t.fetch = nil
	close(running.done)
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
// answers 401.
func (t *Token) Use(ctx context.Context, fetch Fetch, call func(token string) error) error {
	value, err := t.Get(ctx, fetch)
	if err != nil {
		return err
	}
	err = call(value)
	if !errors.Is(err, Status(http.StatusUnauthorized)) {
		return err
	}

	// A request that was not authorized had no effect, so a purchase may be
	// repeated too.
	t.Forget(value)
	if value, err = t.Get(ctx, fetch); err != nil {
		return err
	}
	return call(value)
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
