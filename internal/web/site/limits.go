package site

import (
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// ShownWait is the shortest wait for a carrier that is shown. A shorter one is
// over by the time the page is read.
const ShownWait = 5 * time.Second

// LimitedUntil returns until when a carrier account cannot quote or sell, because
// its carrier allows only so many calls or does not answer, as far as this process
// knows; zero if it can. Tracking can wait.
func (v *Visit) LimitedUntil(id ship.ConnectionID) time.Time {
	if v.Waits == nil {
		return time.Time{}
	}

	waits := v.Waits(id)
	wait := max(waits[carrier.OpRates], waits[carrier.OpBuy])
	if wait < ShownWait {
		return time.Time{}
	}
	return time.Now().Add(wait)
}
