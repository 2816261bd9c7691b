package gls

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// trackBatch is how many numbers GLS takes in a call.
const trackBatch = 10

// Track returns what GLS knows of parcels, by their numbers or track ids.
func (d *driver) Track(ctx context.Context, numbers []string) ([]carrier.TrackingUpdate, error) {
	numbers = slices.DeleteFunc(slices.Clone(numbers), func(number string) bool { return !isPlausibleNumber(number) })

	var all []carrier.TrackingUpdate
	for batch := range slices.Chunk(numbers, trackBatch) {
		parcels, err := d.fetchParcels(ctx, batch)
		if ship.KindOf(err) == ship.NotFound {
			continue // none of the numbers is known yet
		}
		if err != nil {
			return nil, err
		}
		for _, parcel := range parcels {
			all = append(all, parcel.updates(batch, time.Now())...)
		}
	}
	return all, nil
}

// fetchParcels asks for up to ten parcels, by their numbers or track ids, none of
// which needs to be escaped.
func (d *driver) fetchParcels(ctx context.Context, numbers []string) ([]trackedParcel, error) {
	var answer trackAnswer
	err := d.call(ctx, carrierkit.Call{
		Method: http.MethodGet,
		URL:    d.base + trackingPath + "/tracking/simple/trackids/" + strings.Join(numbers, ",") + "?showEvents=true",
	}, &answer)
	if err != nil {
		return nil, lookupError(err)
	}
	if answer.Parcels == nil {
		return nil, ship.Errorf(ship.Unavailable, "GLS sent no tracking results")
	}
	return answer.Parcels, nil
}

// isPlausibleNumber reports whether GLS may know a number: one that it cannot read
// may make it refuse the others, and a comma would be two.
func isPlausibleNumber(number string) bool {
	const longest = 35
	return number != "" && len(number) <= longest &&
		strings.Trim(number, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_") == ""
}

// updates returns the scans of a parcel, if it was asked for: one for each event,
// and one for the status of the parcel, unless an event of the same time says the
// same. A scan's code does not depend on whether it is the latest: the same event
// would be another scan once a later one follows.
func (p trackedParcel) updates(requested []string, now time.Time) []carrier.TrackingUpdate {
	if p.ErrorCode != "" || !slices.Contains(requested, p.Requested) {
		return nil
	}

	var list []carrier.TrackingUpdate
	add := func(e trackedEvent) {
		scan, ok := e.scan(now)
		raw, err := json.Marshal(e)
		if !ok || err != nil {
			return
		}
		list = append(list, carrier.TrackingUpdate{
			TrackingNumber: p.Requested,
			Scan:           scan,
			Raw:            raw,
		})
	}

	current := trackedEvent{Code: p.Status, At: p.At}
	status, reason, _ := meaning(cleanCode(p.Status))
	isShown := false
	for _, event := range p.Events {
		add(event)
		if event.At != p.At {
			continue
		}
		// The latest event comes first.
		if current.Description == "" && current.City == "" {
			current.Description = event.Description
			current.City = event.City
			current.Country = event.Country
		}
		eventStatus, eventReason, ok := meaning(codeOf(event.Code, event.Description))
		isShown = isShown || ok && eventStatus == status && eventReason == reason
	}
	if !isShown {
		add(current)
	}
	return list
}
