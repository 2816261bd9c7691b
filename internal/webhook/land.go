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
	target, body, ok := d.prepare(s)
	if !ok {
		d.land(s, nil)
		return
	}
	// An attempt that takes long gives its permit back: others must not wait
	// for it. It is not cut short.
	slow := time.AfterFunc(slowAfter, func() { d.slowDown(s) })
	attempt := d.sender.Send(context.WithoutCancel(ctx), Delivery{Target: target, Event: ship.EventIDOf(s.at.ID), Body: body, Number: s.number, Trigger: s.trigger})
	slow.Stop()
	d.metrics.observe(&attempt, s.at.At)
	d.land(s, &attempt)
}

// prepare opens the target. It reports false for an event that is kept no
// longer and an endpoint that cannot be opened: there is nothing to send.
func (d *Dispatcher) prepare(s *shot) (*Target, []byte, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	body, ok := d.bodies.get(s.at.ID)
	if !ok {
		return nil, nil, false
	}
	if s.l.target == nil {
		t, err := d.service.Open(s.l.endpoint)
		if err != nil {
			d.log.Error("webhooks: open endpoint", "endpoint", s.l.endpoint.ID, "error", err)
			return nil, nil, false
		}
		s.l.target = t
	}
	return s.l.target, body, true
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
	d.Wake()
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
	slot := d.slots[l.endpoint.Slot]
	if d.lanes[l.endpoint.ID] != l || slot == nil {
		return // served by another copy now, or deleted
	}
	row := store.Retry{Tenant: l.endpoint.Tenant, Endpoint: l.endpoint.ID, Event: s.at, Slot: l.endpoint.Slot, Attempts: s.number}
	switch {
	case a == nil:
		slot.settled = append(slot.settled, row)
	case a.Delivered():
		slot.attempts = append(slot.attempts, a.WebhookAttempt)
		if s.retry != nil {
			slot.settled = append(slot.settled, row)
			l.rows = max(l.rows-1, 0)
		}
		l.succeeded(now)
	default:
		slot.attempts = append(slot.attempts, a.WebhookAttempt)
		d.keepFailed(slot, s, row, a, now)
	}
	if s.retry != nil {
		delete(l.retrying, s.at.ID)
	} else {
		l.landed(s.at)
	}
	d.ready[l] = true
	d.Wake()
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
		slot.settled = append(slot.settled, row)
		d.metrics.givenUp()
	default:
		row.NextAt = now.Add(wait)
		if s.retry == nil {
			l.rows++
		}
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
	due, err := d.store.DueRetries(ctx, held, duePage+d.inFlight())
	if err != nil {
		return err
	}
	now := time.Now()
	var shots []shot
	d.mu.Lock()
	for i := range due {
		d.drawDue(&due[i], now, &shots)
	}
	d.mu.Unlock()
	return d.fire(ctx, shots)
}

// drawDue takes a due delivery if its endpoint and a pool allow; d.mu is held.
func (d *Dispatcher) drawDue(r *store.Retry, now time.Time, shots *[]shot) {
	l := d.lanes[r.Endpoint]
	if l == nil || l.stopped() || l.retrying[r.Event.ID] || len(l.flying)+len(l.retrying) >= l.width() {
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
	l.retrying[r.Event.ID] = true
	*shots = append(*shots, shot{l: l, at: r.Event, number: r.Attempts + 1, trigger: TriggerRetry, slow: pool == &d.slow, retry: r})
}

// record writes down what was done, slot by slot, each with its cursor.
func (d *Dispatcher) record(ctx context.Context) error {
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
	}
	return nil
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
	for _, l := range s.lanes {
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
	for _, l := range s.lanes {
		d.collectLane(l, cursor, &r)
	}
	if len(s.attempts)+len(s.retries)+len(s.settled)+len(r.Endpoints) == 0 && cursor.At.Sub(s.lease.Cursor.At) < quietTime {
		return r, false // nothing was sent: the cursor can wait
	}
	if s.lease.Cursor.Before(cursor) {
		s.lease.Cursor = cursor
	}
	r.Lease, r.Attempts, r.Retries, r.Settled = s.lease, s.attempts, s.retries, s.settled
	s.attempts, s.retries, s.settled = nil, nil, nil
	return r, true
}

// collectLane takes the row of an endpoint if it is to be written; d.mu is
// held.
func (d *Dispatcher) collectLane(l *lane, cursor store.Position, r *store.Record) {
	at := l.done()
	keep := l.own || l.kept && !l.idle() && at.Before(cursor)
	if l.kept && !keep {
		l.kept, l.dirty = false, true
	}
	if keep && l.endpoint.Cursor != at {
		l.dirty = true
	}
	if !l.dirty {
		return
	}
	l.kept, l.endpoint.Cursor, l.endpoint.Joining = keep, at, keep
	r.Endpoints = append(r.Endpoints, store.EndpointRecord{Endpoint: l.endpoint, OwnCursor: keep, Park: l.park, Resume: l.resume})
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
		}
	}
}
