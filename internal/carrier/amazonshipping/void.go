package amazonshipping

import (
	"context"
	"net/http"
	"net/url"
	"regexp"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// Void cancels a shipment that was not picked up yet. Amazon "returns an empty object
// if the shipment is successfully cancelled".
func (d *driver) Void(ctx context.Context, purchase ship.Purchase) (carrier.VoidResult, error) {
	var answer errorAnswer
	err := d.do(ctx, carrierkit.Call{
		Method: http.MethodPut,
		URL:    d.base + "/shipping/v2/shipments/" + url.PathEscape(purchase.CarrierRef) + "/cancel",
		Effect: true,
	}, &answer)

	switch {
	case isCancelledAlready(err):
		return carrier.VoidResult{State: ship.StateVoided}, nil
	case err != nil:
		return carrier.VoidResult{}, err
	case len(answer.Errors) > 0:
		return carrier.VoidResult{}, ship.Errorf(ship.Uncertain, "Amazon Shipping did not confirm the cancellation")
	}
	return carrier.VoidResult{State: ship.StateVoided}, nil
}

// alreadyCancelled are Amazon's words for a shipment that was cancelled before. One
// that "was already picked up and cannot be cancelled" was not.
var alreadyCancelled = regexp.MustCompile(`(?i)\balready (been )?cancell?ed\b`)

// isCancelledAlready reports whether Amazon refuses to cancel a shipment a second
// time. It documents no code for it, so its words decide.
func isCancelledAlready(err error) bool {
	return ship.KindOf(err) == ship.Invalid && alreadyCancelled.MatchString(ship.ErrorOf(err).Refusal.Message)
}
