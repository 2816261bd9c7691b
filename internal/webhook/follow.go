package webhook

import (
	"context"
	"maps"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
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
			// A permit came back, nothing was recorded: there is no need to
			// read the log.
			if _, err := d.sendReady(ctx); err != nil {
				d.warnAndPause(ctx, err)
			}
			continue
		case <-timer.C:
		case <-d.newEvents:
		}

		busy, err := d.readAndSend(ctx)
		if err != nil {
			d.warnAndPause(ctx, err)
		}

		if busy {
			timer.Reset(pollBusy)
		} else {
			timer.Reset(pollIdle)
		}
	}
}

// warnAndPause logs that the log cannot be followed now, and waits a little.
func (d *Dispatcher) warnAndPause(ctx context.Context, err error) {
	if ctx.Err() == nil {
		d.log.WarnContext(ctx, "webhooks: follow the log", "error", err)
		time.Sleep(pollIdle)
	}
}

// readAndSend reads what is new and sends what may be sent. It reports whether
// there was anything.
func (d *Dispatcher) readAndSend(ctx context.Context) (busy bool, err error) {
	common, err := d.readCommon(ctx)
	if err != nil {
		return false, err
	}

	detached, err := d.readDetached(ctx)
	if err != nil {
		return false, err
	}

	sent, err := d.sendReady(ctx)
	return common || detached || sent, err
}

// readCommon reads the log once for all queues that are not detached.
func (d *Dispatcher) readCommon(ctx context.Context) (bool, error) {
	now := time.Now().UTC()

	d.mu.Lock()
	from := d.common
	hasSlots := len(d.slots) > 0
	d.mu.Unlock()
	if !hasSlots {
		return false, nil
	}

	heads, err := d.store.LogHeads(ctx, from, readPage)
	if err != nil {
		return false, err
	}
	return d.distribute(from, heads, now), nil
}

// distribute offers a page of the common reader to the queues, and reports
// whether there is more to read.
func (d *Dispatcher) distribute(from store.Position, heads []store.LogHead, now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()

	// A slot with an older cursor was taken while the page was read.
	if d.common != from {
		return true
	}

	for _, head := range heads {
		for _, q := range d.byTenant[head.Tenant] {
			if q.offer(head) {
				d.markActive(q)
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

// readDetached reads the log for queues that are behind, a page each, for a
// short time: those that are not behind must not wait for them.
func (d *Dispatcher) readDetached(ctx context.Context) (bool, error) {
	var readers []*queue
	d.mu.Lock()
	for _, s := range d.slots {
		for q := range s.active {
			if q.wantsToRead() {
				readers = append(readers, q)
			}
		}
	}
	d.mu.Unlock()

	start := time.Now()
	for _, q := range readers {
		if err := d.readForQueue(ctx, q); err != nil || time.Since(start) > ownTime {
			return true, err
		}
	}
	return len(readers) > 0, nil
}

func (d *Dispatcher) readForQueue(ctx context.Context, q *queue) error {
	if err := d.loadDelivered(ctx, q); err != nil {
		return err
	}

	d.mu.Lock()
	from := q.read
	d.mu.Unlock()

	heads, err := d.store.TenantHeads(ctx, q.endpoint.Tenant, from, maxQueued)
	if err != nil {
		return err
	}
	d.fill(q, from, heads)
	return nil
}

// fill gives a detached queue the page that was read for it.
func (d *Dispatcher) fill(q *queue, from store.Position, heads []store.LogHead) {
	d.mu.Lock()
	defer d.mu.Unlock()

	// The queue may have been dropped, stopped or sent back while the page was
	// read. Then the page is not the one that follows its position.
	if !d.serves(q) || q.read != from || !q.wantsToRead() || q.mustLoadDelivered {
		return
	}

	for _, head := range heads {
		q.enqueue(head)
	}
	if len(heads) < maxQueued {
		// All that the common reader has read for this tenant is read here too.
		q.rejoin()
	}
	d.markActive(q)
}

// loadDelivered reads, once, which events a recovering endpoint has already.
// What is delivered meanwhile is noted in the queue.
func (d *Dispatcher) loadDelivered(ctx context.Context, q *queue) error {
	d.mu.Lock()
	since := q.endpoint.RecoverSince
	mustLoad := q.mustLoadDelivered
	from := q.read.ID.Time().Add(-time.Minute)
	d.mu.Unlock()
	if !mustLoad {
		return nil
	}

	// Deliveries that are not recorded yet would be missing from the list.
	if err := d.record(ctx); err != nil {
		return err
	}

	if since.Before(from) {
		from = since // the cursor is in the future, or not on an event
	}
	delivered, err := d.store.DeliveredSince(ctx, q.endpoint.Tenant, q.endpoint.ID, from)
	if err != nil {
		return err
	}

	d.mu.Lock()
	defer d.mu.Unlock()

	// Another recovery may have been requested meanwhile; it loads its own list.
	if q.mustLoadDelivered && q.endpoint.RecoverSince.Equal(since) {
		maps.Copy(q.delivered, delivered)
		q.mustLoadDelivered = false
	}
	return nil
}

// An attempt is an event that is about to be sent to a queue's endpoint.
type attempt struct {
	queue   *queue
	event   store.Position
	number  int
	trigger string
	slow    bool // holds a permit of the slow pool
	done    bool
	retry   *store.Retry // nil for the first attempt, which comes from the log
	rendered
}

// sendReady sends what the windows and the pools allow.
func (d *Dispatcher) sendReady(ctx context.Context) (bool, error) {
	now := time.Now()

	var attempts []attempt
	d.mu.Lock()
	for q := range d.ready {
		if !d.takeReady(q, now, &attempts) {
			break // a pool is empty: the rest waits for a permit
		}
	}
	d.mu.Unlock()

	return len(attempts) > 0, d.start(ctx, attempts)
}

// takeReady takes the events that a queue may send now. It reports false when
// the fast pool is empty. The caller holds d.mu.
func (d *Dispatcher) takeReady(q *queue, now time.Time, attempts *[]attempt) bool {
	for {
		// An endpoint that is slow or fails must not use up the permits of
		// those that answer quickly.
		pool := &d.fast
		if q.slow || q.endpoint.Failures > 0 {
			pool = &d.slow
		}
		if *pool <= 0 {
			return pool != &d.fast
		}

		event, ok := q.next(now)
		if !ok {
			delete(d.ready, q)
			return true
		}

		*pool--
		*attempts = append(*attempts, attempt{
			queue:   q,
			event:   event,
			number:  1,
			trigger: q.trigger(),
			slow:    pool == &d.slow,
		})
	}
}

// trigger returns the reason for an attempt with an event of the log.
func (q *queue) trigger() string {
	switch {
	case q.delivered != nil:
		return TriggerRecover
	case q.detached:
		return TriggerDrain
	}
	return TriggerAuto
}

// start reads the bodies of the attempts and makes each on a goroutine of its
// own.
func (d *Dispatcher) start(ctx context.Context, attempts []attempt) error {
	if len(attempts) == 0 {
		return nil
	}

	if err := d.loadBodies(ctx, attempts); err != nil {
		d.undo(attempts)
		return err
	}
	for i := range attempts {
		go d.send(ctx, &attempts[i])
	}
	return nil
}

// undo puts back attempts that could not be made.
func (d *Dispatcher) undo(attempts []attempt) {
	d.mu.Lock()
	defer d.mu.Unlock()

	for _, a := range attempts {
		d.releasePermit(a.slow)

		// A retry has its row in the schedule, which is read again.
		if a.retry != nil {
			delete(a.queue.retrying, a.event.ID)
			continue
		}

		a.queue.putBack(a.event)
		if d.serves(a.queue) {
			d.markActive(a.queue)
		}
	}
}

// releasePermit gives a permit back. The caller holds d.mu.
func (d *Dispatcher) releasePermit(slow bool) {
	if slow {
		d.slow++
	} else {
		d.fast++
	}
}

// loadBodies gives the attempts their bodies, and renders those that are not
// cached. One that cannot be rendered must not hold up the others.
func (d *Dispatcher) loadBodies(ctx context.Context, attempts []attempt) error {
	var missing []store.Position
	unrendered := map[ship.RawID][]string{} // the formats in which each is missing
	bodies := map[bodyKey]rendered{}
	now := time.Now()

	d.mu.Lock()
	for i := range attempts {
		key := d.bodyKey(&attempts[i])
		if _, known := bodies[key]; known {
			continue
		}
		body := d.bodies.get(key, now)
		bodies[key] = rendered{body: body}
		if body != nil {
			continue
		}
		if len(unrendered[key.event]) == 0 {
			missing = append(missing, attempts[i].event)
		}
		unrendered[key.event] = append(unrendered[key.event], key.format)
	}
	d.mu.Unlock()

	if len(missing) > 0 {
		events, err := d.store.LogEvents(ctx, missing)
		if err != nil {
			return err
		}
		for _, event := range events {
			for _, format := range unrendered[event.Position.ID] {
				bodies[bodyKey{event.Position.ID, format}] = d.render(ctx, event, format)
			}
		}
	}

	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range attempts {
		a := &attempts[i]
		key := d.bodyKey(a)
		a.rendered = bodies[key]
		d.bodies.put(key, a.body, now)
	}
	return nil
}

// A bodyKey names a rendered body: the event, and the format of another API, empty
// for the service's own.
type bodyKey struct {
	event  ship.RawID
	format string
}

// bodyKey returns the body that an attempt sends.
func (d *Dispatcher) bodyKey(a *attempt) bodyKey {
	key := bodyKey{event: a.event.ID}
	if signature := a.queue.endpoint.Signature; d.service.hasFormat(signature) {
		key.format = signature
	}
	return key
}

// rendered is the body of an event; empty if the event is no longer kept.
type rendered struct {
	body   []byte
	broken bool // the event exists, but cannot be rendered
}

func (d *Dispatcher) render(ctx context.Context, event store.LogEvent, format string) rendered {
	body, err := d.service.body(format, entryOf(event))
	if err != nil {
		d.log.ErrorContext(ctx, "webhooks: render event", "event", event.Event.ID, "error", err)
	}
	return rendered{body: body, broken: err != nil}
}

// bodyCache keeps the last rendered bodies for a moment: an account's endpoints
// share them. A retry renders the event again, because personal data may have
// been erased from it since.
type bodyCache struct {
	byEvent map[bodyKey]cachedBody
	order   []bodyKey // oldest first
}

type cachedBody struct {
	body []byte
	at   time.Time // when it was rendered
}

const (
	maxCachedBodies = 4096
	cachedBodyLife  = 5 * time.Second
)

func newBodyCache() bodyCache { return bodyCache{byEvent: map[bodyKey]cachedBody{}} }

// get returns the body of an event; nil if it has to be rendered.
func (b *bodyCache) get(id bodyKey, now time.Time) []byte {
	cached := b.byEvent[id]
	if now.Sub(cached.at) > cachedBodyLife {
		return nil
	}
	return cached.body
}

// put keeps a body that was rendered now, or was returned by get.
func (b *bodyCache) put(id bodyKey, body []byte, now time.Time) {
	if body == nil || b.get(id, now) != nil {
		return
	}

	_, isKnown := b.byEvent[id]
	b.byEvent[id] = cachedBody{body: body, at: now}
	if isKnown {
		return
	}
	b.order = append(b.order, id)
	if len(b.order) > maxCachedBodies {
		delete(b.byEvent, b.order[0])
		b.order = b.order[1:]
	}
}
