package web

import (
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // the zones of places, wherever the program runs

	"github.com/waybillhq/waybill/internal/ship"
)

// placeZones are the places that have one zone alone, by country or by country
// and state. What is divided, even a little, is not here: those times are
// shown in the reader's own zone.
var placeZones = func() map[string]string {
	byZone := map[string]string{
		"America/New_York":    "US-CT US-DC US-DE US-GA US-MA US-MD US-ME US-NC US-NH US-NJ US-NY US-OH US-PA US-RI US-SC US-VA US-VT US-WV",
		"America/Chicago":     "US-AR US-IA US-IL US-LA US-MN US-MO US-MS US-OK US-WI",
		"America/Denver":      "US-CO US-MT US-NM US-UT US-WY",
		"America/Los_Angeles": "US-CA US-WA",
		"Pacific/Honolulu":    "US-HI", "America/Puerto_Rico": "PR US-PR", "America/Edmonton": "CA-AB", "America/Winnipeg": "CA-MB",
		"America/Halifax": "CA-NS CA-PE", "America/Moncton": "CA-NB",
		"Europe/London": "GB", "Europe/Dublin": "IE", "Europe/Paris": "FR", "Europe/Berlin": "DE", "Europe/Amsterdam": "NL", "Europe/Brussels": "BE",
		"Europe/Luxembourg": "LU", "Europe/Vienna": "AT", "Europe/Zurich": "CH LI", "Europe/Rome": "IT SM VA", "Europe/Copenhagen": "DK", "Europe/Stockholm": "SE",
		"Europe/Oslo": "NO", "Europe/Helsinki": "FI", "Europe/Warsaw": "PL", "Europe/Prague": "CZ", "Europe/Bratislava": "SK", "Europe/Budapest": "HU",
		"Europe/Sofia": "BG", "Europe/Bucharest": "RO", "Europe/Athens": "GR", "Europe/Zagreb": "HR", "Europe/Ljubljana": "SI", "Europe/Belgrade": "RS",
		"Europe/Tallinn": "EE", "Europe/Riga": "LV", "Europe/Vilnius": "LT", "Europe/Malta": "MT", "Europe/Istanbul": "TR",
		"Africa/Cairo": "EG", "Africa/Johannesburg": "ZA", "Africa/Lagos": "NG", "Africa/Nairobi": "KE",
		"America/Bogota": "CO", "America/Lima": "PE",
		"Asia/Tokyo": "JP", "Asia/Seoul": "KR", "Asia/Shanghai": "CN", "Asia/Hong_Kong": "HK", "Asia/Macau": "MO", "Asia/Taipei": "TW", "Asia/Singapore": "SG",
		"Asia/Kolkata": "IN", "Asia/Dubai": "AE", "Asia/Riyadh": "SA", "Asia/Qatar": "QA", "Asia/Kuwait": "KW", "Asia/Bahrain": "BH", "Asia/Muscat": "OM",
		"Asia/Bangkok": "TH", "Asia/Ho_Chi_Minh": "VN", "Asia/Manila": "PH", "Asia/Kuala_Lumpur": "MY", "Asia/Karachi": "PK", "Asia/Dhaka": "BD",
		"Asia/Colombo": "LK", "Asia/Kathmandu": "NP", "Asia/Jerusalem": "IL",
	}
	of := map[string]string{}
	for zone, places := range byZone {
		for place := range strings.FieldsSeq(places) {
			of[place] = zone
		}
	}
	return of
}()

// zoneOf is the zone of a place as scans name it, "Austin, TX, US"; nil if it
// is not certain.
func zoneOf(place string) *time.Location {
	parts := strings.Split(place, ",")
	country := strings.ToUpper(strings.TrimSpace(parts[len(parts)-1]))
	name := placeZones[country]
	if len(parts) > 1 && name == "" {
		name = placeZones[country+"-"+strings.ToUpper(strings.TrimSpace(parts[len(parts)-2]))]
	}
	if name == "" {
		return nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil
	}
	return zone
}

// cityOf is a place without what stands in it beyond the city: a part with a
// digit can be a postal code or a house.
func cityOf(place string) string {
	var parts []string
	for part := range strings.SplitSeq(place, ",") {
		words := strings.FieldsFunc(part, func(r rune) bool { return r == ' ' })
		kept := words[:0]
		for _, w := range words {
			if !strings.ContainsAny(w, "0123456789") {
				kept = append(kept, w)
			}
		}
		if len(kept) > 0 {
			parts = append(parts, strings.Join(kept, " "))
		}
	}
	return strings.Join(parts, ", ")
}

// day is a date in the language.
func (l tongue) day(t time.Time) string {
	number := strconv.Itoa(t.Day())
	if l.Code == "fr" && number == "1" {
		number = "1er"
	}
	return strings.NewReplacer("{weekday}", l.Weekdays[t.Weekday()], "{day}", number, "{month}", l.Months[t.Month()-1]).Replace(l.Date)
}

// A trackMoment is when something was, as the page writes it.
type trackMoment struct {
	Text    string
	Machine string // for the script, to write it in the reader's zone; "" if the text is right
}

// when writes the moment of a scan: on the clock of its place where that is
// known, else in UTC until the script has the reader's own zone.
func (l tongue) when(sc ship.Scan) trackMoment {
	at := sc.At.UTC()
	if sc.ZoneUnknown { // this is the clock of the place already
		return trackMoment{Text: l.day(at) + ", " + at.Format(l.Clock)}
	}
	if zone := zoneOf(sc.Location); zone != nil {
		at = at.In(zone)
		return trackMoment{Text: l.day(at) + ", " + at.Format(l.Clock)}
	}
	return l.anywhere(at)
}

// anywhere writes a moment that has no place.
func (l tongue) anywhere(at time.Time) trackMoment {
	at = at.UTC()
	return trackMoment{Text: l.day(at) + ", " + at.Format(l.Clock) + " UTC", Machine: machineTime(at)}
}
