package canadapost

import (
	"regexp"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// scan converts the event; not ok if it has no code or no time.
func (o occurrence) scan(now time.Time) (scan ship.Scan, ok bool) {
	at, zoned, ok := o.occurredAt(now)
	code := o.code()
	if !ok || code == "" {
		return ship.Scan{}, false
	}

	scan = ship.Scan{
		Code:        code,
		At:          at,
		ZoneUnknown: !zoned,
		Description: strings.TrimSpace(o.Text),
		Location:    o.location(),
	}
	scan.Status, scan.Reason, _ = meaning(code)
	return scan, true
}

// code returns the identifier with four digits. One with two senses gets a
// suffix if the text says that the item goes back to its sender.
func (o occurrence) code() string {
	code := cleanCode(o.Code)
	for code != "" && len(code) < 4 {
		code = "0" + code
	}

	text := strings.ToLower(o.Text)
	goesBack := strings.Contains(text, "return") && !strings.Contains(text, "return label")
	if _, _, hasSecondSense := statuses.Meaning(code + returning); goesBack && hasSecondSense {
		return code + returning
	}
	if status, _, _ := statuses.Meaning(code); status == ship.Delivered && toSender.MatchString(text) {
		return code + returning
	}
	return code
}

// toSender are the words of a delivery to the sender.
var toSender = regexp.MustCompile(`\bto (the )?sender\b`)

// returning marks the second sense of an identifier.
const returning = "/RETURN"

// zones are the words for time zones, as offsets in minutes.
var zones = map[string]int{
	"NST": -210, "NDT": -150,
	"AST": -240, "ADT": -180,
	"EST": -300, "EDT": -240,
	"CST": -360, "CDT": -300,
	"MST": -420, "MDT": -360,
	"PST": -480, "PDT": -420,
}

// occurredAt returns when the event was. Without a zone that is known, the local
// time is read as UTC and zoned is false.
func (o occurrence) occurredAt(now time.Time) (at time.Time, zoned, ok bool) {
	offset, zoned := zones[strings.ToUpper(strings.TrimSpace(o.Zone))]
	zone := time.FixedZone(o.Zone, offset*60)

	day := strings.TrimSpace(o.Date)
	clock := strings.TrimSpace(o.Time)
	if clock == "" {
		clock = "00:00:00"
		zoned = false
	}
	for _, layout := range []string{"2006-01-02 15:04:05", "2006-01-02 15:04"} {
		at, err := time.ParseInLocation(layout, day+" "+clock, zone)
		if err != nil {
			continue
		}
		if !zoned {
			at = time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), at.Second(), 0, time.UTC)
		}
		return at.UTC(), zoned, isPlausibleTime(at, now)
	}
	return time.Time{}, false, false
}

// isPlausibleTime reports whether something can have been scanned then: not before
// this API existed, and not in the future, for which clocks and zones leave room.
func isPlausibleTime(at, now time.Time) bool {
	earliest := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	return at.After(earliest) && at.Before(now.Add(48*time.Hour))
}

// location returns the place as it is shown: "OTTAWA, ON".
func (o occurrence) location() string {
	site := strings.TrimSpace(o.Site)
	province := strings.TrimSpace(o.Province)
	if site == "" || province == "" {
		return site + province
	}
	return site + ", " + province
}
