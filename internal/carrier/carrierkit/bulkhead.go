package carrierkit

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// bulkhead bounds the calls of one kind that a carrier has in flight, so that a
// carrier that hangs does not use up the process. Its connections take turns,
// and none may hold more than a share of it while others are active.
//
// No lock is held while anybody waits.
type bulkhead struct {
	size, share int
	activeFor   time.Duration

	mu      sync.Mutex
	used    int
	waiting int
	tenants map[string]*tenant // tenants that hold or want a slot
	turns   list.List          // of *tenant that waits, the next one first
	seen    [2]arrival         // the two most recent tenants
}

// tenant is one connection's part of a bulkhead.
type tenant struct {
	name  string
	used  int
	queue list.List // of chan struct{}, closed when the waiter gets the slot
}

type arrival struct {
	name string
	at   time.Time
}

func newBulkhead(size int, options TrafficOptions) *bulkhead {
	return &bulkhead{
		size:      size,
		share:     max(int(options.Share*float64(size)), 1),
		activeFor: options.ActiveFor,
		tenants:   map[string]*tenant{},
	}
}

// enter returns when the connection has a slot, which it gives back with
// leave.
func (b *bulkhead) enter(ctx context.Context, connection string) error {
	b.mu.Lock()
	caller := b.tenants[connection]
	if caller == nil {
		caller = &tenant{name: connection}
		b.tenants[connection] = caller
	}

	now := time.Now()
	b.noteArrival(connection, now)
	if caller.queue.Len() == 0 && b.mayTake(caller, now) {
		b.used++
		caller.used++
		b.mu.Unlock()
		return nil
	}

	if caller.queue.Len() == 0 {
		b.turns.PushBack(caller)
	}
	ready := make(chan struct{})
	position := caller.queue.PushBack(ready)
	b.waiting++
	b.mu.Unlock()

	select {
	case <-ready:
		return nil
	case <-ctx.Done():
		b.abandon(caller, position)
		return &ship.Error{
			Kind:       ship.Unavailable,
			Message:    "too many requests to the carrier are in progress; nothing was sent",
			RetryAfter: time.Second,
			Err:        ctx.Err(),
		}
	}
}

// abandon removes a waiter from the queue, because its ctx has ended.
func (b *bulkhead) abandon(caller *tenant, position *list.Element) {
	b.mu.Lock()
	defer b.mu.Unlock()

	// The slot may have been given to the waiter at the same moment. Then it is
	// passed on, or it would be lost.
	select {
	case <-position.Value.(chan struct{}):
		b.free(caller)
		return
	default:
	}

	caller.queue.Remove(position)
	b.waiting--
	if caller.queue.Len() > 0 {
		return
	}
	for turn := b.turns.Front(); turn != nil; turn = turn.Next() {
		if turn.Value == caller {
			b.turns.Remove(turn)
			break
		}
	}
	b.forget(caller)
}

func (b *bulkhead) leave(connection string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free(b.tenants[connection])
}

func (b *bulkhead) free(holder *tenant) {
	b.used--
	holder.used--
	b.serve()
	b.forget(holder)
}

// serve gives the free slots to the tenants in turn, past those that hold
// their share.
func (b *bulkhead) serve() {
	now := time.Now()
	for turn := b.turns.Front(); turn != nil && b.used < b.size; {
		waiting := turn.Value.(*tenant)
		next := turn.Next()
		if b.mayTake(waiting, now) {
			close(waiting.queue.Remove(waiting.queue.Front()).(chan struct{}))
			b.waiting--
			b.used++
			waiting.used++

			// A tenant that still waits goes to the end, and its turn comes
			// again in this loop.
			b.turns.Remove(turn)
			if waiting.queue.Len() > 0 {
				b.turns.PushBack(waiting)
				if next == nil {
					next = b.turns.Back()
				}
			}
		}
		turn = next
	}
}

// mayTake reports whether the tenant may have one slot more.
func (b *bulkhead) mayTake(caller *tenant, now time.Time) bool {
	if b.used >= b.size {
		return false
	}
	return caller.used < b.share || !b.hasOthers(caller, now)
}

// hasOthers reports whether another connection is active: it holds a slot,
// waits for one, or did so lately and will need to find one free.
func (b *bulkhead) hasOthers(caller *tenant, now time.Time) bool {
	last := b.seen[0]
	if last.name == caller.name {
		last = b.seen[1]
	}
	wasActive := !last.at.IsZero() && now.Sub(last.at) < b.activeFor
	return b.used > caller.used || b.waiting > caller.queue.Len() || wasActive
}

// noteArrival remembers the two connections that called most recently.
func (b *bulkhead) noteArrival(connection string, now time.Time) {
	if b.seen[0].name != connection {
		b.seen[1] = b.seen[0]
	}
	b.seen[0] = arrival{connection, now}
}

func (b *bulkhead) forget(caller *tenant) {
	if caller.used == 0 && caller.queue.Len() == 0 {
		delete(b.tenants, caller.name)
	}
}
