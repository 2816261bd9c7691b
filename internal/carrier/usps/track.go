package usps

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// trackBatch is how many numbers USPS takes in one request.
const trackBatch = 35

// Track asks for all numbers at once.
func (d *driver) Track(ctx context.Context, numbers []string) ([]carrier.TrackingUpdate, error) {
	requested := requestedNumbers(numbers)
	if len(requested) > trackBatch {
		return nil, ship.Errorf(ship.Invalid, "USPS accepts at most %d numbers per call", trackBatch)
	}
	if len(requested) == 0 {
		return nil, nil
	}

	body := make([]trackingRequest, 0, len(requested))
	for number := range requested {
		body = append(body, trackingRequest{number})
	}
	slices.SortFunc(body, func(a, b trackingRequest) int { return strings.Compare(a.TrackingNumber, b.TrackingNumber) })

	var answer json.RawMessage
	err := d.callWithScope(ctx, "tracking", d.via, carrierkit.Call{
		Method: http.MethodPost,
		URL:    d.base + "/tracking/v3r2/tracking",
		Body:   body,
	}, &answer)

	// USPS refuses the request for a single number that it knows nothing of; in
	// a list such a number has an error of its own.
	if len(body) == 1 && isUnknown(err) {
		return nil, nil
	}
	if forbidden, ok := errors.AsType[*ship.Error](err); ok && errors.Is(err, carrierkit.Status(http.StatusForbidden)) {
		explained := *forbidden
		explained.Message = "USPS shows only parcels of your own mailer ID"
		return nil, &explained
	}
	if err != nil {
		return nil, err
	}
	return decodeAnswer(requested, answer, time.Now())
}

// requestedNumbers returns the numbers as USPS is asked for them, and how the
// caller writes each. What cannot be a number of USPS is left out: with it in
// the request, the others would get no answer.
func requestedNumbers(numbers []string) map[string][]string {
	requested := make(map[string][]string, len(numbers))
	for _, number := range numbers {
		stored := withoutRouting(number)
		if isPlausibleNumber(stored) && !slices.Contains(requested[stored], number) {
			requested[stored] = append(requested[stored], number)
		}
	}
	return requested
}

// isPlausibleNumber reports whether USPS accepts the text as a number.
func isPlausibleNumber(number string) bool {
	return len(number) >= 10 && len(number) <= 34 && strings.Trim(number, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// isUnknown reports whether USPS says that it has nothing on the number.
func isUnknown(err error) bool {
	refused, ok := errors.AsType[*ship.Error](err)
	if !ok || refused.Kind != ship.Invalid && refused.Kind != ship.NotFound {
		return false
	}

	// USPS's list of errors gives this code a second meaning.
	code := refused.Refusal.Code
	if code == codeNotYet {
		return strings.Contains(strings.ToLower(refused.Refusal.Message), "status update is not yet available")
	}

	// All codes of unknown numbers begin alike. A 404 counts only with a code
	// of digits: that of the gateway, for a path that does not exist, has none
	// or one in words.
	isOfAPI := code != "" && strings.Trim(code, "0123456789") == ""
	return strings.HasPrefix(code, "1500") || refused.Kind == ship.NotFound && isOfAPI
}

// decodeAnswer reads the answer to the numbers: a list of results, or a single
// one. A result that is an error, or about another parcel, is ignored.
func decodeAnswer(requested map[string][]string, answer json.RawMessage, now time.Time) ([]carrier.TrackingUpdate, error) {
	results := listOf(answer)
	if results == nil {
		return nil, ship.Errorf(ship.Unavailable, "the carrier's answer could not be read")
	}

	var updates []carrier.TrackingUpdate
	isAnswer := len(results) == 0
	for _, raw := range results {
		var result trackingResult
		if !decodeLeniently(raw, &result) {
			continue
		}
		isAnswer = isAnswer || result.TrackingNumber != "" || len(result.TrackingEvents) > 0 || len(result.Error) > 0

		// A single result without a number can only be about the one that was
		// asked for.
		number := withoutRouting(string(result.TrackingNumber))
		if number == "" && len(requested) == 1 && len(results) == 1 {
			number = slices.Collect(maps.Keys(requested))[0]
		}
		for _, name := range requested[number] {
			updates = append(updates, result.updates(name, now)...)
		}
	}
	if !isAnswer {
		return nil, ship.Errorf(ship.Unavailable, "the carrier's response contains no tracking results")
	}
	return updates, nil
}

// updates returns the events of a result. One that cannot be read is left out
// and does not affect the others.
func (r trackingResult) updates(number string, now time.Time) []carrier.TrackingUpdate {
	events := listOf(r.TrackingEvents)
	estimate := r.estimate()

	list := make([]carrier.TrackingUpdate, 0, len(events))
	for _, raw := range events {
		var event trackingEvent
		if !decodeLeniently(raw, &event) {
			continue
		}
		if scan, ok := event.scan(now); ok {
			list = append(list, carrier.TrackingUpdate{
				TrackingNumber: number,
				Scan:           scan,
				EstimateAt:     estimate,
				Raw:            raw,
			})
		}
	}
	return list
}

// estimate returns the day of delivery that USPS predicts, else expects, else
// guarantees.
func (r trackingResult) estimate() time.Time {
	var expectation deliveryExpectation
	_ = decodeLeniently(r.Expectation, &expectation) // absent in the older answers

	for _, day := range []text{
		expectation.Predicted,
		r.PredictedDate,
		r.PredictedStamp,
		expectation.Expected,
		r.ExpectedStamp,
		r.ExpectedDate,
		expectation.Guaranteed,
		r.GuaranteedStamp,
	} {
		// The hour that USPS adds belongs to its promise, not to the predicted
		// day.
		if t, _, ok := readTime(string(day)); ok {
			return time.Date(t.Year(), t.Month(), t.Day(), deliveryHour, 0, 0, 0, time.UTC)
		}
	}
	return time.Time{}
}
