package usps

import (
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
)

// layouts are how USPS writes a moment. A fraction of the second may follow
// any of them.
var layouts = []string{
	"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05", "2006-01-02T15:04Z07:00", "2006-01-02T15:04",
	"2006-01-02 15:04:05", time.DateOnly,
	"January 2, 2006, 3:04 pm", "January 2, 2006 3:04 pm", "January 2, 2006", "01/02/2006 15:04:05", "01/02/2006, 3:04 pm", "01/02/2006",
}

// readTime reads a moment and reports whether it names an offset of its own.
// "Z" and "+00:00" are none: USPS writes them behind local time too.
func readTime(s string) (t time.Time, named, ok bool) {
	s = strings.TrimSpace(s)
	if len(s) < len("1/2/2006") || len(s) > 40 {
		return t, false, false
	}
	for _, layout := range layouts {
		t, err := time.Parse(layout, s)
		if err != nil || t.Year() < 1990 || t.Year() > 2100 {
			continue
		}
		_, offset := t.Zone()
		return t, offset != 0, true
	}
	return t, false, false
}

// readOffset reads an offset from Greenwich: "-05:00", "-0500", hours ("-5") or
// minutes ("-420").
func readOffset(s string) (time.Duration, bool) {
	s = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(s), "GMT"))
	if s == "" || len(s) > 7 {
		return 0, false
	}
	digits, sign := strings.TrimLeft(s, "+-"), time.Duration(1)
	if s[0] == '-' {
		sign = -1
	}
	hours, minutes, both := strings.Cut(digits, ":")
	if !both && len(digits) == 4 {
		hours, minutes = digits[:2], digits[2:]
	}
	h, err := strconv.ParseUint(hours, 10, 16)
	if err != nil {
		return 0, false
	}
	m := uint64(0)
	if minutes != "" {
		if m, err = strconv.ParseUint(minutes, 10, 16); err != nil {
			return 0, false
		}
	} else if h > 14 {
		h, m = 0, h
	}
	offset := time.Duration(h)*time.Hour + time.Duration(m)*time.Minute
	return sign * offset, offset <= 14*time.Hour
}

// farAhead is how much later than now an event may be: no clock of the world is
// further ahead. What USPS dates later has not happened, and would hide all
// that does.
const farAhead = 26 * time.Hour

// at is when the event happened. The zone is unknown if neither the event nor
// its place tells it; then the time is the place's own clock read as UTC. An
// event without a readable time is not ok.
func (e trackingEvent) at(now time.Time) (at time.Time, zoneUnknown, ok bool) {
	at, zoneUnknown, ok = e.moment()
	return at.UTC(), zoneUnknown, ok && at.Before(now.Add(farAhead))
}

func (e trackingEvent) moment() (at time.Time, zoneUnknown, ok bool) {
	if gmt, _, ok := readTime(string(e.GMTTimestamp)); ok {
		return gmt, false, true // in Greenwich, or with an offset of its own
	}
	local, named, ok := readTime(string(e.EventTimestamp))
	if !ok || named {
		return local, false, ok
	}
	if offset, ok := readOffset(string(e.GMTOffset)); ok {
		return local.Add(-offset), false, true
	}
	if zone, ok := e.zone(); ok {
		return time.Date(local.Year(), local.Month(), local.Day(), local.Hour(), local.Minute(), local.Second(), 0, zone), false, true
	}
	return local, true, true
}

// zone is that of the event's place, where it is certain.
func (e trackingEvent) zone() (*time.Location, bool) {
	return carrierkit.Place{
		Country: e.country(),
		State:   plain(string(e.EventState)),
		City:    plain(string(e.EventCity)),
	}.Zone()
}
