package fedex

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"regexp"
	"slices"

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
			DeletionControl: "DELETE_ALL_PACKAGES", // fact: void-control
		},
	}

	var answer cancelAnswer
	err := d.call(ctx, d.ship, call, &answer)
	if refused, ok := errors.AsType[*ship.Error](err); ok && refused.Kind == ship.Invalid && isCancelled(refused.Refusal) {
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
	if isCancelled(refusal) {
		return carrier.VoidResult{State: ship.StateVoided}, nil
	}
	return carrier.VoidResult{}, &ship.Error{Kind: ship.Invalid, Message: "FedEx did not cancel the shipment", Refusal: refusal}
}

// cancelledCodes are the errors of FedEx's list which say that the shipment is
// cancelled: by this call, which FedEx may report among the errors too, or before.
// SHIPMENT.CANCELEDWITHOUTPICKUP.FAILURE is the opposite of the first.
//
// fact: code-void-success
var cancelledCodes = []string{
	"SHIPMENT.CANCELEDWITHOUTPICKUP.SUCCESS",
	"CANCELSHIPMENT.TRACKINGNUMBER.DELETED",
	"MASTERTRACKINGID.TRACKINGNUMBER.CANCELLED",
}

// cancelledWords are how FedEx says the same without a code. "Already tendered and
// cannot be cancelled" is none of them.
var cancelledWords = regexp.MustCompile(`(?i)already (been )?(cancell?ed|deleted)`)

// isCancelled recognizes a refusal which says that the shipment is cancelled.
func isCancelled(refusal ship.Refusal) bool {
	return slices.Contains(cancelledCodes, refusal.Code) || refusal.Code == "" && cancelledWords.MatchString(refusal.Message)
}
