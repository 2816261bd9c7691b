package fedex

import (
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
)

// zoneOf is the time zone of a scan's place, if there can be no other.
func zoneOf(p scanPlace) (*time.Location, bool) {
	return carrierkit.Place{
		Country: p.Country,
		State:   p.State,
		City:    p.City,
	}.Zone()
}

// earliest is before FedEx had this interface; a scan before it has no date.
var earliest = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// ahead is how far a scan may be in the future: the wall clocks of the world
// and those that are wrong a little.
const ahead = 48 * time.Hour

// scanTime reads when something was scanned. Most scans have an offset. One
// that has none is put into the zone of its place; where that is not certain,
// or FedEx tells the day alone, which it writes as midnight, the wall clock is
// read as UTC and zoned is false.
func scanTime(s string, at scanPlace, now time.Time) (t time.Time, zoned, ok bool) {
	t, zoned, ok = readTime(strings.TrimSpace(s))
	if ok && !zoned && !isDay(t) {
		if zone, certain := zoneOf(at); certain {
			t, zoned = time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, zone), true
		}
	}
	if !ok || t.Before(earliest) || t.After(now.Add(ahead)) {
		return time.Time{}, false, false
	}
	return t.UTC(), zoned, true
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

// isDay reports whether a moment means a day: FedEx writes those as midnight.
func isDay(t time.Time) bool {
	h, m, s := t.Clock()
	return h == 0 && m == 0 && s == 0
}

// estimateTime reads when a parcel is to be delivered. Midnight, which FedEx
// writes in its own zone, means a day, and a day lasts until its end where the
// parcel goes; a time without an offset is that place's, kept as if in UTC.
func estimateTime(s string) (time.Time, bool) {
	t, _, ok := readTime(strings.TrimSpace(s))
	if !ok || t.Before(earliest) {
		return time.Time{}, false
	}
	if isDay(t) {
		return time.Date(t.Year(), t.Month(), t.Day(), 23, 59, 0, 0, time.UTC), true
	}
	return t.UTC(), true
}
