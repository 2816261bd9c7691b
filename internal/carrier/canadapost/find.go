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
// Canada Post's schema says that shipments can be looked up by request id, and
// not how the parameter is called. So the shipments of the days around the sale
// are listed and compared too. Nothing found proves that nothing was bought only
// if one of the two works: the parameter is understood, or the lists show request
// ids. Otherwise a second label could be bought, so a person decides.
func (d driver) Find(ctx context.Context, request carrier.BuyOrder) (ship.Sale, error) {
	queries := []url.Values{{"customerRequestId": {request.Reference}}}
	for _, day := range searchDays(request, time.Now()) {
		queries = append(queries, url.Values{"noManifest": {"true"}, "date": {day}})
	}

	isAccepted := false // the parameter, perhaps without being understood
	showsIDs := false
	for i, query := range queries {
		listed, err := d.list(ctx, query)
		switch {
		case err != nil && i == 0 && ship.KindOf(err) == ship.Invalid:
			continue // the parameter may have another name
		case err != nil:
			return ship.Sale{}, err
		}

		// A list of the day works if it shows the request ids of others. A look-up
		// by request id that shows those has ignored it.
		hasOthers := slices.ContainsFunc(listed, func(s soldShipment) bool { return s.RequestID != "" && s.RequestID != request.Reference })
		if i == 0 {
			isAccepted = !hasOthers
		} else {
			showsIDs = showsIDs || hasOthers
		}

		found := slices.DeleteFunc(listed, func(s soldShipment) bool { return s.RequestID != request.Reference || s.ID == "" })
		if len(found) > 0 {
			first := slices.MinFunc(found, func(x, y soldShipment) int { return strings.Compare(x.ID, y.ID) })
			return d.sale(ctx, first, request)
		}
	}

	isProof := showsIDs
	if !isProof && isAccepted {
		var err error
		if isProof, err = d.needsParameter(ctx); err != nil {
			return ship.Sale{}, err
		}
	}
	if !isProof {
		return ship.Sale{}, ship.Errorf(ship.Unavailable, "Canada Post does not show whether there is a shipment under the reference")
	}
	return ship.Sale{}, ship.Errorf(ship.NotFound, "Canada Post has no shipment under the reference")
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

// list returns the shipments that a query shows.
func (d driver) list(ctx context.Context, query url.Values) ([]soldShipment, error) {
	query.Set("provideShipmentInfo", "true")
	var answer shipments
	call := d.call(http.MethodGet, d.shipmentPath()+"?"+query.Encode(), mediaShipment)
	if err := call.Do(ctx, d.via, &answer); err != nil {
		return nil, explain(lookupError(err))
	}
	return answer.Shipments, nil
}

// searchDays returns the days on which the shipment may be listed: that of its
// sale and today, both in Ottawa, where Canada Post is, and the day of mailing.
func searchDays(request carrier.BuyOrder, now time.Time) []string {
	zone := carrierkit.Place{Country: home, State: "ON", City: "Ottawa"}.ClosestZone()
	days := []string{now.In(zone).Format(time.DateOnly)}
	add := func(day string) {
		if day != "" && !slices.Contains(days, day) {
			days = append(days, day)
		}
	}

	if request.Shipment != "" {
		add(request.Shipment.Raw().Time().In(zone).Format(time.DateOnly))
	}
	add(string(request.Order.ShipDate))
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
