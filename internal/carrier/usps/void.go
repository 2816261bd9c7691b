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

// Void cancels a label, or asks for its money back if its manifest has gone
// out already. Doing so twice is the same as once.
func (d *driver) Void(ctx context.Context, deal ship.Deal) (carrier.VoidResult, error) {
	number := deal.CarrierRef
	var a cancelAnswer
	err := d.pay(ctx, carrierkit.Call{
		Method: http.MethodDelete, URL: d.base + soldAs(deal).path("label/") + url.PathEscape(number), Effect: true,
	}, &a)
	switch {
	case refusedWith(err, codeAlreadyVoid, wordsAlreadyVoid):
		return carrier.VoidResult{State: ship.StateVoided}, nil
	case refusedWith(err, wordsRefundAlready):
		return carrier.VoidResult{State: ship.StateRefundPending}, nil
	case err != nil:
		return carrier.VoidResult{}, err
	case a.TrackingNumber != "" && ship.NormalizeTrackingNumber(a.TrackingNumber) != number:
		return carrier.VoidResult{}, ship.Errorf(ship.Uncertain, "the carrier answered about another label")
	}
	switch a.Status {
	case "CANCELED":
		return carrier.VoidResult{State: ship.StateVoided}, nil
	case "DISPUTED":
		return carrier.VoidResult{State: ship.StateRefundPending}, nil
	}
	return carrier.VoidResult{}, ship.Errorf(ship.Uncertain, "the carrier did not say whether the label is void")
}

// soldAs is the service of a deal. One that is not known any more is told by
// its number: those of parcels abroad end in "US".
func soldAs(d ship.Deal) service {
	if s, ok := serviceBy(func(s service) bool { return s.code == d.Service }); ok {
		return s
	}
	return service{abroad: strings.HasSuffix(d.CarrierRef, "US")}
}
