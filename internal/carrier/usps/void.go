package usps

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// Void cancels a label, or requests a refund if its manifest was sent already.
// Voiding a label twice has the same result as voiding it once.
func (d *driver) Void(ctx context.Context, purchase ship.Purchase) (carrier.VoidResult, error) {
	number := purchase.CarrierRef

	var answer cancelAnswer
	err := d.callWithPayment(ctx, carrierkit.Call{
		Method: http.MethodDelete,
		URL:    d.base + soldAs(purchase).path("label/") + url.PathEscape(number),
		Effect: true,
	}, &answer)

	switch {
	case isRefusedWith(err, codeAlreadyVoid, wordsAlreadyVoid):
		return carrier.VoidResult{State: ship.StateVoided}, nil
	case isRefusedWith(err, wordsRefundAlready):
		return carrier.VoidResult{State: ship.StateRefundPending}, nil
	case err != nil:
		return carrier.VoidResult{}, err
	case answer.TrackingNumber != "" && ship.NormalizeTrackingNumber(answer.TrackingNumber) != number:
		return carrier.VoidResult{}, ship.Errorf(ship.Uncertain, "the carrier returned a different label")
	}

	// After the manifest was sent USPS no longer cancels the label: it opens a
	// refund request, which it calls a dispute.
	switch answer.Status {
	case "CANCELED":
		return carrier.VoidResult{State: ship.StateVoided}, nil
	case "DISPUTED":
		return carrier.VoidResult{State: ship.StateRefundPending}, nil
	}
	return carrier.VoidResult{}, ship.Errorf(ship.Uncertain, "the carrier did not confirm whether the label was voided")
}

// soldAs returns the service that a purchase was made with. Where it is not
// known any more, the tracking number tells whether the parcel goes abroad:
// such numbers end in "US".
func soldAs(purchase ship.Purchase) service {
	if sold, ok := serviceBy(func(s service) bool { return s.code == purchase.Service }); ok {
		return sold
	}
	return service{abroad: strings.HasSuffix(purchase.CarrierRef, "US")}
}
