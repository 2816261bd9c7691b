package canadapost

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// Find looks for a shipment by our reference, and fetches its label.
//
// Canada Post documents a look-up by request id. Nothing found proves that nothing
// was bought only if the parameter was understood: otherwise a second label could be
// bought, so a person decides. The lists of the days around the sale are only there
// to find it: Canada Post does not say how long they are.
func (d driver) Find(ctx context.Context, request carrier.BuyOrder) (ship.Sale, error) {
	listed, err := d.listByRequestID(ctx, request.Reference)
	isAccepted := err == nil
	if err != nil && ship.KindOf(err) != ship.Invalid {
		return ship.Sale{}, err
	}

	// A look-up that shows the shipments of others has ignored the parameter.
	if slices.ContainsFunc(listed, func(s soldShipment) bool { return s.RequestID != request.Reference }) {
		isAccepted = false
	}
	for _, day := range searchDays(request, time.Now()) {
		if isAccepted {
			break
		}
		answer, err := d.list(ctx, url.Values{"noManifest": {"true"}, "date": {day}})
		if err != nil {
			return ship.Sale{}, err
		}
		listed = append(listed, answer.Shipments...)
	}

	found := slices.DeleteFunc(listed, func(s soldShipment) bool { return s.RequestID != request.Reference || s.ID == "" })
	if len(found) > 0 {
		first := slices.MinFunc(found, func(x, y soldShipment) int { return strings.Compare(x.ID, y.ID) })
		return d.sale(ctx, first, request)
	}

	isProof := false
	if isAccepted {
		if isProof, err = d.needsParameter(ctx); err != nil {
			return ship.Sale{}, err
		}
	}
	if !isProof {
		return ship.Sale{}, ship.Errorf(ship.Unavailable, "Canada Post does not show whether there is a shipment under the reference")
	}
	return ship.Sale{}, ship.Errorf(ship.NotFound, "Canada Post has no shipment under the reference")
}

// maxFollowed is how many links of a look-up are followed. A request id has one
// shipment; a list of many has ignored it.
const maxFollowed = 4

// listByRequestID returns the shipments that a look-up by request id shows: rows, or
// links that are followed.
func (d driver) listByRequestID(ctx context.Context, id string) ([]soldShipment, error) {
	answer, err := d.list(ctx, url.Values{"requestId": {id}})
	if err != nil {
		return nil, err
	}
	listed := answer.Shipments
	for i, to := range answer.Links {
		if i == maxFollowed {
			break
		}
		path, err := pathOf(to)
		if err != nil {
			return nil, err
		}
		var shown shipmentInfo
		if err := d.call(http.MethodGet, path, mediaShipment).Do(ctx, d.via, &shown); err != nil {
			return nil, explain(lookupError(err))
		}
		listed = append(listed, shown.soldShipment)
	}
	return listed, nil
}

// needsParameter reports whether Canada Post refuses a list without a parameter. If
// it does, it has understood the one that it accepted: one that it did not know
// would have been ignored, and the list refused like this one.
func (d driver) needsParameter(ctx context.Context) (bool, error) {
	_, err := d.list(ctx, url.Values{})
	if ship.KindOf(err) == ship.Invalid {
		return true, nil
	}
	return false, err
}

// list returns what a query shows.
func (d driver) list(ctx context.Context, query url.Values) (shipments, error) {
	query.Set("provideShipmentInfo", "true")
	var answer shipments
	call := d.call(http.MethodGet, d.shipmentPath()+"?"+query.Encode(), mediaShipment)
	if err := call.Do(ctx, d.via, &answer); err != nil {
		return shipments{}, explain(lookupError(err))
	}
	return answer, nil
}

// compactDate is how look-ups write a day.
const compactDate = "20060102"

// searchDays returns the days on which the shipment may be listed: that of its
// sale and today, both in Ottawa, where Canada Post is, and the day of mailing.
func searchDays(request carrier.BuyOrder, now time.Time) []string {
	zone := carrierkit.Place{Country: home, State: "ON", City: "Ottawa"}.ClosestZone()
	days := []string{now.In(zone).Format(compactDate)}
	add := func(day string) {
		if day != "" && !slices.Contains(days, day) {
			days = append(days, day)
		}
	}

	if request.Shipment != "" {
		add(request.Shipment.Raw().Time().In(zone).Format(compactDate))
	}
	add(strings.ReplaceAll(string(request.Order.ShipDate), "-", ""))
	return days
}

// lookupError accepts "not found" only as Canada Post's own answer. A proxy or a
// wrong address also answers 404, and taking that for Canada Post's would buy a
// second label.
func lookupError(err error) error {
	notFound, ok := errors.AsType[*ship.Error](err)
	if ok && notFound.Kind == ship.NotFound {
		unsure := *notFound
		unsure.Kind = ship.Unavailable
		unsure.Message = "Canada Post did not list its shipments; check the configured URL"
		return &unsure
	}
	return err
}
