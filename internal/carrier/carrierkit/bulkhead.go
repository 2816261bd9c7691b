package carrierkit

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// bulkhead bounds the calls of one kind that a carrier has in flight, so that
// one that hangs does not take all there is. Its connections take turns, and
// none may hold more than a share of it while others are about.
//
// No lock is held while anybody waits.
type bulkhead struct {
	size, share int
	activeFor   time.Duration

	mu      sync.Mutex
	used    int
	waiting int
	tenants map[string]*tenant // that hold or want a slot
	turns   list.List          // of *tenant that waits, the next one first
	seen    [2]arrival         // the two that came last
}

// tenant is one connection's part of a bulkhead.
type tenant struct {
	name  string
	used  int
	queue list.List // of chan struct{}, closed when the slot is theirs
}

type arrival struct {
	name string
	at   time.Time
}

func newBulkhead(size int, o TrafficOptions) *bulkhead {
	return &bulkhead{
		size: size, share: max(int(o.Share*float64(size)), 1), activeFor: o.ActiveFor,
		tenants: map[string]*tenant{},
	}
}

// enter returns when the connection has a slot, which it gives back with
// leave.
func (b *bulkhead) enter(ctx context.Context, connection string) error {
	b.mu.Lock()
	t := b.tenants[connection]
	if t == nil {
		t = &tenant{name: connection}
		b.tenants[connection] = t
	}
	now := time.Now()
	b.see(connection, now)
	if t.queue.Len() == 0 && b.room(t, now) {
		b.used++
		t.used++
		b.mu.Unlock()
		return nil
	}
	if t.queue.Len() == 0 {
		b.turns.PushBack(t)
	}
	ready := make(chan struct{})
	place := t.queue.PushBack(ready)
	b.waiting++
	b.mu.Unlock()

	select {
	case <-ready:
		return nil
	case <-ctx.Done():
		b.abandon(t, place)
		return &ship.Error{Kind: ship.Unavailable, Message: "the carrier is busy; nothing was sent", RetryAfter: time.Second, Err: ctx.Err()}
	}
}

// abandon takes a waiter out of the queue whose ctx has ended.
func (b *bulkhead) abandon(t *tenant, place *list.Element) {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-place.Value.(chan struct{}): // it came at the same moment
		b.free(t)
		return
	default:
	}
	t.queue.Remove(place)
	b.waiting--
	if t.queue.Len() == 0 {
		for e := b.turns.Front(); e != nil; e = e.Next() {
			if e.Value == t {
				b.turns.Remove(e)
				break
			}
		}
		b.forget(t)
	}
}

func (b *bulkhead) leave(connection string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free(b.tenants[connection])
}

func (b *bulkhead) free(t *tenant) {
	b.used--
	t.used--
	b.serve()
	b.forget(t)
}

// serve gives the free slots to the tenants in turn, past those that hold
// their share.
func (b *bulkhead) serve() {
	now := time.Now()
	for e := b.turns.Front(); e != nil && b.used < b.size; {
		t := e.Value.(*tenant)
		next := e.Next()
		if b.room(t, now) {
			close(t.queue.Remove(t.queue.Front()).(chan struct{}))
			b.waiting--
			b.used++
			t.used++
			b.turns.Remove(e)
			if t.queue.Len() > 0 {
				b.turns.PushBack(t)
				if next == nil {
					next = b.turns.Back()
				}
			}
		}
		e = next
	}
}

// room says whether the tenant may have one slot more.
func (b *bulkhead) room(t *tenant, now time.Time) bool {
	if b.used >= b.size {
		return false
	}
	return t.used < b.share || !b.others(t, now)
}

// others says whether another connection is about: it holds a slot, waits for
// one, or did so lately and will want to find one free.
func (b *bulkhead) others(t *tenant, now time.Time) bool {
	last := b.seen[0]
	if last.name == t.name {
		last = b.seen[1]
	}
	return b.used > t.used || b.waiting > t.queue.Len() || !last.at.IsZero() && now.Sub(last.at) < b.activeFor
}

// see remembers the last two connections that came.
func (b *bulkhead) see(connection string, now time.Time) {
	if b.seen[0].name != connection {
		b.seen[1] = b.seen[0]
	}
	b.seen[0] = arrival{connection, now}
}

func (b *bulkhead) forget(t *tenant) {
	if t.used == 0 && t.queue.Len() == 0 {
		delete(b.tenants, t.name)
	}
}
