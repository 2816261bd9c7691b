package webhook

import (
	"context"
	"time"

	"github.com/waybillhq/waybill/internal/job"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// send makes one attempt and records its outcome.
func (d *Dispatcher) send(ctx context.Context, attempt *attempt) {
	if attempt.body == nil && !attempt.broken {
		d.finish(attempt, nil) // the event is no longer kept
		return
	}

	target, err := d.openTarget(attempt.queue)
	if err != nil || attempt.broken {
		d.finish(attempt, d.unsentResult(attempt, err))
		return
	}

	// An attempt that takes long gives its permit back: others must not wait
	// for it. It is not cut short.
	slow := time.AfterFunc(slowAfter, func() { d.moveToSlow(attempt) })
	result := d.sender.Send(context.WithoutCancel(ctx), Delivery{
		Target:  target,
		Event:   ship.EventIDOf(attempt.event.ID),
		Body:    attempt.body,
		Number:  attempt.number,
		Trigger: attempt.trigger,
	})
	slow.Stop()

	d.metrics.observe(&result, attempt.event.At)
	d.finish(attempt, &result)
}

// openTarget opens the endpoint of a queue, unless it is open already.
func (d *Dispatcher) openTarget(q *queue) (target *Target, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if q.target == nil {
		q.target, err = d.service.Open(q.endpoint)
	}
	return q.target, err
}

// unsentResult returns the result of an attempt that could not be made through
// no fault of the endpoint: the event stays on the schedule.
func (d *Dispatcher) unsentResult(attempt *attempt, err error) *Attempt {
	endpoint := &attempt.queue.endpoint
	if err != nil {
		d.log.Error("webhooks: open endpoint", "endpoint", endpoint.ID, "error", err)
	}

	return &Attempt{WebhookAttempt: store.WebhookAttempt{
		ID:       ship.NewAttemptID(endpoint.Tenant.Shard(), time.Now()),
		Tenant:   endpoint.Tenant,
		Endpoint: endpoint.ID,
		Event:    ship.EventIDOf(attempt.event.ID),
		Number:   attempt.number,
		Trigger:  attempt.trigger,
		Outcome:  OutcomeCancelled,
		Error:    "the service could not create the request",
	}}
}

// moveToSlow moves an attempt that takes long to the slow pool, and with it
// what its queue sends next.
func (d *Dispatcher) moveToSlow(attempt *attempt) {
	d.mu.Lock()
	defer d.mu.Unlock()

	// The timer can fire while the attempt finishes.
	if attempt.done {
		return
	}

	if !attempt.slow {
		attempt.slow = true
		d.fast++
		d.slow--
	}
	attempt.queue.slow = true
	wake(d.free)
}

// finish records the outcome of an attempt. A nil result means that there was
// nothing to send, because the event is no longer kept.
func (d *Dispatcher) finish(attempt *attempt, result *Attempt) {
	now := time.Now()

	d.mu.Lock()
	defer d.mu.Unlock()

	attempt.done = true
	d.releasePermit(attempt.slow)

	queue := attempt.queue
	if attempt.retry != nil {
		delete(queue.retrying, attempt.event.ID)
		queue.clearBackoff()
	} else {
		queue.markFinished(attempt.event)
	}
	wake(d.free)

	// The endpoint may have been deleted, or another copy may serve it now.
	// That copy sends the event again; recording ours would move its cursor.
	if !d.serves(queue) {
		return
	}

	slot := d.slots[queue.endpoint.Slot]
	row := store.Retry{
		Tenant:   queue.endpoint.Tenant,
		Endpoint: queue.endpoint.ID,
		Event:    attempt.event,
		Slot:     queue.endpoint.Slot,
		Attempts: attempt.number,
	}

	switch {
	case result == nil:
		slot.removeRetry(attempt, row)

	case result.Delivered():
		slot.attempts = append(slot.attempts, result.WebhookAttempt)
		slot.removeRetry(attempt, row)
		if queue.delivered != nil {
			queue.delivered[result.Event] = true
		}
		queue.recordSuccess(now)

	default:
		slot.attempts = append(slot.attempts, result.WebhookAttempt)
		d.recordFailure(slot, attempt, row, result, now)
	}

	// With very many endpoints, the targets of idle ones are not kept open. They
	// are opened again when there is something to send.
	if len(d.queues) > manyQueues && queue.isIdle() && len(queue.retrying) == 0 {
		queue.target = nil
	}
	d.markActive(queue)
}

// removeRetry ends a delivery's row of the schedule, if it has one.
func (s *slot) removeRetry(attempt *attempt, row store.Retry) {
	if attempt.retry == nil {
		return
	}

	queue := attempt.queue
	s.settled = append(s.settled, row)
	put(&queue.unwritten, row.Event.ID, true)
	queue.openRetries = max(queue.openRetries-1, 0)
}

// recordFailure puts a failed delivery on the schedule, or gives it up after
// its last attempt. The caller holds d.mu.
func (d *Dispatcher) recordFailure(slot *slot, attempt *attempt, row store.Retry, result *Attempt, now time.Time) {
	queue := attempt.queue
	wait, again := retryDelay(attempt.number, result.RetryAfter)

	switch {
	case attempt.retry == nil && queue.isStopped() && queue.read.Before(attempt.event):
		// The event is beyond the cursor of the stopped queue: it is read from
		// the log again when the queue resumes.

	case !again:
		slot.removeRetry(attempt, row)
		d.metrics.countGivenUp()

	default:
		row.Wait = wait
		if attempt.retry == nil {
			queue.openRetries++
		}
		put(&queue.unwritten, row.Event.ID, true)
		slot.retries = append(slot.retries, row)
	}

	queue.recordFailure(now, result.Gone())
}

// sendDue sends the retries that are due.
func (d *Dispatcher) sendDue(ctx context.Context) error {
	held := d.heldSlots()
	if len(held) == 0 {
		return nil
	}

	attempts, err := d.readDue(ctx, held)
	if err != nil {
		return err
	}
	return d.start(ctx, attempts)
}

// readDue takes retries that are due. Those of endpoints that can take no more
// are not read: they would fill the page and hide the others.
func (d *Dispatcher) readDue(ctx context.Context, held []int) (attempts []attempt, err error) {
	d.writing.Lock()
	defer d.writing.Unlock()

	d.mu.Lock()
	var full []ship.EndpointID
	hidden := 0 // rows that are still due in the database, but are being sent or were just sent
	for _, s := range d.slots {
		for q := range s.active {
			hidden += len(q.retrying) + len(q.unwritten)
			if !q.canSend() {
				full = append(full, q.endpoint.ID)
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
		d.takeDue(&due[i], &attempts)
	}
	return attempts, nil
}

// takeDue takes a due retry if its endpoint and a pool allow. The caller holds
// d.mu.
func (d *Dispatcher) takeDue(retry *store.Retry, attempts *[]attempt) {
	queue := d.queues[retry.Endpoint]
	if queue == nil || !queue.canSend() || queue.retrying[retry.Event.ID] || queue.unwritten[retry.Event.ID] {
		return
	}

	// What failed before must not hold up what is new: retries use the fast
	// pool only while half of it is free.
	pool := &d.slow
	if queue.endpoint.Failures == 0 && d.fast > fastPermits/2 {
		pool = &d.fast
	}
	if *pool <= 0 {
		return
	}

	*pool--
	put(&queue.retrying, retry.Event.ID, true)
	d.markActive(queue)
	*attempts = append(*attempts, attempt{
		queue:   queue,
		event:   retry.Event,
		number:  retry.Attempts + 1,
		trigger: retryTrigger(retry),
		slow:    pool == &d.slow,
		retry:   retry,
	})
}

// record writes the outcomes to the database, slot by slot, each together with
// its cursor.
func (d *Dispatcher) record(ctx context.Context) error {
	d.writing.Lock()
	defer d.writing.Unlock()

	for _, number := range d.heldSlots() {
		record, ok := d.collect(number)
		if !ok {
			continue
		}

		err := d.store.Record(ctx, record, probeJob)
		if ship.KindOf(err) == ship.Conflict {
			// The lease's token has changed: another copy serves the slot.
			d.dropSlot(number)
			continue
		}
		if err != nil {
			d.restore(number, record)
			return err
		}
		d.markWritten(record)
	}
	return nil
}

// markWritten notes that the outcomes of deliveries are recorded in the rows of
// the schedule.
func (d *Dispatcher) markWritten(record store.Record) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, rows := range [][]store.Retry{record.Settled, record.Retries} {
		for _, row := range rows {
			if q := d.queues[row.Endpoint]; q != nil {
				delete(q.unwritten, row.Event.ID)
			}
		}
	}
}

func probeJob(e store.EndpointRecord) store.Job {
	return job.ProbeEndpoint{Account: e.Tenant.Account, Livemode: e.Tenant.Livemode, Endpoint: e.ID}
}

// collect takes what is to be recorded of a slot. It reports false if there is
// nothing to record now.
func (d *Dispatcher) collect(number int) (record store.Record, ok bool) {
	now := time.Now()

	d.mu.Lock()
	defer d.mu.Unlock()

	s := d.slots[number]
	if s == nil {
		return record, false
	}

	// After a crash the slot continues from its cursor, so the cursor may not
	// pass what any of its queues has yet to finish. Queues whose own row holds
	// a cursor do not count.
	cursor := d.common
	for q := range s.active {
		if !q.detached && !q.isIdle() && !q.hasCursor && q.isLagging(now, lagAfter) {
			q.hasCursor = true // from here on the others do not wait for it
			q.dirty = true
		}
		if q.detached || q.hasCursor || q.isIdle() {
			continue
		}
		if at := q.cursor(); at.Before(cursor) {
			cursor = at
		}
	}
	if cursor.Before(s.lease.Cursor) {
		cursor = s.lease.Cursor // the common reader has gone back for another slot
	}

	for q := range s.active {
		q.collect(cursor, &record)
		if q.isQuiet() {
			delete(s.active, q)
			q.releaseMemory()
		}
	}

	// Nothing was sent: the cursor alone can wait.
	isEmpty := len(s.attempts)+len(s.retries)+len(s.settled)+len(record.Endpoints) == 0
	if isEmpty && cursor.At.Sub(s.lease.Cursor.At) < quietTime {
		return record, false
	}

	s.lease.Cursor = cursor
	record.Lease = s.lease
	record.Attempts = s.attempts
	record.Retries = s.retries
	record.Settled = s.settled
	s.attempts = nil
	s.retries = nil
	s.settled = nil
	return record, true
}

// collect adds the endpoint's row to a record if it is to be written. cursor is
// the slot's. The caller holds the dispatcher's lock.
func (q *queue) collect(cursor store.Position, record *store.Record) {
	at := q.cursor()

	// The row holds a cursor of its own only as long as it differs from the
	// slot's.
	keepCursor := q.detached || q.hasCursor && !q.isIdle() && at.Before(cursor)
	if !keepCursor && q.hasCursor {
		q.hasCursor = false
		q.dirty = true
	}
	hasMoved := keepCursor && q.endpoint.Cursor != at
	if !q.dirty && !hasMoved {
		return
	}

	q.hasCursor = keepCursor
	q.endpoint.Cursor = at
	q.endpoint.Joining = keepCursor
	record.Endpoints = append(record.Endpoints, store.EndpointRecord{
		Endpoint:  q.endpoint,
		OwnCursor: keepCursor,
		Park:      q.park,
		Resume:    q.resume,
		Lasting:   q.dirty,
	})
	q.dirty = false
	q.park = false
	q.resume = false
}

// restore puts back what could not be recorded, to be recorded the next time.
func (d *Dispatcher) restore(number int, record store.Record) {
	d.mu.Lock()
	defer d.mu.Unlock()

	s := d.slots[number]
	if s == nil {
		return
	}

	// Outcomes that came in meanwhile are newer, so they stay last.
	s.attempts = append(record.Attempts, s.attempts...)
	s.retries = append(record.Retries, s.retries...)
	s.settled = append(record.Settled, s.settled...)

	for _, endpoint := range record.Endpoints {
		if q := s.queues[endpoint.ID]; q != nil {
			q.dirty = true
			q.park = q.park || endpoint.Park
			q.resume = q.resume || endpoint.Resume
			s.active[q] = true
		}
	}
}

// retryTrigger returns the reason for a due retry: a row without an attempt was
// put on the schedule by a user who asked for it.
func retryTrigger(retry *store.Retry) string {
	if retry.Attempts == 0 {
		return TriggerManual
	}
	return TriggerRetry
}
