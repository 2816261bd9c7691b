package gls

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
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
		var answer trackAnswer
		err := d.call(ctx, carrierkit.Call{
			Method: http.MethodGet,
			URL:    d.base + trackingPath + "/tracking/simple/trackids/" + url.PathEscape(strings.Join(batch, ",")) + "?showEvents=true",
		}, &answer)
		if err = lookupError(err); ship.KindOf(err) == ship.NotFound {
			continue // none of the numbers is known yet
		}
		if err != nil {
			return nil, err
		}
		if answer.Parcels == nil {
			return nil, ship.Errorf(ship.Unavailable, "GLS sent no tracking results")
		}
		for _, parcel := range answer.Parcels {
			all = append(all, parcel.updates(batch, time.Now())...)
		}
	}
	return all, nil
}

// isPlausibleNumber reports whether GLS may know a number: one that it cannot read
// may make it refuse the others, and a comma would be two.
func isPlausibleNumber(number string) bool {
	const longest = 35
	return number != "" && len(number) <= longest &&
		strings.Trim(number, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_") == ""
}

// updates returns the scans of a parcel, if it was asked for. The status of the
// parcel is that of its latest event; it is a scan of its own if no event has its
// time.
func (p trackedParcel) updates(requested []string, now time.Time) []carrier.TrackingUpdate {
	if p.ErrorCode != "" || !slices.Contains(requested, p.Requested) {
		return nil
	}

	var list []carrier.TrackingUpdate
	add := func(e trackedEvent, status string) {
		scan, ok := e.scan(status, now)
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

	isShown := false
	for _, event := range p.Events {
		status := ""
		if event.At == p.At && !isShown {
			status = p.Status
			isShown = true
		}
		add(event, status)
	}
	if !isShown {
		add(trackedEvent{At: p.At}, p.Status)
	}
	return list
}
