package postnl

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// Find looks for a parcel by our reference and makes its label again for the same
// barcode, without announcing the parcel a second time.
func (d driver) Find(ctx context.Context, request carrier.BuyOrder) (ship.Sale, error) {
	found, err := d.findShipment(ctx, request.Reference)
	if err != nil {
		return ship.Sale{}, err
	}
	sent, _, err := d.prepare(ctx, request, time.Now())
	if err != nil {
		return ship.Sale{}, ship.Errorf(ship.Unavailable, "PostNL has the parcel, and its label cannot be requested again: %w", err)
	}
	sent.Shipments[0].Barcode = found.Barcode

	call := d.call(http.MethodPost, labelPath, url.Values{"confirm": {"false"}})
	call.Body = sent
	var answer labelAnswer
	if err := call.Do(ctx, d.via, &answer); err != nil {
		return ship.Sale{}, explainLabel(err)
	}
	if refused := answer.refusal(); refused != nil {
		return ship.Sale{}, explainLabel(refused)
	}
	label, ok := answer.labelOf(found.Barcode)
	if !ok {
		return ship.Sale{}, ship.Errorf(ship.Unavailable, "PostNL has the parcel and did not send its label")
	}
	return ship.Sale{CarrierRef: found.Barcode, TrackingNumber: found.Barcode, Label: label}, nil
}

// findShipment asks for the parcel under a reference. Only PostNL's own statement
// that there is none is ship.NotFound.
func (d driver) findShipment(ctx context.Context, reference string) (statusShipment, error) {
	query := url.Values{
		"customerCode":   {d.customerCode},
		"customerNumber": {d.customerNumber},
		"detail":         {"false"},
		"language":       {"EN"},
	}
	var answer statusAnswer
	err := d.call(http.MethodGet, "/shipment/v2/status/reference/"+url.PathEscape(reference), query).Do(ctx, d.via, &answer)
	if err != nil {
		return statusShipment{}, explainStatus(err)
	}

	found, ok := answer.shipment()
	switch {
	case ok && string(found.Reference) == reference && anyBarcode.MatchString(found.Barcode):
		return found, nil
	case !ok && answer.saysUnknown():
		return statusShipment{}, ship.Errorf(ship.NotFound, "PostNL has no parcel under the reference")
	}
	return statusShipment{}, ship.Errorf(ship.Unavailable, "PostNL did not confirm whether the parcel exists")
}
