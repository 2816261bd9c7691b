package postnl

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// Track returns the statuses of each parcel, the present one and the old ones.
func (d driver) Track(ctx context.Context, numbers []string) ([]carrier.TrackingUpdate, error) {
	var all []carrier.TrackingUpdate
	for _, number := range numbers {
		if !isPlausibleNumber(number) {
			continue
		}
		updates, err := d.trackOne(ctx, number)
		if err != nil {
			return nil, err
		}
		all = append(all, updates...)
	}
	return all, nil
}

// isPlausibleNumber reports whether PostNL may know a number.
func isPlausibleNumber(number string) bool {
	const shortest, longest = 9, 27
	return len(number) >= shortest && len(number) <= longest && !strings.ContainsFunc(number, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z')
	})
}

func (d driver) trackOne(ctx context.Context, number string) ([]carrier.TrackingUpdate, error) {
	query := url.Values{"detail": {"true"}, "language": {"EN"}}
	var answer statusAnswer
	err := d.call(http.MethodGet, "/shipment/v2/status/barcode/"+url.PathEscape(number), query).Do(ctx, d.via, &answer)
	if err != nil {
		return nil, explainStatus(err)
	}

	found, ok := answer.shipment()
	switch {
	case !ok && answer.saysUnknown():
		return nil, nil
	case !ok:
		return nil, ship.Errorf(ship.Unavailable, "PostNL sent no tracking results")
	case found.Barcode != number && found.MainBarcode != number:
		return nil, nil // another parcel's
	}

	var list []carrier.TrackingUpdate
	estimate := found.estimate()
	for _, raw := range append(listOf(found.OldStatus), listOf(found.Status)...) {
		var status parcelStatus
		if json.Unmarshal(raw, &status) != nil {
			continue
		}
		if scan, ok := status.scan(time.Now()); ok {
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

// listOf returns a list, or the one value where PostNL writes no list. An empty
// one is the text "{}".
func listOf(raw json.RawMessage) []json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		return list
	}
	if text := strings.TrimSpace(string(raw)); strings.HasPrefix(text, "{") && text != "{}" {
		return []json.RawMessage{raw}
	}
	return nil
}
