package dhlexpress

import (
	"strings"
	"time"
)

// ahead is how far a scan may be in the future: the wall clocks of the world
// and those that are wrong a little.
const ahead = 48 * time.Hour

// earliest is before DHL had this interface; a scan before it has no date.
var earliest = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// moment is when the checkpoint was: its date and time where its offset, or
// else its country, says. Where neither does, or it has no time, the wall clock
// is read as UTC and zoned is false.
func (c *checkpoint) moment(now time.Time) (t time.Time, zoned, ok bool) {
	date, clock, both := strings.Cut(strings.TrimSpace(c.Date), "T") // some answers have both in one
	if !both {
		clock = strings.TrimSpace(c.Time)
	}
	if clock == "" {
		t, err := time.Parse(time.DateOnly, date)
		return t, false, err == nil && sane(t, now)
	}
	offset := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(c.GMTOffset), "GMT"))
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04"} {
		for _, zone := range []string{"Z07:00", "Z0700", "Z07"} {
			if t, err := time.Parse(layout+zone, date+"T"+clock+offset); err == nil {
				return t.UTC(), true, sane(t, now)
			}
		}
		in, certain := c.zone()
		if t, err := time.ParseInLocation(layout, date+"T"+clock, in); err == nil {
			return t.UTC(), certain, sane(t, now)
		}
	}
	return time.Time{}, false, false
}

// sane reports whether something can have been scanned then.
func sane(t, now time.Time) bool { return t.After(earliest) && t.Before(now.Add(ahead)) }

// zone is that of the checkpoint's place; UTC if that is not certain.
func (c *checkpoint) zone() (_ *time.Location, certain bool) {
	city, country := c.place()
	zone, ok := placeOf(country, "", city).Zone()
	if !ok {
		return time.UTC, false
	}
	return zone, true
}
