package ups

import (
	"context"
	"net/http"
	"net/url"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// Void voids the whole shipment. Voiding twice is not an error.
func (d *driver) Void(ctx context.Context, purchase ship.Purchase) (carrier.VoidResult, error) {
	id := purchase.CarrierRef
	if id == "" {
		id = purchase.TrackingNumber
	}
	if id == "" {
		return carrier.VoidResult{}, ship.Errorf(ship.Internal, "there is no UPS shipment to void")
	}

	voided := carrier.VoidResult{State: ship.StateVoided}
	if isPlaceholder(id) {
		// UPS's test environment keeps nothing of what it sells: there is
		// nothing to void, and nothing was charged.
		return voided, nil
	}

	var answer voidAnswer
	err := d.call(ctx, carrierkit.Call{
		Method: http.MethodDelete,
		URL:    d.base + "/shipments/v2409/void/cancel/" + url.PathEscape(id),
		Effect: true,
	}, &answer)
	switch {
	case isRefusedWith(err, codeVoidedBefore):
		return voided, nil
	case isRefusedWith(err, codeVoidAway):
		return carrier.VoidResult{}, withKind(ship.Unavailable, "UPS cannot void labels right now", err)
	case err != nil:
		return carrier.VoidResult{}, err
	}

	// One package that is not void keeps the shipment alive, whatever the
	// summary says.
	response := answer.VoidShipmentResponse
	for _, result := range append(response.PackageLevelResults, response.PackageLevelResult...) {
		if result.Status.Code == "0" {
			return carrier.VoidResult{}, refusedVoid(result.Status)
		}
	}
	switch response.SummaryResult.Status.Code {
	case "1":
		return voided, nil
	case "0":
		return carrier.VoidResult{}, refusedVoid(response.SummaryResult.Status)
	}
	return carrier.VoidResult{}, ship.Errorf(ship.Uncertain, "UPS did not confirm whether the label was voided")
}

// refusedVoid is a refusal that came with status 200.
func refusedVoid(status coded) error {
	refused := ship.Errorf(ship.Invalid, "UPS did not void the label")
	refused.Refusal = ship.Refusal{Code: status.Code, Message: status.Description}
	return refused
}
