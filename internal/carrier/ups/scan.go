package ups

import (
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// reportedEvent is one event that UPS reports of a parcel, polled or pushed.
type reportedEvent struct {
	number      string
	mark        mark
	description string
	place       place
	moment      moment
	estimate    time.Time
	raw         []byte
}

// update converts the event; not ok if it has no code or no time.
func (e reportedEvent) update(now time.Time) (carrier.TrackingUpdate, bool) {
	code := e.mark.code()
	e.moment.place = carrierkit.Place{
		Country: e.place.country(),
		State:   string(e.place.StateProvince),
		City:    string(e.place.City),
	}
	at, zoned, ok := e.moment.utc(now)
	if !ok || code == "" || e.number == "" {
		return carrier.TrackingUpdate{}, false
	}

	scan := ship.Scan{
		Code:        code,
		At:          at,
		ZoneUnknown: !zoned,
		Description: clip(e.description),
		Location:    e.place.name(),
	}
	scan.Status, scan.Reason, _ = meaning(code)
	return carrier.TrackingUpdate{
		TrackingNumber: e.number,
		Scan:           scan,
		EstimateAt:     e.estimate,
		Raw:            e.raw,
	}, true
}

// A moment is when something happened as UPS reports it: in local time, which
// has no zone, and in newer answers also in GMT.
type moment struct {
	date, clock       string
	gmtDate, gmtClock string
	offset            string // of the local clock
	place             carrierkit.Place
}

// ahead is how far in the future a scan may be: it covers the time zones of the
// world and clocks that are slightly wrong.
const ahead = 48 * time.Hour

// utc returns the moment in UTC. If the zone of the place is not known it is
// the local time read as UTC, and zoned is false. A date with an unreadable
// hour keeps its day.
func (m moment) utc(now time.Time) (at time.Time, zoned, ok bool) {
	local, hasHour, hasDay := wallClock(m.date, m.clock)
	gmt, hasGMTHour, hasGMTDay := wallClock(m.gmtDate, m.gmtClock)

	// GMT is the better of the two, unless it contradicts the local time.
	switch {
	case hasGMTHour && (!hasHour || canCoincide(local, gmt)):
		at = gmt
		zoned = true
	case hasDay:
		at, zoned = m.inZone(local)
	case hasGMTDay:
		at = gmt
		zoned = true
	default:
		return time.Time{}, false, false
	}

	if at.After(now.Add(ahead)) {
		return time.Time{}, false, false
	}
	return at, zoned, true
}

// canCoincide reports whether a local time and GMT can mean the same moment.
func canCoincide(local, gmt time.Time) bool {
	apart := local.Sub(gmt)
	return apart >= -12*time.Hour && apart <= 14*time.Hour
}

// inZone converts the local time, by its offset or its place.
func (m moment) inZone(local time.Time) (time.Time, bool) {
	if offset, ok := readOffset(m.offset); ok {
		return local.Add(-offset), true
	}
	if zone, ok := m.place.Zone(); ok {
		hour, minute, second := local.Clock()
		return time.Date(local.Year(), local.Month(), local.Day(), hour, minute, second, 0, zone).UTC(), true
	}
	return local, false
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

	hourText, minuteText, hasSeparator := strings.Cut(strings.ReplaceAll(s[1:], ".", ":"), ":")
	if !hasSeparator && len(hourText) == 4 {
		minuteText = hourText[2:]
		hourText = hourText[:2]
	}
	hours, err := strconv.ParseUint(hourText, 10, 8)
	if err != nil || hours > 14 {
		return 0, false
	}
	minutes, err := strconv.ParseUint("0"+minuteText, 10, 8)
	if err != nil || minutes > 59 {
		return 0, false
	}

	offset := time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute
	if s[0] == '-' {
		return -offset, true
	}
	return offset, true
}

func (p place) country() string {
	if p.CountryCode != "" {
		return string(p.CountryCode)
	}
	return string(p.Country)
}

// name returns the place as it is shown: "Paramus, NJ, US". A country without a
// city is not shown.
func (p place) name() string {
	if p.City == "" {
		return ""
	}

	name := titled(string(p.City))
	for _, part := range []string{string(p.StateProvince), p.country()} {
		if part != "" {
			name += ", " + part
		}
	}
	return clip(name)
}

// titled writes a city that comes in capitals as people write it. UPS sends
// both spellings.
func titled(city string) string {
	if city != strings.ToUpper(city) {
		return city
	}

	var text strings.Builder
	inWord := false
	for _, r := range strings.ToLower(city) {
		isLetter := strings.ToUpper(string(r)) != string(r)
		if isLetter && !inWord {
			text.WriteString(strings.ToUpper(string(r)))
		} else {
			text.WriteRune(r)
		}
		inWord = isLetter
	}
	return text.String()
}

// maxText bounds what is shown.
const maxText = 300

// clip cuts text between its characters.
func clip(s string) string {
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "")
}
