package dhlexpress

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// Find looks for a shipment by our reference. What it returns proves the
// purchase but has neither label nor price: DHL gives these once.
func (d driver) Find(ctx context.Context, request carrier.BuyOrder) (ship.Sale, error) {
	from, to := searchRange(request, time.Now())
	query := url.Values{
		"shipmentReference":    {request.Reference},
		"shipperAccountNumber": {d.account},
		"dateRangeFrom":        {from.Format(time.DateOnly)},
		"dateRangeTo":          {to.Format(time.DateOnly)},
		"trackingView":         {"advance-shipment"}, // a parcel that nobody has scanned is shown too
		"levelOfDetail":        {"all"},
	}

	var answer trackingAnswer
	if err := d.call(http.MethodGet, "/tracking", query, "").Do(ctx, d.via, &answer); err != nil {
		return ship.Sale{}, lookupError(err)
	}

	// An answer without a list says nothing about the shipment. Taking it for
	// "not found" could buy a second label.
	if answer.Shipments == nil {
		return ship.Sale{}, ship.Errorf(ship.Unavailable, "DHL Express did not confirm whether the shipment exists")
	}

	found := slices.DeleteFunc(answer.Shipments, func(t tracked) bool { return !t.hasReference(request.Reference) })
	if len(found) == 0 {
		return ship.Sale{}, ship.Errorf(ship.NotFound, "DHL Express has no shipment under the reference")
	}
	slices.SortStableFunc(found, func(x, y tracked) int {
		return cmp.Or(cmp.Compare(x.ShipmentTimestamp, y.ShipmentTimestamp), cmp.Compare(x.ShipmentTrackingNumber, y.ShipmentTrackingNumber))
	})
	return found[0].sale(request), nil
}

// searchRange returns when the shipment can have been made or planned for. Days
// are DHL's own, so one is added on each side.
func searchRange(request carrier.BuyOrder, now time.Time) (from, to time.Time) {
	from = now.AddDate(0, 0, -30)
	if request.Shipment != "" {
		from = request.Shipment.Raw().Time()
	}

	to = now
	if planned := request.Order.ShipDate.Time(); planned.After(to) {
		to = planned
	}
	return from.AddDate(0, 0, -1), to.AddDate(0, 0, 1)
}

// lookupError accepts "not found" only as DHL's own answer. A proxy or a
// wrong address also answers 404, and taking that for DHL's would buy a second
// label.
func lookupError(err error) error {
	notFound, ok := errors.AsType[*ship.Error](err)
	if ok && notFound.Kind == ship.NotFound && notFound.Refusal.Message == "" {
		unsure := *notFound
		unsure.Kind = ship.Unavailable
		unsure.Message = "the response did not come from DHL Express; check the configured URL"
		return &unsure
	}
	return err
}

// hasReference reports whether the entry is a shipment under the reference.
func (t tracked) hasReference(ours string) bool {
	if t.ShipmentTrackingNumber == "" || t.Status != "" && t.Status != "Success" {
		return false
	}
	return len(t.ShipperReferences) == 0 || // which privacy rules may have emptied
		slices.ContainsFunc(t.ShipperReferences, func(r reference) bool { return r.Value == ours })
}

func (t tracked) sale(request carrier.BuyOrder) ship.Sale {
	found := ship.Sale{
		CarrierRef:     string(t.ShipmentTrackingNumber),
		TrackingNumber: string(t.ShipmentTrackingNumber),
		DeliveryAt:     localTime(t.EstimatedDeliveryDate, carrierkit.PlaceOf(request.Order.Destination).ClosestZone()),
	}

	parcels := len(request.Order.Parcels)
	if parcels > 1 && len(t.Pieces) == parcels {
		slices.SortStableFunc(t.Pieces, func(x, y trackedPiece) int { return cmp.Compare(x.Number, y.Number) })
		for _, piece := range t.Pieces {
			found.Pieces = append(found.Pieces, string(piece.TrackingNumber))
		}
	}
	return found
}
