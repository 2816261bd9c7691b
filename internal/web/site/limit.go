package site

import (
	"errors"
	"net/http"

	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// addressShare is how many sessions at their full rate one address may hold:
// the people of an office share one.
const addressShare = 4

// A limits counts the requests of sessions and of addresses, as the API counts
// those of keys.
type limits struct {
	sessions  *httpkit.Limiter
	addresses *httpkit.Limiter
}

func newLimits(rate, burst int) limits {
	return limits{
		sessions:  httpkit.NewLimiter(rate, burst),
		addresses: httpkit.NewLimiter(addressShare*rate, addressShare*burst),
	}
}

// limitAddress counts the request against the address that it comes from.
func (v *Visit) limitAddress() error {
	if v.rt.Unlimited {
		return nil
	}

	// A header of its own: the limit of an address that others share says
	// nothing to this browser.
	err := v.limits.addresses.Admit(http.Header{}, httpkit.ClientNetwork(v.Request, v.TrustedProxies))
	return tooMany(err, "your network has sent too many requests; wait a moment and reload the page")
}

// limitSession counts the request against the session of the person who is
// signed in.
func (v *Visit) limitSession() error {
	if v.rt.Unlimited {
		return nil
	}
	err := v.limits.sessions.Admit(v.Writer.Header(), string(v.Who.Actor.Session))
	return tooMany(err, "this browser has sent too many requests; wait a moment and reload the page")
}

// tooMany returns the error of a limit with a message for people.
func tooMany(err error, message string) error {
	limited, ok := errors.AsType[*ship.Error](err)
	if !ok {
		return err
	}
	explained := *limited
	explained.Message = message
	return &explained
}
