package carrierkit

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// Status is the cause of an error that began as an HTTP status:
// errors.Is(err, carrierkit.Status(401)).
type Status int

func (s Status) Error() string { return fmt.Sprintf("status %d", int(s)) }

// refusalLimit bounds what is kept of a carrier's own words.
const refusalLimit = 500

// refused judges an answer whose status is not 2xx.
func (c Call) refused(resp *http.Response, body []byte) error {
	code := resp.StatusCode
	e := &ship.Error{Err: Status(code), RetryAfter: RetryAfter(resp.Header, time.Now())}
	switch {
	case code == http.StatusUnauthorized:
		e.Kind, e.Message = ship.Forbidden, "the carrier does not accept the credentials"
	case code == http.StatusForbidden:
		e.Kind, e.Message = ship.Forbidden, "the carrier does not allow this to the account"
	case code == http.StatusTooManyRequests:
		e.Kind, e.Message = ship.Limited, "the carrier takes no more requests for now"
	case code == http.StatusNotFound && !c.Effect:
		e.Kind, e.Message = ship.NotFound, "the carrier does not know it"
	case code == http.StatusRequestTimeout, code < 400, code > 499:
		// A server that gives up may have sold before.
		lost := c.lost(fmt.Sprintf("the carrier answered with status %d", code), e.Err).(*ship.Error)
		lost.RetryAfter = e.RetryAfter
		return lost
	default:
		e.Kind, e.Message = ship.Invalid, "the carrier refused the request"
	}
	if c.Refusal != nil {
		said := c.Refusal(body)
		e.Refusal = ship.Refusal{Code: cut(c.redact(said.Code)), Message: cut(c.redact(said.Message))}
	}
	return e
}

func cut(text string) string {
	if len(text) <= refusalLimit {
		return text
	}
	for i := range text { // between characters
		if i > refusalLimit-4 {
			return text[:i] + "..."
		}
	}
	return text
}

// RetryAfter reads how long the answer asks to wait, in either of the two
// spellings; zero if it does not. No carrier can hold us off for over a day.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	value := h.Get("Retry-After")
	var wait time.Duration
	if seconds, err := strconv.Atoi(value); err == nil {
		wait = time.Duration(min(seconds, 86400)) * time.Second
	} else if at, err := http.ParseTime(value); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), 24*time.Hour)
}
