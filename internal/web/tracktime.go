package web

import (
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// zoneOf is the zone of a place as scans name it, "Austin, TX, US" or "Tokyo,
// JP"; nil if it is not certain. Those times are shown in the reader's own zone.
func zoneOf(text string) *time.Location {
	parts := strings.Split(text, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}

	n := len(parts)
	place := carrierkit.Place{Country: strings.ToUpper(parts[n-1])}
	if n > 1 {
		place.State = parts[n-2] // of "TX, US"; a city is no state's code
		place.City = parts[n-2]
	}
	if n > 2 {
		place.City = parts[n-3]
	}
	zone, ok := place.Zone()
	if !ok {
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
