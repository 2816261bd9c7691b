package ups

import (
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
)

// A moment is when something happened as UPS tells it: by the clocks of the
// place, which names no zone, and in better answers by those of Greenwich.
type moment struct {
	date, clock       string
	gmtDate, gmtClock string
	offset            string // of the local clock
	place             carrierkit.Place
}

// ahead is how far in the future a scan may be: the clocks of the world, and
// those that are wrong a little.
const ahead = 48 * time.Hour

// at is the moment in UTC. If the zone of the place is not known it is the wall
// clock read as UTC, and zoned is false. Of a date with an odd hour the day is
// kept.
func (m moment) at(now time.Time) (at time.Time, zoned, ok bool) {
	local, hasHour, hasDay := wallClock(m.date, m.clock)
	gmt, gmtHour, gmtDay := wallClock(m.gmtDate, m.gmtClock)
	switch {
	case gmtHour && (!hasHour || together(local, gmt)):
		at, zoned = gmt, true
	case hasDay:
		at, zoned = m.zoned(local)
	case gmtDay:
		at, zoned = gmt, true
	default:
		return time.Time{}, false, false
	}
	if at.After(now.Add(ahead)) {
		return time.Time{}, false, false
	}
	return at, zoned, true
}

// together reports whether a local clock and Greenwich can mean the same
// moment.
func together(local, gmt time.Time) bool {
	apart := local.Sub(gmt)
	return apart >= -12*time.Hour && apart <= 14*time.Hour
}

// zoned puts the wall clock into the world's time, by its offset or its place.
func (m moment) zoned(wall time.Time) (time.Time, bool) {
	if offset, ok := readOffset(m.offset); ok {
		return wall.Add(-offset), true
	}
	if zone, ok := m.place.Zone(); ok {
		h, min, s := wall.Clock()
		return time.Date(wall.Year(), wall.Month(), wall.Day(), h, min, s, 0, zone).UTC(), true
	}
	return wall, false
}

// wallClock reads "20261120" and "163000" as if in UTC. An hour may lack its
// first zero, or have colons; without one that can be read it is midnight.
func wallClock(date, clock string) (t time.Time, hasHour, hasDay bool) {
	t, err := time.Parse("20060102", strings.ReplaceAll(date, "-", ""))
	if err != nil || t.Year() < 2000 || t.Year() > 2100 {
		return time.Time{}, false, false
	}
	hour, ok := readHour(clock)
	return t.Add(hour), ok, true
}

// readHour reads "163000", "74700", "16:30:00" and "16:30".
func readHour(clock string) (time.Duration, bool) {
	if strings.Contains(clock, ":") {
		for _, layout := range []string{"15:04:05", "15:04"} {
			if t, err := time.Parse(layout, clock); err == nil {
				return t.Sub(t.Truncate(24 * time.Hour)), true
			}
		}
		return 0, false
	}
	if clock == "" || len(clock) > 6 {
		return 0, false
	}
	t, err := time.Parse("150405", "000000"[len(clock):]+clock)
	return t.Sub(t.Truncate(24 * time.Hour)), err == nil
}

// readOffset reads "-05:00", and "-04.00" as pushes write it.
func readOffset(s string) (time.Duration, bool) {
	if len(s) < 2 || s[0] != '+' && s[0] != '-' {
		return 0, false
	}
	hours, minutes, parted := strings.Cut(strings.ReplaceAll(s[1:], ".", ":"), ":")
	if !parted && len(hours) == 4 {
		hours, minutes = hours[:2], hours[2:]
	}
	h, err := strconv.ParseUint(hours, 10, 8)
	if err != nil || h > 14 {
		return 0, false
	}
	m, err := strconv.ParseUint("0"+minutes, 10, 8)
	if err != nil || m > 59 {
		return 0, false
	}
	offset := time.Duration(h)*time.Hour + time.Duration(m)*time.Minute
	if s[0] == '-' {
		return -offset, true
	}
	return offset, true
}
