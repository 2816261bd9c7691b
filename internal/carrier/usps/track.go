package usps

import (
	"bytes"
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
func (d *driver) Track(ctx context.Context, numbers []string) ([]carrier.Heard, error) {
	asked := askedAs(numbers)
	if len(asked) > trackBatch {
		return nil, ship.Errorf(ship.Invalid, "USPS takes at most %d numbers at once", trackBatch)
	}
	body := make([]trackingRequest, 0, len(asked))
	for number := range asked {
		body = append(body, trackingRequest{number})
	}
	if len(body) == 0 {
		return nil, nil
	}
	slices.SortFunc(body, func(a, b trackingRequest) int { return strings.Compare(a.TrackingNumber, b.TrackingNumber) })
	var answer json.RawMessage
	err := d.askWith(ctx, "tracking", d.via, carrierkit.Call{
		Method: http.MethodPost, URL: d.base + "/tracking/v3r2/tracking", Body: body,
	}, &answer)
	if len(body) == 1 && isUnknown(err) {
		return nil, nil
	}
	if e, ok := errors.AsType[*ship.Error](err); ok && errors.Is(err, carrierkit.Status(http.StatusForbidden)) {
		refused := *e
		refused.Message = "USPS shows only parcels of your own mailer ID"
		return nil, &refused
	}
	if err != nil {
		return nil, err
	}
	return hearAnswer(asked, answer, time.Now())
}

// askedAs are the numbers as USPS is asked for them, and how the caller writes
// each. What cannot be a number of USPS is not asked: it would cost the others
// their answer.
func askedAs(numbers []string) map[string][]string {
	asked := make(map[string][]string, len(numbers))
	for _, number := range numbers {
		if n := bare(number); isNumber(n) && !slices.Contains(asked[n], number) {
			asked[n] = append(asked[n], number)
		}
	}
	return asked
}

// isNumber reports whether USPS takes it for a number at all.
func isNumber(n string) bool {
	return len(n) >= 10 && len(n) <= 34 && strings.Trim(n, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// bare is a number as it is stored: without "420" and the ZIP code that the
// barcode puts before it. After them 22 or 26 digits begin with a 9; of the 34
// that may be either, the one whose check digit is right.
func bare(number string) string {
	n := ship.NormalizeTrackingNumber(number)
	if !strings.HasPrefix(n, "420") || strings.Trim(n, "0123456789") != "" {
		return n
	}
	for _, length := range []int{22, 26} {
		if zip := len(n) - len("420") - length; zip != 5 && zip != 9 {
			continue
		}
		own := n[len(n)-length:]
		if own[0] == '9' && own[length-1] == ship.GS1CheckDigit(own[:length-1]) {
			return own
		}
	}
	return n
}

// isUnknown reports whether USPS says that it has nothing on the number. All of
// its codes for that begin alike. A path that is not there has no code.
func isUnknown(err error) bool {
	e, ok := errors.AsType[*ship.Error](err)
	if !ok || e.Kind != ship.Invalid && e.Kind != ship.NotFound {
		return false
	}
	if e.Refusal.Code == codeNotYet {
		// The list of errors gives this code another sense too.
		return strings.Contains(strings.ToLower(e.Refusal.Message), "status update is not yet available")
	}
	// The gateway has codes too, in words, for paths that are not there.
	ofAPI := e.Refusal.Code != "" && strings.Trim(e.Refusal.Code, "0123456789") == ""
	return strings.HasPrefix(e.Refusal.Code, "1500") || e.Kind == ship.NotFound && ofAPI
}

// hearAnswer reads the answer to the numbers: a list of results, or one alone.
// A result that is an error, or about another parcel, says nothing.
func hearAnswer(asked map[string][]string, answer json.RawMessage, now time.Time) ([]carrier.Heard, error) {
	results := listOf(answer)
	if results == nil {
		return nil, ship.Errorf(ship.Unavailable, "the carrier's answer could not be read")
	}
	var heard []carrier.Heard
	said := len(results) == 0
	for _, raw := range results {
		var r trackingResult
		if !lenient(raw, &r) {
			continue
		}
		said = said || r.TrackingNumber != "" || len(r.TrackingEvents) > 0 || len(r.Error) > 0
		number := bare(string(r.TrackingNumber))
		if number == "" && len(asked) == 1 && len(results) == 1 {
			number = slices.Collect(maps.Keys(asked))[0]
		}
		for _, name := range asked[number] {
			heard = append(heard, r.heard(name, now)...)
		}
	}
	if !said {
		return nil, ship.Errorf(ship.Unavailable, "the carrier answered about something else than parcels")
	}
	return heard, nil
}

// heard are the events of a result. One that cannot be read costs no other.
func (r trackingResult) heard(number string, now time.Time) []carrier.Heard {
	events, estimate := listOf(r.TrackingEvents), r.estimate()
	list := make([]carrier.Heard, 0, len(events))
	for _, raw := range events {
		var e trackingEvent
		if !lenient(raw, &e) {
			continue
		}
		if scan, ok := e.scan(now); ok {
			list = append(list, carrier.Heard{TrackingNumber: number, Scan: scan, EstimateAt: estimate, Raw: raw})
		}
	}
	return list
}

// scan is the event in our words.
func (e trackingEvent) scan(now time.Time) (ship.Scan, bool) {
	at, zoneUnknown, ok := e.at(now)
	code := codeOf(string(e.EventCode), string(e.EventType))
	if !ok || code == "" {
		return ship.Scan{}, false
	}
	s := ship.Scan{Code: code, At: at, ZoneUnknown: zoneUnknown, Description: bounded(plain(string(e.EventType))), Location: e.place()}
	s.Status, s.Reason, _ = meaning(code)
	return s, true
}

// estimate is the day of delivery that USPS predicts, else expects, else
// guarantees. The hours that it adds are those of its promise, not of the day.
func (r trackingResult) estimate() time.Time {
	var x deliveryExpectation
	_ = lenient(r.Expectation, &x) // absent in the older answers
	for _, day := range []text{
		x.Predicted, r.PredictedDate, r.PredictedStamp, x.Expected, r.ExpectedStamp, r.ExpectedDate, x.Guaranteed, r.GuaranteedStamp,
	} {
		if t, _, ok := readTime(string(day)); ok {
			return time.Date(t.Year(), t.Month(), t.Day(), deliveryHour, 0, 0, 0, time.UTC)
		}
	}
	return time.Time{}
}

// listOf are the members of a list, or the one object that stands in its place;
// nil if it is neither.
func listOf(raw json.RawMessage) []json.RawMessage {
	raw = bytes.TrimSpace(raw)
	if len(raw) > 0 && raw[0] == '{' {
		return []json.RawMessage{raw}
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	return list
}

// lenient decodes an object. Members of another type than the expected one are
// left out.
func lenient(raw json.RawMessage, into any) bool {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '{' {
		return false
	}
	err := json.Unmarshal(raw, into)
	_, odd := errors.AsType[*json.UnmarshalTypeError](err)
	return err == nil || odd
}
