package fedex

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

const (
	trackPath = "/track/v1/trackingnumbers"

	// trackBatch is how many numbers FedEx takes in a call.
	//
	// fact: track-batch
	trackBatch = 30

	// delivered is the event after which a parcel's tracking state is final.
	delivered = "DL"
)

// Track returns what FedEx knows of the numbers, thirty in a call.
func (d *driver) Track(ctx context.Context, numbers []string) ([]carrier.TrackingUpdate, error) {
	var all []carrier.TrackingUpdate
	plausible := slices.DeleteFunc(slices.Clone(numbers), func(n string) bool { return !isPlausibleNumber(n) })
	for batch := range slices.Chunk(plausible, trackBatch) {
		updates, err := d.trackNumbers(ctx, batch)
		if err != nil {
			return nil, err
		}
		all = append(all, updates...)
	}
	return all, nil
}

func (d *driver) trackNumbers(ctx context.Context, numbers []string) ([]carrier.TrackingUpdate, error) {
	request := trackRequest{Detailed: true}
	for _, number := range numbers {
		request.Info = append(request.Info, trackInfo{trackNumber{number}})
	}

	var raw json.RawMessage
	call := carrierkit.Call{Method: http.MethodPost, URL: d.base + trackPath, Body: request}
	if err := d.call(ctx, d.track, call, &raw); err != nil {
		return nil, ignoreUnknown(err)
	}
	answer, ok := decodeAnswer(raw)
	if !ok {
		return nil, ship.Errorf(ship.Unavailable, "FedEx sent no tracking results")
	}

	var updates []carrier.TrackingUpdate
	for _, result := range answer.Output.Results {
		number := ""
		if slices.Contains(numbers, result.TrackingNumber) {
			number = result.TrackingNumber // as requested, even if FedEx returns a longer form
		}
		updates = append(updates, result.updates(number, time.Now())...)
	}
	if fault, failed := answer.failure(); failed && len(updates) == 0 {
		return nil, &ship.Error{
			Kind:    ship.Unavailable,
			Message: "FedEx could not look up the tracking numbers",
			Refusal: ship.Refusal{Code: fault.Code, Message: fault.Message},
		}
	}
	return updates, nil
}

// isPlausibleNumber reports whether FedEx may know a number: one that it cannot
// read may make it refuse the whole request.
func isPlausibleNumber(number string) bool {
	const longest = 40
	return number != "" && len(number) <= longest && !strings.ContainsFunc(number, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

// ignoreUnknown drops a refusal which says that the numbers are unknown: there
// is nothing to report yet.
func ignoreUnknown(err error) error {
	refused, ok := errors.AsType[*ship.Error](err)
	if ok && (refused.Kind == ship.NotFound || refused.Kind == ship.Invalid) && isAbsent(refused.Refusal.Code) {
		return nil
	}
	return err
}

// decodeAnswer decodes an answer, and reports whether it is about parcels.
func decodeAnswer(data []byte) (answer trackAnswer, ok bool) {
	return answer, decodeLeniently(data, &answer) && (answer.Output.Results != nil || answer.Output.Errors != nil)
}

// failure returns why FedEx could not look numbers up, if it was for another
// reason than the numbers.
func (a *trackAnswer) failure() (fault, bool) {
	faults := a.Output.Errors
	for _, result := range a.Output.Results {
		for _, history := range result.Histories {
			faults = append(faults, history.Error)
		}
	}
	for _, failed := range faults {
		if failed.Code != "" && !strings.HasPrefix(failed.Code, "TRACKING.") {
			return failed, true
		}
	}
	return fault{}, false
}

// updates returns what became of the parcel that has the number now. If number
// is empty, it is the parcel's own.
func (r *completeResult) updates(number string, now time.Time) []carrier.TrackingUpdate {
	history := r.current(now)
	if history == nil {
		return nil
	}

	number = cmp.Or(number, history.Number.TrackingNumber, r.TrackingNumber)
	estimate := history.estimate()
	var list []carrier.TrackingUpdate
	add := func(scan ship.Scan, raw json.RawMessage) {
		list = append(list, carrier.TrackingUpdate{
			TrackingNumber: number,
			Scan:           scan,
			EstimateAt:     estimate,
			Raw:            raw,
		})
	}

	hasDelivery := false
	isReturned := history.isReturned()
	for _, raw := range history.Scans {
		var event scanEvent
		if !decodeLeniently(raw, &event) {
			continue
		}
		event.isReturned = isReturned
		if scan, ok := event.scan(now); ok {
			hasDelivery = hasDelivery || cleanCode(event.Type) == delivered || scan.Status == ship.Delivered
			add(scan, raw)
		}
	}
	if scan, ok := history.delivery(now); ok && !hasDelivery {
		add(scan, history.Latest)
	}
	return list
}

// isReturned reports whether the parcel went back to its sender: FedEx then names
// the number of the way back. Its delivery is the one to the sender.
//
// fact: status-returned-number
func (s *parcelHistory) isReturned() bool {
	var additional struct {
		Identifiers []json.RawMessage `json:"packageIdentifiers"`
	}
	decodeLeniently(s.Additional, &additional)
	for _, raw := range additional.Identifiers {
		var listed struct {
			Type string `json:"type"`
		}
		if decodeLeniently(raw, &listed) && listed.Type == "RETURNED_TO_SHIPPER_TRACKING_NUMBER" {
			return true
		}
	}
	return false
}

// current returns the history of the parcel that has the number now: FedEx
// reuses numbers, and the parcel that was sent last is meant.
func (r *completeResult) current(now time.Time) *parcelHistory {
	var last *parcelHistory
	for i := range r.Histories {
		if history := &r.Histories[i]; last == nil || history.day(now) > last.day(now) {
			last = history
		}
	}
	return last
}

// day returns when the parcel was sent, as far as FedEx says; else when it was
// first scanned.
func (s *parcelHistory) day(now time.Time) string {
	for _, date := range s.Dates {
		if t, _, ok := readTime(date.At); ok && date.Type == "SHIP" {
			return t.Format(time.DateOnly)
		}
	}

	first := ""
	for _, raw := range s.Scans {
		var event scanEvent
		if !decodeLeniently(raw, &event) {
			continue
		}
		t, _, ok := scanTime(event.Date, event.Place, now)
		if day := t.Format(time.DateOnly); ok && (first == "" || day < first) {
			first = day
		}
	}
	return first
}

// estimate returns when FedEx expects to deliver; zero if it does not say.
func (s *parcelHistory) estimate() time.Time {
	texts := []string{s.Estimated.Window.Ends, s.Standard.Window.Ends}
	for _, kind := range []string{"ESTIMATED_DELIVERY", "COMMITMENT"} {
		for _, date := range s.Dates {
			if date.Type == kind {
				texts = append(texts, date.At)
			}
		}
	}

	for _, text := range texts {
		if t, ok := estimateTime(text); ok {
			return t
		}
	}
	return time.Time{}
}

// delivery returns the delivery as the summary of the history states it, for a
// parcel whose delivery scan is missing or unreadable.
func (s *parcelHistory) delivery(now time.Time) (ship.Scan, bool) {
	var latest latestStatus
	if len(s.Latest) == 0 || !decodeLeniently(s.Latest, &latest) || cleanCode(latest.Code) != delivered {
		return ship.Scan{}, false
	}

	for _, date := range s.Dates {
		if date.Type == "ACTUAL_DELIVERY" {
			event := scanEvent{
				Date:        date.At,
				Type:        delivered,
				Description: latest.Description,
				Place:       latest.Place,
				isReturned:  s.isReturned(),
			}
			return event.scan(now)
		}
	}
	return ship.Scan{}, false
}
