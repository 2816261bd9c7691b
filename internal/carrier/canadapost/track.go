package canadapost

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

// Track returns what Canada Post knows of the numbers, one call for each.
func (d driver) Track(ctx context.Context, numbers []string) ([]carrier.TrackingUpdate, error) {
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

func (d driver) trackOne(ctx context.Context, number string) ([]carrier.TrackingUpdate, error) {
	var answer trackingDetail
	call := d.call(http.MethodGet, "/vis/track/pin/"+url.PathEscape(number)+"/detail", mediaTrack)
	err := call.Do(ctx, d.via, &answer)
	switch {
	case ship.KindOf(err) == ship.NotFound && ship.ErrorOf(err).Refusal.Code != "":
		return nil, nil // the number is not known yet
	case ship.KindOf(err) == ship.NotFound:
		return nil, ship.Errorf(ship.Unavailable, "the response did not come from Canada Post; check the configured URL")
	case err != nil:
		return nil, explain(err)
	}

	switch answer.XMLName.Local {
	case "messages":
		return nil, nil // "no pin history", which Canada Post also says with status 200
	case "tracking-detail":
		return answer.updates(number, time.Now()), nil
	}
	return nil, ship.Errorf(ship.Unavailable, "Canada Post sent no tracking results")
}

// updates returns the scans, newest first as Canada Post sends them.
func (t trackingDetail) updates(number string, now time.Time) []carrier.TrackingUpdate {
	var list []carrier.TrackingUpdate
	estimate := t.estimate()
	for _, event := range t.Events {
		scan, ok := event.scan(now)
		if !ok {
			continue
		}
		raw, err := json.Marshal(event)
		if err != nil {
			continue
		}
		list = append(list, carrier.TrackingUpdate{
			TrackingNumber: number,
			Scan:           scan,
			EstimateAt:     estimate,
			Raw:            raw,
		})
	}
	return list
}

// estimate returns the end of the day of delivery at the destination, of which
// Canada Post shows the postal code.
func (t trackingDetail) estimate() time.Time {
	place := carrierkit.Place{Country: home, State: provinceOf(t.Zip)}
	for _, day := range []string{t.Changed, t.Estimate} {
		if at := endOfDay(day, place.ClosestZone()); !at.IsZero() {
			return at.UTC()
		}
	}
	return time.Time{}
}
