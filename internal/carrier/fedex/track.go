package fedex

import (
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
	trackBatch = 30

	// delivered is the event after which a parcel's way has ended.
	delivered = "DL"
)

// Track tells what FedEx knows of the numbers, thirty in a call.
func (d *driver) Track(ctx context.Context, numbers []string) ([]carrier.Heard, error) {
	var all []carrier.Heard
	asked := slices.DeleteFunc(slices.Clone(numbers), func(n string) bool { return !plausible(n) })
	for some := range slices.Chunk(asked, trackBatch) {
		heard, err := d.trackSome(ctx, some)
		if err != nil {
			return nil, err
		}
		all = append(all, heard...)
	}
	return all, nil
}

func (d *driver) trackSome(ctx context.Context, numbers []string) ([]carrier.Heard, error) {
	request := trackRequest{Detailed: true}
	for _, n := range numbers {
		request.Info = append(request.Info, trackInfo{trackNumber{n}})
	}
	var answer json.RawMessage
	call := carrierkit.Call{Method: http.MethodPost, URL: d.base + trackPath, Body: request}
	if err := d.call(ctx, d.track, call, &answer); err != nil {
		return nil, untracked(err)
	}
	told, ok := readAnswer(answer)
	if !ok {
		return nil, ship.Errorf(ship.Unavailable, "FedEx sent no answer to the numbers")
	}
	var heard []carrier.Heard
	for _, r := range told.Output.Results {
		number := ""
		if slices.Contains(numbers, r.TrackingNumber) {
			number = r.TrackingNumber // as it was asked, should FedEx know it by a longer one
		}
		heard = append(heard, r.heard(number, time.Now())...)
	}
	if f, bad := told.failure(); bad && len(heard) == 0 {
		return nil, &ship.Error{Kind: ship.Unavailable, Message: "FedEx could not look the numbers up", Refusal: ship.Refusal{Code: f.Code, Message: f.Message}}
	}
	return heard, nil
}

// plausible reports whether FedEx may know a number: one that it cannot even
// read may have it refuse the others.
func plausible(number string) bool {
	const longest = 40
	return number != "" && len(number) <= longest && !strings.ContainsFunc(number, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

// untracked makes a refusal that says that the numbers are unknown no refusal:
// there is nothing to tell.
func untracked(err error) error {
	e, ok := errors.AsType[*ship.Error](err)
	if ok && (e.Kind == ship.NotFound || e.Kind == ship.Invalid) && saysAbsent(e.Refusal.Code) {
		return nil
	}
	return err
}

// readAnswer reads what FedEx tells, and reports whether it tells of parcels.
func readAnswer(data []byte) (a trackAnswer, ok bool) {
	return a, readSome(data, &a) && (a.Output.Results != nil || a.Output.Errors != nil)
}

// failure is why FedEx could not look numbers up, if it was for another reason
// than the numbers.
func (a *trackAnswer) failure() (fault, bool) {
	faults := a.Output.Errors
	for _, r := range a.Output.Results {
		for _, s := range r.Stories {
			faults = append(faults, s.Error)
		}
	}
	for _, f := range faults {
		if f.Code != "" && !strings.HasPrefix(f.Code, "TRACKING.") {
			return f, true
		}
	}
	return fault{}, false
}

// heard is what became of the parcel that has the number now. If number is
// empty, it is the parcel's own.
func (r *completeResult) heard(number string, now time.Time) []carrier.Heard {
	s := r.current(now)
	if s == nil {
		return nil
	}
	for _, n := range []string{s.Number.TrackingNumber, r.TrackingNumber} {
		if number == "" {
			number = n
		}
	}
	estimate := s.estimate()
	var list []carrier.Heard
	arrived := false
	for _, raw := range s.Scans {
		var e scanEvent
		if !readSome(raw, &e) {
			continue
		}
		if scan, ok := e.scan(now); ok {
			arrived = arrived || scan.Status == ship.Delivered
			list = append(list, carrier.Heard{TrackingNumber: number, Scan: scan, EstimateAt: estimate, Raw: raw})
		}
	}
	if scan, ok := s.arrival(now); ok && !arrived {
		list = append(list, carrier.Heard{TrackingNumber: number, Scan: scan, EstimateAt: estimate, Raw: s.Latest})
	}
	return list
}

// current is the story of the parcel that has the number now: FedEx gives
// numbers again, and the one that was sent last is meant.
func (r *completeResult) current(now time.Time) *parcelStory {
	var last *parcelStory
	for i := range r.Stories {
		if s := &r.Stories[i]; last == nil || s.day(now) > last.day(now) {
			last = s
		}
	}
	return last
}

// day is when the parcel was sent, as far as FedEx says; else when it was
// scanned first.
func (s *parcelStory) day(now time.Time) string {
	for _, d := range s.Dates {
		if t, _, ok := readTime(d.At); ok && d.Type == "SHIP" {
			return t.Format(time.DateOnly)
		}
	}
	first := ""
	for _, raw := range s.Scans {
		var e scanEvent
		if readSome(raw, &e) {
			if t, _, ok := scanTime(e.Date, e.Place, now); ok && (first == "" || t.Format(time.DateOnly) < first) {
				first = t.Format(time.DateOnly)
			}
		}
	}
	return first
}

// estimate is when FedEx expects to deliver; zero if it does not say.
func (s *parcelStory) estimate() time.Time {
	said := []string{s.Estimated.Window.Ends, s.Standard.Window.Ends}
	for _, kind := range []string{"ESTIMATED_DELIVERY", "COMMITMENT"} {
		for _, d := range s.Dates {
			if d.Type == kind {
				said = append(said, d.At)
			}
		}
	}
	for _, text := range said {
		if t, ok := estimateTime(text); ok {
			return t
		}
	}
	return time.Time{}
}

// arrival is the delivery as the story's head tells it, for one whose scan is
// missing or unreadable.
func (s *parcelStory) arrival(now time.Time) (ship.Scan, bool) {
	var latest latestStatus
	if len(s.Latest) == 0 || !readSome(s.Latest, &latest) || cleanCode(latest.Code) != delivered {
		return ship.Scan{}, false
	}
	for _, d := range s.Dates {
		if d.Type == "ACTUAL_DELIVERY" {
			e := scanEvent{Date: d.At, Type: delivered, Description: latest.Description, Place: latest.Place}
			return e.scan(now)
		}
	}
	return ship.Scan{}, false
}

// scan is the event in our words; not ok if it says neither what nor when.
func (e *scanEvent) scan(now time.Time) (s ship.Scan, ok bool) {
	at, zoned, ok := scanTime(e.Date, e.Place, now)
	code := e.scanCode()
	if !ok || code == "" {
		return ship.Scan{}, false
	}
	s = ship.Scan{Code: code, At: at, ZoneUnknown: !zoned, Description: e.text(), Location: e.Place.String()}
	s.Status, s.Reason, _ = meaning(code)
	return s, true
}

// text is what FedEx says of the event, with the exception if there is one.
func (e *scanEvent) text() string {
	text := strings.TrimSpace(e.Description)
	if text == "" {
		text = strings.TrimSpace(e.DerivedText)
	}
	why := strings.TrimSpace(e.ExceptionText)
	switch {
	case why == "" || strings.EqualFold(why, text):
		return text
	case text == "":
		return why
	}
	return text + ": " + why
}

// String is the place as it is shown: "MEMPHIS, TN, US".
func (p scanPlace) String() string {
	city := strings.TrimSpace(p.City)
	if city == "" {
		return ""
	}
	for _, part := range []string{p.State, p.Country} {
		if part = strings.TrimSpace(part); part != "" {
			city += ", " + part
		}
	}
	return city
}
