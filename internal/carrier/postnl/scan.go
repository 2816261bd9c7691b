package postnl

import (
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// scan converts a status; not ok if it has no code or no time.
func (s parcelStatus) scan(now time.Time) (ship.Scan, bool) {
	at, err := time.ParseInLocation(timeLayout, strings.TrimSpace(string(s.TimeStamp)), dutch)
	code := strings.TrimLeft(strings.TrimSpace(string(s.StatusCode)), "0")
	if err != nil || !isCode(code) || at.Year() < 2000 || at.After(now.Add(48*time.Hour)) {
		return ship.Scan{}, false
	}

	scan := ship.Scan{
		Code:        code,
		At:          at.UTC(),
		Description: strings.TrimSpace(string(s.StatusDescription)),
	}
	scan.Status, scan.Reason, _ = meaning(code)
	return scan, true
}

func isCode(s string) bool {
	return s != "" && len(s) <= 6 && strings.Trim(s, "0123456789") == ""
}

// estimate returns the end of the time in which PostNL will deliver; zero if it
// does not say.
func (s statusShipment) estimate() time.Time {
	for _, layout := range []string{"2006-01-02T15:04:05", timeLayout} {
		if at, err := time.ParseInLocation(layout, string(s.Expectation.To), dutch); err == nil {
			return at.UTC()
		}
	}
	if day, err := time.ParseInLocation(time.DateOnly, string(s.DeliveryDate), dutch); err == nil {
		const lastDelivery = 18 * time.Hour
		return day.Add(lastDelivery).UTC()
	}
	return time.Time{}
}
