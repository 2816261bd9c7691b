package gls

import (
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// eventTimes are how GLS writes times: with an offset that has no colon, and in
// its documentation with one.
var eventTimes = []string{"2006-01-02T15:04:05-0700", time.RFC3339, "2006-01-02T15:04:05.000-0700"}

// scan converts an event; not ok if it has no code or no time.
func (e trackedEvent) scan(now time.Time) (scan ship.Scan, ok bool) {
	at, ok := parseTime(e.At)
	code := codeOf(e.Code, e.Description)
	if !ok || code == "" || at.Before(earliest) || at.After(now.Add(ahead)) {
		return ship.Scan{}, false
	}

	scan = ship.Scan{
		Code:        code,
		At:          at.UTC(),
		Description: strings.TrimSpace(e.Description),
		Location:    strings.Trim(strings.TrimSpace(e.City)+", "+strings.TrimSpace(e.Country), ", "),
	}
	scan.Status, scan.Reason, _ = meaning(code)
	return scan, true
}

// earliest is a date before GLS introduced this API; an earlier time is invalid.
var earliest = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// ahead is how far a scan may be in the future: clocks are slightly wrong.
const ahead = 24 * time.Hour

func parseTime(written string) (time.Time, bool) {
	for _, layout := range eventTimes {
		if t, err := time.Parse(layout, strings.TrimSpace(written)); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
