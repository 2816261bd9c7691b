package tracking

import (
	"context"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

const (
	intakePushes  = 200     // that are stored at once, at most
	intakeBytes   = 4 << 20 // the same, of their bodies
	intakeTimeout = 10 * time.Second
	intakePause   = 20 * time.Millisecond // while this copy has enough to hear

	readyPushes = 2000     // that wait in memory, at most; those beyond are any copy's to hear
	readyBytes  = 32 << 20 // the same, of their bodies
)

// An intake stores pushes as they arrive. Those that come while it is busy go
// together, in one statement: many at once cost little more than one, and one
// alone waits for nobody.
type intake struct {
	store *store.Store

	mu      sync.Mutex
	busy    bool
	waiting []arrival

	// What this copy is to hear. A row of each is claimed for it, so that
	// another copy hears them if this one dies, or is too slow.
	hearing bool
	ready   []claimed
	bytes   int
}

// A claimed push is this copy's to hear until then.
type claimed struct {
	store.Unheard
	until time.Time
}

// An arrival is a push whose sender waits.
type arrival struct {
	push   store.Push
	stored chan<- error
}

// add stores a push. It returns once the push is safe.
func (in *intake) add(ctx context.Context, p store.Push) error {
	stored := make(chan error, 1)
	in.mu.Lock()
	in.waiting = append(in.waiting, arrival{p, stored})
	if !in.busy {
		in.busy = true
		go in.run()
	}
	in.mu.Unlock()
	select {
	case err := <-stored:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run stores what waits until nothing does.
func (in *intake) run() {
	for batch, own := in.next(); len(batch) > 0; batch, own = in.next() {
		pushes := make([]store.Push, len(batch))
		for i, a := range batch {
			pushes[i] = a.push
		}
		ctx, cancel := context.WithTimeout(context.Background(), intakeTimeout)
		due := time.Now().UTC()
		if own {
			due = due.Add(hearClaim)
		}
		fresh, err := in.store.AddPushes(ctx, pushes, due)
		cancel()
		if own {
			in.keep(pushes, fresh, due)
		}
		for _, a := range batch {
			a.stored <- err
		}
		in.pause()
	}
}

// pause lets hearing catch up when pushes come faster than they are heard. Their
// senders hardly notice, what comes meanwhile is stored together, and little has
// to be read back from the store.
func (in *intake) pause() {
	const look = 2 * time.Millisecond
	for waited := time.Duration(0); waited < intakePause && in.full(); waited += look {
		time.Sleep(look)
	}
}

func (in *intake) full() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return len(in.ready) >= readyPushes || in.bytes >= readyBytes
}

// next takes some of what waits; none ends the run. It says whether this copy
// is to hear them.
func (in *intake) next() (batch []arrival, own bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	n, bytes := 0, 0
	for n < len(in.waiting) && n < intakePushes && (n == 0 || bytes+len(in.waiting[n].push.Body) <= intakeBytes) {
		bytes += len(in.waiting[n].push.Body)
		n++
	}
	batch = in.waiting[:n:n]
	in.waiting = in.waiting[n:]
	in.busy = n > 0
	return batch, in.hearing && len(in.ready) < readyPushes && in.bytes < readyBytes
}

// keep has those of the pushes that are new heard by this copy. From due on they
// are anybody's.
func (in *intake) keep(pushes []store.Push, fresh map[ship.Subject]bool, due time.Time) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for i, p := range pushes {
		id := ship.Subject{Tenant: p.Tenant, ID: p.ID}
		if fresh[id] {
			delete(fresh, id)
			in.ready = append(in.ready, claimed{store.Unheard{Subject: id, Bytes: len(p.Body), Looks: 1, Push: &pushes[i]}, due.Add(-hearSpare)})
			in.bytes += len(p.Body)
		}
	}
}

// take takes up to n pushes that this copy is to hear. From the first time on
// it is given some. Those that waited too long are left to whoever claims them:
// a copy that is behind must not do again what another has done.
func (in *intake) take(n int) (list []store.Unheard) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.hearing = true
	now := time.Now()
	for len(in.ready) > 0 && len(list) < n {
		if u := in.ready[0]; now.Before(u.until) {
			list = append(list, u.Unheard)
		}
		in.bytes -= in.ready[0].Bytes
		in.ready = in.ready[1:]
	}
	if len(in.ready) == 0 {
		in.ready = nil
	}
	return list
}
