package webhook

import (
	"context"
	"maps"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/wire"
)

// follow reads the log and sends, until ctx ends.
func (d *Dispatcher) follow(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.free:
			if _, err := d.pump(ctx); err != nil {
				d.complain(ctx, err)
			}
			continue
		case <-timer.C:
		case <-d.wake:
		}
		busy, err := d.step(ctx)
		if err != nil {
			d.complain(ctx, err)
		}
		if busy {
			timer.Reset(pollBusy)
		} else {
			timer.Reset(pollIdle)
		}
	}
}

// complain says that the log cannot be followed now, and waits a little.
func (d *Dispatcher) complain(ctx context.Context, err error) {
	if ctx.Err() == nil {
		d.log.WarnContext(ctx, "webhooks: follow the log", "error", err)
		time.Sleep(pollIdle)
	}
}

// step reads what is new and sends what may be sent. It reports whether there
// was anything.
func (d *Dispatcher) step(ctx context.Context) (busy bool, err error) {
	read, err := d.readCommon(ctx)
	if err != nil {
		return false, err
	}
	own, err := d.readOwn(ctx)
	if err != nil {
		return false, err
	}
	sent, err := d.pump(ctx)
	return read || own || sent, err
}

// readCommon reads the log once for all lanes that read together.
func (d *Dispatcher) readCommon(ctx context.Context) (bool, error) {
	now := time.Now().UTC()
	d.mu.Lock()
	from, none := d.common, len(d.slots) == 0
	d.mu.Unlock()
	if none {
		return false, nil
	}
	heads, err := d.store.LogHeads(ctx, from, readPage)
	if err != nil {
		return false, err
	}
	return d.spread(from, heads, now), nil
}

// spread offers to the lanes what the common reader has read, and reports
// whether there is more.
func (d *Dispatcher) spread(from store.Position, heads []store.LogHead, now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.common != from {
		return true // a slot was taken meanwhile that begins earlier
	}
	for _, h := range heads {
		for _, l := range d.tenant[h.Tenant] {
			if l.offer(h) {
				d.touch(l)
			}
		}
	}
	if n := len(heads); n > 0 {
		d.common = heads[n-1].Position
	}
	if len(heads) < readPage {
		d.common.At = now // there is nothing else up to now
	}
	return len(heads) == readPage
}

// readOwn reads the log for lanes that are behind, a page each, for a short
// time: those that are not behind must not wait for them.
func (d *Dispatcher) readOwn(ctx context.Context) (bool, error) {
	var wants []*lane
	d.mu.Lock()
	for _, s := range d.slots {
		for l := range s.active {
			if l.behind() {
				wants = append(wants, l)
			}
		}
	}
	d.mu.Unlock()
	start := time.Now()
	for _, l := range wants {
		if err := d.readFor(ctx, l); err != nil || time.Since(start) > ownTime {
			return true, err
		}
	}
	return len(wants) > 0, nil
}

func (d *Dispatcher) readFor(ctx context.Context, l *lane) error {
	if err := d.recovery(ctx, l); err != nil {
		return err
	}
	d.mu.Lock()
	from := l.read
	d.mu.Unlock()
	heads, err := d.store.TenantHeads(ctx, l.endpoint.Tenant, from, mostQueued)
	if err != nil {
		return err
	}
	d.give(l, from, heads)
	return nil
}

// give gives a lane what it has read by itself.
func (d *Dispatcher) give(l *lane, from store.Position, heads []store.LogHead) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.serves(l) || l.read != from || !l.behind() || l.unknown {
		return
	}
	for _, h := range heads {
		l.take(h)
	}
	if len(heads) < mostQueued {
		// All that the common reader has read for this tenant is read here too.
		l.join()
	}
	d.touch(l)
}

// recovery reads what a recovering endpoint has already, once. What arrives
// meanwhile is noted in the lane.
func (d *Dispatcher) recovery(ctx context.Context, l *lane) error {
	d.mu.Lock()
	since, unknown, from := l.endpoint.RecoverSince, l.unknown, l.read.ID.Time().Add(-time.Minute)
	d.mu.Unlock()
	if !unknown {
		return nil
	}
	if err := d.record(ctx); err != nil {
		return err
	}
	if since.Before(from) {
		from = since // the cursor is ahead of the time, or stands on no event
	}
	delivered, err := d.store.DeliveredSince(ctx, l.endpoint.Tenant, l.endpoint.ID, from)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if l.unknown && l.endpoint.RecoverSince.Equal(since) {
		maps.Copy(l.delivered, delivered)
		l.unknown = false
	}
	return nil
}

// a shot is an event that is about to be sent to a lane's endpoint.
type shot struct {
	l       *lane
	at      store.Position
	number  int
	trigger string
	slow    bool // holds a permit of the slow pool
	landed  bool
	retry   *store.Retry
	rendered
}

// pump sends what the windows and the pools allow.
func (d *Dispatcher) pump(ctx context.Context) (bool, error) {
	now := time.Now()
	var shots []shot
	d.mu.Lock()
	for l := range d.ready {
		if !d.draw(l, now, &shots) {
			break // a pool is empty: the rest waits for a permit
		}
	}
	d.mu.Unlock()
	return len(shots) > 0, d.fire(ctx, shots)
}

// draw takes what a lane may send now; d.mu is held. It reports false when the
// fast pool is empty.
func (d *Dispatcher) draw(l *lane, now time.Time, shots *[]shot) bool {
	for {
		pool := &d.fast
		if l.slow || l.endpoint.Failures > 0 {
			pool = &d.slow
		}
		if *pool <= 0 {
			return pool != &d.fast
		}
		at, ok := l.next(now)
		if !ok {
			delete(d.ready, l)
			return true
		}
		*pool--
		*shots = append(*shots, shot{l: l, at: at, number: 1, trigger: l.trigger(), slow: pool == &d.slow})
	}
}

// trigger is what makes an attempt with an event of the log.
func (l *lane) trigger() string {
	switch {
	case l.delivered != nil:
		return TriggerRecover
	case l.own:
		return TriggerDrain
	}
	return TriggerAuto
}

// fire reads the bodies and lets the shots go.
func (d *Dispatcher) fire(ctx context.Context, shots []shot) error {
	if len(shots) == 0 {
		return nil
	}
	if err := d.loadBodies(ctx, shots); err != nil {
		d.takeBack(shots)
		return err
	}
	for i := range shots {
		go d.send(ctx, &shots[i])
	}
	return nil
}

// takeBack returns shots that could not be made.
func (d *Dispatcher) takeBack(shots []shot) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range shots {
		d.release(s.slow)
		if s.retry != nil {
			delete(s.l.retrying, s.at.ID)
			continue
		}
		s.l.putBack(s.at)
		if d.serves(s.l) {
			d.touch(s.l)
		}
	}
}

// release gives a permit back; d.mu is held.
func (d *Dispatcher) release(slow bool) {
	if slow {
		d.slow++
	} else {
		d.fast++
	}
}

// loadBodies gives the shots their bodies, and renders those that are not at
// hand. One that cannot be rendered must not hold up the others.
func (d *Dispatcher) loadBodies(ctx context.Context, shots []shot) error {
	var missing []store.Position
	bodies := map[ship.RawID]rendered{}
	d.mu.Lock()
	for i := range shots {
		at := shots[i].at
		if _, known := bodies[at.ID]; known {
			continue
		}
		body := d.bodies.m[at.ID]
		if bodies[at.ID] = (rendered{body: body}); body == nil {
			missing = append(missing, at)
		}
	}
	d.mu.Unlock()
	if len(missing) > 0 {
		events, err := d.store.LogEvents(ctx, missing)
		if err != nil {
			return err
		}
		for _, e := range events {
			bodies[e.Position.ID] = d.render(ctx, e)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range shots {
		s := &shots[i]
		s.rendered = bodies[s.at.ID]
		d.bodies.put(s.at.ID, s.body)
	}
	return nil
}

// rendered is the body of an event; empty if the event is kept no longer.
type rendered struct {
	body   []byte
	broken bool // it is there, but cannot be rendered
}

func (d *Dispatcher) render(ctx context.Context, e store.LogEvent) rendered {
	entry := entryOf(e)
	body, err := wire.EventBody(entry.Event, entry.Shipment, entry.Tracker)
	if err != nil {
		d.log.ErrorContext(ctx, "webhooks: render event", "event", e.Event.ID, "error", err)
	}
	return rendered{body, err != nil}
}

// bodyCache keeps the last rendered bodies: an account's endpoints share them.
type bodyCache struct {
	m     map[ship.RawID][]byte
	order []ship.RawID
}

const keptBodies = 4096

func newBodyCache() bodyCache { return bodyCache{m: map[ship.RawID][]byte{}} }

func (b *bodyCache) put(id ship.RawID, body []byte) {
	if _, ok := b.m[id]; ok || body == nil {
		return
	}
	b.m[id] = body
	b.order = append(b.order, id)
	if len(b.order) > keptBodies {
		delete(b.m, b.order[0])
		b.order = b.order[1:]
	}
}
