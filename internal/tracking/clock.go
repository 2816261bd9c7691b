package tracking

import (
	"time"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// A clock is the time of day at a place. In a country or state with several
// time zones it may be an hour or two off, which is good enough to distinguish
// day from night.
type clock struct {
	zone *time.Location // nil if it is not known
}

// clockAt returns the clock of a state, or else of its country.
func clockAt(country, state string) clock {
	zone := carrierkit.Place{Country: country, State: state}.ClosestZone()
	if zone == time.UTC {
		return clock{} // no place uses it, so it means that the place is not known
	}
	return clock{zone}
}

// oftenWithin returns often between two hours of the day and nowAndThen at
// other times, but never an interval that goes beyond the next start of those
// hours. If the clock is not known, it always returns often.
func (c clock) oftenWithin(from, to int, now time.Time) time.Duration {
	if c.zone == nil {
		return often
	}

	// How long ago the interval started, on the clock of the place.
	local := now.In(c.zone)
	timeOfDay := time.Duration(local.Hour())*time.Hour +
		time.Duration(local.Minute())*time.Minute +
		time.Duration(local.Second())*time.Second
	since := (timeOfDay + time.Duration(24-from)*time.Hour) % day
	if since < time.Duration(to-from)*time.Hour {
		return often
	}
	return max(often, min(nowAndThen, day-since))
}

// date returns the calendar day at the place; the one in UTC if its clock is
// not known.
func (c clock) date(t time.Time) ship.Date {
	if c.zone == nil {
		return ship.DateOf(t)
	}
	return ship.Date(t.In(c.zone).Format(time.DateOnly))
}
