package dhlexpress

import (
	"strings"
	"time"
	_ "time/tzdata" // the zones of countries, wherever the program runs
)

// countryZones are the zones of the countries that have but one, in DHL's own
// codes: the Canary Islands are not Spain there. Others are left out: a guess
// is worse than an open question.
var countryZones = map[string]string{
	"AE": "Asia/Dubai", "AT": "Europe/Vienna", "BD": "Asia/Dhaka", "BE": "Europe/Brussels", "BG": "Europe/Sofia", "BH": "Asia/Bahrain",
	"CH": "Europe/Zurich", "CN": "Asia/Shanghai", "CO": "America/Bogota", "CZ": "Europe/Prague", "DE": "Europe/Berlin", "DK": "Europe/Copenhagen",
	"EE": "Europe/Tallinn", "EG": "Africa/Cairo", "ES": "Europe/Madrid", "FI": "Europe/Helsinki", "FR": "Europe/Paris", "GB": "Europe/London",
	"GR": "Europe/Athens", "HK": "Asia/Hong_Kong", "HR": "Europe/Zagreb", "HU": "Europe/Budapest", "IC": "Atlantic/Canary", "IE": "Europe/Dublin",
	"IL": "Asia/Jerusalem", "IN": "Asia/Kolkata", "IT": "Europe/Rome", "JP": "Asia/Tokyo", "KE": "Africa/Nairobi", "KR": "Asia/Seoul",
	"KW": "Asia/Kuwait", "LK": "Asia/Colombo", "LT": "Europe/Vilnius", "LU": "Europe/Luxembourg", "LV": "Europe/Riga", "MO": "Asia/Macau",
	"MT": "Europe/Malta", "MY": "Asia/Kuala_Lumpur", "NG": "Africa/Lagos", "NL": "Europe/Amsterdam", "NO": "Europe/Oslo", "NP": "Asia/Kathmandu",
	"OM": "Asia/Muscat", "PE": "America/Lima", "PH": "Asia/Manila", "PK": "Asia/Karachi", "PL": "Europe/Warsaw", "PR": "America/Puerto_Rico",
	"QA": "Asia/Qatar", "RO": "Europe/Bucharest", "RS": "Europe/Belgrade", "SA": "Asia/Riyadh", "SE": "Europe/Stockholm", "SG": "Asia/Singapore",
	"SI": "Europe/Ljubljana", "SK": "Europe/Bratislava", "TH": "Asia/Bangkok", "TR": "Europe/Istanbul", "TW": "Asia/Taipei", "VN": "Asia/Ho_Chi_Minh",
	"ZA": "Africa/Johannesburg",
}

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

// zone is that of the checkpoint's country; UTC if that is not certain.
func (c *checkpoint) zone() (_ *time.Location, certain bool) {
	_, country := c.place()
	name, ok := countryZones[country]
	if !ok {
		return time.UTC, false
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return time.UTC, false
	}
	return zone, true
}
