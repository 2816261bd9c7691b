package shipping

import (
	"context"
	"errors"
	"time"

	"github.com/waybillhq/waybill/internal/failpoint"
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
			EndedAt:   a.EndedAt,
		}
	}
	return out
}

// How old an open purchase is, in waits for the settle job, before the sweep
// settles it itself, and until when FindOpen enqueues the job.
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
		return failpoint.Around("find_open", func() error { return s.store.EnqueueOnce(ctx, jobs) })
	})
}

// Sweep settles every purchase and void that has waited long for its outcome:
// a job that was lost must not lose money. A job beside it finds nothing to do. It
// also goes on with purchases whose approval was decided or has expired.
func (s *Service) Sweep(ctx context.Context) error {
	return errors.Join(s.sweepApprovals(ctx), s.sweepOpen(ctx))
}

func (s *Service) sweepOpen(ctx context.Context) error {
	before := time.Now().Add(-sweepAfter * s.waits.Settle)
	return s.store.OpenPurchases(ctx, time.Time{}, before, func(open []store.OpenParcel) error {
		for _, p := range open {
			id := ship.ShipmentIDOf(p.ID)
			var err error
			if p.State == ship.StateVoiding {
				_, err = s.SettleVoid(ctx, p.Tenant, id)
			} else {
				_, err = s.Settle(ctx, p.Tenant, id)
			}
			if err != nil {
				s.log.WarnContext(ctx, "sweep", "shipment", id, "error", err)
			}
		}
		return ctx.Err()
	})
}

// sweptFor is for how long attempts that seem to have bought nothing are looked
// at again.
const sweptFor = 72 * time.Hour

// SweepAttempts looks once more at every attempt of the last days that was not
// found: a label that turns up late is voided.
func (s *Service) SweepAttempts(ctx context.Context) error {
	var after ship.ShipmentID
	for {
		list, err := s.store.UncertainPurchases(ctx, time.Now().Add(-sweptFor), after)
		if err != nil || len(list) == 0 {
			return err
		}

		for _, d := range list {
			if err := s.sweepAttempts(ctx, d); err != nil {
				s.log.WarnContext(ctx, "sweep attempts", "shipment", d.Shipment, "error", err)
			}
		}
		after = list[len(list)-1].Shipment
	}
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
