package royalmail

import (
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// scan converts the event; not ok if it has no code or no time.
func (e trackingEvent) scan(now time.Time) (ship.Scan, bool) {
	at, err := time.Parse(time.RFC3339, strings.TrimSpace(e.DateTime))
	code := e.code()
	if err != nil || code == "" || !isPlausibleTime(at, now) {
		return ship.Scan{}, false
	}

	scan := ship.Scan{
		Code:        code,
		At:          at.UTC(),
		Description: strings.TrimSpace(e.Name),
		Location:    strings.TrimSpace(e.LocationName),
	}
	scan.Status, scan.Reason, _ = meaning(code)
	return scan, true
}

// isPlausibleTime reports whether something can have been scanned then: not
// before there was tracking, and not later than clocks that are slightly wrong.
func isPlausibleTime(t, now time.Time) bool {
	return t.Year() >= 2000 && t.Before(now.Add(48*time.Hour))
}

// estimate returns the end of the day or window in which Royal Mail will deliver;
// zero if it does not say.
func (p mailPiece) estimate() time.Time {
	planned := p.EstimatedDelivery
	if at, err := time.Parse(time.RFC3339, planned.Date+"T"+planned.End); err == nil {
		return at.UTC()
	}
	day, err := time.Parse(time.DateOnly, planned.Date)
	if err != nil {
		return time.Time{}
	}
	const lastDelivery = 18 * time.Hour
	return day.Add(lastDelivery)
}
