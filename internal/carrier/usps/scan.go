package usps

import (
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// scan converts the event.
func (e trackingEvent) scan(now time.Time) (ship.Scan, bool) {
	at, zoneUnknown, ok := e.occurredAt(now)
	code := codeOf(string(e.EventCode), string(e.EventType))
	if !ok || code == "" {
		return ship.Scan{}, false
	}

	scan := ship.Scan{
		Code:        code,
		At:          at,
		ZoneUnknown: zoneUnknown,
		Description: bounded(plain(string(e.EventType))),
		Location:    e.location(),
	}
	scan.Status, scan.Reason, _ = meaning(code)
	return scan, true
}

// occurredAt returns when the event happened. The zone is unknown if neither
// the event nor its place tells it; then the time is the place's local time
// read as UTC. An event without a readable time is not ok.
func (e trackingEvent) occurredAt(now time.Time) (at time.Time, zoneUnknown, ok bool) {
	at, zoneUnknown, ok = e.moment()
	return at.UTC(), zoneUnknown, ok && at.Before(now.Add(ahead))
}

// ahead is how much later than now an event may be: no clock in the world is
// further ahead. An event with a later date cannot have happened, and would
// hide the actual ones.
const ahead = 26 * time.Hour

func (e trackingEvent) moment() (at time.Time, zoneUnknown, ok bool) {
	if gmt, _, ok := readTime(string(e.GMTTimestamp)); ok {
		return gmt, false, true // in Greenwich, or with an offset of its own
	}

	local, named, ok := readTime(string(e.EventTimestamp))
	if !ok || named {
		return local, false, ok
	}

	// Without an offset the time is local to the place of the event.
	if offset, ok := readOffset(string(e.GMTOffset)); ok {
		return local.Add(-offset), false, true
	}
	if zone, ok := e.zone(); ok {
		return time.Date(local.Year(), local.Month(), local.Day(), local.Hour(), local.Minute(), local.Second(), 0, zone), false, true
	}
	return local, true, true
}

// readTime reads a moment and reports whether it names an offset of its own.
// "Z" and "+00:00" do not count: USPS writes them behind local times too.
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

// layouts are how USPS writes a moment. A fraction of the second may follow
// any of them.
var layouts = []string{
	"2006-01-02T15:04:05Z07:00",
	"2006-01-02T15:04:05Z0700",
	"2006-01-02T15:04:05",
	"2006-01-02T15:04Z07:00",
	"2006-01-02T15:04",
	"2006-01-02 15:04:05",
	time.DateOnly,
	"January 2, 2006, 3:04 pm",
	"January 2, 2006 3:04 pm",
	"January 2, 2006",
	"01/02/2006 15:04:05",
	"01/02/2006, 3:04 pm",
	"01/02/2006",
}

// readOffset reads an offset from Greenwich: "-05:00", "-0500", hours ("-5") or
// minutes ("-420").
func readOffset(s string) (time.Duration, bool) {
	s = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(s), "GMT"))
	if s == "" || len(s) > 7 {
		return 0, false
	}

	sign := time.Duration(1)
	if s[0] == '-' {
		sign = -1
	}
	digits := strings.TrimLeft(s, "+-")
	hourText, minuteText, hasColon := strings.Cut(digits, ":")
	if !hasColon && len(digits) == 4 {
		hourText = digits[:2]
		minuteText = digits[2:]
	}

	hours, err := strconv.ParseUint(hourText, 10, 16)
	if err != nil {
		return 0, false
	}
	minutes := uint64(0)
	if minuteText != "" {
		if minutes, err = strconv.ParseUint(minuteText, 10, 16); err != nil {
			return 0, false
		}
	} else if hours > 14 {
		// No zone is more than 14 hours from Greenwich: these are minutes.
		minutes = hours
		hours = 0
	}

	offset := time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute
	return sign * offset, offset <= 14*time.Hour
}

// zone is that of the event's place, where it is certain.
func (e trackingEvent) zone() (*time.Location, bool) {
	return carrierkit.Place{
		Country: e.country(),
		State:   plain(string(e.EventState)),
		City:    plain(string(e.EventCity)),
	}.Zone()
}

// location returns where the event happened: "Richmond, VA, US". USPS writes
// places in capitals, and names no country for events in the United States.
func (e trackingEvent) location() string {
	city := titled(string(e.EventCity))
	state := strings.ToUpper(plain(string(e.EventState)))
	if state == "AA" || state == "AE" || state == "AP" {
		city = plain(string(e.EventCity)) // APO, FPO, DPO
	}

	country := e.country()
	if country == "" {
		country = titled(string(e.EventCountry))
	}
	if city == "" && state == "" && strings.TrimSpace(string(e.EventCountry)) == "" {
		return "" // nothing but the assumption that it is in the United States
	}

	var parts []string
	for _, part := range []string{city, state, country} {
		if part != "" {
			parts = append(parts, bounded(part))
		}
	}
	return strings.Join(parts, ", ")
}

// country returns the code of the event's country; empty if its name is not
// known.
func (e trackingEvent) country() string {
	name := strings.ToUpper(plain(string(e.EventCountry)))
	if name == "" {
		return "US"
	}

	if ship.KnownCountry(name) {
		return name
	}
	return countryCodes()[name]
}

// countryCodes are the countries by their names in capitals, and by names that
// USPS alone gives them.
var countryCodes = sync.OnceValue(func() map[string]string {
	codes := map[string]string{
		"USA":                                "US",
		"UNITED STATES OF AMERICA":           "US",
		"GREAT BRITAIN":                      "GB",
		"GREAT BRITAIN AND NORTHERN IRELAND": "GB",
		"KOREA, REPUBLIC OF":                 "KR",
		"REPUBLIC OF KOREA":                  "KR",
		"HONG KONG":                          "HK",
		"MACAO":                              "MO",
		"RUSSIA":                             "RU",
		"CZECH REPUBLIC":                     "CZ",
		"TURKEY":                             "TR",
	}

	for first := 'A'; first <= 'Z'; first++ {
		for second := 'A'; second <= 'Z'; second++ {
			code := string([]rune{first, second})
			if name := ship.CountryName(code); name != "" {
				codes[strings.ToUpper(name)] = code
			}
		}
	}
	return codes
})

// titled returns a name in capitals as people write it: "SAN FRANCISCO" is "San
// Francisco".
func titled(name string) string {
	name = plain(name)
	if name != strings.ToUpper(name) {
		return name
	}

	inWord := false
	return strings.Map(func(r rune) rune {
		isLetter := unicode.IsLetter(r) || r == '\''
		if isLetter && inWord {
			return unicode.ToLower(r)
		}
		inWord = isLetter
		return r
	}, name)
}

// bounded returns the text, shortened to maxText.
func bounded(s string) string {
	s = strings.ToValidUTF8(s, "")
	if len(s) <= maxText {
		return s
	}

	s = s[:maxText]
	for !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s
}

// maxText bounds a text of the carrier's, in bytes.
const maxText = 200
