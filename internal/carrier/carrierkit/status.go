package carrierkit

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// Status is the cause of an error that began as an HTTP status:
// errors.Is(err, carrierkit.Status(401)).
type Status int

func (s Status) Error() string { return fmt.Sprintf("status %d", int(s)) }

// refusalLimit bounds what is kept of a carrier's own message.
const refusalLimit = 500

// refused is the error of an answer whose status is not 2xx.
func (c Call) refused(response *http.Response, body []byte) error {
	code := response.StatusCode
	refused := &ship.Error{Err: Status(code), RetryAfter: RetryAfter(response.Header, time.Now())}
	switch {
	case code == http.StatusUnauthorized:
		refused.Kind = ship.Forbidden
		refused.Message = "the carrier does not accept the credentials"
	case code == http.StatusForbidden:
		refused.Kind = ship.Forbidden
		refused.Message = "the carrier does not allow this account to do this"
	case code == http.StatusTooManyRequests:
		refused.Kind = ship.Limited
		refused.Message = "the carrier is rate-limiting requests; try again later"
	case code == http.StatusNotFound && !c.Effect:
		refused.Kind = ship.NotFound
		refused.Message = "the carrier did not find the requested object"
	case code == http.StatusRequestTimeout, code < 400, code > 499:
		// A server that fails may already have made the sale.
		lost := c.lost(fmt.Sprintf("the carrier answered with status %d", code), refused.Err).(*ship.Error)
		lost.RetryAfter = refused.RetryAfter
		return lost
	default:
		refused.Kind = ship.Invalid
		refused.Message = carrier.RefusedMessage
	}

	if c.Refusal != nil {
		reason := c.Refusal(body)
		refused.Refusal = ship.Refusal{Code: cut(c.redact(reason.Code)), Message: cut(c.redact(reason.Message))}
	}
	return refused
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
// spellings; zero if it does not. No carrier can make us wait for over a day.
func RetryAfter(header http.Header, now time.Time) time.Duration {
	value := header.Get("Retry-After")
	var wait time.Duration
	if seconds, err := strconv.Atoi(value); err == nil {
		wait = time.Duration(min(seconds, 86400)) * time.Second
	} else if at, err := http.ParseTime(value); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), 24*time.Hour)
}
