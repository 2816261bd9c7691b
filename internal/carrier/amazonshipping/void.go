package amazonshipping

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// Void cancels a shipment that was not picked up yet.
func (d *driver) Void(ctx context.Context, purchase ship.Purchase) (carrier.VoidResult, error) {
	var answer cancelAnswer
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
	case answer.Payload == nil:
		return carrier.VoidResult{}, ship.Errorf(ship.Uncertain, "Amazon Shipping did not confirm the cancellation")
	}
	return carrier.VoidResult{State: ship.StateVoided}, nil
}

// isCancelledAlready reports whether Amazon refuses to cancel a shipment a second
// time. It documents no code for it, so its words decide.
func isCancelledAlready(err error) bool {
	words := strings.ToLower(ship.ErrorOf(err).Refusal.Message)
	return ship.KindOf(err) == ship.Invalid && strings.Contains(words, "already") && strings.Contains(words, "cancel")
}
