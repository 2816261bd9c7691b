package royalmail

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// Track returns the history of each number. Royal Mail shows the history of one
// parcel per call; a call about many shows only the latest event of each.
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

// isPlausibleNumber reports whether Royal Mail may know a number: 13 characters of
// the barcode, or 21 of the item.
func isPlausibleNumber(number string) bool {
	const shortest, longest = 9, 27
	return len(number) >= shortest && len(number) <= longest && !strings.ContainsFunc(number, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z')
	})
}

func (d driver) trackOne(ctx context.Context, number string) ([]carrier.TrackingUpdate, error) {
	var answer eventsAnswer
	err := d.trackingCall("/"+url.PathEscape(number)+"/events").Do(ctx, d.via, &answer)
	if isUnscanned(err) {
		return nil, nil
	}
	if err != nil {
		return nil, explainTracking(err)
	}

	pieces, ok := answer.pieces()
	if !ok {
		return nil, ship.Errorf(ship.Unavailable, "Royal Mail sent no tracking results")
	}
	var list []carrier.TrackingUpdate
	for _, piece := range pieces {
		if piece.Number != number && piece.Summary.Barcode != number {
			continue
		}
		estimate := piece.estimate()
		for _, raw := range piece.Events {
			var event trackingEvent
			if json.Unmarshal(raw, &event) != nil {
				continue
			}
			if scan, ok := event.scan(time.Now()); ok {
				list = append(list, carrier.TrackingUpdate{
					TrackingNumber: number,
					Scan:           scan,
					EstimateAt:     estimate,
					Raw:            raw,
				})
			}
		}
	}
	return list, nil
}

// pieces returns the parcels of an answer: one object, or a list of them.
func (a eventsAnswer) pieces() (list []mailPiece, ok bool) {
	if strings.HasPrefix(strings.TrimSpace(string(a.MailPieces)), "[") {
		return list, json.Unmarshal(a.MailPieces, &list) == nil
	}
	var one mailPiece
	if json.Unmarshal(a.MailPieces, &one) != nil || one.Number == "" {
		return nil, false
	}
	return []mailPiece{one}, true
}

// unscanned are the codes for numbers that Royal Mail does not know yet, or that
// have no events.
var unscanned = []string{"E1142", "E1144", "E1145"}

func isUnscanned(err error) bool {
	failed, ok := errors.AsType[*ship.Error](err)
	if !ok || failed.Kind != ship.Invalid && failed.Kind != ship.NotFound {
		return false
	}
	return slices.Contains(unscanned, failed.Refusal.Code)
}
