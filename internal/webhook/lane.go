package webhook

import (
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
	delivered map[ship.EventID]bool // what a recovery need not send again; nil without one
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
	l := &lane{endpoint: e, flying: map[store.Position]flight{}, busy: map[ship.RawID]bool{}, retrying: map[ship.RawID]bool{}, read: common}
	if e.Joining {
		l.read, l.own, l.kept = e.Cursor, true, true
		l.resume = !l.stopped()
	}
	return l
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

// offer gives the lane an event that the common reader has read. A lane that
// cannot take more reads on by itself from there.
func (l *lane) offer(h store.LogHead) {
	if l.own || !l.read.Before(h.Position) {
		return
	}
	if l.stopped() || len(l.waiting) >= mostQueued || l.slow {
		l.own, l.dirty = true, true
		return
	}
	l.take(h)
}

// take puts an event of the log at the end of what waits.
func (l *lane) take(h store.LogHead) {
	l.read = h.Position
	if l.endpoint.Wants(h.Kind) && !l.delivered[ship.EventIDOf(h.Position.ID)] {
		l.waiting = append(l.waiting, queued{h.Position, h.Subject})
	}
}

// next takes the next event to send, if the window allows one. An event waits
// while another of its shipment is in flight.
func (l *lane) next(now time.Time) (store.Position, bool) {
	if l.stopped() || len(l.flying)+len(l.retrying) >= l.width() {
		return store.Position{}, false
	}
	for i, q := range l.waiting {
		if l.busy[q.subject] {
			continue
		}
		l.waiting = append(l.waiting[:i:i], l.waiting[i+1:]...)
		l.flying[q.at] = flight{since: now, subject: q.subject}
		l.busy[q.subject] = true
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
	if len(l.flying) == 0 {
		l.slow = false
	}
}

// behind reports whether the lane wants to read more of the log by itself.
func (l *lane) behind() bool { return l.own && !l.stopped() && len(l.waiting) < mostQueued/4 }

// join ends reading by itself. The lane must have read as far as the common
// reader.
func (l *lane) join() {
	if l.own && !l.slow && !l.stopped() {
		l.own, l.dirty = false, true
		l.delivered, l.endpoint.RecoverSince = nil, time.Time{}
	}
}

// done is the position up to which everything is delivered or kept: where a
// crash would go on from.
func (l *lane) done() store.Position {
	first, any := store.Position{}, false
	for at := range l.flying {
		if !any || at.Before(first) {
			first, any = at, true
		}
	}
	if len(l.waiting) > 0 && (!any || l.waiting[0].at.Before(first)) {
		first, any = l.waiting[0].at, true
	}
	if !any {
		return l.read
	}
	return first.Previous()
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
