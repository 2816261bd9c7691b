package dhlexpress

import (
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// scan converts the checkpoint; not ok if it has no code or no time.
func (c *checkpoint) scan(now time.Time) (scan ship.Scan, ok bool) {
	at, zoned, ok := c.occurredAt(now)
	code := cleanCode(c.TypeCode)
	if !ok || code == "" {
		return ship.Scan{}, false
	}

	scan = ship.Scan{
		Code:        code,
		At:          at,
		ZoneUnknown: !zoned,
		Description: strings.TrimSpace(c.Description),
		Location:    c.location(),
	}
	scan.Status, scan.Reason, _ = meaning(code)
	return scan, true
}

// occurredAt returns when the checkpoint was: its date and time in the zone of
// its offset, or else of its country. Where neither is known, or it has no
// time, the local time is read as UTC and zoned is false.
func (c *checkpoint) occurredAt(now time.Time) (t time.Time, zoned, ok bool) {
	date, clock, hasBoth := strings.Cut(strings.TrimSpace(c.Date), "T") // some answers have both in one
	if !hasBoth {
		clock = strings.TrimSpace(c.Time)
	}
	if clock == "" {
		t, err := time.Parse(time.DateOnly, date)
		return t, false, err == nil && isPlausibleTime(t, now)
	}

	offset := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(c.GMTOffset), "GMT"))
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04"} {
		for _, zone := range []string{"Z07:00", "Z0700", "Z07"} {
			if t, err := time.Parse(layout+zone, date+"T"+clock+offset); err == nil {
				return t.UTC(), true, isPlausibleTime(t, now)
			}
		}

		// DHL sends no offset with some answers to many numbers.
		zone, isCertain := c.zone()
		if t, err := time.ParseInLocation(layout, date+"T"+clock, zone); err == nil {
			return t.UTC(), isCertain, isPlausibleTime(t, now)
		}
	}
	return time.Time{}, false, false
}

// isPlausibleTime reports whether something can have been scanned then.
func isPlausibleTime(t, now time.Time) bool { return t.After(earliest) && t.Before(now.Add(ahead)) }

// earliest is a date before DHL introduced this API; an earlier scan time is
// invalid.
var earliest = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// ahead is how far a scan may be in the future: it covers the time zones of the
// world and clocks that are slightly wrong.
const ahead = 48 * time.Hour

// zone is that of the checkpoint's place; UTC if that is not certain.
func (c *checkpoint) zone() (_ *time.Location, certain bool) {
	city, country := c.cityAndCountry()
	zone, ok := placeOf(country, "", city).Zone()
	if !ok {
		return time.UTC, false
	}
	return zone, true
}

// cityAndCountry returns where the checkpoint was, from the name of DHL's
// service area: "AUCKLAND-NZ".
func (c *checkpoint) cityAndCountry() (city, country string) {
	if len(c.Areas) == 0 {
		return "", ""
	}

	name := strings.TrimSpace(c.Areas[0].Description)
	i := strings.LastIndex(name, "-")
	if i < 0 || len(name)-i-1 != 2 {
		return name, ""
	}
	return strings.TrimSpace(name[:i]), strings.ToUpper(name[i+1:])
}

// location returns the place as it is shown: "AUCKLAND, NZ".
func (c *checkpoint) location() string {
	city, country := c.cityAndCountry()
	if city == "" || country == "" {
		return city
	}
	return city + ", " + country
}
