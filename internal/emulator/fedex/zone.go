package fedex

import (
	"strings"
	"time"
	_ "time/tzdata" // the time zones, wherever the program runs
)

// zones are the time zones of senders, by state or country. A state with two has
// the eastern one.
var zones = map[string]string{
	"America/New_York":    "US-CT US-DC US-DE US-FL US-GA US-KY US-MA US-MD US-ME US-NC US-NH US-NJ US-NY US-OH US-PA US-RI US-SC US-TN US-VA US-VT US-WV",
	"America/Detroit":     "US-MI",
	"America/Chicago":     "US-AL US-AR US-IA US-IL US-KS US-LA US-MN US-MO US-MS US-ND US-NE US-OK US-SD US-TX US-WI",
	"America/Denver":      "US-AZ US-CO US-ID US-MT US-NM US-NV US-OR US-UT US-WY",
	"America/Los_Angeles": "US-CA US-WA",
	"America/Toronto":     "CA-ON CA-QC",
	"Europe/London":       "GB IE PT",
	"Europe/Berlin":       "AT BE CH CZ DE DK ES FR HU IT LU NL NO PL SE SI SK",
	"Europe/Athens":       "BG EE FI GR LT LV RO",
	"Asia/Tokyo":          "JP KR",
	"Asia/Singapore":      "CN HK SG TW",
	"Asia/Kolkata":        "IN",
}

// zone returns the time zone of a sender, if it is known.
func (p place) zone() (*time.Location, bool) {
	for _, key := range []string{p.CountryCode + "-" + p.State, p.CountryCode} {
		for name, places := range zones {
			if strings.Contains(" "+places+" ", " "+key+" ") {
				zone, err := time.LoadLocation(name)
				return zone, err == nil
			}
		}
	}
	return time.UTC, false
}

// today returns the calendar day at a sender's place.
func (p place) today(now time.Time) string {
	zone, known := p.zone()
	if !known {
		zone = easternmost
	}
	return now.In(zone).Format(time.DateOnly)
}

// easternmost is where a day begins first.
var easternmost = time.FixedZone("UTC+14", 14*60*60)

// checkWindow returns why FedEx does not search between two ship dates; nil if it
// does, also without any. The codes and their conditions are those of FedEx's list
// of errors of the Track API.
func checkWindow(begin, end, today string) *problem {
	if begin == "" && end == "" {
		return nil
	}
	first, err := time.Parse(time.DateOnly, begin)
	if err != nil {
		return &problem{"TRACKING.SHIPDATEBEGIN.INVALID", "Please provide valid ship begin date."}
	}
	last, err := time.Parse(time.DateOnly, end)
	if err != nil {
		return &problem{"TRACKING.SHIPDATEEND.INVALID", "Please provide valid ship end date."}
	}

	const longest = 30 * 24 * time.Hour
	switch {
	case last.Before(first):
		return &problem{"TRACKING.SHIPDATE.ENDDATEBEFOREBEGINDATE", "Invalid ship date range. End date should not be before begin date."}
	case end > today:
		return &problem{"TRACKING.SHIPDATEEND.FUTURE", "Invalid ship date range. End date must not be in the future."}
	case last.Sub(first) > longest, time.Since(first) > 2*365*24*time.Hour:
		return &problem{"TRACKING.SHIPDATERANGE.ERROR", "Invalid date range. Please check for following conditions: 1. End date is before Begin date. 2. Begin date is beyond 2 years. 3. Begin to End date exceeds 30 days."}
	}
	return nil
}
