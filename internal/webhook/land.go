package webhook

import (
	"context"
	"time"

	"github.com/waybillhq/waybill/internal/job"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// send makes one attempt and takes in what became of it.
func (d *Dispatcher) send(ctx context.Context, s *shot) {
	if s.body == nil && !s.broken {
		d.land(s, nil) // the event is kept no longer
		return
	}
	target, err := d.target(s.l)
	if err != nil || s.broken {
		d.land(s, d.unsent(s, err))
		return
	}
	// An attempt that takes long gives its permit back: others must not wait
	// for it. It is not cut short.
	slow := time.AfterFunc(slowAfter, func() { d.slowDown(s) })
	attempt := d.sender.Send(context.WithoutCancel(ctx), Delivery{Target: target, Event: ship.EventIDOf(s.at.ID), Body: s.body, Number: s.number, Trigger: s.trigger})
	slow.Stop()
	d.metrics.observe(&attempt, s.at.At)
	d.land(s, &attempt)
}

// target opens the endpoint of a lane.
func (d *Dispatcher) target(l *lane) (t *Target, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l.target == nil {
		l.target, err = d.service.Open(l.endpoint)
	}
	return l.target, err
}

// unsent is an attempt that could not be made through no fault of the
// endpoint: the event stays on the schedule.
func (d *Dispatcher) unsent(s *shot, err error) *Attempt {
	if err != nil {
		d.log.Error("webhooks: open endpoint", "endpoint", s.l.endpoint.ID, "error", err)
	}
	e := &s.l.endpoint
	return &Attempt{WebhookAttempt: store.WebhookAttempt{
		ID: ship.NewAttemptID(e.Tenant.Shard(), time.Now()), Tenant: e.Tenant, Endpoint: e.ID, Event: ship.EventIDOf(s.at.ID), Number: s.number, Trigger: s.trigger,
		Outcome: OutcomeCancelled, Error: "the service could not make the request",
	}}
}

// slowDown moves an attempt that takes long off the fast path.
func (d *Dispatcher) slowDown(s *shot) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s.landed {
		return
	}
	if !s.slow {
		s.slow = true
		d.fast++
		d.slow--
	}
	s.l.slow = true
	poke(d.free)
}

// land takes in what became of a shot; a nil attempt means that there is
// nothing to send.
func (d *Dispatcher) land(s *shot, a *Attempt) {
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	s.landed = true
	d.release(s.slow)
	l := s.l
	if s.retry != nil {
		delete(l.retrying, s.at.ID)
		l.calm()
	} else {
		l.landed(s.at)
	}
	poke(d.free)
	if !d.serves(l) {
		return // served by another copy now, or deleted
	}
	slot := d.slots[l.endpoint.Slot]
	row := store.Retry{Tenant: l.endpoint.Tenant, Endpoint: l.endpoint.ID, Event: s.at, Slot: l.endpoint.Slot, Attempts: s.number}
	switch {
	case a == nil:
		slot.settle(l, s, row)
	case a.Delivered():
		slot.attempts = append(slot.attempts, a.WebhookAttempt)
		slot.settle(l, s, row)
		if l.delivered != nil {
			l.delivered[a.Event] = true
		}
		l.succeeded(now)
	default:
		slot.attempts = append(slot.attempts, a.WebhookAttempt)
		d.keepFailed(slot, s, row, a, now)
	}
	if len(d.lanes) > manyLanes && l.idle() && len(l.retrying) == 0 {
		l.target = nil // opened again when there is something to send
	}
	d.touch(l)
}

// settle ends a delivery's row, if it has one.
func (s *slot) settle(l *lane, sent *shot, row store.Retry) {
	if sent.retry == nil {
		return
	}
	s.settled = append(s.settled, row)
	mark(&l.unwritten, row.Event.ID, true)
	l.rows = max(l.rows-1, 0)
}

// keepFailed puts a failed delivery on the schedule, or gives it up after its
// last try; d.mu is held.
func (d *Dispatcher) keepFailed(slot *slot, s *shot, row store.Retry, a *Attempt, now time.Time) {
	l := s.l
	wait, again := after(s.number, a.RetryAfter)
	switch {
	case s.retry == nil && l.stopped() && l.read.Before(s.at):
		// Behind the cursor: the drain sends it again.
	case !again:
		slot.settle(l, s, row)
		d.metrics.givenUp()
	default:
		row.Wait = wait
		if s.retry == nil {
			l.rows++
		}
		mark(&l.unwritten, row.Event.ID, true)
		slot.retries = append(slot.retries, row)
	}
	l.failed(now, a.Gone())
}

// sendDue sends what the schedule says is due.
func (d *Dispatcher) sendDue(ctx context.Context) error {
	held := d.held()
	if len(held) == 0 {
		return nil
	}
	shots, err := d.readDue(ctx, held)
	if err != nil {
		return err
	}
	return d.fire(ctx, shots)
}

// readDue takes deliveries that are due. Those of endpoints that can take no
// more are not read: they would hide the others.
func (d *Dispatcher) readDue(ctx context.Context, held []int) (shots []shot, err error) {
	d.writing.Lock()
	defer d.writing.Unlock()
	d.mu.Lock()
	var full []ship.EndpointID
	hidden := 0
	for _, s := range d.slots {
		for l := range s.active {
			if hidden += len(l.retrying) + len(l.unwritten); !l.open() {
				full = append(full, l.endpoint.ID)
			}
		}
	}
	d.mu.Unlock()
	due, err := d.store.DueRetries(ctx, held, full, duePage+hidden)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range due {
		d.drawDue(&due[i], &shots)
	}
	return shots, nil
}

// drawDue takes a due delivery if its endpoint and a pool allow; d.mu is held.
func (d *Dispatcher) drawDue(r *store.Retry, shots *[]shot) {
	l := d.lanes[r.Endpoint]
	if l == nil || !l.open() || l.retrying[r.Event.ID] || l.unwritten[r.Event.ID] {
		return
	}
	pool := &d.slow // what failed before must not hold up what is fresh
	if l.endpoint.Failures == 0 && d.fast > fastPermits/2 {
		pool = &d.fast
	}
	if *pool <= 0 {
		return
	}
	*pool--
	mark(&l.retrying, r.Event.ID, true)
	d.touch(l)
	*shots = append(*shots, shot{l: l, at: r.Event, number: r.Attempts + 1, trigger: dueTrigger(r), slow: pool == &d.slow, retry: r})
}

// record writes down what was done, slot by slot, each with its cursor.
func (d *Dispatcher) record(ctx context.Context) error {
	d.writing.Lock()
	defer d.writing.Unlock()
	for _, n := range d.held() {
		r, ok := d.collect(n)
		if !ok {
			continue
		}
		err := d.store.Record(ctx, r, probeJob)
		if ship.KindOf(err) == ship.Conflict {
			d.lose(n)
			continue
		}
		if err != nil {
			d.restore(n, r)
			return err
		}
		d.written(r)
	}
	return nil
}

// written takes in that the rows say what became of their deliveries.
func (d *Dispatcher) written(r store.Record) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, list := range [][]store.Retry{r.Settled, r.Retries} {
		for _, row := range list {
			if l := d.lanes[row.Endpoint]; l != nil {
				delete(l.unwritten, row.Event.ID)
			}
		}
	}
}

func probeJob(e store.EndpointRecord) store.Job {
	return job.ProbeEndpoint{Account: e.Tenant.Account, Livemode: e.Tenant.Livemode, Endpoint: e.ID}
}

// collect takes what is to be written down of a slot.
func (d *Dispatcher) collect(n int) (r store.Record, ok bool) {
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.slots[n]
	if s == nil {
		return r, false
	}
	cursor := d.common
	for l := range s.active {
		if !l.own && !l.idle() && !l.kept && l.lags(now, lagAfter) {
			l.kept, l.dirty = true, true // from here on the others do not wait for it
		}
		if l.own || l.kept || l.idle() {
			continue
		}
		if at := l.done(); at.Before(cursor) {
			cursor = at
		}
	}
	if cursor.Before(s.lease.Cursor) {
		cursor = s.lease.Cursor // the common reader has gone back for another slot
	}
	for l := range s.active {
		d.collectLane(l, cursor, &r)
		if l.quiet() {
			delete(s.active, l)
			l.rest()
		}
	}
	if len(s.attempts)+len(s.retries)+len(s.settled)+len(r.Endpoints) == 0 && cursor.At.Sub(s.lease.Cursor.At) < quietTime {
		return r, false // nothing was sent: the cursor can wait
	}
	s.lease.Cursor = cursor
	r.Lease, r.Attempts, r.Retries, r.Settled = s.lease, s.attempts, s.retries, s.settled
	s.attempts, s.retries, s.settled = nil, nil, nil
	return r, true
}

// collectLane takes the row of an endpoint if it is to be written; d.mu is
// held.
func (d *Dispatcher) collectLane(l *lane, cursor store.Position, r *store.Record) {
	at := l.done()
	keep := l.own || l.kept && !l.idle() && at.Before(cursor)
	if !keep && l.kept {
		l.kept, l.dirty = false, true
	}
	moved := keep && l.endpoint.Cursor != at
	if !l.dirty && !moved {
		return
	}
	l.kept, l.endpoint.Cursor, l.endpoint.Joining = keep, at, keep
	r.Endpoints = append(r.Endpoints, store.EndpointRecord{Endpoint: l.endpoint, OwnCursor: keep, Park: l.park, Resume: l.resume, Lasting: l.dirty})
	l.dirty, l.park, l.resume = false, false, false
}

// restore puts back what could not be written down; it is tried again.
func (d *Dispatcher) restore(n int, r store.Record) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.slots[n]
	if s == nil {
		return
	}
	s.attempts = append(r.Attempts, s.attempts...)
	s.retries = append(r.Retries, s.retries...)
	s.settled = append(r.Settled, s.settled...)
	for _, e := range r.Endpoints {
		if l := s.lanes[e.ID]; l != nil {
			l.dirty, l.park, l.resume = true, l.park || e.Park, l.resume || e.Resume
			s.active[l] = true
		}
	}
}

// dueTrigger is what makes a due delivery: a row without an attempt was put
// there by somebody who asked for it.
func dueTrigger(r *store.Retry) string {
	if r.Attempts == 0 {
		return TriggerManual
	}
	return TriggerRetry
}
