package carrierkit_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// counter fetches the tokens "1", "2" and so on from a slow carrier.
type counter struct {
	fetches int
	err     error
}

func (c *counter) fetch(ctx context.Context) (string, time.Duration, error) {
	c.fetches++
	n := strconv.Itoa(c.fetches)
	select {
	case <-time.After(2 * time.Second):
	case <-ctx.Done():
		return "", 0, ctx.Err()
	}
	return n, time.Hour, c.err
}

func TestTokenIsFetchedOnceAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c counter
		token := carrierkit.NewToken()
		for range 10 {
			go func() {
				if got, err := token.Get(t.Context(), c.fetch); got != "1" || err != nil {
					t.Errorf("Get = %q, %v", got, err)
				}
			}()
		}
		time.Sleep(58 * time.Minute)
		if got, _ := token.Get(t.Context(), c.fetch); got != "1" || c.fetches != 1 {
			t.Errorf("after 58 minutes: token %s of %d, want the first of one", got, c.fetches)
		}
	})
}

func TestTokenIsRenewedWhileTheOldOneIsUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c counter
		token := carrierkit.NewToken()
		token.Get(t.Context(), c.fetch)
		time.Sleep(59*time.Minute + 30*time.Second)
		began := time.Now()
		if got, _ := token.Get(t.Context(), c.fetch); got != "1" || time.Since(began) > 0 {
			t.Errorf("near its end: token %s after %v, want the first at once", got, time.Since(began))
		}
		time.Sleep(5 * time.Second)
		if got, _ := token.Get(t.Context(), c.fetch); got != "2" || c.fetches != 2 {
			t.Errorf("after the renewal: token %s of %d, want the second of two", got, c.fetches)
		}
	})
}

func TestTokenThatExpiredIsNotUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c counter
		token := carrierkit.NewToken()
		token.Get(t.Context(), c.fetch)
		time.Sleep(2 * time.Hour)
		if got, _ := token.Get(t.Context(), c.fetch); got != "2" {
			t.Errorf("after two hours: token %s, want the second", got)
		}
	})
}

func TestTokenOutlivesTheCallerThatFetchedIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c counter
		token := carrierkit.NewToken()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := token.Get(ctx, c.fetch); ship.KindOf(err) != ship.Unavailable {
			t.Errorf("the impatient caller got %v, want unavailable", err)
		}
		if got, err := token.Get(t.Context(), c.fetch); got != "1" || err != nil {
			t.Errorf("the next caller got %q, %v; want the first token", got, err)
		}
	})
}

func TestTokenFetchThatFailsIsTriedAnewAfterAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := counter{err: ship.Errorf(ship.Uncertain, "lost")}
		token := carrierkit.NewToken()
		if _, err := token.Get(t.Context(), c.fetch); ship.KindOf(err) != ship.Unavailable {
			t.Errorf("err = %v, want unavailable: the call itself was not sent", err)
		}
		c.err = nil
		if _, err := token.Get(t.Context(), c.fetch); ship.KindOf(err) != ship.Unavailable || retryAfter(err) != 5*time.Second || c.fetches != 1 {
			t.Errorf("at once: %d fetches, %v; want one, and to retry after 5s", c.fetches, err)
		}
		time.Sleep(5 * time.Second)
		if got, err := token.Get(t.Context(), c.fetch); got != "2" || err != nil {
			t.Errorf("Get = %q, %v", got, err)
		}
	})
}

func TestUseRefreshesOnceAfterA401(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c counter
		token := carrierkit.NewToken()
		var used []string
		err := token.Use(t.Context(), c.fetch, func(value string) error {
			used = append(used, value)
			return &ship.Error{Kind: ship.Forbidden, Err: carrierkit.Status(401)}
		})
		if !errors.Is(err, carrierkit.Status(401)) || len(used) != 2 || used[0] != "1" || used[1] != "2" {
			t.Errorf("Use tried %v: %v; want both tokens and the 401", used, err)
		}
		used = nil
		token.Use(t.Context(), c.fetch, func(value string) error {
			used = append(used, value)
			return &ship.Error{Kind: ship.Forbidden, Err: carrierkit.Status(403)}
		})
		if len(used) != 1 {
			t.Errorf("after a 403 Use tried %v, want one", used)
		}
	})
}
