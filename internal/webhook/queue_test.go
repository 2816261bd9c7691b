package webhook

import (
	"encoding/binary"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// track is a queue with the log that it reads and what became of each event.
type track struct {
	t         *rapid.T
	queue     *queue
	log       []store.LogHead
	offered   int // by the common reader
	now       time.Time
	air       []store.Position
	delivered map[store.Position]bool
	rows      map[store.Position]bool // failed, and kept on the schedule
	started   map[ship.RawID]int      // per shipment, the last log position of a first attempt since the last rewind
	saved     store.Endpoint          // the row as it was last written
}

const wanted, unwanted = ship.ShipmentInTransit, ship.ShipmentDelivered

func newTrack(t *rapid.T) *track {
	e := store.Endpoint{Verified: rapid.Bool().Draw(t, "verified")}
	e.Enabled, e.Kinds = true, []ship.EventKind{wanted}
	k := &track{t: t, now: time.Unix(1, 0), delivered: map[store.Position]bool{}, rows: map[store.Position]bool{}, started: map[ship.RawID]int{}}
	k.queue = newQueue(e, store.Position{})
	k.save()
	return k
}

func numbered(n int) (id ship.RawID) {
	binary.BigEndian.PutUint64(id[8:], uint64(n))
	return id
}

// write adds events of few shipments to the log.
func (k *track) write() {
	for range rapid.IntRange(1, 40).Draw(k.t, "events") {
		kind := wanted
		if rapid.IntRange(0, 9).Draw(k.t, "kind") == 0 {
			kind = unwanted
		}
		n := len(k.log) + 1
		k.log = append(k.log, store.LogHead{
			Position: store.Position{Tx: uint64(n/3 + 1), ID: numbered(n)}, Kind: kind, Subject: numbered(rapid.IntRange(1, 6).Draw(k.t, "shipment")),
		})
	}
}

// readCommon makes the common reader offer new events.
func (k *track) readCommon() {
	for ; k.offered < len(k.log); k.offered++ {
		k.queue.offer(k.log[k.offered])
	}
}

// readOwn lets the queue read by itself, as the dispatcher does.
func (k *track) readOwn() {
	if !k.queue.wantsToRead() {
		return
	}
	n := 0
	for _, h := range k.log[:k.offered] {
		if k.queue.read.Before(h.Position) && n < maxQueued {
			k.queue.enqueue(h)
			n++
		}
	}
	if n < maxQueued {
		k.queue.rejoin()
	}
}

// back resets the expected order, because the queue was rewound.
func (k *track) back() { clear(k.started) }

func (k *track) send() {
	at, ok := k.queue.next(k.now)
	if !ok {
		return
	}
	if k.queue.isStopped() {
		k.t.Fatal("a stopped queue sends")
	}
	n := int(binary.BigEndian.Uint64(at.ID[8:]))
	h := k.log[n-1]
	if h.Kind != wanted {
		k.t.Fatalf("event %d was sent to an endpoint that does not want it", n)
	}
	if k.started[h.Subject] >= n {
		k.t.Fatalf("event %d of a shipment was sent after event %d", n, k.started[h.Subject])
	}
	for _, other := range k.air {
		if other == at {
			k.t.Fatalf("event %d is in flight twice", n)
		}
		if k.subject(other) == h.Subject {
			k.t.Fatalf("event %d is sent while another of its shipment is in flight", n)
		}
	}
	k.started[h.Subject] = n
	k.air = append(k.air, at)
}

func (k *track) subject(at store.Position) ship.RawID {
	return k.log[binary.BigEndian.Uint64(at.ID[8:])-1].Subject
}

// end ends one of the attempts.
func (k *track) end(ok bool) {
	if len(k.air) == 0 {
		return
	}
	i := rapid.IntRange(0, len(k.air)-1).Draw(k.t, "which")
	at := k.air[i]
	k.air = append(k.air[:i], k.air[i+1:]...)
	k.queue.markFinished(at)
	if ok {
		k.delivered[at] = true
		k.queue.recordSuccess(k.now)
		return
	}
	if !k.queue.isStopped() || !k.queue.read.Before(at) {
		k.rows[at] = true
		k.queue.openRetries++
	}
	stopped := k.queue.isStopped()
	k.queue.recordFailure(k.now, rapid.IntRange(0, 30).Draw(k.t, "gone") == 0)
	if k.queue.isStopped() && !stopped {
		k.back()
	}
}

// putBack undoes a send that could not be made.
func (k *track) putBack() {
	if len(k.air) == 0 {
		return
	}
	i := rapid.IntRange(0, len(k.air)-1).Draw(k.t, "which")
	at := k.air[i]
	k.air = append(k.air[:i], k.air[i+1:]...)
	k.queue.putBack(at)
	k.started[k.subject(at)] = 0
}

// save writes the row, as the dispatcher does.
func (k *track) save() {
	q := k.queue
	q.endpoint.Joining, q.endpoint.Cursor = q.detached, q.cursor()
	if !q.detached {
		q.endpoint.Cursor = store.Position{}
	}
	k.saved = q.endpoint
}

// change is what others do to the row: the owner, or the probe.
func (k *track) change() {
	e := k.saved
	e.Version++
	switch rapid.IntRange(0, 3).Draw(k.t, "change") {
	case 0:
		e.Enabled = false
	case 1: // enabled or unparked
		e.Enabled, e.Parked, e.Failures = true, false, 0
	case 2: // unparked by a probe with the first event that waits
		e.Enabled, e.Parked, e.Failures = true, false, 0
		for _, h := range k.log[:k.offered] {
			if e.Joining && e.Cursor.Before(h.Position) && h.Kind == wanted {
				k.delivered[h.Position], e.Cursor = true, h.Position
				break
			}
		}
	case 3: // sent back to a time
		e.Enabled, e.Parked, e.Joining, e.Failures = true, false, true, 0
		e.RecoverSince = k.now
		if len(k.log) > 0 {
			e.Cursor = k.log[rapid.IntRange(0, len(k.log)-1).Draw(k.t, "since")].Position
			if done := k.saved.Cursor; k.saved.Joining && done.Before(e.Cursor) {
				e.Cursor = done
			}
			if done := k.queue.cursor(); done.Before(e.Cursor) {
				e.Cursor = done
			}
		}
	}
	k.queue.applySettings(e)
	k.save()
	k.back()
}

// check checks what must hold at any time: if the process died now, another
// would find everything.
func (k *track) check(*rapid.T) {
	done := k.queue.cursor()
	for _, h := range k.log {
		if h.Kind == wanted && !done.Before(h.Position) && !k.delivered[h.Position] && !k.rows[h.Position] {
			k.t.Fatalf("the cursor %d has passed event %d, which is neither delivered nor kept", done.ID, h.Position.ID)
		}
	}
	if n := len(k.queue.inFlight) + len(k.queue.retrying); n > k.queue.maxInFlight() && n > len(k.air) {
		k.t.Fatalf("%d in flight, over %d", n, k.queue.maxInFlight())
	}
	if len(k.air) > window {
		k.t.Fatalf("%d in flight, over %d", len(k.air), window)
	}
	if len(k.queue.waiting) > maxQueued+maxQueued/4+window {
		k.t.Fatalf("%d events wait in memory", len(k.queue.waiting))
	}
	for i := 1; i < len(k.queue.waiting); i++ {
		if !k.queue.waiting[i-1].at.Before(k.queue.waiting[i].at) {
			k.t.Fatal("what waits is not in order")
		}
	}
}

// finish delivers everything that is pending, and counts what did not arrive.
func (k *track) finish() {
	e := k.saved
	e.Enabled, e.Parked, e.Version = true, false, e.Version+1
	if k.queue.isStopped() {
		k.queue.applySettings(e)
		k.back()
	}
	k.readCommon()
	for range len(k.log)*4 + 100 {
		k.readOwn()
		k.send()
		k.end(true)
	}
	for _, h := range k.log {
		if h.Kind == wanted && !k.delivered[h.Position] && !k.rows[h.Position] {
			k.t.Fatalf("event %d was neither delivered nor kept", h.Position.ID)
		}
	}
	if k.queue.detached || !k.queue.isIdle() {
		k.t.Fatalf("the queue has not caught up: %d wait, %d fly, own %t", len(k.queue.waiting), len(k.queue.inFlight), k.queue.detached)
	}
}

func TestALaneLosesNothingInAnyHistory(t *testing.T) {
	history := func(rt *rapid.T) {
		k := newTrack(rt)
		rt.Repeat(map[string]func(*rapid.T){
			"write":   func(*rapid.T) { k.write() },
			"common":  func(*rapid.T) { k.readCommon() },
			"own":     func(*rapid.T) { k.readOwn() },
			"send":    func(*rapid.T) { k.send() },
			"send8":   func(*rapid.T) { k.send(); k.send(); k.send(); k.send() },
			"arrive":  func(*rapid.T) { k.end(true) },
			"fail":    func(*rapid.T) { k.end(false) },
			"putBack": func(*rapid.T) { k.putBack() },
			"slow":    func(*rapid.T) { k.queue.slow = len(k.air) > 0 },
			"save":    func(*rapid.T) { k.save() },
			"change":  func(*rapid.T) { k.change() },
			"":        k.check,
		})
		k.finish()
	}
	for range 20 {
		rapid.Check(t, history)
	}
}

func TestAnEndpointIsParkedAfterTenFailuresInARowOrAHundredRows(t *testing.T) {
	fresh := func() *queue {
		e := store.Endpoint{Verified: true}
		e.Enabled = true
		return newQueue(e, store.Position{})
	}
	q := fresh()
	for n := range maxFailures {
		if q.isStopped() {
			t.Fatalf("it was parked after %d failures", n)
		}
		q.recordFailure(time.Now(), false)
	}
	if !q.endpoint.Parked || !q.park {
		t.Error("it was not parked after ten failures in a row")
	}
	q = fresh()
	for n := range 1000 {
		q.openRetries++
		q.recordFailure(time.Now(), false)
		if q.isStopped() {
			if n+1 != maxOpenRetries {
				t.Errorf("it was parked with %d rows", n+1)
			}
			return
		}
		q.recordSuccess(time.Now())
	}
	t.Error("it was never parked")
}

func TestAnEndpointThatIsGoneIsDisabledAtOnce(t *testing.T) {
	e := store.Endpoint{Verified: true}
	e.Enabled = true
	q := newQueue(e, store.Position{})
	q.recordFailure(time.Now(), true)
	if q.endpoint.Enabled || q.endpoint.DisabledReason != DisabledGone || q.park {
		t.Errorf("enabled %t, reason %q, parked now %t", q.endpoint.Enabled, q.endpoint.DisabledReason, q.park)
	}
}

// An owner may switch an endpoint off and on again faster than the dispatcher
// refreshes: the retries that were stopped in between must go on.
func TestRetriesResumeAfterASwitchThatTheQueueNeverSaw(t *testing.T) {
	endpoint := store.Endpoint{Verified: true, Version: 1}
	endpoint.Enabled = true
	q := newQueue(endpoint, store.Position{})

	endpoint.Version = 3
	q.applySettings(endpoint)

	if !q.resume {
		t.Error("the stopped retries of an endpoint that is on again are not resumed")
	}
}

// Event 1 is still in flight when event 2 has failed. A recovery whose cursor is
// the queue's own removes the retry of event 2, so the queue must read it again.
func TestARecoveryFromTheQueuesOwnCursorReadsAgain(t *testing.T) {
	endpoint := store.Endpoint{Verified: true, Version: 1}
	endpoint.Enabled = true
	q := newQueue(endpoint, store.Position{})
	events := []store.LogHead{
		{Position: store.Position{Tx: 1, ID: numbered(1)}, Kind: wanted, Subject: numbered(1)},
		{Position: store.Position{Tx: 1, ID: numbered(2)}, Kind: wanted, Subject: numbered(2)},
	}
	for _, event := range events {
		q.offer(event)
		if _, ok := q.next(time.Now()); !ok {
			t.Fatal("the event was not sent")
		}
	}
	q.markFinished(events[1].Position)

	endpoint.Version = 2
	endpoint.Joining = true
	endpoint.Cursor = q.cursor()
	endpoint.RecoverSince = time.Unix(1, 0)
	q.applySettings(endpoint)

	if q.read != endpoint.Cursor || !q.wantsToRead() {
		t.Errorf("the queue has read up to %v, want the recovery's cursor %v", q.read, endpoint.Cursor)
	}
}
