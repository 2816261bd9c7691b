package dhlparcelde

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

// searchDays is how far back a purchase is looked for.
const searchDays = 14

// Find looks for a shipment by our reference in tracking, the only API of DHL that
// has a search, and fetches its label again. Tracking gets a shipment late: that it
// is missing there soon after its sale proves nothing.
func (d *driver) Find(ctx context.Context, request carrier.BuyOrder) (ship.Sale, error) {
	if request.Order.IsReturn {
		return ship.Sale{}, ship.Errorf(ship.Unavailable, "DHL Parcel DE cannot look up returns over its API: see whether the returns overview of the business customer portal has one under the reference %s", request.Reference)
	}
	number, err := d.findNumber(ctx, request.Reference, time.Now())
	if err != nil {
		return ship.Sale{}, err
	}
	return d.fetchAgain(ctx, request, number)
}

// findNumber returns the number of the shipment with a reference. Only DHL's own
// statement that it has no data is ship.NotFound.
func (d *driver) findNumber(ctx context.Context, reference string, now time.Time) (string, error) {
	today := now.In(germany())
	answer, err := d.askTracking(ctx, trackRequest{
		// fact: find-reference, find-window
		Reference: reference,
		From:      today.AddDate(0, 0, -searchDays).Format(time.DateOnly),
		To:        today.Format(time.DateOnly),
	})
	if ship.KindOf(err) == ship.NotFound {
		// Tracking never answers so about a shipment.
		return "", ship.Errorf(ship.Unavailable, "the response did not come from DHL Parcel DE; check the configured URL")
	}
	if err != nil {
		return "", err
	}
	if answer.Code == codeNoData {
		return "", ship.Errorf(ship.NotFound, "DHL Parcel DE has no shipment with the reference")
	}
	if answer.Code == codeNotYet {
		return "", ship.Errorf(ship.Unavailable, "DHL Parcel DE did not receive the data of the shipment yet")
	}
	shown, err := answer.pieces()
	if err != nil {
		return "", err
	}

	var numbers []string
	for _, piece := range shown {
		number := strings.TrimSpace(piece.Number)
		if piece.Reference == reference && number != "" && !slices.Contains(numbers, number) {
			numbers = append(numbers, number)
		}
	}
	switch len(numbers) {
	case 0:
		return "", ship.Errorf(ship.Unavailable, "DHL Parcel DE did not confirm whether the shipment exists")
	case 1:
		return numbers[0], nil
	}
	return "", ship.Errorf(ship.Unavailable, "DHL Parcel DE has several shipments with the reference: %s", strings.Join(numbers, ", "))
}

// fetchAgain returns a shipment that exists with its label. Whatever DHL answers, the
// purchase is not refused.
func (d *driver) fetchAgain(ctx context.Context, request carrier.BuyOrder, number string) (ship.Sale, error) {
	query := labelQuery(request.Order.LabelFormat)
	query.Set("shipment", number)
	var answer orderAnswer
	err := d.call(ctx, carrierkit.Call{
		Method: http.MethodGet,
		URL:    d.address(shippingPath+"/orders", query),
	}, &answer)
	if kind := ship.KindOf(err); kind == ship.NotFound || kind == ship.Invalid {
		return ship.Sale{}, ship.Errorf(ship.Unavailable, "DHL Parcel DE has the shipment %s and does not show its label any more, which it does until the end of the ship date", number)
	}
	if err != nil {
		return ship.Sale{}, err
	}

	found, err := answer.sale(request, nil)
	if failed, ok := errors.AsType[*ship.Error](err); ok {
		unready := *failed
		unready.Kind = ship.Unavailable
		return ship.Sale{}, &unready
	}
	if err == nil && found.TrackingNumber != number {
		return ship.Sale{}, ship.Errorf(ship.Unavailable, "DHL Parcel DE answered with a different shipment than %s", number)
	}
	return found, err
}

// labelQuery says in which form labels are wanted.
// fact: label-parameters
func labelQuery(format string) url.Values {
	query := url.Values{
		"includeDocs": {"include"},
		"docFormat":   {"PDF"},
		"printFormat": {labelSize},
	}
	if format == "zpl" {
		query.Set("docFormat", "ZPL2")
	}
	return query
}
