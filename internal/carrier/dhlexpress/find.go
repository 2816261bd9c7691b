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
func (d driver) Find(ctx context.Context, b carrier.BuyOrder) (ship.Purchase, error) {
	from, to := searchRange(b, time.Now())
	query := url.Values{
		"shipmentReference":    {b.Reference},
		"shipperAccountNumber": {d.account},
		"dateRangeFrom":        {from.Format(time.DateOnly)},
		"dateRangeTo":          {to.Format(time.DateOnly)},
		"trackingView":         {"advance-shipment"}, // a parcel that nobody has scanned is shown too
		"levelOfDetail":        {"all"},
	}
	var a trackingAnswer
	if err := d.call(http.MethodGet, "/tracking", query, "").Do(ctx, d.via, &a); err != nil {
		return ship.Purchase{}, absence(err)
	}
	if a.Shipments == nil {
		return ship.Purchase{}, ship.Errorf(ship.Unavailable, "DHL Express did not say whether there is a shipment")
	}
	found := slices.DeleteFunc(a.Shipments, func(t tracked) bool { return !t.is(b.Reference) })
	if len(found) == 0 {
		return ship.Purchase{}, ship.Errorf(ship.NotFound, "DHL Express has no shipment under the reference")
	}
	slices.SortStableFunc(found, func(x, y tracked) int {
		return cmp.Or(cmp.Compare(x.ShipmentTimestamp, y.ShipmentTimestamp), cmp.Compare(x.ShipmentTrackingNumber, y.ShipmentTrackingNumber))
	})
	return found[0].purchase(b), nil
}

// searchRange is when the shipment can have been made or planned for. Days are
// DHL's own, so there is one to spare on each side.
func searchRange(b carrier.BuyOrder, now time.Time) (from, to time.Time) {
	from, to = now.AddDate(0, 0, -30), now
	if b.Shipment != "" {
		from = b.Shipment.Raw().Time()
	}
	if planned := b.Order.ShipDate.Time(); planned.After(to) {
		to = planned
	}
	return from.AddDate(0, 0, -1), to.AddDate(0, 0, 1)
}

// absence makes sure that "not found" is DHL's own word: a proxy or a wrong
// address also answers 404, and to believe it is to buy twice.
func absence(err error) error {
	e, ok := errors.AsType[*ship.Error](err)
	if ok && e.Kind == ship.NotFound && e.Refusal.Message == "" {
		unsure := *e
		unsure.Kind, unsure.Message = ship.Unavailable, "the answer did not come from DHL Express"
		return &unsure
	}
	return err
}

// is reports whether the line is a shipment under the reference.
func (t tracked) is(ours string) bool {
	if t.ShipmentTrackingNumber == "" || t.Status != "" && t.Status != "Success" {
		return false
	}
	return len(t.ShipperReferences) == 0 || // which privacy rules may have emptied
		slices.ContainsFunc(t.ShipperReferences, func(r reference) bool { return r.Value == ours })
}

func (t tracked) purchase(b carrier.BuyOrder) ship.Purchase {
	p := ship.Purchase{
		CarrierRef: string(t.ShipmentTrackingNumber), TrackingNumber: string(t.ShipmentTrackingNumber),
		DeliveryAt: localTime(t.EstimatedDeliveryDate, carrierkit.PlaceOf(b.Order.Destination).ClosestZone()),
	}
	if len(b.Order.Parcels) > 1 && len(t.Pieces) == len(b.Order.Parcels) {
		slices.SortStableFunc(t.Pieces, func(x, y trackedPiece) int { return cmp.Compare(x.Number, y.Number) })
		for _, piece := range t.Pieces {
			p.Pieces = append(p.Pieces, string(piece.TrackingNumber))
		}
	}
	return p
}
