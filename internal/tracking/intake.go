package tracking

import (
	"context"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

const (
	intakePushes  = 200     // most pushes that are stored at once
	intakeBytes   = 4 << 20 // most bytes of their bodies
	intakeTimeout = 10 * time.Second
	intakePause   = 20 * time.Millisecond // pause while this copy has enough to process

	readyPushes = 2000     // most pushes that wait in memory; any copy may process the others
	readyBytes  = 32 << 20 // most bytes of their bodies
)

// An intake stores pushes as they arrive. Those that come while it is busy are
// stored together, in one statement: many at once cost little more than one,
// and one alone does not wait for others.
type intake struct {
	store *store.Store

	mu      sync.Mutex
	busy    bool
	waiting []arrival

	// The pushes that this copy is to process. A row of each is claimed for it,
	// so that another copy processes them if this one dies, or is too slow.
	processing bool
	ready      []claimedPush
	bytes      int
}

// claimedPush is a push that this copy may process until a time.
type claimedPush struct {
	pendingPush
	until time.Time
}

// An arrival is a push whose sender waits.
type arrival struct {
	push    store.Push
	content decodedPush
	stored  chan<- error
}

// add stores a push. It returns once the push is durable. The content is kept
// with it if this copy processes it, so that it is not decoded again.
func (in *intake) add(ctx context.Context, push store.Push, content decodedPush) error {
	stored := make(chan error, 1)

	in.mu.Lock()
	in.waiting = append(in.waiting, arrival{push, content, stored})
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

// run stores waiting pushes until none are left.
func (in *intake) run() {
	for batch, own := in.next(); len(batch) > 0; batch, own = in.next() {
		pushes := make([]store.Push, len(batch))
		for i, a := range batch {
			pushes[i] = a.push
		}

		// The rows of pushes that this copy keeps in memory are claimed by the
		// statement that stores them.
		due := time.Now().UTC()
		if own {
			due = due.Add(pushClaim)
		}

		// Many senders wait for the batch, so none of their contexts ends it.
		ctx, cancel := context.WithTimeout(context.Background(), intakeTimeout)
		fresh, err := in.store.AddPushes(ctx, pushes, due)
		cancel()

		if own {
			in.keep(batch, fresh, due)
		}
		for _, a := range batch {
			a.stored <- err
		}
		in.pause()
	}
}

// pause lets processing catch up when pushes arrive faster than they are
// processed. Senders hardly notice, pushes that arrive in the meantime are
// stored together, and few have to be read back from the store.
func (in *intake) pause() {
	const interval = 2 * time.Millisecond
	for waited := time.Duration(0); waited < intakePause && in.isFull(); waited += interval {
		time.Sleep(interval)
	}
}

func (in *intake) isFull() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return len(in.ready) >= readyPushes || in.bytes >= readyBytes
}

// next takes some of the waiting pushes; an empty batch ends the run. own says
// whether this copy should process them.
func (in *intake) next() (batch []arrival, own bool) {
	in.mu.Lock()
	defer in.mu.Unlock()

	n := 0
	bytes := 0
	for n < len(in.waiting) && n < intakePushes && (n == 0 || bytes+len(in.waiting[n].push.Body) <= intakeBytes) {
		bytes += len(in.waiting[n].push.Body)
		n++
	}

	batch = in.waiting[:n:n]
	in.waiting = in.waiting[n:]
	in.busy = n > 0
	return batch, in.processing && len(in.ready) < readyPushes && in.bytes < readyBytes
}

// keep keeps those of the pushes that are new, for this copy to process. From
// due on any copy may claim them.
func (in *intake) keep(batch []arrival, fresh map[ship.Subject]bool, due time.Time) {
	in.mu.Lock()
	defer in.mu.Unlock()

	for _, a := range batch {
		subject := ship.Subject{Tenant: a.push.Tenant, ID: a.push.ID}
		if !fresh[subject] {
			continue
		}

		delete(fresh, subject) // a repeat in the same batch is not new
		pending := store.PendingPush{Subject: subject, Bytes: len(a.push.Body), Looks: 1}
		in.ready = append(in.ready, claimedPush{
			pendingPush: pendingPush{pending, &a.content},
			until:       due.Add(-pushClaimMargin),
		})
		in.bytes += pending.Bytes
	}
}

// take takes up to n pushes that this copy is to process. Only after the first
// call are pushes kept for this copy. Those that waited too long are left to
// whichever copy claims them: one that is behind must not repeat what another
// has done.
func (in *intake) take(n int) (list []pendingPush) {
	in.mu.Lock()
	defer in.mu.Unlock()

	in.processing = true
	now := time.Now()
	for len(in.ready) > 0 && len(list) < n {
		if push := in.ready[0]; now.Before(push.until) {
			list = append(list, push.pendingPush)
		}
		in.bytes -= in.ready[0].Bytes
		in.ready = in.ready[1:]
	}

	if len(in.ready) == 0 {
		in.ready = nil // the array with its bodies can be freed
	}
	return list
}
