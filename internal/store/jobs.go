package store

import (
	"context"
	"fmt"
	"time"

	"github.com/riverqueue/river"
)

// Job is the arguments of a background job.
type Job interface{ Kind() string }

// The queues. Jobs about purchases never wait behind others.
const (
	QueueMoney    = "money"
	QueueWebhooks = "webhooks"
)

// maxAttempts is far more than any job needs: no job here is ever discarded, and
// each crash in the middle of one uses up an attempt.
const maxAttempts = 30_000

// Enqueue stores a job, to run after the delay. It works only inside a
// transaction: state and job commit together.
func (s *Store) Enqueue(ctx context.Context, j Job, after time.Duration) error {
	if s.tx == nil {
		panic("store: Enqueue outside a transaction")
	}

	queue := QueueMoney
	if own, ok := j.(interface{ Queue() string }); ok {
		queue = own.Queue()
	}

	_, err := s.queue.InsertTx(ctx, s.tx, j, &river.InsertOpts{
		Queue:       queue,
		ScheduledAt: time.Now().Add(after),
		MaxAttempts: maxAttempts,
	})
	if err != nil {
		return fmt.Errorf("enqueue %s: %w", j.Kind(), explain(err))
	}
	return nil
}
