package tracking

import (
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// The intervals of polling. A change in a parcel that is polled often is seen
// within half an hour, with two minutes to spare for the poll itself.
const (
	often      = 28 * time.Minute
	nowAndThen = 3 * time.Hour
	rarely     = 12 * time.Hour

	day            = 24 * time.Hour
	activeFor      = 42 * time.Hour // how long after a scan the next one is likely
	dormantAfter   = 10 * day       // without news
	abandonedAfter = 45 * day       // without news for this long, it is no longer polled
)

// An outlook is what the schedule depends on beside the tracking state.
type outlook struct {
	pushed   bool  // the carrier pushes changes: polling is only a safeguard
	from, to clock // of the parcel's origin and destination
}

// nextPoll returns when a carrier is asked about a parcel again: often while
// changes are likely, rarely when nothing moves, never once it is delivered.
func nextPoll(trackingState ship.TrackingState, o outlook, now time.Time) (at time.Time, more bool) {
	quiet := now.Sub(lastNews(trackingState))
	if trackingState.Progress.Status == ship.Delivered || quiet > abandonedAfter {
		return time.Time{}, false
	}

	interval := pollInterval(trackingState, o, quiet, now)
	if o.pushed {
		interval = min(8*interval, rarely)
	}
	return alignToMark(trackingState.Tenant, now.Add(interval)), true
}

// lastNews returns the time of the last update about the parcel, or of its
// purchase.
func lastNews(trackingState ship.TrackingState) time.Time {
	news := trackingState.ID.Time()
	for _, at := range []time.Time{trackingState.BoughtAt, trackingState.NewestAt} {
		if at.After(news) {
			news = at
		}
	}
	return news
}

// pollInterval returns how long to wait until the next poll. Nobody collects or
// delivers at night; between places parcels move at any hour. One that has long
// been quiet moves next when it is loaded for delivery: in the morning, and
// hardly before the expected day.
func pollInterval(trackingState ship.TrackingState, o outlook, quiet time.Duration, now time.Time) time.Duration {
	status := trackingState.Progress.Status
	switch {
	case quiet > dormantAfter:
		return rarely
	case status == ship.Created || status == ship.LabelGenerated:
		if quiet < 2*day {
			return o.from.oftenWithin(7, 21, now)
		}
	case status == ship.OutForDelivery || status == ship.Exception:
		if quiet < 2*day {
			return o.to.oftenWithin(5, 21, now)
		}
	case quiet < activeFor:
		return often
	}

	isEarly := now.Before(trackingState.Progress.EstimateAt.Add(-12 * time.Hour))
	if isEarly {
		return nowAndThen
	}
	return o.to.oftenWithin(5, 10, now)
}

// alignToMark moves a poll back to the previous mark. All parcels of an account
// share the same marks, so that many are polled in one call; other accounts
// have other marks.
func alignToMark(t ship.Tenant, at time.Time) time.Time {
	const marks = often / 4
	raw := t.Account.Raw()
	offset := marks * time.Duration(raw[15]) / 256
	return at.Add(-offset).Truncate(marks).Add(offset)
}
