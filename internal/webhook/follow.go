package webhook

import (
	"context"
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
		case <-timer.C:
		case <-d.wake:
		}
		busy, err := d.step(ctx)
		if err != nil && ctx.Err() == nil {
			d.log.WarnContext(ctx, "webhooks: follow the log", "error", err)
			time.Sleep(pollIdle)
		}
		if busy {
			timer.Reset(pollBusy)
		} else {
			timer.Reset(pollIdle)
		}
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
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.common != from {
		return true, nil // a slot was taken meanwhile that begins earlier
	}
	for _, h := range heads {
		for _, l := range d.tenant[h.Tenant] {
			l.offer(h)
			d.ready[l] = true
		}
	}
	if n := len(heads); n > 0 {
		d.common = heads[n-1].Position
	}
	if len(heads) < readPage {
		d.common.At = now // there is nothing else up to now
	}
	return len(heads) == readPage, nil
}

// readOwn reads the log for lanes that are behind, a page each.
func (d *Dispatcher) readOwn(ctx context.Context) (bool, error) {
	type want struct {
		l    *lane
		from store.Position
	}
	var wants []want
	d.mu.Lock()
	for _, l := range d.lanes {
		if l.behind() {
			wants = append(wants, want{l, l.read})
		}
	}
	d.mu.Unlock()
	for _, w := range wants {
		if err := d.readFor(ctx, w.l, w.from); err != nil {
			return true, err
		}
	}
	return len(wants) > 0, nil
}

func (d *Dispatcher) readFor(ctx context.Context, l *lane, from store.Position) error {
	delivered, err := d.recovery(ctx, l)
	if err != nil {
		return err
	}
	heads, err := d.store.TenantHeads(ctx, l.endpoint.Tenant, from, mostQueued)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if l.read != from || !l.behind() {
		return nil
	}
	if delivered != nil {
		l.delivered = delivered
	}
	for _, h := range heads {
		l.take(h)
	}
	if len(heads) < mostQueued {
		// All that the common reader has read for this tenant is read here too.
		l.join()
	}
	d.ready[l] = true
	return nil
}

// recovery returns what a recovering endpoint has already, once.
func (d *Dispatcher) recovery(ctx context.Context, l *lane) (map[ship.EventID]bool, error) {
	d.mu.Lock()
	since, known, id, t := l.endpoint.RecoverSince, l.delivered != nil, l.endpoint.ID, l.endpoint.Tenant
	d.mu.Unlock()
	if since.IsZero() || known {
		return nil, nil
	}
	return d.store.DeliveredSince(ctx, t, id, since)
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
		trigger := TriggerAuto
		if l.own {
			trigger = TriggerDrain
		}
		*shots = append(*shots, shot{l: l, at: at, number: 1, trigger: trigger, slow: pool == &d.slow})
	}
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
		f := s.l.flying[s.at]
		s.l.landed(s.at)
		s.l.waiting = append([]queued{{s.at, f.subject}}, s.l.waiting...)
		d.ready[s.l] = true
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

// loadBodies renders the events of the shots that are not at hand.
func (d *Dispatcher) loadBodies(ctx context.Context, shots []shot) error {
	var missing []store.Position
	d.mu.Lock()
	seen := map[store.Position]bool{}
	for _, s := range shots {
		if _, ok := d.bodies.get(s.at.ID); !ok && !seen[s.at] {
			seen[s.at] = true
			missing = append(missing, s.at)
		}
	}
	d.mu.Unlock()
	if len(missing) == 0 {
		return nil
	}
	events, err := d.store.LogEvents(ctx, missing)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range events {
		entry := entryOf(e)
		body, err := wire.EventBody(entry.Event, entry.Shipment, entry.Tracker)
		if err != nil {
			return err
		}
		d.bodies.put(e.Position.ID, body)
	}
	return nil
}

// bodyCache keeps the last rendered bodies: an account's endpoints share them.
type bodyCache struct {
	m     map[ship.RawID][]byte
	order []ship.RawID
}

const keptBodies = 4096

func newBodyCache() bodyCache { return bodyCache{m: map[ship.RawID][]byte{}} }

func (b *bodyCache) get(id ship.RawID) ([]byte, bool) {
	body, ok := b.m[id]
	return body, ok
}

func (b *bodyCache) put(id ship.RawID, body []byte) {
	if _, ok := b.m[id]; ok {
		return
	}
	b.m[id] = body
	b.order = append(b.order, id)
	if len(b.order) > keptBodies {
		delete(b.m, b.order[0])
		b.order = b.order[1:]
	}
}
