package gls

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// Void cancels each parcel of a shipment by itself. A parcel that was cancelled
// before is cancelled again, so a void whose answer was lost can be repeated.
func (d *driver) Void(ctx context.Context, purchase ship.Purchase) (carrier.VoidResult, error) {
	for id := range strings.SplitSeq(purchase.CarrierRef, ",") {
		if err := d.cancel(ctx, id); err != nil {
			return carrier.VoidResult{}, err
		}
	}
	return carrier.VoidResult{State: ship.StateVoided}, nil
}

// cancel cancels one parcel. GLS answers 200 also if it refuses.
func (d *driver) cancel(ctx context.Context, id string) error {
	header := shipItHeader()
	header.Del("Content-Type") // there is no body
	var answer cancelAnswer
	err := d.call(ctx, carrierkit.Call{
		Method: http.MethodPost,
		URL:    d.base + shippingPath + "/rs/shipments/cancel/" + url.PathEscape(id),
		Header: header,
		Effect: true,
	}, &answer)
	if err != nil {
		return err
	}

	switch result := strings.ToUpper(answer.Result); result {
	case "CANCELLED", "CANCELED", "CANCELLATION_PENDING":
		return nil
	case "":
		return ship.Errorf(ship.Uncertain, "GLS did not confirm whether the label was voided")
	case "SCANNED":
		return &ship.Error{
			Kind:    ship.Invalid,
			Message: "GLS does not void the label: the parcel was scanned",
			Refusal: ship.Refusal{Code: result, Message: "the parcel was scanned"},
		}
	default:
		return &ship.Error{
			Kind:    ship.Invalid,
			Message: "GLS does not void the label",
			Refusal: ship.Refusal{Code: result, Message: answer.Result},
		}
	}
}
