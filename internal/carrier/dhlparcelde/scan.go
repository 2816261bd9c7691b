package dhlparcelde

import (
	"cmp"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// eventTimes are how DHL writes the time of an event, on the clock of Germany
// wherever it happened.
var eventTimes = []string{"02.01.2006 15:04:05", "02.01.2006 15:04"}

// scan converts the event; not ok if it has no code or no time.
func (e event) scan(now time.Time) (scan ship.Scan, ok bool) {
	at, ok := parseTime(e.At)
	code := e.code()
	if !ok || code == "" || at.Before(earliest) || at.After(now.Add(ahead)) {
		return ship.Scan{}, false
	}

	scan = ship.Scan{
		Code:        code,
		At:          at.UTC(),
		Description: strings.TrimSpace(cmp.Or(e.Text, e.Status, e.Short)),
		Location:    location(e.Location, e.Country),
	}
	scan.Status, scan.Reason, _ = meaning(code)
	return scan, true
}

// earliest is a date before DHL introduced this API; an earlier time is invalid.
var earliest = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// ahead is how far a scan may be in the future: clocks are slightly wrong.
const ahead = 24 * time.Hour

func parseTime(written string) (time.Time, bool) {
	for _, layout := range eventTimes {
		if t, err := time.ParseInLocation(layout, strings.TrimSpace(written), germany()); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// code returns what a scan's status depends on: the standard event, the kind of
// the event in DHL's network, and whether the parcel is on its way back.
func (e event) code() string {
	code := cleanCode(e.Code)
	if code == "" {
		return ""
	}
	if kind := cleanCode(e.ICE); kind != "" {
		code += "/" + kind
	}
	if strings.EqualFold(e.Return, "true") {
		code += "/" + returning
	}
	return code
}

// location returns the place as it is shown: "Bonn, Germany".
func location(place, country string) string {
	return strings.Trim(strings.TrimSpace(place)+", "+strings.TrimSpace(country), ", ")
}

// estimate returns when DHL means to deliver, if it says so.
func (p piece) estimate() time.Time {
	at, ok := parseTime(p.DeliveryFrom)
	if !ok {
		return time.Time{}
	}
	return at.UTC()
}
