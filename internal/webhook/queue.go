package webhook

import (
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// A queue is one endpoint as its dispatcher sees it: what waits, what is in
// flight, and up to where the log is done with. It does no I/O: it is given
// events and outcomes and decides, so that a test can drive it through any
// history. The dispatcher's lock guards it.
//
// A queue normally takes its events from the common reader. One that falls
// behind, is stopped or recovers is detached: the log is read for it alone, and
// the endpoint's row keeps its cursor, so that it holds up no other.
type queue struct {
	endpoint store.Endpoint
	target   *Target // opened when first needed; nil after a change of settings

	waiting   []waitingEvent
	inFlight  map[store.Position]flight
	busy      map[ship.RawID]bool   // shipments with an attempt in flight: their events keep their order
	retrying  map[ship.RawID]bool   // events of the schedule that are in flight
	unwritten map[ship.RawID]bool   // events of the schedule that have finished, but whose rows do not say so yet
	delivered map[ship.EventID]bool // what a recovery need not send again; nil without one

	mustLoadDelivered bool           // earlier deliveries are yet to be read into delivered
	read              store.Position // the log is read up to here; with the common reader: the tenant's last event
	detached          bool           // the log is read for this queue alone, behind the common reader
	hasCursor         bool           // the endpoint's row holds its cursor
	slow              bool           // an attempt takes long; sent from the slow pool
	openRetries       int            // rows of the schedule, since this process serves it
	dirty             bool           // the endpoint's row is to be written
	park              bool           // parked since the row was last written
	resume            bool           // resumed since the row was last written
	successNotedAt    time.Time      // when a success was last written
}

// waitingEvent is an event that waits to be sent.
type waitingEvent struct {
	at      store.Position
	subject ship.RawID
}

// flight is a first attempt under way.
type flight struct {
	since   time.Time
	subject ship.RawID
}

// The bounds of a queue.
const (
	window           = 8   // attempts in flight of an endpoint that has answered before
	unverifiedWindow = 1   // of one that never has: the service must not be used to flood a stranger
	maxQueued        = 64  // waiting events; with more, the queue is detached
	maxOpenRetries   = 100 // open rows of the schedule; with more, the endpoint is parked
	maxFailures      = 10  // failures in a row; with them, the endpoint is parked
)

func newQueue(endpoint store.Endpoint, common store.Position) *queue {
	q := &queue{endpoint: endpoint, read: common}

	switch {
	case endpoint.Joining:
		q.read = endpoint.Cursor
		q.detached = true
		q.hasCursor = true
		q.resume = !q.isStopped()
		q.dirty = q.resume

	case q.isStopped():
		// It was stopped before its row could hold the cursor.
		q.detached = true
		q.dirty = true
	}

	q.setRecovery(endpoint.RecoverSince)
	return q
}

// setRecovery notes since when events that were delivered are not sent again;
// the zero time ends a recovery.
func (q *queue) setRecovery(since time.Time) {
	q.endpoint.RecoverSince = since
	q.delivered = nil
	q.mustLoadDelivered = false

	if !since.IsZero() {
		q.delivered = map[ship.EventID]bool{}
		q.mustLoadDelivered = true
	}
}

// put sets m[key], and makes the map if need be. The maps of a queue are made
// when they are needed: with very many endpoints, most are idle.
func put[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
}

// maxInFlight returns how many attempts may be in flight.
func (q *queue) maxInFlight() int {
	if q.endpoint.Verified {
		return window
	}
	return unverifiedWindow
}

// isStopped reports whether nothing is sent to the endpoint now.
func (q *queue) isStopped() bool { return !q.endpoint.Enabled || q.endpoint.Parked }

// canSend reports whether one more attempt may be made now.
func (q *queue) canSend() bool {
	return !q.isStopped() && len(q.inFlight)+len(q.retrying) < q.maxInFlight()
}

// isQuiet reports whether the queue has nothing to read, send or write until
// something new happens to it.
func (q *queue) isQuiet() bool {
	return q.isIdle() && !q.dirty && len(q.retrying)+len(q.unwritten) == 0 && (q.isStopped() || !q.detached && !q.hasCursor)
}

// releaseMemory frees what only a queue with something to do needs.
func (q *queue) releaseMemory() {
	q.waiting = nil
	q.inFlight = nil
	q.busy = nil
	q.retrying = nil
	q.unwritten = nil
}

// offer gives the queue an event that the common reader has read, and reports
// whether that changes anything. A queue that cannot take more is detached and
// reads on from there by itself.
func (q *queue) offer(head store.LogHead) bool {
	if q.detached || !q.read.Before(head.Position) {
		return false
	}

	if q.isStopped() || len(q.waiting) >= maxQueued {
		q.detached = true
		q.dirty = true
		return true
	}

	q.enqueue(head)
	return true
}

// enqueue appends an event of the log to what waits, unless the endpoint does
// not want it or has it.
func (q *queue) enqueue(head store.LogHead) {
	q.read = head.Position

	// The event is older than the endpoint, although its transaction was still
	// open when the endpoint was created.
	if q.endpoint.RecoverSince.IsZero() && q.endpoint.Born.Has(head.Position.Tx) {
		return
	}

	// After a step back in the log an event may still be in flight from before.
	_, isInFlight := q.inFlight[head.Position]
	if isInFlight || !q.endpoint.Wants(head.Kind) || q.delivered[ship.EventIDOf(head.Position.ID)] {
		return
	}
	q.waiting = append(q.waiting, waitingEvent{head.Position, head.Subject})
}

// next takes the next event to send, if the window allows one. An event waits
// while another of its shipment is in flight, so that a shipment's events keep
// their order.
func (q *queue) next(now time.Time) (store.Position, bool) {
	if !q.canSend() {
		return store.Position{}, false
	}

	for i, event := range q.waiting {
		if q.busy[event.subject] {
			continue
		}

		q.waiting = append(q.waiting[:i:i], q.waiting[i+1:]...)
		put(&q.inFlight, event.at, flight{since: now, subject: event.subject})
		put(&q.busy, event.subject, true)
		return event.at, true
	}
	return store.Position{}, false
}

// markFinished ends a first attempt: the event is delivered, or kept as a row.
func (q *queue) markFinished(event store.Position) {
	if f, ok := q.inFlight[event]; ok {
		delete(q.busy, f.subject)
		delete(q.inFlight, event)
	}
	q.clearBackoff()
}

// clearBackoff moves the queue back to the fast pool once nothing is in flight.
func (q *queue) clearBackoff() {
	if len(q.inFlight)+len(q.retrying) == 0 {
		q.slow = false
	}
}

// putBack undoes next. A queue that was stopped meanwhile finds the event
// after its cursor.
func (q *queue) putBack(event store.Position) {
	f, ok := q.inFlight[event]
	q.markFinished(event)
	if !ok || q.read.Before(event) {
		return
	}

	i, _ := slices.BinarySearchFunc(q.waiting, event, func(w waitingEvent, event store.Position) int {
		if w.at.Before(event) {
			return -1
		}
		return 1
	})
	q.waiting = slices.Insert(q.waiting, i, waitingEvent{event, f.subject})
}

// wantsToRead reports whether more of the log is to be read for this queue
// alone.
func (q *queue) wantsToRead() bool {
	return q.detached && !q.isStopped() && len(q.waiting) < maxQueued/4
}

// rejoin returns the queue to the common reader. It must have read as far as
// the common reader has.
func (q *queue) rejoin() {
	if q.detached && !q.isStopped() {
		q.detached = false
		q.dirty = true
		q.setRecovery(time.Time{})
	}
}

// cursor returns the position up to which everything is delivered or kept:
// where another process would continue after a crash. What a stopped queue has
// in flight is beyond it.
func (q *queue) cursor() store.Position {
	cursor := q.read

	for event := range q.inFlight {
		if !cursor.Before(event) {
			cursor = event.Previous()
		}
	}
	if len(q.waiting) > 0 && !cursor.Before(q.waiting[0].at) {
		cursor = q.waiting[0].at.Previous()
	}
	return cursor
}

// isIdle reports whether nothing waits and nothing is in flight.
func (q *queue) isIdle() bool { return len(q.waiting) == 0 && len(q.inFlight) == 0 }

// isLagging reports whether an attempt has been under way for longer than the
// others should wait for it.
func (q *queue) isLagging(now time.Time, limit time.Duration) bool {
	for _, f := range q.inFlight {
		if now.Sub(f.since) > limit {
			return true
		}
	}
	return false
}

// stop discards what waits: the cursor says where to continue.
func (q *queue) stop() {
	q.read = q.cursor()
	q.waiting = nil
	q.detached = true
	q.dirty = true
}

// applySettings applies the endpoint's row as somebody else has changed it: its
// owner, or the probe of a parked endpoint.
func (q *queue) applySettings(changed store.Endpoint) {
	wasStopped := q.isStopped()

	// The cursor and the last success are this process's own and stay.
	q.endpoint.Version = changed.Version
	q.endpoint.EndpointSettings = changed.EndpointSettings
	q.endpoint.Verified = changed.Verified
	q.endpoint.Parked = changed.Parked
	q.endpoint.Failures = changed.Failures
	q.endpoint.FailingSince = changed.FailingSince
	q.endpoint.Probe = changed.Probe
	q.target = nil
	q.setRecovery(changed.RecoverSince)
	q.dirty = true

	switch isStopped := q.isStopped(); {
	case isStopped && !wasStopped:
		q.stop()
	case wasStopped && !isStopped:
		q.park = false
		q.openRetries = 0
		q.rewind(changed)
	}

	// The endpoint may have been switched off and on again since the last
	// refresh: then its retries are stopped although the queue never was.
	q.resume = !q.isStopped()

	// A recovery goes back in the log even if the endpoint was never stopped. It
	// has removed the retries beyond its cursor, and some of them belong to
	// events that the queue has read, so the queue's own cursor does not matter.
	// Without a step back the queue still reads by itself: the common reader may
	// have passed events that this copy could not see while their shard moved.
	if !changed.RecoverSince.IsZero() && changed.Joining {
		if !changed.Cursor.Before(q.read) {
			changed.Joining = false
		}
		q.rewind(changed)
	}
}

// rewind detaches the queue and continues from the row's cursor, or from where
// the queue is if the row holds none.
func (q *queue) rewind(changed store.Endpoint) {
	q.read = q.cursor()
	q.waiting = nil
	q.detached = true
	if changed.Joining {
		q.read = changed.Cursor
	}
}

// recordSuccess notes that the endpoint has answered 2xx.
func (q *queue) recordSuccess(now time.Time) {
	endpoint := &q.endpoint

	// The time of the last success alone is not worth a write per delivery.
	if !endpoint.Verified || endpoint.Failures > 0 || now.Sub(q.successNotedAt) > time.Minute {
		q.dirty = true
		q.successNotedAt = now
	}

	endpoint.Verified = true
	endpoint.Failures = 0
	endpoint.FailingSince = time.Time{}
	endpoint.LastSuccessAt = now
}

// recordFailure notes a failure, and parks or disables the endpoint when the
// rules say so.
func (q *queue) recordFailure(now time.Time, gone bool) {
	endpoint := &q.endpoint

	endpoint.Failures++
	q.dirty = true
	if endpoint.FailingSince.IsZero() {
		endpoint.FailingSince = now
	}

	switch {
	case q.isStopped():
	case gone:
		endpoint.Enabled = false
		endpoint.DisabledReason = DisabledGone
		q.stop()
	case endpoint.Failures >= maxFailures, q.openRetries >= maxOpenRetries:
		endpoint.Parked = true
		q.park = true
		q.stop()
	}
}
