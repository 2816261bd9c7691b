package webhook

import (
	"encoding/binary"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// outage is a dispatcher with one endpoint in virtual time.
type outage struct {
	t        *testing.T
	start    time.Time
	log      []store.LogHead
	written  []time.Time
	every    time.Duration // between events
	now      *tables
	due      map[ship.RawID]time.Time
	d        *Dispatcher
	accepts  func(event int) bool
	tries    map[int][]time.Time
	arrived  map[int]time.Time
	twice    int
	probes   []time.Time
	probeAt  time.Time
	endpoint ship.EndpointID
}

func newOutage(t *testing.T, every time.Duration, accepts func(int) bool) *outage {
	e := store.Endpoint{ID: ship.EndpointIDOf(numbered(1)), Tenant: modelTenant(0), Verified: true, Version: 1}
	e.Enabled = true
	o := &outage{
		t: t, start: time.Now(), every: every, accepts: accepts, due: map[ship.RawID]time.Time{}, tries: map[int][]time.Time{}, arrived: map[int]time.Time{}, endpoint: e.ID,
		now: &tables{map[int]store.SlotLease{}, map[ship.EndpointID]store.Endpoint{e.ID: e}, map[delivery]scheduled{}, map[delivery]bool{}},
		d:   NewDispatcher(&Service{}, nil),
	}
	o.d.addSlots([]store.SlotLease{{}}, []store.Endpoint{e})
	return o
}

func eventNumber(at store.Position) int { return int(binary.BigEndian.Uint64(at.ID[8:])) }

// try sends an event and says whether it arrived.
func (o *outage) try(at store.Position) bool {
	n := eventNumber(at)
	o.tries[n] = append(o.tries[n], time.Now())
	if !o.accepts(n) {
		return false
	}
	if _, had := o.arrived[n]; had {
		o.twice++
	} else {
		o.arrived[n] = time.Now()
	}
	return true
}

func (o *outage) fire(attempts []attempt) {
	for i := range attempts {
		a := &Attempt{WebhookAttempt: store.WebhookAttempt{Endpoint: o.endpoint, Event: ship.EventIDOf(attempts[i].event.ID), Outcome: OutcomeFailed, Status: 503}}
		if o.try(attempts[i].event) {
			a.Outcome, a.Status = OutcomeDelivered, 200
		}
		o.d.finish(&attempts[i], a)
	}
}

// step does everything that is due at this moment, and reports whether there
// was anything to do.
func (o *outage) step() bool {
	q := o.d.queues[o.endpoint]
	from := o.d.common
	o.d.distribute(from, o.log[eventNumber(from):], time.Now())
	if q.wantsToRead() {
		heads := o.log[eventNumber(q.read):]
		o.d.fill(q, q.read, heads[:min(len(heads), maxQueued)])
	}
	var attempts []attempt
	o.d.takeReady(q, time.Now(), &attempts)
	for key, row := range o.now.rows {
		if !row.stopped && !o.due[key.event].After(time.Now()) {
			o.d.takeDue(&store.Retry{Endpoint: o.endpoint, Event: row.at, Attempts: row.attempts}, &attempts)
		}
	}
	o.fire(attempts)
	o.record()
	return len(attempts) > 0 || o.probe()
}

func (o *outage) record() {
	r, ok := o.d.collect(0)
	if !ok {
		return
	}
	o.now.record(r)
	o.d.markWritten(r)
	for _, row := range r.Retries {
		o.due[row.Event.ID] = time.Now().Add(row.Wait)
	}
	for _, e := range r.Endpoints {
		if e.Park {
			o.probeAt = time.Now() // the job is due at once
		}
		if e.Resume {
			for key := range o.now.rows {
				o.due[key.event] = time.Now()
			}
		}
	}
}

// probe tries a parked endpoint as Service.Probe does.
func (o *outage) probe() bool {
	e := o.now.endpoints[o.endpoint]
	if !e.Parked || time.Now().Before(o.probeAt) {
		return false
	}
	o.probes = append(o.probes, time.Now())
	at, behind := o.waiting(e)
	key := delivery{o.endpoint, at.ID}
	if o.try(at) {
		e.Parked, e.Failures, e.Probe, e.Joining = false, 0, 0, true
		if len(behind) > 0 && behind[0].Position == at {
			e.Cursor = at
		}
		delete(o.now.rows, key)
		e.Version++
	} else {
		e.Probe++
		o.probeAt = time.Now().Add(probeDelay(e.Probe))
	}
	o.now.endpoints[o.endpoint] = e
	o.d.applySettings(e)
	return true
}

// waiting returns the event to probe with and the events after the cursor.
// Probes use the oldest, the newest, then each in turn.
func (o *outage) waiting(e store.Endpoint) (store.Position, []store.LogHead) {
	var all []store.Position
	for _, row := range o.now.rows {
		all = append(all, row.at)
	}
	slices.SortFunc(all, func(a, b store.Position) int { return eventNumber(a) - eventNumber(b) })
	behind := o.log[eventNumber(e.Cursor):]
	for _, h := range behind[:min(20, len(behind))] {
		all = append(all, h.Position)
	}
	if e.Probe == 1 && len(behind) > 0 {
		return behind[len(behind)-1].Position, behind
	}
	return all[max(e.Probe-1, 0)%len(all)], behind
}

// run lets time pass until the events are recorded, and a while longer.
func (o *outage) run(events int, more time.Duration) {
	for {
		for o.step() {
		}
		next := o.start.Add(o.every * time.Duration(len(o.log)+1))
		if len(o.log) == events {
			next = time.Now().Add(time.Minute)
		}
		if o.now.endpoints[o.endpoint].Parked && o.probeAt.Before(next) {
			next = o.probeAt
		}
		for key, row := range o.now.rows {
			if at := o.due[key.event]; !row.stopped && at.Before(next) {
				next = at
			}
		}
		if next.Sub(o.start) > o.every*time.Duration(events)+more {
			return
		}
		time.Sleep(time.Until(next))
		if n := len(o.log) + 1; n <= events && !time.Now().Before(o.start.Add(o.every*time.Duration(n))) {
			o.log = append(o.log, store.LogHead{Position: store.Position{Tx: uint64(n), ID: numbered(n)}, Kind: wanted, Tenant: modelTenant(0), Subject: numbered(1 + n%50)})
			o.written = append(o.written, time.Now())
		}
	}
}

func TestAnOutageOfThreeDaysLosesNothing(t *testing.T) {
	const events, every = 10_000, 27 * time.Second // 75 hours
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		down, up := start.Add(30*time.Minute), start.Add(75*time.Hour)
		o := newOutage(t, every, func(int) bool { return time.Now().Before(down) || !time.Now().Before(up) })
		o.run(events, 3*time.Hour)
		if len(o.arrived) != events {
			t.Fatalf("%d of %d events arrived", len(o.arrived), events)
		}
		wasted, latest := 0, start
		for n, tries := range o.tries {
			if len(tries) > len(schedule)+1+len(o.probes) {
				t.Errorf("event %d was tried %d times", n, len(tries))
			}
			wasted += len(tries) - 1
			if at := o.arrived[n]; at.After(latest) {
				latest = at
			}
		}
		for i := 1; i < len(o.probes); i++ {
			if gap := o.probes[i].Sub(o.probes[i-1]); gap > maxProbeDelay {
				t.Errorf("%s passed between two probes", gap)
			}
		}
		if late := latest.Sub(up); late > maxProbeDelay+time.Minute {
			t.Errorf("the last event arrived %s after the end of the outage", late)
		}
		t.Logf("%d events in %s: %d probes, %d attempts that failed or were not needed, %d arrived twice, the last %s after the end of the outage",
			events, every*events, len(o.probes), wasted, o.twice, latest.Sub(up).Round(time.Second))
		if wasted > 200 || o.twice > window {
			t.Errorf("%d attempts too many, %d events came twice", wasted, o.twice)
		}
	})
}

func TestAPoisonEventIsTriedTenTimesAndHoldsUpNothing(t *testing.T) {
	const events, poison = 10_000, 100
	synctest.Test(t, func(t *testing.T) {
		o := newOutage(t, 30*time.Second, func(n int) bool { return n != poison })
		o.run(events, 24*time.Hour)
		for n := 1; n <= events; n++ {
			if at, ok := o.arrived[n]; n != poison && (!ok || len(o.tries[n]) != 1 || at.Sub(o.written[n-1]) > time.Second) {
				t.Fatalf("event %d arrived %t, tried %d times, after %s", n, ok, len(o.tries[n]), at.Sub(o.written[n-1]))
			}
		}
		tries := o.tries[poison]
		if len(tries) != len(schedule)+1 {
			t.Fatalf("the poison was tried %d times", len(tries))
		}
		for i, want := range schedule {
			if got := tries[i+1].Sub(tries[i]); got < want*8/10 || got > want*12/10+time.Second {
				t.Errorf("attempt %d came after %s; want %s and a fifth more or less", i+2, got, want)
			}
		}
		if len(o.now.rows) != 0 || len(o.probes) != 0 {
			t.Errorf("%d rows are left, and it was probed %d times", len(o.now.rows), len(o.probes))
		}
	})
}

func TestWhatAnEndpointAsksForIsHonoured(t *testing.T) {
	if wait, again := retryDelay(1, time.Hour); !again || wait != time.Hour {
		t.Errorf("after the first failure it waits %s", wait)
	}
	if wait, again := retryDelay(9, time.Hour); !again || wait < 38*time.Hour {
		t.Errorf("after the ninth failure it waits %s", wait)
	}
	if _, again := retryDelay(10, 0); again {
		t.Error("the tenth failure is not the last")
	}
}
