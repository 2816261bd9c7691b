package webhook

import (
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// A lane is one endpoint as its dispatcher sees it: what waits, what is in
// flight, and up to where the log is done with. It is pure: it is told things
// and decides, and does no I/O, so that a test can drive it through any
// history. The dispatcher's lock guards it.
type lane struct {
	endpoint store.Endpoint
	target   *Target // opened when first needed; nil after a change of settings

	waiting   []queued
	flying    map[store.Position]flight
	busy      map[ship.RawID]bool   // shipments with an attempt in flight: their events keep their order
	retrying  map[ship.RawID]bool   // events of the schedule that are in flight
	unwritten map[ship.RawID]bool   // events of the schedule that have landed, but their rows do not say so yet
	delivered map[ship.EventID]bool // what a recovery need not send again; nil without one
	unknown   bool                  // what was delivered before is yet to be read into that
	read      store.Position        // the log is read up to here; with the common reader: the tenant's last event
	own       bool                  // reads the log by itself, behind the common reader
	kept      bool                  // the endpoint's row holds its cursor
	slow      bool                  // an attempt takes long; sent from the slow pool
	rows      int                   // of the schedule, since this process serves it
	dirty     bool                  // the row is to be written
	park      bool                  // parked just now
	resume    bool                  // joined just now
	noted     time.Time             // when a success was last written
}

// queued is an event that waits to be sent.
type queued struct {
	at      store.Position
	subject ship.RawID
}

// flight is an attempt under way.
type flight struct {
	since   time.Time
	subject ship.RawID
}

// Sizes of a lane.
const (
	window     = 8   // attempts in flight of an endpoint that has answered before
	firstTry   = 1   // of one that never has: nobody may aim us at a stranger
	mostQueued = 64  // waiting events; beyond, the lane reads the log by itself
	mostRows   = 100 // open rows of the schedule; beyond, the endpoint is parked
	mostFails  = 10  // failures in a row; with them, the endpoint is parked
)

func newLane(e store.Endpoint, common store.Position) *lane {
	l := &lane{endpoint: e, read: common}
	switch {
	case e.Joining:
		l.read, l.own, l.kept = e.Cursor, true, true
		l.resume = !l.stopped()
		l.dirty = l.resume
	case l.stopped():
		// It was stopped before its row could hold the cursor.
		l.own, l.dirty = true, true
	}
	l.recovering(e.RecoverSince)
	return l
}

// recovering notes since when what was delivered is not sent again.
func (l *lane) recovering(since time.Time) {
	l.endpoint.RecoverSince, l.delivered, l.unknown = since, nil, false
	if !since.IsZero() {
		l.delivered, l.unknown = map[ship.EventID]bool{}, true
	}
}

// mark sets m[k]. The maps of a lane are made when they are needed: most of very
// many endpoints are quiet.
func mark[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[k] = v
}

// width is how many attempts may be in flight.
func (l *lane) width() int {
	if l.endpoint.Verified {
		return window
	}
	return firstTry
}

// stopped reports whether nothing is sent to the endpoint now.
func (l *lane) stopped() bool { return !l.endpoint.Enabled || l.endpoint.Parked }

// open reports whether one more attempt may be made now.
func (l *lane) open() bool { return !l.stopped() && len(l.flying)+len(l.retrying) < l.width() }

// quiet reports whether the lane has nothing to read, send or write until
// something new happens to it.
func (l *lane) quiet() bool {
	return l.idle() && !l.dirty && len(l.retrying)+len(l.unwritten) == 0 && (l.stopped() || !l.own && !l.kept)
}

// rest frees what only a lane with something to do needs.
func (l *lane) rest() {
	l.waiting, l.flying, l.busy, l.retrying, l.unwritten = nil, nil, nil, nil, nil
}

// offer gives the lane an event that the common reader has read, and reports
// whether that changes anything. A lane that cannot take more reads on by
// itself from there.
func (l *lane) offer(h store.LogHead) bool {
	if l.own || !l.read.Before(h.Position) {
		return false
	}
	if l.stopped() || len(l.waiting) >= mostQueued {
		l.own, l.dirty = true, true
		return true
	}
	l.take(h)
	return true
}

// take puts an event of the log at the end of what waits, unless it is in
// flight from before the lane went back.
func (l *lane) take(h store.LogHead) {
	l.read = h.Position
	if l.endpoint.RecoverSince.IsZero() && l.endpoint.Born.Has(h.Position.Tx) {
		return // older than the endpoint, though its transaction was still in sight
	}
	if _, inAir := l.flying[h.Position]; !inAir && l.endpoint.Wants(h.Kind) && !l.delivered[ship.EventIDOf(h.Position.ID)] {
		l.waiting = append(l.waiting, queued{h.Position, h.Subject})
	}
}

// next takes the next event to send, if the window allows one. An event waits
// while another of its shipment is in flight.
func (l *lane) next(now time.Time) (store.Position, bool) {
	if !l.open() {
		return store.Position{}, false
	}
	for i, q := range l.waiting {
		if l.busy[q.subject] {
			continue
		}
		l.waiting = append(l.waiting[:i:i], l.waiting[i+1:]...)
		mark(&l.flying, q.at, flight{since: now, subject: q.subject})
		mark(&l.busy, q.subject, true)
		return q.at, true
	}
	return store.Position{}, false
}

// landed ends an attempt: the event is delivered, or kept as a row.
func (l *lane) landed(at store.Position) {
	if f, ok := l.flying[at]; ok {
		delete(l.busy, f.subject)
		delete(l.flying, at)
	}
	l.calm()
}

// calm ends being slow once nothing is in flight.
func (l *lane) calm() {
	if len(l.flying)+len(l.retrying) == 0 {
		l.slow = false
	}
}

// putBack undoes next. A lane that has stopped meanwhile finds the event
// behind its cursor.
func (l *lane) putBack(at store.Position) {
	f, ok := l.flying[at]
	l.landed(at)
	if !ok || l.read.Before(at) {
		return
	}
	i, _ := slices.BinarySearchFunc(l.waiting, at, func(q queued, at store.Position) int {
		if q.at.Before(at) {
			return -1
		}
		return 1
	})
	l.waiting = slices.Insert(l.waiting, i, queued{at, f.subject})
}

// behind reports whether the lane wants to read more of the log by itself.
func (l *lane) behind() bool { return l.own && !l.stopped() && len(l.waiting) < mostQueued/4 }

// join ends reading by itself. The lane must have read as far as the common
// reader.
func (l *lane) join() {
	if l.own && !l.stopped() {
		l.own, l.dirty = false, true
		l.recovering(time.Time{})
	}
}

// done is the position up to which everything is delivered or kept: where a
// crash would go on from. What a stopped lane has in flight is beyond it.
func (l *lane) done() store.Position {
	done := l.read
	for at := range l.flying {
		if !done.Before(at) {
			done = at.Previous()
		}
	}
	if len(l.waiting) > 0 && !done.Before(l.waiting[0].at) {
		done = l.waiting[0].at.Previous()
	}
	return done
}

// idle reports whether nothing waits and nothing is in flight.
func (l *lane) idle() bool { return len(l.waiting) == 0 && len(l.flying) == 0 }

// lags reports whether an attempt has been under way for longer than the
// others should wait for it.
func (l *lane) lags(now time.Time, limit time.Duration) bool {
	for _, f := range l.flying {
		if now.Sub(f.since) > limit {
			return true
		}
	}
	return false
}

// stop takes back what waits: the cursor says where to go on.
func (l *lane) stop() {
	l.read = l.done()
	l.waiting, l.own, l.dirty = nil, true, true
}

// adopt takes in the endpoint as somebody else has changed it: its owner, or
// the probe of a parked one.
func (l *lane) adopt(e store.Endpoint) {
	was := l.stopped()
	l.endpoint.Version, l.endpoint.EndpointSettings, l.target = e.Version, e.EndpointSettings, nil
	l.endpoint.Verified, l.endpoint.Parked, l.endpoint.Failures, l.endpoint.FailingSince, l.endpoint.Probe = e.Verified, e.Parked, e.Failures, e.FailingSince, e.Probe
	l.recovering(e.RecoverSince)
	l.dirty = true
	switch now := l.stopped(); {
	case now && !was:
		l.stop()
	case was && !now:
		l.park, l.resume, l.rows = false, true, 0
		l.goBack(e)
	}
	if !e.RecoverSince.IsZero() && e.Joining && e.Cursor.Before(l.done()) {
		l.goBack(e)
	}
}

// goBack reads the log by itself again: from the row's cursor, or from where
// the lane is if the row holds none.
func (l *lane) goBack(e store.Endpoint) {
	l.read, l.waiting, l.own = l.done(), nil, true
	if e.Joining {
		l.read = e.Cursor
	}
}

// succeeded notes that the endpoint has answered 2xx.
func (l *lane) succeeded(now time.Time) {
	e := &l.endpoint
	if !e.Verified || e.Failures > 0 || now.Sub(l.noted) > time.Minute {
		l.dirty, l.noted = true, now
	}
	e.Verified, e.Failures, e.FailingSince, e.LastSuccessAt = true, 0, time.Time{}, now
}

// failed notes a failure, and parks or disables the endpoint when the rules
// say so.
func (l *lane) failed(now time.Time, gone bool) {
	e := &l.endpoint
	e.Failures++
	l.dirty = true
	if e.FailingSince.IsZero() {
		e.FailingSince = now
	}
	switch {
	case l.stopped():
	case gone:
		e.Enabled, e.DisabledReason = false, "gone"
		l.stop()
	case e.Failures >= mostFails, l.rows >= mostRows:
		e.Parked, l.park = true, true
		l.stop()
	}
}
