package fedex

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

const cancelPath = "/ship/v1/shipments/cancel"

// Void cancels the shipment with all its pieces. FedEx does so until the
// parcel is handed over; a shipment that is already cancelled stays so.
func (d *driver) Void(ctx context.Context, purchase ship.Purchase) (carrier.VoidResult, error) {
	call := carrierkit.Call{
		Method: http.MethodPut,
		URL:    d.base + cancelPath,
		Effect: true,
		Body: cancelRequest{
			AccountNumber:   account{d.account},
			TrackingNumber:  cmp.Or(purchase.CarrierRef, purchase.TrackingNumber),
			DeletionControl: "DELETE_ALL_PACKAGES",
		},
	}

	var answer cancelAnswer
	err := d.call(ctx, d.ship, call, &answer)
	if refused, ok := errors.AsType[*ship.Error](err); ok && refused.Kind == ship.Invalid && isAlreadyCancelled(refused.Refusal) {
		return carrier.VoidResult{State: ship.StateVoided}, nil
	}
	if err != nil {
		return carrier.VoidResult{}, err
	}

	result := answer.Output
	if result.Cancelled == nil {
		return carrier.VoidResult{}, uncertain("FedEx did not confirm whether the shipment was cancelled")
	}
	if *result.Cancelled {
		return carrier.VoidResult{State: ship.StateVoided}, nil
	}

	// FedEx also declines with status 200, and then says why in an alert.
	refusal := ship.Refusal{Message: result.Message}
	if len(result.Alerts) > 0 {
		refusal.Code = result.Alerts[0].Code
		refusal.Message = cmp.Or(refusal.Message, result.Alerts[0].Message)
	}
	if isAlreadyCancelled(refusal) {
		return carrier.VoidResult{State: ship.StateVoided}, nil
	}
	return carrier.VoidResult{}, &ship.Error{Kind: ship.Invalid, Message: "FedEx did not cancel the shipment", Refusal: refusal}
}

// isAlreadyCancelled recognizes a refusal because the shipment is cancelled
// already. FedEx does not publish its codes.
func isAlreadyCancelled(refusal ship.Refusal) bool {
	text := strings.ToUpper(refusal.Code + " " + refusal.Message)
	return strings.Contains(text, "ALREADY") && (strings.Contains(text, "CANCEL") || strings.Contains(text, "DELETE"))
}
