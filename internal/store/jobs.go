package store

import (
	"context"
	"fmt"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/waybillhq/waybill/internal/ship"
)

// Job is the arguments of a background job.
type Job interface{ Kind() string }

// The queues. Jobs about purchases never wait behind others.
const (
	QueueMoney    = "money"
	QueueWebhooks = "webhooks"
	QueuePrivacy  = "privacy"
	QueueBatches  = "batches"
	QueueHandover = "handover" // pickups, manifests and documents; copies of v0.1.0 do not work on it
	QueueReturns  = "returns"  // returns that recipients asked for; likewise
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

	_, err := s.queue.InsertTx(ctx, s.tx, j, &river.InsertOpts{
		Queue:       queueOf(j),
		ScheduledAt: time.Now().Add(after),
		MaxAttempts: maxAttempts,
	})
	if err != nil {
		return fmt.Errorf("enqueue %s: %w", j.Kind(), explain(err))
	}
	return nil
}

// queueOf returns the queue of a job: its own, or that of money.
func queueOf(j Job) string {
	if own, ok := j.(interface{ Queue() string }); ok {
		return own.Queue()
	}
	return QueueMoney
}

// unfinished are the states of a job that will still run.
var unfinished = []rivertype.JobState{
	rivertype.JobStateAvailable,
	rivertype.JobStatePending,
	rivertype.JobStateRetryable,
	rivertype.JobStateRunning,
	rivertype.JobStateScheduled,
}

// EnqueueOnce stores jobs that run now, except those that EnqueueOnce stored
// before and that have not ended.
func (s *Store) EnqueueOnce(ctx context.Context, jobs []Job) error {
	if len(jobs) == 0 {
		return nil
	}

	params := make([]river.InsertManyParams, len(jobs))
	for i, j := range jobs {
		params[i] = river.InsertManyParams{Args: j, InsertOpts: &river.InsertOpts{
			Queue:       queueOf(j),
			MaxAttempts: maxAttempts,
			UniqueOpts:  river.UniqueOpts{ByArgs: true, ByState: unfinished},
		}}
	}
	if _, err := s.queue.InsertMany(ctx, params); err != nil {
		return fmt.Errorf("enqueue %d jobs: %w", len(jobs), explain(err))
	}
	return nil
}

const sqlOthersWait = `
SELECT EXISTS (
  SELECT FROM river_job
  WHERE queue = $1 AND state IN ('available', 'scheduled', 'retryable') AND scheduled_at <= now()
    AND args->>'account' <> $2)`

// OthersWait reports whether a job of another account is due in a queue and has no
// worker.
func (s *Store) OthersWait(ctx context.Context, queue string, account ship.AccountID) (wait bool, err error) {
	err = s.sys.QueryRow(ctx, sqlOthersWait, queue, string(account)).Scan(&wait)
	return wait, explain(err)
}
