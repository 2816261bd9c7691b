package worker

import (
	"context"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// turns share the workers for batches among accounts. An account with many batches
// could have all workers for as long as its batches take: each is worked on for some
// seconds and then queued again, behind the others of the account.
//
// While jobs of other accounts wait, an account has one worker of the process.
type turns struct {
	store *store.Store

	mu      sync.Mutex
	running map[ship.AccountID]int
}

// turnLater is after how long a job that leaves its worker to others is tried again.
const turnLater = time.Second

func newTurns(st *store.Store) *turns {
	return &turns{store: st, running: map[ship.AccountID]int{}}
}

// take does the work of a job of the account, or puts it off.
func (t *turns) take(ctx context.Context, account ship.AccountID, work func() (time.Duration, error)) (time.Duration, error) {
	if t.begin(account) > batchWorkers/4 {
		othersWait, err := t.store.OthersWait(ctx, store.QueueBatches, account)
		if err != nil || othersWait {
			t.end(account)
			return turnLater, err
		}
	}
	defer t.end(account)
	return work()
}

// begin counts a job of the account, and returns how many are running.
func (t *turns) begin(account ship.AccountID) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running[account]++
	return t.running[account]
}

func (t *turns) end(account ship.AccountID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running[account]--; t.running[account] == 0 {
		delete(t.running, account)
	}
}
