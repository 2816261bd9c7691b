package trackpage

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/parts"
)

// zoneOf returns the time zone of a place as scans name it, "Austin, TX, US" or
// "Tokyo, JP"; nil if it is not certain. Such times are shown in the reader's
// own zone.
func zoneOf(text string) *time.Location {
	parts := strings.Split(text, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}

	n := len(parts)
	place := carrierkit.Place{Country: strings.ToUpper(parts[n-1])}
	if n > 1 {
		// The part before the country is a state or a city. No city has the
		// name of a state's code, so looking it up as both does no harm.
		place.State = parts[n-2]
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

// cityOf returns a place without anything more precise than the city: a word
// with a digit can be a postal code or a house number.
func cityOf(place string) string {
	var parts []string
	for part := range strings.SplitSeq(place, ",") {
		words := strings.FieldsFunc(part, func(r rune) bool { return r == ' ' })
		words = slices.DeleteFunc(words, func(word string) bool { return strings.ContainsAny(word, "0123456789") })
		if len(words) > 0 {
			parts = append(parts, strings.Join(words, " "))
		}
	}
	return strings.Join(parts, ", ")
}

// day returns a date in the language.
func (l locale) day(date time.Time) string {
	number := strconv.Itoa(date.Day())
	if l.Code == "fr" && number == "1" {
		number = "1er"
	}

	fields := strings.NewReplacer(
		"{weekday}", l.Weekdays[date.Weekday()],
		"{day}", number,
		"{month}", l.Months[date.Month()-1],
	)
	return fields.Replace(l.Date)
}

// A trackMoment is a point in time, as the page writes it.
type trackMoment struct {
	Text    string
	Machine string // for the script, to show it in the reader's zone; "" if the text is final
}

// when writes the time of a scan: on the clock of its place if that is known,
// else in UTC, until the script replaces it by the reader's own zone.
func (l locale) when(scan ship.Scan) trackMoment {
	at := scan.At.UTC()
	if scan.ZoneUnknown {
		// The carrier gave the local time without a zone, stored as if in UTC.
		return trackMoment{Text: l.day(at) + ", " + at.Format(l.Clock)}
	}
	if zone := zoneOf(scan.Location); zone != nil {
		at = at.In(zone)
		return trackMoment{Text: l.day(at) + ", " + at.Format(l.Clock)}
	}
	return l.anywhere(at)
}

// anywhere writes a point in time that has no place.
func (l locale) anywhere(at time.Time) trackMoment {
	at = at.UTC()
	return trackMoment{Text: l.day(at) + ", " + at.Format(l.Clock) + " UTC", Machine: parts.MachineTime(at)}
}
