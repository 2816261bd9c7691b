package webhook

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// Dispatcher follows the log and sends events to the endpoints of the slots
// that this copy of the program serves. Any number of copies run beside each
// other; each slot has one owner at a time, under a lease.
//
// No transaction is open while an event is sent. Attempts are recorded together
// with the cursor, so a crash sends again only what was in flight.
type Dispatcher struct {
	service *Service
	store   *store.Store
	sender  *Sender
	log     *slog.Logger
	owner   string
	metrics *Metrics

	newEvents chan struct{} // there may be something to read
	free      chan struct{} // an attempt has finished: there is room to send

	// writing is held while due retries are read and while outcomes are
	// recorded. Otherwise a retry that has just finished could be read as due.
	writing sync.Mutex

	mu           sync.Mutex
	slots        map[int]*slot
	queues       map[ship.EndpointID]*queue
	byTenant     map[ship.Tenant][]*queue
	common       store.Position // the log is read up to here for all queues that are not detached
	fast         int            // permits left
	slow         int
	ready        map[*queue]bool // queues that may have something to send
	bodies       bodyCache
	settingsSeen time.Time // changed settings are known up to here
}

// slot is a part of the endpoints, with the outcomes that are yet to be
// recorded for it.
type slot struct {
	lease    store.SlotLease
	queues   map[ship.EndpointID]*queue
	active   map[*queue]bool // the others have nothing to read or write
	attempts []store.WebhookAttempt
	retries  []store.Retry
	settled  []store.Retry
}

const (
	leaseTime   = 10 * time.Second
	seenTime    = 5 * time.Second // a copy that is silent for longer gets no share
	renewEvery  = 2 * time.Second
	listEvery   = 30 * time.Second // how often deleted endpoints are looked for
	pollBusy    = 10 * time.Millisecond
	pollIdle    = 40 * time.Millisecond
	dueEvery    = 250 * time.Millisecond
	recordEvery = 50 * time.Millisecond
	ownTime     = 20 * time.Millisecond // for reading on behalf of detached queues, each round
	readPage    = 2000
	duePage     = 1000
	slowAfter   = 2 * time.Second // an attempt that takes longer leaves the fast pool
	lagAfter    = time.Second     // the slot's cursor waits no longer for an attempt
	quietTime   = 5 * time.Second // how often a cursor is written when nothing was sent
	manyQueues  = 5000            // above this number, the targets of idle endpoints are closed
	fastPermits = 512
	slowPermits = 256
)

// NewDispatcher returns a dispatcher that serves nothing until it runs.
func NewDispatcher(s *Service, m *Metrics) *Dispatcher {
	host, _ := os.Hostname()
	return &Dispatcher{
		service:   s,
		store:     s.store,
		sender:    s.sender,
		log:       s.log,
		owner:     fmt.Sprintf("%s-%d-%08x", host, os.Getpid(), rand.Uint32()),
		metrics:   m,
		newEvents: make(chan struct{}, 1),
		free:      make(chan struct{}, 1),
		slots:     map[int]*slot{},
		queues:    map[ship.EndpointID]*queue{},
		byTenant:  map[ship.Tenant][]*queue{},
		fast:      fastPermits,
		slow:      slowPermits,
		ready:     map[*queue]bool{},
		bodies:    newBodyCache(),
	}
}

// Wake tells the dispatcher that this process has recorded an event, so that
// it is read before the next poll.
func (d *Dispatcher) Wake() { wake(d.newEvents) }

// wake signals a channel of capacity one. A signal that is already pending is
// enough.
func wake(signal chan struct{}) {
	select {
	case signal <- struct{}{}:
	default:
	}
}

// Run serves slots until ctx ends; then it records what it did and gives its
// slots back.
func (d *Dispatcher) Run(ctx context.Context) {
	var wg sync.WaitGroup

	for _, loop := range []struct {
		every time.Duration
		do    func(context.Context) error
		what  string
	}{
		{renewEvery, d.keepLeases, "keep leases"},
		{time.Second, d.refreshSettings, "refresh endpoints"},
		{listEvery, d.dropDeleted, "drop deleted endpoints"},
		{dueEvery, d.sendDue, "send due deliveries"},
		{recordEvery, d.record, "record deliveries"},
	} {
		wg.Go(func() { d.repeat(ctx, loop.every, loop.what, loop.do) })
	}
	wg.Go(func() { d.follow(ctx) })

	wg.Wait()
	d.shutDown()
}

func (d *Dispatcher) repeat(ctx context.Context, every time.Duration, what string, do func(context.Context) error) {
	timer := time.NewTimer(0)
	defer timer.Stop()

	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}

		if err := do(ctx); err != nil && ctx.Err() == nil {
			d.log.WarnContext(ctx, "webhooks: "+what, "error", err)
		}
		timer.Reset(every)
	}
}

// shutDown waits a moment for the attempts in flight, records the outcomes
// that are known, and gives the slots back.
func (d *Dispatcher) shutDown() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()

	for range 20 {
		if d.inFlight() == 0 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}

	// The record is fenced by the lease, so it comes before the release.
	if err := d.record(ctx); err != nil {
		d.log.Warn("webhooks: record deliveries", "error", err)
	}
	if err := d.store.ReleaseSlots(ctx, d.owner, d.heldSlots()); err != nil {
		d.log.Warn("webhooks: release slots", "error", err)
	}
	if err := d.store.RemoveCopy(ctx, d.owner); err != nil {
		d.log.Warn("webhooks: unregister this instance", "error", err)
	}
}

func (d *Dispatcher) inFlight() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return fastPermits - d.fast + slowPermits - d.slow
}

// keepLeases holds this copy's fair share of the slots.
func (d *Dispatcher) keepLeases(ctx context.Context) error {
	copies, err := d.store.SeeCopy(ctx, d.owner, seenTime)
	if err != nil {
		return err
	}
	d.metrics.setQueues(d.countStates())

	held := d.heldSlots()
	kept, err := d.store.RenewSlots(ctx, d.owner, leaseTime, held)
	if err != nil {
		return err
	}

	// A lease that could not be renewed has run out: another copy may serve
	// the slot already.
	for _, number := range held {
		if !slices.Contains(kept, number) {
			d.dropSlot(number)
		}
	}

	fair := (store.WebhookSlots + copies - 1) / max(copies, 1)
	switch {
	case len(kept) > fair:
		return d.handOver(ctx, kept[fair:])
	case len(kept) < fair:
		taken, err := d.store.TakeSlots(ctx, d.owner, leaseTime, fair-len(kept))
		if err != nil {
			return err
		}
		return d.startSlots(ctx, taken)
	}
	return nil
}

// countStates counts the queues by state, for the metrics.
func (d *Dispatcher) countStates() map[string]int {
	d.mu.Lock()
	defer d.mu.Unlock()

	counts := map[string]int{"following": 0, "catching_up": 0, "slow": 0, "parked": 0, "disabled": 0}
	for _, q := range d.queues {
		switch {
		case !q.endpoint.Enabled:
			counts["disabled"]++
		case q.endpoint.Parked:
			counts["parked"]++
		case q.slow:
			counts["slow"]++
		case q.detached:
			counts["catching_up"]++
		default:
			counts["following"]++
		}
	}
	return counts
}

func (d *Dispatcher) heldSlots() []int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Collect(maps.Keys(d.slots))
}

// handOver releases slots for another copy to take.
func (d *Dispatcher) handOver(ctx context.Context, slots []int) error {
	// The other copy continues from what is recorded.
	if err := d.record(ctx); err != nil {
		return err
	}

	for _, number := range slots {
		d.dropSlot(number)
	}
	return d.store.ReleaseSlots(ctx, d.owner, slots)
}

// dropSlot stops serving a slot: another copy serves it, from what is recorded.
func (d *Dispatcher) dropSlot(number int) {
	d.mu.Lock()
	defer d.mu.Unlock()

	dropped := d.slots[number]
	if dropped == nil {
		return
	}

	delete(d.slots, number)
	for id := range dropped.queues {
		d.dropQueue(id)
	}
}

// dropQueue stops serving an endpoint. The caller holds d.mu.
func (d *Dispatcher) dropQueue(id ship.EndpointID) {
	dropped := d.queues[id]
	if dropped == nil {
		return
	}

	delete(d.queues, id)
	delete(d.ready, dropped)
	if s := d.slots[dropped.endpoint.Slot]; s != nil {
		delete(s.queues, id)
		delete(s.active, dropped)
	}

	tenant := dropped.endpoint.Tenant
	d.byTenant[tenant] = slices.DeleteFunc(d.byTenant[tenant], func(q *queue) bool { return q == dropped })
	if len(d.byTenant[tenant]) == 0 {
		delete(d.byTenant, tenant)
	}
}

// startSlots reads the endpoints of leased slots and begins to serve them.
func (d *Dispatcher) startSlots(ctx context.Context, leases []store.SlotLease) error {
	if len(leases) == 0 {
		return nil
	}

	numbers := make([]int, len(leases))
	for i, lease := range leases {
		numbers[i] = lease.Slot
	}
	endpoints, seen, err := d.store.SlotEndpoints(ctx, numbers, time.Time{})
	if err != nil {
		return err
	}
	d.addSlots(leases, endpoints)

	d.mu.Lock()
	defer d.mu.Unlock()

	// Only the first slots set the mark. For later ones it would skip changes
	// to the endpoints of slots that are served already.
	if d.settingsSeen.IsZero() {
		d.settingsSeen = seen
	}
	d.Wake()
	return nil
}

// addSlots serves slots with their endpoints from now on, each slot from its
// cursor. The common reader goes back to the oldest cursor; queues that have
// read further skip what they have.
func (d *Dispatcher) addSlots(leases []store.SlotLease, endpoints []store.Endpoint) {
	d.mu.Lock()
	defer d.mu.Unlock()

	for _, lease := range leases {
		if len(d.slots) == 0 || lease.Cursor.Before(d.common) {
			d.common = lease.Cursor
		}
		d.slots[lease.Slot] = &slot{
			lease:  lease,
			queues: map[ship.EndpointID]*queue{},
			active: map[*queue]bool{},
		}
	}
	for _, endpoint := range endpoints {
		d.addQueue(endpoint, d.slots[endpoint.Slot].lease.Cursor)
	}
}

// addQueue begins to serve an endpoint. The caller holds d.mu.
func (d *Dispatcher) addQueue(endpoint store.Endpoint, from store.Position) {
	q := newQueue(endpoint, from)
	d.queues[endpoint.ID] = q
	d.slots[endpoint.Slot].queues[endpoint.ID] = q
	d.byTenant[endpoint.Tenant] = append(d.byTenant[endpoint.Tenant], q)
	d.markActive(q)
}

// serves reports whether the queue is still the one of its endpoint. It is not
// after the slot was lost, even if the slot was taken again. The caller holds
// d.mu.
func (d *Dispatcher) serves(q *queue) bool { return d.queues[q.endpoint.ID] == q }

// markActive notes that a queue may have something to read, send or write. The
// caller holds d.mu.
func (d *Dispatcher) markActive(q *queue) {
	d.ready[q] = true
	d.slots[q.endpoint.Slot].active[q] = true
}

// refreshSettings applies settings that changed since the last time.
func (d *Dispatcher) refreshSettings(ctx context.Context) error {
	held := d.heldSlots()
	if len(held) == 0 {
		return nil
	}

	d.mu.Lock()
	since := d.settingsSeen
	d.mu.Unlock()

	changed, seen, err := d.store.SlotEndpoints(ctx, held, since)
	if err != nil {
		return err
	}

	d.mu.Lock()
	defer d.mu.Unlock()
	d.settingsSeen = seen
	for _, endpoint := range changed {
		d.applySettings(endpoint)
	}
	return nil
}

// applySettings applies the settings of a new or changed endpoint. The caller
// holds d.mu.
func (d *Dispatcher) applySettings(endpoint store.Endpoint) {
	s := d.slots[endpoint.Slot]
	q := d.queues[endpoint.ID]

	switch {
	case s == nil:
		return
	case q == nil:
		d.addQueue(endpoint, s.lease.Cursor)
		return
	case q.endpoint.Version == endpoint.Version:
		return
	}

	q.applySettings(endpoint)
	d.markActive(q)
}

// dropDeleted stops serving endpoints that no longer exist.
func (d *Dispatcher) dropDeleted(ctx context.Context) error {
	held := d.heldSlots()
	if len(held) == 0 {
		return nil
	}

	// An endpoint that is added after the list was read is not missing, so
	// only those that were known before are compared.
	d.mu.Lock()
	known := maps.Clone(d.queues)
	d.mu.Unlock()

	existing, err := d.store.SlotEndpointIDs(ctx, held)
	if err != nil {
		return err
	}

	d.mu.Lock()
	defer d.mu.Unlock()
	for id, q := range known {
		if !existing[id] && d.serves(q) && slices.Contains(held, q.endpoint.Slot) {
			d.dropQueue(id)
		}
	}
	return nil
}
