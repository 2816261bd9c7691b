package fedex

import (
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// scan converts the event; not ok if it has no code or no time.
func (e *scanEvent) scan(now time.Time) (scan ship.Scan, ok bool) {
	at, zoned, ok := scanTime(e.Date, e.Place, now)
	code := e.scanCode()
	if !ok || code == "" {
		return ship.Scan{}, false
	}

	scan = ship.Scan{
		Code:        code,
		At:          at,
		ZoneUnknown: !zoned,
		Description: e.text(),
		Location:    e.Place.String(),
	}
	scan.Status, scan.Reason, _ = meaning(code)
	return scan, true
}

// scanTime reads when something was scanned. Most scans have an offset. One
// without is put into the zone of its place. Where that is not certain, or
// FedEx gives only the day, which it writes as midnight, the local time is read
// as UTC and zoned is false.
func scanTime(text string, at scanPlace, now time.Time) (t time.Time, zoned, ok bool) {
	t, zoned, ok = readTime(strings.TrimSpace(text))
	if ok && !zoned && !isDay(t) {
		if zone, certain := zoneOf(at); certain {
			t = time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, zone)
			zoned = true
		}
	}

	if !ok || t.Before(earliest) || t.After(now.Add(ahead)) {
		return time.Time{}, false, false
	}
	return t.UTC(), zoned, true
}

// zoneOf returns the time zone of a scan's place, if there can be no other.
func zoneOf(place scanPlace) (*time.Location, bool) {
	return carrierkit.Place{
		Country: place.Country,
		State:   place.State,
		City:    place.City,
	}.Zone()
}

// readTime reads a moment, and reports whether it has an offset.
func readTime(s string) (t time.Time, offset, ok bool) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05-0700", "2006-01-02T15:04-07:00"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true, true
		}
	}
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04", time.DateTime, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, false, true
		}
	}
	return time.Time{}, false, false
}

// earliest is a date before FedEx introduced this API; an earlier scan time is
// invalid.
var earliest = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// ahead is how far a scan may be in the future: it covers the time zones of the
// world and clocks that are slightly wrong.
const ahead = 48 * time.Hour

// isDay reports whether a moment means a day: FedEx writes those as midnight.
func isDay(t time.Time) bool {
	hour, minute, second := t.Clock()
	return hour == 0 && minute == 0 && second == 0
}

// estimateTime reads when a parcel is to be delivered. A time without an offset
// is local to the destination, and is kept as if in UTC.
func estimateTime(text string) (time.Time, bool) {
	t, _, ok := readTime(strings.TrimSpace(text))
	if !ok || t.Before(earliest) {
		return time.Time{}, false
	}

	// Midnight, which FedEx writes in its own zone, means a day, and a day lasts
	// until its end at the destination.
	if isDay(t) {
		return time.Date(t.Year(), t.Month(), t.Day(), 23, 59, 0, 0, time.UTC), true
	}
	return t.UTC(), true
}

// text returns the description of the event, with the exception if there is
// one.
func (e *scanEvent) text() string {
	text := strings.TrimSpace(e.Description)
	if text == "" {
		text = strings.TrimSpace(e.DerivedText)
	}

	exception := strings.TrimSpace(e.ExceptionText)
	switch {
	case exception == "" || strings.EqualFold(exception, text):
		return text
	case text == "":
		return exception
	}
	return text + ": " + exception
}

// String returns the place as it is shown: "MEMPHIS, TN, US".
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
