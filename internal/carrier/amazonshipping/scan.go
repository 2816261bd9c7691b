package amazonshipping

import (
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// returnLeg marks the codes of events on the way back to the sender.
const returnLeg = "/RETURNS"

// scan converts the event; not ok if it has no code or no time.
func (e event) scan(now time.Time) (scan ship.Scan, ok bool) {
	code := cleanCode(e.Code)
	at := timeOf(e.Time)
	if code == "" || !isPlausibleTime(at, now) {
		return ship.Scan{}, false
	}
	if e.Type == "RETURNS" {
		code += returnLeg
	}

	scan = ship.Scan{
		Code:        code,
		At:          at.UTC(),
		Description: words(e.Code),
		Location:    e.location(),
	}
	scan.Status, scan.Reason, _ = meaning(code)
	return scan, true
}

// isPlausibleTime reports whether something can have been scanned then: not before
// this API existed, and not in the future, for which clocks leave room.
func isPlausibleTime(at, now time.Time) bool {
	earliest := time.Date(2015, 1, 1, 0, 0, 0, 0, time.UTC)
	return at.After(earliest) && at.Before(now.Add(48*time.Hour))
}

// words returns a code as people read it: "Out for delivery" for
// "OutForDelivery". Amazon's events have no texts.
func words(code string) string {
	var text strings.Builder
	for i, r := range cleanCode(code) {
		if r >= 'A' && r <= 'Z' && i > 0 {
			text.WriteByte(' ')
			r += 'a' - 'A'
		}
		text.WriteRune(r)
	}
	return text.String()
}

// location returns the place as it is shown: "Newark, NJ, US".
func (e event) location() string {
	var parts []string
	for _, part := range []string{e.Location.City, e.Location.State, e.Location.Country} {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ", ")
}
