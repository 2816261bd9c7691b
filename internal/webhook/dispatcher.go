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
// Nothing is open in the database while something is sent. What was sent is
// written down together with the cursor, so a crash sends again only what was
// in flight.
type Dispatcher struct {
	service *Service
	store   *store.Store
	sender  *Sender
	log     *slog.Logger
	owner   string
	metrics *Metrics

	wake chan struct{} // something may be there to read
	free chan struct{} // something has landed: there is room to send

	// writing is held while what is due is read and while what was done is
	// written, so that nothing is taken for due that was done already.
	writing sync.Mutex

	mu     sync.Mutex
	slots  map[int]*slot
	lanes  map[ship.EndpointID]*lane
	tenant map[ship.Tenant][]*lane
	common store.Position // the log is read up to here for all lanes that read together
	fast   int            // permits left
	slow   int
	ready  map[*lane]bool // lanes that may have something to send
	bodies bodyCache
	seen   time.Time // settings are known up to here
}

// slot is a part of the endpoints, and what is to be written down of it.
type slot struct {
	lease    store.SlotLease
	lanes    map[ship.EndpointID]*lane
	active   map[*lane]bool // the others neither read nor write anything
	attempts []store.WebhookAttempt
	retries  []store.Retry
	settled  []store.Retry
}

const (
	leaseTime   = 10 * time.Second
	seenTime    = 5 * time.Second // a copy that is silent for so long has no share
	renewEvery  = 2 * time.Second
	listEvery   = 30 * time.Second // deleted endpoints are noticed then
	pollBusy    = 10 * time.Millisecond
	pollIdle    = 40 * time.Millisecond
	dueEvery    = 250 * time.Millisecond
	recordEvery = 50 * time.Millisecond
	ownTime     = 20 * time.Millisecond // for lanes that are behind, each time
	readPage    = 2000
	duePage     = 1000
	slowAfter   = 2 * time.Second // an attempt that takes longer leaves the fast path
	lagAfter    = time.Second     // the slot's cursor waits no longer for an attempt
	quietTime   = 5 * time.Second // a cursor behind which nothing was sent is written as often
	manyLanes   = 5000            // beyond, quiet endpoints are not kept open
	fastPermits = 512
	slowPermits = 256
)

// NewDispatcher returns a dispatcher that serves nothing until it runs.
func NewDispatcher(s *Service, m *Metrics) *Dispatcher {
	host, _ := os.Hostname()
	return &Dispatcher{
		service: s, store: s.store, sender: s.sender, log: s.log, metrics: m,
		owner: fmt.Sprintf("%s-%d-%08x", host, os.Getpid(), rand.Uint32()),
		wake:  make(chan struct{}, 1), free: make(chan struct{}, 1),
		slots: map[int]*slot{}, lanes: map[ship.EndpointID]*lane{}, tenant: map[ship.Tenant][]*lane{},
		ready: map[*lane]bool{}, fast: fastPermits, slow: slowPermits, bodies: newBodyCache(),
	}
}

// Wake tells the dispatcher that an event was recorded by this process, so
// that it need not wait for the next look.
func (d *Dispatcher) Wake() { poke(d.wake) }

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Run serves slots until ctx ends; then it writes down what it did and gives
// its slots back.
func (d *Dispatcher) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for _, loop := range []struct {
		every time.Duration
		do    func(context.Context) error
		what  string
	}{
		{renewEvery, d.keepLeases, "keep leases"},
		{time.Second, d.refresh, "refresh endpoints"},
		{listEvery, d.dropDeleted, "drop deleted endpoints"},
		{dueEvery, d.sendDue, "send what is due"},
		{recordEvery, d.record, "record deliveries"},
	} {
		wg.Go(func() { d.repeat(ctx, loop.every, loop.what, loop.do) })
	}
	wg.Go(func() { d.follow(ctx) })
	wg.Wait()
	d.leave()
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

// leave waits a moment for what is in flight, writes down what is known, and
// gives the slots back.
func (d *Dispatcher) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for range 20 {
		if d.inFlight() == 0 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if err := d.record(ctx); err != nil {
		d.log.Warn("webhooks: record deliveries", "error", err)
	}
	if err := d.store.ReleaseSlots(ctx, d.owner, d.held()); err != nil {
		d.log.Warn("webhooks: release slots", "error", err)
	}
	if err := d.store.ForgetCopy(ctx, d.owner); err != nil {
		d.log.Warn("webhooks: leave the list of copies", "error", err)
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
	d.metrics.count(d.states())
	held := d.held()
	kept, err := d.store.RenewSlots(ctx, d.owner, leaseTime, held)
	if err != nil {
		return err
	}
	for _, n := range held {
		if !slices.Contains(kept, n) {
			d.lose(n)
		}
	}
	fair := (store.WebhookSlots + copies - 1) / max(copies, 1)
	switch {
	case len(kept) > fair:
		return d.giveUp(ctx, kept[fair:])
	case len(kept) < fair:
		taken, err := d.store.TakeSlots(ctx, d.owner, leaseTime, fair-len(kept))
		if err != nil {
			return err
		}
		return d.take(ctx, taken)
	}
	return nil
}

// states counts the lanes by how they do.
func (d *Dispatcher) states() map[string]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := map[string]int{"together": 0, "behind": 0, "slow": 0, "parked": 0, "disabled": 0}
	for _, l := range d.lanes {
		switch {
		case !l.endpoint.Enabled:
			n["disabled"]++
		case l.endpoint.Parked:
			n["parked"]++
		case l.slow:
			n["slow"]++
		case l.own:
			n["behind"]++
		default:
			n["together"]++
		}
	}
	return n
}

func (d *Dispatcher) held() []int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Collect(maps.Keys(d.slots))
}

// giveUp hands slots to another copy.
func (d *Dispatcher) giveUp(ctx context.Context, slots []int) error {
	if err := d.record(ctx); err != nil {
		return err
	}
	for _, n := range slots {
		d.lose(n)
	}
	return d.store.ReleaseSlots(ctx, d.owner, slots)
}

// lose forgets a slot: another copy serves it, from what is written down.
func (d *Dispatcher) lose(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.slots[n]
	if s == nil {
		return
	}
	delete(d.slots, n)
	for id := range s.lanes {
		d.dropLane(id)
	}
}

// dropLane forgets an endpoint; d.mu is held.
func (d *Dispatcher) dropLane(id ship.EndpointID) {
	l := d.lanes[id]
	if l == nil {
		return
	}
	delete(d.lanes, id)
	delete(d.ready, l)
	if s := d.slots[l.endpoint.Slot]; s != nil {
		delete(s.lanes, id)
		delete(s.active, l)
	}
	t := l.endpoint.Tenant
	if d.tenant[t] = slices.DeleteFunc(d.tenant[t], func(x *lane) bool { return x == l }); len(d.tenant[t]) == 0 {
		delete(d.tenant, t)
	}
}

// take begins to serve slots, each from its cursor. The common reader goes
// back to the oldest of them; lanes that are further skip what they have.
func (d *Dispatcher) take(ctx context.Context, leases []store.SlotLease) error {
	if len(leases) == 0 {
		return nil
	}
	numbers := make([]int, len(leases))
	for i, l := range leases {
		numbers[i] = l.Slot
	}
	endpoints, seen, err := d.store.SlotEndpoints(ctx, numbers, time.Time{})
	if err != nil {
		return err
	}
	d.begin(leases, endpoints)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.seen.IsZero() {
		d.seen = seen
	}
	d.Wake()
	return nil
}

// begin serves slots with their endpoints from now on.
func (d *Dispatcher) begin(leases []store.SlotLease, endpoints []store.Endpoint) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, l := range leases {
		if len(d.slots) == 0 || l.Cursor.Before(d.common) {
			d.common = l.Cursor
		}
		d.slots[l.Slot] = &slot{lease: l, lanes: map[ship.EndpointID]*lane{}, active: map[*lane]bool{}}
	}
	for _, e := range endpoints {
		d.addLane(e, d.slots[e.Slot].lease.Cursor)
	}
}

// addLane begins to serve an endpoint; d.mu is held.
func (d *Dispatcher) addLane(e store.Endpoint, from store.Position) {
	l := newLane(e, from)
	d.lanes[e.ID] = l
	d.slots[e.Slot].lanes[e.ID] = l
	d.tenant[e.Tenant] = append(d.tenant[e.Tenant], l)
	d.touch(l)
}

// serves reports whether the lane is still the one of its endpoint; d.mu is
// held.
func (d *Dispatcher) serves(l *lane) bool { return d.lanes[l.endpoint.ID] == l }

// touch notes that a lane may have something to read, send or write; d.mu is
// held.
func (d *Dispatcher) touch(l *lane) {
	d.ready[l] = true
	d.slots[l.endpoint.Slot].active[l] = true
}

// refresh takes in settings that changed.
func (d *Dispatcher) refresh(ctx context.Context) error {
	held := d.held()
	if len(held) == 0 {
		return nil
	}
	d.mu.Lock()
	since := d.seen
	d.mu.Unlock()
	changed, seen, err := d.store.SlotEndpoints(ctx, held, since)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen = seen
	for _, e := range changed {
		d.change(e)
	}
	return nil
}

// change takes in an endpoint's settings; d.mu is held.
func (d *Dispatcher) change(e store.Endpoint) {
	s, l := d.slots[e.Slot], d.lanes[e.ID]
	switch {
	case s == nil:
		return
	case l == nil:
		d.addLane(e, s.lease.Cursor)
		return
	case l.endpoint.Version == e.Version:
		return
	}
	l.adopt(e)
	d.touch(l)
}

func (d *Dispatcher) dropDeleted(ctx context.Context) error {
	held := d.held()
	if len(held) == 0 {
		return nil
	}
	d.mu.Lock()
	known := maps.Clone(d.lanes) // what comes later is not missing
	d.mu.Unlock()
	there, err := d.store.SlotEndpointIDs(ctx, held)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, l := range known {
		if !there[id] && d.serves(l) && slices.Contains(held, l.endpoint.Slot) {
			d.dropLane(id)
		}
	}
	return nil
}
