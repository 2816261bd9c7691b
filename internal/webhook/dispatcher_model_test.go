package webhook

import (
	"encoding/binary"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// tables model the database, as the statements of the store leave it.
type tables struct {
	slots     map[int]store.SlotLease
	endpoints map[ship.EndpointID]store.Endpoint
	rows      map[delivery]scheduled
	attempts  map[delivery]bool // that arrived
}

// delivery is an event for an endpoint.
type delivery struct {
	endpoint ship.EndpointID
	event    ship.RawID
}

// scheduled is a row of the schedule.
type scheduled struct {
	at       store.Position
	slot     int
	attempts int
	stopped  bool
}

func (t *tables) clone() *tables {
	return &tables{maps.Clone(t.slots), maps.Clone(t.endpoints), maps.Clone(t.rows), maps.Clone(t.attempts)}
}

// record is store.Record. It reports false when another process owns the slot.
func (t *tables) record(r store.Record) bool {
	slot := t.slots[r.Lease.Slot]
	if slot.Token != r.Lease.Token {
		return false
	}
	slot.Cursor = r.Lease.Cursor
	t.slots[r.Lease.Slot] = slot
	for _, a := range r.Attempts {
		if a.Outcome == OutcomeDelivered {
			t.attempts[delivery{a.Endpoint, a.Event.Raw()}] = true
		}
	}
	for _, row := range r.Settled {
		delete(t.rows, delivery{row.Endpoint, row.Event.ID})
	}
	for _, row := range r.Retries {
		t.rows[delivery{row.Endpoint, row.Event.ID}] = scheduled{row.Event, row.Slot, row.Attempts, false}
	}
	for _, e := range r.Endpoints {
		t.recordEndpoint(e)
	}
	return true
}

func (t *tables) recordEndpoint(e store.EndpointRecord) {
	now := t.endpoints[e.ID]
	if now.Version == e.Version {
		now.Verified, now.Failures, now.FailingSince, now.Parked, now.Joining = e.Verified, e.Failures, e.FailingSince, e.Parked, e.OwnCursor
		now.Enabled, now.Cursor = now.Enabled && e.Enabled, e.Cursor
		if !e.OwnCursor {
			now.RecoverSince, now.Cursor = time.Time{}, store.Position{}
		}
	} else if e.OwnCursor && !now.Joining {
		now.Joining, now.Cursor = true, e.Cursor
	}
	t.endpoints[e.ID] = now
	stopped := now.Parked || !now.Enabled
	for key, row := range t.rows {
		if key.endpoint == e.ID && (stopped && (e.Parked || !e.Enabled) || !stopped && e.Resume) {
			row.stopped = stopped
			t.rows[key] = row
		}
	}
}

// stageModel is a dispatcher on those tables, and what the endpoints have
// received.
type stageModel struct {
	t       *rapid.T
	log     []store.LogHead
	now     *tables
	disk    *tables // what is left after a crash of the database
	d       *Dispatcher
	air     []*attempt
	got     map[delivery]bool
	givenUp map[delivery]bool
	ending  bool // everything works from now on
}

const modelSlots, modelEndpoints = 2, 4

func newStageModel(t *rapid.T) *stageModel {
	m := &stageModel{t: t, got: map[delivery]bool{}, givenUp: map[delivery]bool{}}
	m.now = &tables{map[int]store.SlotLease{}, map[ship.EndpointID]store.Endpoint{}, map[delivery]scheduled{}, map[delivery]bool{}}
	for n := range modelSlots {
		m.now.slots[n] = store.SlotLease{Slot: n, Cursor: store.Position{Tx: 1}}
	}
	for n := range modelEndpoints {
		e := store.Endpoint{ID: ship.EndpointIDOf(numbered(n + 1)), Tenant: modelTenant(n % 2), Slot: n % modelSlots, Verified: n > 0, Version: 1}
		e.Enabled = true
		if n == 3 {
			e.Kinds = []ship.EventKind{wanted}
		}
		m.now.endpoints[e.ID] = e
	}
	m.flush()
	m.start()
	return m
}

func modelTenant(n int) ship.Tenant { return ship.Tenant{Account: ship.AccountIDOf(numbered(n + 1))} }

func (m *stageModel) flush() { m.disk = m.now.clone() }

func (m *stageModel) pick(n int, what string) int { return rapid.IntRange(0, n-1).Draw(m.t, what) }

// start is a new process.
func (m *stageModel) start() {
	m.d = NewDispatcher(&Service{}, nil)
	m.air = nil
	m.take(0)
	m.take(1)
}

// take makes the process serve a slot.
func (m *stageModel) take(n int) {
	lease := m.now.slots[n]
	lease.Token++
	m.now.slots[n] = lease
	m.flush()
	var list []store.Endpoint
	for _, id := range slices.Sorted(maps.Keys(m.now.endpoints)) {
		if e := m.now.endpoints[id]; e.Slot == n {
			list = append(list, e)
		}
	}
	m.d.addSlots([]store.SlotLease{lease}, list)
}

func (m *stageModel) write() {
	for range 1 + m.pick(30, "events") {
		n := len(m.log) + 1
		kind := wanted
		if m.pick(6, "kind") == 0 {
			kind = unwanted
		}
		m.log = append(m.log, store.LogHead{
			Position: store.Position{Tx: uint64(n/2 + 2), ID: numbered(n)}, Kind: kind, Tenant: modelTenant(m.pick(2, "tenant")), Subject: numbered(1 + m.pick(5, "shipment")),
		})
	}
}

func (m *stageModel) after(from store.Position, keep func(store.LogHead) bool, limit int) (heads []store.LogHead) {
	for _, h := range m.log {
		if from.Before(h.Position) && keep(h) && len(heads) < limit {
			heads = append(heads, h)
		}
	}
	return heads
}

func (m *stageModel) readCommon() {
	from := m.d.common
	m.d.distribute(from, m.after(from, func(store.LogHead) bool { return true }, readPage), time.Now())
}

// queues in a fixed order, so that a failure can be repeated.
func (m *stageModel) queues() (list []*queue) {
	for _, id := range slices.Sorted(maps.Keys(m.d.queues)) {
		list = append(list, m.d.queues[id])
	}
	return list
}

func (m *stageModel) readOwn() {
	for _, q := range m.queues() {
		if !q.wantsToRead() || !m.d.serves(q) {
			continue
		}
		if !m.d.slots[q.endpoint.Slot].active[q] {
			m.t.Fatal("a queue that wants to read is taken for quiet")
		}
		if q.mustLoadDelivered {
			m.record(0)
			if !m.d.serves(q) {
				continue
			}
			for key := range m.now.attempts {
				if key.endpoint == q.endpoint.ID {
					q.delivered[ship.EventIDOf(key.event)] = true
				}
			}
			q.mustLoadDelivered = false
		}
		from := q.read
		m.d.fill(q, from, m.after(from, func(h store.LogHead) bool { return h.Tenant == q.endpoint.Tenant }, maxQueued))
	}
}

func (m *stageModel) pump() {
	var attempts []attempt
	for _, q := range m.queues() {
		if m.d.ready[q] {
			m.d.takeReady(q, time.Now(), &attempts)
		}
	}
	m.fly(attempts)
}

func (m *stageModel) due() {
	var attempts []attempt
	for _, key := range slices.SortedFunc(maps.Keys(m.now.rows), func(a, b delivery) int {
		return slices.Compare(append([]byte(a.endpoint), a.event[:]...), append([]byte(b.endpoint), b.event[:]...))
	}) {
		if row := m.now.rows[key]; !row.stopped && m.d.slots[row.slot] != nil {
			m.d.takeDue(&store.Retry{Tenant: m.now.endpoints[key.endpoint].Tenant, Endpoint: key.endpoint, Event: row.at, Slot: row.slot, Attempts: row.attempts}, &attempts)
		}
	}
	m.fly(attempts)
}

func (m *stageModel) fly(attempts []attempt) {
	if len(attempts) > 0 && !m.ending && m.pick(10, "cannot read the bodies") == 0 {
		m.d.undo(attempts)
		return
	}
	for i := range attempts {
		m.air = append(m.air, &attempts[i])
	}
}

func (m *stageModel) end(ok bool) {
	if len(m.air) == 0 {
		return
	}
	i := m.pick(len(m.air), "which")
	s := m.air[i]
	m.air = slices.Delete(m.air, i, i+1)
	key := delivery{s.queue.endpoint.ID, s.event.ID}
	a := &Attempt{WebhookAttempt: store.WebhookAttempt{Endpoint: key.endpoint, Event: ship.EventIDOf(key.event), Outcome: OutcomeFailed, Status: 500}}
	if ok {
		a.Outcome, a.Status = OutcomeDelivered, 200
		m.got[key] = true
	} else if m.pick(40, "gone") == 0 {
		a.Status = 410
	}
	if !ok && s.number > len(schedule) {
		m.givenUp[key] = true
	}
	m.d.finish(s, a)
}

// record writes the outcomes to the tables. The write itself may succeed, fail,
// or succeed without the process learning of it.
func (m *stageModel) record(outcome int) {
	for _, n := range slices.Sorted(maps.Keys(m.d.slots)) {
		r, ok := m.d.collect(n)
		if !ok {
			continue
		}
		if outcome == 1 {
			m.d.restore(n, r)
			continue
		}
		if !m.now.record(r) {
			m.d.dropSlot(n)
			continue
		}
		if len(r.Retries) > 0 || slices.ContainsFunc(r.Endpoints, func(e store.EndpointRecord) bool { return e.Lasting }) {
			m.flush()
		}
		if outcome == 2 {
			m.d.restore(n, r)
		} else {
			m.d.markWritten(r)
		}
	}
}

// lag makes the attempts in flight of an endpoint take long.
func (m *stageModel) lag() {
	for _, q := range m.queues() {
		if len(q.inFlight) > 0 && m.pick(2, "lags") == 0 {
			for at, f := range q.inFlight {
				q.inFlight[at] = flight{f.since.Add(-2 * lagAfter), f.subject}
			}
		}
	}
}

// die kills the process: attempts in flight may or may not have arrived.
func (m *stageModel) die() {
	for _, s := range m.air {
		if m.pick(2, "arrived") == 0 {
			m.got[delivery{s.queue.endpoint.ID, s.event.ID}] = true
		}
	}
	m.start()
}

// handOver makes another copy take a slot and give it back.
func (m *stageModel) handOver() {
	n := m.pick(modelSlots, "slot")
	if m.d.slots[n] == nil {
		m.take(n)
		return
	}
	lease := m.now.slots[n]
	lease.Token++
	m.now.slots[n] = lease
	m.flush()
}

// cursor returns where a process that starts now would continue.
func (t *tables) cursor(e store.Endpoint) store.Position {
	if e.Joining {
		return e.Cursor
	}
	return t.slots[e.Slot].Cursor
}

// change is what an owner or a probe does to an endpoint.
func (m *stageModel) change() {
	id := ship.EndpointIDOf(numbered(1 + m.pick(modelEndpoints, "endpoint")))
	e := m.now.endpoints[id]
	e.Version++
	switch m.pick(5, "change") {
	case 0: // a new description
	case 1: // switched off
		if e.Enabled && e.Cursor == (store.Position{}) {
			e.Cursor = m.now.slots[e.Slot].Cursor
		}
		e.Enabled = false
	case 2: // switched on, or moved
		e.Joining = e.Joining || e.Parked || !e.Enabled
		e.Enabled, e.Parked, e.Failures = true, false, 0
	case 3:
		m.probe(&e)
	case 4:
		m.recover(&e)
	}
	m.now.endpoints[id] = e
	m.flush()
}

// probe is Waiting and Unpark: any event that waits, which arrives.
func (m *stageModel) probe(e *store.Endpoint) {
	if !e.Parked || !e.Enabled {
		return
	}
	e.Parked, e.Joining, e.Verified, e.Failures = false, true, true, 0
	waiting := m.after(e.Cursor, func(h store.LogHead) bool { return h.Tenant == e.Tenant && e.Wants(h.Kind) }, 20)
	if len(waiting) == 0 {
		return
	}
	i := m.pick(len(waiting), "waiting")
	m.got[delivery{e.ID, waiting[i].Position.ID}] = true
	if i == 0 {
		e.Cursor = waiting[0].Position
	}
}

// recover is store.Recover.
func (m *stageModel) recover(e *store.Endpoint) {
	start := m.now.cursor(*e)
	if e.Cursor != (store.Position{}) {
		start = e.Cursor
	}
	if len(m.log) > 0 {
		since := m.log[m.pick(len(m.log), "since")].Position
		if since.Previous().Before(start) {
			start = since.Previous()
		}
		for key, row := range m.now.rows {
			if key.endpoint == e.ID && !row.at.Before(since) {
				delete(m.now.rows, key)
			}
		}
	}
	e.Cursor, e.Joining, e.RecoverSince = start, true, time.Unix(1, 0)
	e.Enabled, e.Parked, e.Failures = true, false, 0
}

func (m *stageModel) refresh() {
	for _, id := range slices.Sorted(maps.Keys(m.now.endpoints)) {
		m.d.applySettings(m.now.endpoints[id])
	}
}

// check checks the guarantee: whatever dies now, the tables lead to every event
// that an endpoint has not received.
func (m *stageModel) check(*rapid.T) {
	for what, t := range map[string]*tables{"the tables": m.now, "the disk": m.disk} {
		for id, e := range t.endpoints {
			cursor := t.cursor(e)
			for _, h := range m.log {
				key := delivery{id, h.Position.ID}
				if h.Tenant != e.Tenant || !e.Wants(h.Kind) || cursor.Before(h.Position) || m.got[key] || m.givenUp[key] {
					continue
				}
				if _, kept := t.rows[key]; !kept {
					m.t.Fatalf("%s lead nobody to event %d for endpoint %s", what, binary.BigEndian.Uint64(h.Position.ID[8:]), id)
				}
			}
		}
	}
	if flying := m.d.inFlight(); flying < 0 || m.d.fast < 0 || m.d.fast > fastPermits {
		m.t.Fatalf("%d in flight, %d permits", flying, m.d.fast)
	}
}

// finish lets everything arrive.
func (m *stageModel) finish() {
	m.ending = true
	for id, e := range m.now.endpoints {
		e.Joining = e.Joining || e.Parked || !e.Enabled
		e.Version, e.Enabled, e.Parked, e.Failures = e.Version+1, true, false, 0
		m.now.endpoints[id] = e
	}
	m.flush()
	for range len(m.log)*2 + 50 {
		for n := range modelSlots {
			if m.d.slots[n] == nil {
				m.take(n)
			}
		}
		m.refresh()
		m.readCommon()
		m.readOwn()
		m.pump()
		m.due()
		for len(m.air) > 0 {
			m.end(true)
		}
		m.record(0)
	}
	for id, e := range m.now.endpoints {
		for _, h := range m.log {
			if key := (delivery{id, h.Position.ID}); h.Tenant == e.Tenant && e.Wants(h.Kind) && !m.got[key] && !m.givenUp[key] {
				m.t.Fatalf("event %d never arrived at endpoint %s", binary.BigEndian.Uint64(h.Position.ID[8:]), id)
			}
		}
	}
	if len(m.now.rows) > 0 || m.d.inFlight() != 0 {
		m.t.Fatalf("%d rows are left, %d in flight", len(m.now.rows), m.d.inFlight())
	}
}

func TestADispatcherLosesNothingWhateverDies(t *testing.T) {
	history := func(rt *rapid.T) {
		m := newStageModel(rt)
		rt.Repeat(map[string]func(*rapid.T){
			"write":       func(*rapid.T) { m.write() },
			"common":      func(*rapid.T) { m.readCommon() },
			"own":         func(*rapid.T) { m.readOwn() },
			"pump":        func(*rapid.T) { m.pump() },
			"due":         func(*rapid.T) { m.due() },
			"arrive":      func(*rapid.T) { m.end(true); m.end(true); m.end(true) },
			"fail":        func(*rapid.T) { m.end(false); m.end(false) },
			"record":      func(*rapid.T) { m.record(0) },
			"unrecorded":  func(*rapid.T) { m.record(1 + m.pick(2, "how")) },
			"lag":         func(*rapid.T) { m.lag() },
			"change":      func(*rapid.T) { m.change() },
			"refresh":     func(*rapid.T) { m.refresh() },
			"handOver":    func(*rapid.T) { m.handOver() },
			"processDies": func(*rapid.T) { m.die() },
			"databaseDies": func(*rapid.T) {
				m.now = m.disk.clone()
			},
			"": m.check,
		})
		m.finish()
	}
	for range 10 {
		rapid.Check(t, history)
	}
}
