package ups

import (
	"context"
	"net/http"
	"net/url"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// Void takes the whole shipment back. Voiding twice is no error.
func (d *driver) Void(ctx context.Context, deal ship.Deal) (carrier.VoidResult, error) {
	id := deal.CarrierRef
	if id == "" {
		id = deal.TrackingNumber
	}
	if id == "" {
		return carrier.VoidResult{}, ship.Errorf(ship.Internal, "there is no UPS shipment to void")
	}
	if isPlaceholder(id) {
		// UPS's test environment keeps nothing of what it sells: there is
		// nothing to take back, and nothing was charged.
		return carrier.VoidResult{State: ship.StateVoided}, nil
	}

	var a voidAnswer
	err := d.call(ctx, carrierkit.Call{
		Method: http.MethodDelete, URL: d.base + "/shipments/v2409/void/cancel/" + url.PathEscape(id), Effect: true,
	}, &a)
	voided := carrier.VoidResult{State: ship.StateVoided}
	switch {
	case refusedWith(err, codeVoidedBefore):
		return voided, nil
	case refusedWith(err, codeVoidAway):
		return carrier.VoidResult{}, as(ship.Unavailable, "UPS voids nothing for now", err)
	case err != nil:
		return carrier.VoidResult{}, err
	}
	r := a.VoidShipmentResponse
	for _, one := range append(r.PackageLevelResults, r.PackageLevelResult...) {
		if one.Status.Code == "0" {
			return carrier.VoidResult{}, refusedVoid(one.Status)
		}
	}
	switch r.SummaryResult.Status.Code {
	case "1":
		return voided, nil
	case "0":
		return carrier.VoidResult{}, refusedVoid(r.SummaryResult.Status)
	}
	return carrier.VoidResult{}, ship.Errorf(ship.Uncertain, "UPS did not say whether the label is void")
}

// refusedVoid is a refusal that came with status 200.
func refusedVoid(s coded) error {
	e := ship.Errorf(ship.Invalid, "UPS did not void the label")
	e.Refusal = ship.Refusal{Code: s.Code, Message: s.Description}
	return e
}
