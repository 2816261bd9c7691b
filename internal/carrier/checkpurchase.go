package carrier

import (
	"context"
	"net/http"

	"github.com/waybillhq/waybill/internal/ship"
)

// CheckPurchase returns what this side would refuse about a purchase before it
// sends anything: a name that is longer than the carrier prints, a phone number or
// a customs declaration that is missing, letters that cannot be printed. Nothing is
// sent, and nothing is bought. A nil error does not mean that the carrier sells.
func (c *Carrier) CheckPurchase(ctx context.Context, request BuyOrder) error {
	driver := c.driver
	switch {
	case c.Simulated() && !c.Instant(request.Order):
		return nil // it plays a carrier that fails, which takes time
	case c.Simulated():
	default:
		// A driver validates before it sends. This one cannot send.
		driver = c.unsent()
	}
	buyer, ok := driver.(Buyer)
	if !ok {
		return nil
	}
	if err := c.checkService(&request.Order, request.Service); err != nil {
		return err
	}

	_, err := buyer.Buy(ctx, request)
	refused := c.explain(err, ship.Unavailable)
	if kind := ship.KindOf(refused); kind == ship.Invalid || kind == ship.Unsupported {
		return refused
	}
	return nil
}

// unsentDoer sends nothing.
type unsentDoer struct{}

// Do returns an error without sending the request.
func (unsentDoer) Do(request *http.Request) (*http.Response, error) {
	if request.Body != nil {
		_ = request.Body.Close()
	}
	return nil, ship.Errorf(ship.Unavailable, "only the order is checked; nothing was sent")
}
