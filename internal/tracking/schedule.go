package tracking

import (
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// The pace of questions. What is asked about often is seen within half an hour,
// with two minutes to spare for the asking.
const (
	often      = 28 * time.Minute
	nowAndThen = 3 * time.Hour
	rarely     = 12 * time.Hour

	day     = 24 * time.Hour
	bustle  = 42 * time.Hour // after a scan the next one is likely for so long
	asleep  = 10 * day       // without news
	silence = 45 * day       // without news: it is not asked about any more
)

// An outlook is what the schedule goes by beside the journey.
type outlook struct {
	pushed   bool  // the carrier tells by itself: asking is only a safeguard
	from, to clock // of the parcel's origin and destination
}

// nextLook is when a carrier is asked about a parcel again: often while it
// pays, rarely when nothing moves, never once it is delivered.
func nextLook(j ship.Journey, o outlook, now time.Time) (at time.Time, more bool) {
	quiet := now.Sub(lastNews(j))
	if j.Progress.Status == ship.Delivered || quiet > silence {
		return time.Time{}, false
	}
	every := pace(j, o, quiet, now)
	if o.pushed {
		every = min(8*every, rarely)
	}
	return together(j.Tenant, now.Add(every)), true
}

// lastNews is when something was last heard of the parcel, or it was bought.
func lastNews(j ship.Journey) time.Time {
	news := j.ID.Time()
	for _, t := range []time.Time{j.BoughtAt, j.NewestAt} {
		if t.After(news) {
			news = t
		}
	}
	return news
}

// pace is how long a parcel can be left alone. Nobody collects or delivers at
// night; between places parcels move at any hour. One that has long been quiet
// moves next when it is loaded for delivery: in the morning, and hardly before
// its day.
func pace(j ship.Journey, o outlook, quiet time.Duration, now time.Time) time.Duration {
	early := now.Before(j.Progress.EstimateAt.Add(-12 * time.Hour))
	switch s := j.Progress.Status; {
	case quiet > asleep:
		return rarely
	case s == ship.Created || s == ship.LabelGenerated:
		if quiet < 2*day {
			return o.from.oftenWithin(7, 21, now)
		}
	case s == ship.OutForDelivery || s == ship.Exception:
		if quiet < 2*day {
			return o.to.oftenWithin(5, 21, now)
		}
	case quiet < bustle:
		return often
	}
	if early {
		return nowAndThen
	}
	return o.to.oftenWithin(5, 10, now)
}

// together moves a question to the last mark before it. The parcels of an
// account share its marks, so that many are asked about in one call; another
// account has others.
func together(t ship.Tenant, at time.Time) time.Time {
	const marks = often / 4
	raw := t.Account.Raw()
	own := marks * time.Duration(raw[15]) / 256
	return at.Add(-own).Truncate(marks).Add(own)
}
