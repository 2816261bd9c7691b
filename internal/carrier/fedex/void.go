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
func (d *driver) Void(ctx context.Context, deal ship.Deal) (carrier.VoidResult, error) {
	body := cancelRequest{
		AccountNumber: account{d.account}, TrackingNumber: cmp.Or(deal.CarrierRef, deal.TrackingNumber), DeletionControl: "DELETE_ALL_PACKAGES",
	}
	var answer cancelAnswer
	err := d.call(ctx, d.ship, carrierkit.Call{Method: http.MethodPut, URL: d.base + cancelPath, Body: body, Effect: true}, &answer)
	if e, ok := errors.AsType[*ship.Error](err); ok && e.Kind == ship.Invalid && alreadyCancelled(e.Refusal) {
		return carrier.VoidResult{State: ship.StateVoided}, nil
	}
	if err != nil {
		return carrier.VoidResult{}, err
	}
	switch out := answer.Output; {
	case out.Cancelled == nil:
		return carrier.VoidResult{}, doubt("FedEx did not say whether the shipment is cancelled")
	case *out.Cancelled:
		return carrier.VoidResult{State: ship.StateVoided}, nil
	default:
		said := ship.Refusal{Message: out.Message}
		if len(out.Alerts) > 0 {
			said.Code = out.Alerts[0].Code
			said.Message = cmp.Or(said.Message, out.Alerts[0].Message)
		}
		if alreadyCancelled(said) {
			return carrier.VoidResult{State: ship.StateVoided}, nil
		}
		return carrier.VoidResult{}, &ship.Error{Kind: ship.Invalid, Message: "FedEx does not cancel the shipment", Refusal: said}
	}
}

// alreadyCancelled reads a refusal that says there is nothing left to do. FedEx
// does not publish its codes.
func alreadyCancelled(r ship.Refusal) bool {
	said := strings.ToUpper(r.Code + " " + r.Message)
	return strings.Contains(said, "ALREADY") && (strings.Contains(said, "CANCEL") || strings.Contains(said, "DELETE"))
}
