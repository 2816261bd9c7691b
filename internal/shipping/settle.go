package shipping

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/waybillhq/waybill/internal/failpoint"
	"github.com/waybillhq/waybill/internal/job"
	"github.com/waybillhq/waybill/internal/purchase"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// Settle finds out what became of a purchase that was left open. It reports
// after how long to look again; zero means that it is settled.
func (s *Service) Settle(ctx context.Context, t ship.Tenant, id ship.ShipmentID) (again time.Duration, err error) {
	sh, err := s.store.Shipment(ctx, t, id)
	if ship.KindOf(err) == ship.NotFound {
		return 0, nil
	}
	if err == nil && sh.State == ship.StateAwaitingApproval {
		return s.settleApproval(ctx, sh)
	}
	if err != nil || sh.State != ship.StatePurchasing && sh.State != ship.StateUncertain {
		return 0, err
	}

	// The time that an approved purchase may take begins with the approval.
	begunAt := sh.CreatedAt()
	if sh, err = s.withApproval(ctx, sh); err != nil {
		return s.waits.Look, err
	}
	if sh.Approval != nil && !sh.Approval.DecidedAt.IsZero() {
		begunAt = sh.Approval.DecidedAt
	}

	attempts, err := s.store.Attempts(ctx, t, id)
	if err != nil {
		return 0, err
	}

	v := s.resume(ctx, sh, attempts, "lookup").machine().Settle(purchase.Open{
		State:     sh.State,
		Notified:  sh.Sequence > 0,
		CreatedAt: begunAt,
		Attempts:  attemptsOf(attempts),

		DuplicateIsBilled: s.duplicateIsBilled(ctx, sh, attempts),
	})
	if v.Kind == purchase.Failed {
		return s.waits.Look, v.Err
	}
	return v.Again, nil
}

func attemptsOf(list []store.Attempt) []purchase.Attempt {
	out := make([]purchase.Attempt, len(list))
	for i, a := range list {
		out[i] = purchase.Attempt{
			Number:    a.Number,
			Outcome:   purchase.Outcome(a.Outcome),
			StartedAt: a.StartedAt,
			ResentAt:  a.ResentAt,
			EndedAt:   a.EndedAt,
		}
	}
	return out
}

// How old an open purchase is, in waits for the settle job, before the sweep looks
// at it, and until when FindOpen enqueues the job.
const (
	sweepAfter = 5
	findUntil  = 2 * sweepAfter
)

// FindOpen enqueues the settle job of every purchase that is still open when
// the job may look at it. Nearly all purchases end in the request that makes
// them, so none enqueues a job for itself.
func (s *Service) FindOpen(ctx context.Context) error {
	now := time.Now()
	return s.store.OpenPurchases(ctx, now.Add(-findUntil*s.waits.Settle), now.Add(-s.waits.Settle), func(open []store.OpenParcel) error {
		var jobs []store.Job
		for _, p := range open {
			if p.State != ship.StateVoiding { // a void enqueues its own
				jobs = append(jobs, settleJob(p.Tenant, ship.ShipmentIDOf(p.ID)))
			}
		}
		return s.enqueueOnce(ctx, jobs)
	})
}

func (s *Service) enqueueOnce(ctx context.Context, jobs []store.Job) error {
	return failpoint.Around("find_open", func() error { return s.store.EnqueueOnce(ctx, jobs) })
}

// Sweep enqueues the job of every purchase and void that has waited long for its
// outcome: a job that was lost must not lose money. It also goes on with purchases
// whose approval was decided or has expired.
func (s *Service) Sweep(ctx context.Context) error {
	return errors.Join(s.sweepOpen(ctx), s.sweepApprovals(ctx))
}

// sweepOpen asks no carrier itself: those that do not answer would take all of its
// time, and the newest purchases would wait behind the oldest for ever.
func (s *Service) sweepOpen(ctx context.Context) error {
	before := time.Now().Add(-sweepAfter * s.waits.Settle)
	return s.store.OpenPurchases(ctx, time.Time{}, before, func(open []store.OpenParcel) error {
		jobs := make([]store.Job, len(open))
		for i, p := range open {
			jobs[i] = settleJob(p.Tenant, ship.ShipmentIDOf(p.ID))
			if p.State == ship.StateVoiding {
				jobs[i] = settleVoidJob(p.Tenant, ship.ShipmentIDOf(p.ID))
			}
		}
		return s.enqueueOnce(ctx, jobs)
	})
}

// For how long attempts that seem to have bought nothing are looked at again, how
// many at once, and what a look takes if the carrier does not answer.
const (
	sweptFor    = 72 * time.Hour
	sweepLooks  = 8
	slowestLook = 30 * time.Second
)

// SweepAttempts looks once more at attempts of the last days that were not found:
// a label that turns up late is voided. It begins after a purchase and returns the
// last one that it looked at, or an empty id when none was left. It
// begins no look that its job has no time for.
func (s *Service) SweepAttempts(ctx context.Context, after ship.ShipmentID) (ship.ShipmentID, error) {
	list, err := s.store.UncertainPurchases(ctx, time.Now().Add(-sweptFor), after)
	if err != nil || len(list) == 0 {
		return "", err
	}

	isLate := job.Lateness(ctx, slowestLook)
	var looks errgroup.Group
	looks.SetLimit(sweepLooks)
	for i, uncertain := range list {
		if i > 0 && isLate() {
			break
		}
		after = uncertain.Shipment
		looks.Go(func() error {
			if err := s.sweepAttempts(ctx, uncertain); err != nil {
				s.log.WarnContext(ctx, "sweep attempts", "shipment", uncertain.Shipment, "error", err)
			}
			return nil
		})
	}
	return after, looks.Wait()
}

func (s *Service) sweepAttempts(ctx context.Context, d store.UncertainPurchase) error {
	sh, err := s.store.Shipment(ctx, d.Tenant, d.Shipment)
	if err != nil || sh.State == ship.StatePurchasing || sh.State == ship.StateUncertain {
		return err // its own job looks
	}

	attempts, err := s.store.Attempts(ctx, d.Tenant, d.Shipment)
	if err != nil {
		return err
	}

	var doubtful []store.Attempt
	for _, a := range attempts {
		if o := purchase.Outcome(a.Outcome); o == purchase.IsUnknown || o == purchase.WasAbsent {
			doubtful = append(doubtful, a)
		}
	}

	r := s.resume(ctx, sh, attempts, "sweep")
	return r.machine().Sweep(sh.Purchase.TrackingNumber, attemptsOf(doubtful)).Err
}
