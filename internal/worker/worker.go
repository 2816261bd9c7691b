// Package worker runs background work: one worker per job kind, and the loops
// that are not jobs. It turns the kind of a failure into what the queue should
// do about it, and decides nothing else.
package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/riverqueue/river"

	"github.com/waybillhq/waybill/internal/addresscheck"
	"github.com/waybillhq/waybill/internal/batch"
	"github.com/waybillhq/waybill/internal/bulk"
	"github.com/waybillhq/waybill/internal/certify"
	"github.com/waybillhq/waybill/internal/compat"
	"github.com/waybillhq/waybill/internal/handover"
	"github.com/waybillhq/waybill/internal/job"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/privacy"
	"github.com/waybillhq/waybill/internal/returns"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/tracking"
	"github.com/waybillhq/waybill/internal/webhook"
)

// Services are what the jobs call.
type Services struct {
	Shipping  *shipping.Service
	Tracking  *tracking.Service
	Webhook   *webhook.Service
	Batch     *batch.Service
	Bulk      *bulk.Service
	Privacy   *privacy.Service
	Handover  *handover.Service
	Returns   *returns.Service
	Addresses *addresscheck.Service
	Compat    *compat.Service
	Certify   *certify.Measurer
	Member    *member.Service
	Store     *store.Store
	Retention store.Retention

	// IsKept reports whether a partition is in the archive, so that it may be
	// dropped; nil if there is no archive.
	IsKept func(store.Partition) bool
}

// workers returns one worker per job kind. It is the complete list.
func workers(s Services, observer jobObserver) *river.Workers {
	all := river.NewWorkers()
	batches := newTurns(s.Store)

	// Jobs that are never given up: about money, parked endpoints and batches.
	addLasting(all, observer, func(ctx context.Context, j job.SettlePurchase) (time.Duration, error) {
		return s.Shipping.Settle(ctx, ship.Tenant{Account: j.Account, Livemode: j.Livemode}, j.Shipment)
	})
	addLasting(all, observer, func(ctx context.Context, j job.SettleVoid) (time.Duration, error) {
		return s.Shipping.SettleVoid(ctx, ship.Tenant{Account: j.Account, Livemode: j.Livemode}, j.Shipment)
	})
	addLasting(all, observer, func(ctx context.Context, j job.VoidOrphanedLabel) (time.Duration, error) {
		return s.Shipping.VoidOrphanedLabel(ctx, ship.Tenant{Account: j.Account, Livemode: j.Livemode}, j.Carrier, j.Number)
	})
	addLasting(all, observer, func(ctx context.Context, j job.ProbeEndpoint) (time.Duration, error) {
		return s.Webhook.Probe(ctx, ship.Tenant{Account: j.Account, Livemode: j.Livemode}, j.Endpoint)
	})
	addLasting(all, observer, func(ctx context.Context, j job.WorkBatch) (time.Duration, error) {
		return s.Batch.Work(ctx, ship.Tenant{Account: j.Account, Livemode: j.Livemode}, j.Batch)
	})
	addLasting(all, observer, func(ctx context.Context, j job.BuyBatch) (time.Duration, error) {
		return batches.take(ctx, j.Account, func() (time.Duration, error) {
			return s.Batch.Work(ctx, ship.Tenant{Account: j.Account, Livemode: j.Livemode}, j.Batch)
		})
	})

	addLasting(all, observer, func(ctx context.Context, j job.WorkBulkAction) (time.Duration, error) {
		return batches.take(ctx, j.Account, func() (time.Duration, error) {
			return s.Bulk.Work(ctx, ship.Tenant{Account: j.Account, Livemode: j.Livemode}, j.Action)
		})
	})

	addLasting(all, observer, func(ctx context.Context, j job.PrepareLabels) (time.Duration, error) {
		return batches.take(ctx, j.Account, func() (time.Duration, error) {
			return s.Shipping.PrepareLabels(ctx, ship.Tenant{Account: j.Account, Livemode: j.Livemode}, j.File)
		})
	})

	addLasting(all, observer, func(ctx context.Context, j job.SettlePickup) (time.Duration, error) {
		return s.Handover.SettlePickup(ctx, ship.Tenant{Account: j.Account, Livemode: j.Livemode}, j.Pickup)
	})
	addLasting(all, observer, func(ctx context.Context, j job.SettleManifest) (time.Duration, error) {
		return s.Handover.SettleManifest(ctx, ship.Tenant{Account: j.Account, Livemode: j.Livemode}, j.Manifest)
	})

	addLasting(all, observer, func(ctx context.Context, j job.SendDocuments) (time.Duration, error) {
		return s.Handover.SendDocuments(ctx, ship.Tenant{Account: j.Account, Livemode: j.Livemode}, j.Shipment)
	})

	addLasting(all, observer, func(ctx context.Context, j job.FulfilReturn) (time.Duration, error) {
		return s.Returns.Fulfil(ctx, ship.Tenant{Account: j.Account, Livemode: j.Livemode}, j.Request)
	})

	addLasting(all, observer, func(ctx context.Context, j job.Erase) (time.Duration, error) {
		return s.Privacy.WorkErasure(ctx, ship.Tenant{Account: j.Account, Livemode: j.Livemode}, j.Erasure)
	})
	addLong(all, observer, exportTime, func(ctx context.Context, j job.Export) error {
		return s.Privacy.WorkExport(ctx, ship.Tenant{Account: j.Account, Livemode: j.Livemode}, j.Export)
	})

	addLasting(all, observer, func(ctx context.Context, j job.MeasureDelay) (time.Duration, error) {
		return s.Certify.Work(ctx, j)
	})

	add(all, observer, func(ctx context.Context, j job.NotifyBreakGlass) error {
		return s.Member.NotifyBreakGlass(ctx, j.Account, j.Person)
	})

	// Jobs that come by the clock, as periodicJobs says.
	add(all, observer, func(ctx context.Context, _ job.SweepPurchases) error { return s.Shipping.Sweep(ctx) })
	addLasting(all, observer, func(ctx context.Context, _ job.SweepAttempts) (time.Duration, error) {
		return inParts(ctx, s.Shipping.SweepAttempts)
	})
	add(all, observer, func(ctx context.Context, _ job.NotifyOwners) error { return s.Webhook.NotifyOwners(ctx) })
	add(all, observer, func(ctx context.Context, _ job.MaintainPartitions) error {
		return s.Store.MaintainPartitions(ctx, s.Retention, s.IsKept)
	})
	add(all, observer, func(ctx context.Context, _ job.DeleteIdempotencyKeys) error { return forgetKeys(ctx, s.Store) })
	add(all, observer, func(ctx context.Context, _ job.DeleteBatches) error {
		return errors.Join(
			s.Batch.DeleteOld(ctx, time.Now()),
			s.Bulk.DeleteOld(ctx, time.Now()),
			s.Shipping.DeleteOldLabelFiles(ctx, time.Now()),
		)
	})
	add(all, observer, func(ctx context.Context, _ job.EraseExpired) error {
		return errors.Join(s.Privacy.EraseExpired(ctx), s.Addresses.Expire(ctx), s.Compat.Expire(ctx), s.Store.ExpireStorage(ctx, time.Now()))
	})
	add(all, observer, func(ctx context.Context, _ job.ExpireShipments) error { return s.Privacy.ExpireShipments(ctx) })
	add(all, observer, func(ctx context.Context, _ job.DeleteExports) error { return s.Privacy.DeleteExports(ctx) })
	return all
}

// periodicJobs are the jobs that come by the clock. Only the queue's leader
// inserts them, and not while the one before is still pending.
func periodicJobs(c Config) []*river.PeriodicJob {
	return []*river.PeriodicJob{
		every(cmp.Or(c.SweepEvery, time.Minute), job.SweepPurchases{}),
		every(cmp.Or(c.LateSweepEvery, time.Hour), job.SweepAttempts{}),
		every(5*time.Minute, job.NotifyOwners{}),
		every(time.Hour, job.MaintainPartitions{}),
		every(time.Hour, job.DeleteIdempotencyKeys{}),
		every(time.Hour, job.DeleteBatches{}),
		every(time.Hour, job.DeleteExports{}),
		every(10*time.Minute, job.EraseExpired{}),
		every(time.Hour, job.ExpireShipments{}),
	}
}

// forgetKeys deletes expired idempotency keys, batch by batch, and the missing purchases
// that are remembered as long as they are.
func forgetKeys(ctx context.Context, st *store.Store) error {
	for _, deleteOld := range []func(context.Context, time.Time) (int64, error){st.DeleteOldIdempotencyKeys, st.DeleteOldMissingPurchases} {
		for {
			n, err := deleteOld(ctx, time.Now())
			if err != nil {
				return err
			}
			if n == 0 {
				break
			}
		}
	}
	return nil
}

func add[T river.JobArgs](all *river.Workers, observer jobObserver, do func(context.Context, T) error) {
	river.AddWorker(all, &worker[T]{
		jobObserver: observer,
		do:          func(ctx context.Context, args T) (time.Duration, error) { return 0, do(ctx, args) },
	})
}

// inParts does a part of work that may take longer than a job has time. part
// begins after a purchase and returns the last one that it did, or an empty id at
// the end. The queue keeps it with the job, which runs again at once for the part
// after it.
func inParts(ctx context.Context, part func(context.Context, ship.ShipmentID) (ship.ShipmentID, error)) (again time.Duration, err error) {
	river.ResumableStepCursor(ctx, "after", nil, func(ctx context.Context, after ship.ShipmentID) error {
		if after, err = part(ctx, after); err != nil || after == "" {
			return err
		}
		again, err = time.Millisecond, river.ResumableSetCursor(ctx, after)
		return errMoreParts
	})
	return again, err
}

// errMoreParts says to the queue that a step is not complete.
var errMoreParts = errors.New("there are more parts")

// addLasting adds a job that is never given up: about a purchase, or an
// endpoint that is parked. What do returns beside its error is after how long
// the job runs again; zero ends it.
func addLasting[T river.JobArgs](all *river.Workers, observer jobObserver, do func(context.Context, T) (time.Duration, error)) {
	river.AddWorker(all, &worker[T]{jobObserver: observer, do: do, lasting: true})
}

// exportTime is how long a file with what is held about somebody may take: it is
// made in one piece, and an account with very many trackers takes minutes.
const exportTime = 20 * time.Minute

// addLong adds a job that is never given up, and that cannot be done in parts: it has
// more time than others. After a crash it is begun again when that time is over.
func addLong[T river.JobArgs](all *river.Workers, observer jobObserver, timeout time.Duration, do func(context.Context, T) error) {
	river.AddWorker(all, &worker[T]{
		jobObserver: observer,
		do:          func(ctx context.Context, args T) (time.Duration, error) { return 0, do(ctx, args) },
		lasting:     true,
		timeout:     timeout,
	})
}

type worker[T river.JobArgs] struct {
	river.WorkerDefaults[T]
	jobObserver

	do      func(context.Context, T) (time.Duration, error)
	lasting bool          // never cancelled or discarded
	timeout time.Duration // zero for that of all jobs
}

// Timeout is how long the job may take. It is not rescued before that.
func (w *worker[T]) Timeout(*river.Job[T]) time.Duration { return w.timeout }

// NextRetry is when a job that failed, or whose process died, is tried again.
// The queue's default grows with the fourth power of the attempts: a few crashes
// would delay for hours what must not wait.
func (w *worker[T]) NextRetry(*river.Job[T]) time.Time { return time.Now().Add(w.retry) }

// Work does the job, and turns the kind of a failure into what the queue
// should do about it.
func (w *worker[T]) Work(ctx context.Context, j *river.Job[T]) error {
	start := time.Now()
	again, err := w.doSafely(ctx, j.Args)
	outcome, result := w.outcome(again, err)

	w.observe(j.Kind, outcome, time.Since(start))
	if err != nil {
		w.log.WarnContext(ctx, "job failed", "job", j.ID, "kind", j.Kind, "attempt", j.Attempt, "outcome", outcome, "error", err)
	}
	return result
}

// outcome returns the outcome for the metrics, and what is returned to the
// queue. again is after how long the job runs again.
func (w *worker[T]) outcome(again time.Duration, err error) (string, error) {
	switch {
	case err == nil && again > 0:
		return "again", river.JobSnooze(again)
	case err == nil:
		return "done", nil
	case errors.Is(err, store.ErrMisdirected):
		// The account moves, and its jobs with it. The move may also go back, so
		// the job stays open: what has left with the account is deleted here.
		return "moving", river.JobSnooze(w.retry)
	case w.lasting:
		// A snooze uses up no attempt, so the job outlives any failure.
		return "failed", river.JobSnooze(max(again, w.retry))
	}

	switch ship.KindOf(err) {
	case ship.Invalid, ship.NotFound, ship.Unsupported, ship.Conflict:
		return "cancelled", river.JobCancel(err) // another attempt would fail in the same way
	}
	return "failed", err // retried with backoff
}

// doSafely turns a panic into an error: the queue would count a panic against
// the job's attempts.
func (w *worker[T]) doSafely(ctx context.Context, args T) (again time.Duration, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v", cause)
			w.log.ErrorContext(ctx, "panic in a job", "kind", args.Kind(), "cause", cause, "stack", string(debug.Stack()))
		}
	}()
	return w.do(ctx, args)
}

// jobObserver logs and counts the outcomes of jobs.
type jobObserver struct {
	log     *slog.Logger
	observe func(kind, outcome string, took time.Duration)
	retry   time.Duration // until a job that failed is tried again
}
