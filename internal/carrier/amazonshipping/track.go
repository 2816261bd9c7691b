package amazonshipping

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// Track returns what Amazon knows of the numbers, one call for each.
func (d *driver) Track(ctx context.Context, numbers []string) ([]carrier.TrackingUpdate, error) {
	var all []carrier.TrackingUpdate
	for _, number := range numbers {
		updates, err := d.trackOne(ctx, number)
		if err != nil {
			return nil, err
		}
		all = append(all, updates...)
	}
	return all, nil
}

func (d *driver) trackOne(ctx context.Context, number string) ([]carrier.TrackingUpdate, error) {
	query := url.Values{"trackingId": {number}, "carrierId": {d.carrierID}}
	var answer trackingAnswer
	err := d.do(ctx, carrierkit.Call{
		Method: http.MethodGet,
		URL:    d.base + "/shipping/v2/tracking?" + query.Encode(),
	}, &answer)

	switch {
	case ship.KindOf(err) == ship.NotFound && ship.ErrorOf(err).Refusal.Code != "":
		return nil, nil // the number is not known yet
	case ship.KindOf(err) == ship.NotFound:
		return nil, ship.Errorf(ship.Unavailable, "the response did not come from Amazon; check the configured URL")
	case err != nil:
		return nil, err
	case answer.Payload == nil:
		return nil, ship.Errorf(ship.Unavailable, "Amazon Shipping sent no tracking results")
	}

	var list []carrier.TrackingUpdate
	estimate := timeOf(answer.Payload.Promised).UTC()
	for _, raw := range answer.Payload.Events {
		var reported event
		if json.Unmarshal(raw, &reported) != nil {
			continue // an odd event costs itself alone
		}
		if scan, ok := reported.scan(time.Now()); ok {
			list = append(list, carrier.TrackingUpdate{
				TrackingNumber: number,
				Scan:           scan,
				EstimateAt:     estimate,
				Raw:            raw,
			})
		}
	}
	return list, nil
}
