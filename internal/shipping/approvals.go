package shipping

import (
	"context"
	"time"

	"github.com/waybillhq/waybill/internal/failpoint"
	"github.com/waybillhq/waybill/internal/purchase"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// A live purchase above what its key may spend without a person waits for an
// approval: it is written down whole, with its attempt and the approval, and no
// carrier is asked to sell. Once a person has approved it, the settle job starts the
// attempt, and from there on it is a purchase like any other; if it is denied or
// expires, it fails.

// checkApproval finds out whether a person must approve the purchase. If so, the
// first offer is the only one: it is what the person approves, and the label may not
// cost more.
func (b *buying) checkApproval() {
	threshold := b.in.Limits.ApprovalAbove
	if threshold.IsZero() || !b.in.Tenant.Livemode {
		return
	}

	first := b.offers[0]
	if first.Price.Exceeds(threshold, 0) {
		b.needsApproval = true
		b.offers = b.offers[:1]
		b.lowerLimit(first.Price)
		b.shipment.Purchase.Approval = ship.NewApprovalID(b.in.Tenant.Shard(), time.Now())
		return
	}

	// Nothing that is tried after the first offer may do without the approval
	// either, nor a label that turns out to cost more.
	within := b.offers[:0:0]
	for _, offer := range b.offers {
		if !offer.Price.Exceeds(threshold, 0) {
			within = append(within, offer)
		}
	}
	b.offers = within
	b.lowerLimit(threshold)
}

// askApproval makes a purchase that was just written down wait for a person, and
// tells the client of it, all in the transaction that writes it down.
func (r *run) askApproval(tx *store.Store) error {
	if !r.b.needsApproval {
		return nil
	}

	wanted := r.b.shipment.Purchase
	err := tx.AddApproval(r.ctx, ship.Approval{
		ID:        wanted.Approval,
		Tenant:    r.b.in.Tenant,
		Shipment:  r.b.shipment.ID,
		Key:       r.b.in.Key,
		Price:     wanted.Price,
		ExpiresAt: time.Now().Add(r.waits.Approval),
	})
	if err != nil {
		return err
	}
	return r.changeIn(tx, 0, announce)
}

// begin starts the attempt of an approved purchase.
func (r *run) begin(a purchase.Act) purchase.Report {
	shipment := r.b.shipment
	settleAfter := r.settleAfter()

	// Midnight may have passed while the purchase waited, and carriers take no
	// parcels on a day that is over.
	if today := ship.DateOf(time.Now().UTC()); shipment.Order.ShipDate < today {
		shipment.Order.ShipDate = today
	}

	err := r.store.InTx(r.ctx, shipment.Tenant, func(tx *store.Store) error {
		if err := tx.BeginApproved(r.ctx, shipment, a.Attempt); err != nil {
			return err
		}
		return tx.Enqueue(r.ctx, settleJob(shipment.Tenant, shipment.ID), settleAfter)
	})
	if err != nil {
		return reported(err)
	}

	shipment.State = ship.StatePurchasing
	r.b.shipment = shipment
	r.present = shipment
	r.attempt(a.Attempt).StartedAt = time.Now()
	return reported(nil)
}

// settleApproval goes on with a purchase that waits for its approval, if that was
// decided or has expired.
func (s *Service) settleApproval(ctx context.Context, sh ship.Shipment) (again time.Duration, err error) {
	approval, err := s.store.Approval(ctx, sh.Tenant, sh.Purchase.Approval)
	if err != nil {
		return s.waits.Look, err
	}
	if approval.Status == ship.ApprovalWaiting {
		if time.Now().Before(approval.ExpiresAt) {
			return 0, nil // the sweep comes back when it expires
		}
		approval.Status = ship.ApprovalExpired
		err := s.decide(ctx, approval)
		if ship.KindOf(err) == ship.Conflict {
			return s.waits.Look, nil // a person was quicker
		}
		if err != nil {
			return s.waits.Look, err
		}
	}

	attempts, err := s.store.Attempts(ctx, sh.Tenant, sh.ID)
	if err != nil {
		return s.waits.Look, err
	}
	r := s.resume(ctx, sh, attempts, "approval")

	var verdict purchase.Verdict
	if approval.Status == ship.ApprovalApproved {
		// An approval is not spent on a disk that cannot be written to.
		if err := s.checkDisk(sh.Tenant, sh.Purchase.Simulated); err != nil {
			return s.waits.Look, err
		}
		verdict = r.machine().Approved(len(attempts))
	} else {
		r.refused = notApproved(approval.Status)
		verdict = r.machine().Declined(len(attempts))
	}
	if verdict.Kind == purchase.Failed {
		return s.waits.Look, verdict.Err
	}
	return verdict.Again, nil
}

// notApproved is why a purchase bought nothing whose approval was denied or has
// expired.
func notApproved(status ship.ApprovalStatus) *ship.Error {
	if status == ship.ApprovalExpired {
		return ship.Coded(ship.Invalid, "approval_expired",
			"nobody approved the purchase in time, so nothing was bought; send the request again with a new Idempotency-Key to ask again")
	}
	return ship.Coded(ship.Invalid, "approval_denied",
		"a person denied the purchase in the dashboard, so nothing was bought; choose a cheaper service, or ask them before you send it again with a new Idempotency-Key")
}

// approvalFailure is the error of a purchase that failed for want of an approval,
// by the code of its last attempt; nil if it failed for another reason.
func approvalFailure(code string) error {
	for _, status := range []ship.ApprovalStatus{ship.ApprovalDenied, ship.ApprovalExpired} {
		if failure := notApproved(status); failure.Code == code {
			return failure
		}
	}
	return nil
}

func (s *Service) decide(ctx context.Context, approval ship.Approval) error {
	return failpoint.Around("decide_approval", func() error {
		return s.store.DecideApproval(ctx, approval, settleJob(approval.Tenant, approval.Shipment))
	})
}

// A Decision is what a person decides about a purchase.
type Decision struct {
	Status ship.ApprovalStatus // ship.ApprovalApproved or ship.ApprovalDenied
	By     ship.PersonID
	Name   string // of the person
}

// DecideApproval approves or denies a purchase in the name of a person. The settle
// job goes on with it at once.
func (s *Service) DecideApproval(ctx context.Context, t ship.Tenant, id ship.ApprovalID, decision Decision) (ship.Approval, error) {
	approval, err := s.store.Approval(ctx, t, id)
	if ship.KindOf(err) == ship.NotFound {
		return approval, ship.Errorf(ship.NotFound, "no such approval")
	}
	if err != nil {
		return approval, err
	}

	approval.Status = decision.Status
	approval.DecidedBy = decision.By
	approval.Decider = decision.Name
	err = s.decide(ctx, approval)
	if ship.KindOf(err) != ship.Conflict {
		return approval, err
	}

	// Somebody else was quicker, or nobody was quick enough.
	if approval, err = s.store.Approval(ctx, t, id); err != nil {
		return approval, err
	}
	word := approval.Status
	if word == ship.ApprovalWaiting {
		word = ship.ApprovalExpired
	}
	return approval, ship.Errorf(ship.Conflict, "the purchase is %s already", word)
}

// An ApprovalView is an approval with its shipment.
type ApprovalView struct {
	Approval ship.Approval
	Shipment ship.Shipment // zero if it is no longer kept
}

// WaitingApprovals lists purchases that wait for a person, oldest first, and
// reports whether there are more.
func (s *Service) WaitingApprovals(ctx context.Context, t ship.Tenant, after ship.RawID, limit int) ([]ApprovalView, bool, error) {
	list, err := s.store.WaitingApprovals(ctx, t, after, limit+1)
	if err != nil {
		return nil, false, err
	}
	views, err := s.viewApprovals(ctx, t, list[:min(limit, len(list))])
	return views, len(list) > limit, err
}

// DecidedApprovals lists purchases that wait no longer, newest first, and reports
// whether there are more.
func (s *Service) DecidedApprovals(ctx context.Context, t ship.Tenant, p ship.Page) ([]ApprovalView, bool, error) {
	list, err := s.store.DecidedApprovals(ctx, t, ship.Page{Limit: p.Limit + 1, Before: p.Before})
	if err != nil {
		return nil, false, err
	}
	views, err := s.viewApprovals(ctx, t, list[:min(p.Limit, len(list))])
	return views, len(list) > p.Limit, err
}

// viewApprovals adds their shipments to approvals.
func (s *Service) viewApprovals(ctx context.Context, t ship.Tenant, list []ship.Approval) ([]ApprovalView, error) {
	ids := make([]ship.ShipmentID, len(list))
	for i, approval := range list {
		ids[i] = approval.Shipment
	}
	shipments, err := s.store.ShipmentsByID(ctx, t, ids)
	if err != nil {
		return nil, err
	}
	byID := make(map[ship.ShipmentID]ship.Shipment, len(shipments))
	for _, shipment := range shipments {
		byID[shipment.ID] = shipment
	}

	views := make([]ApprovalView, len(list))
	for i, approval := range list {
		views[i] = ApprovalView{Approval: approval, Shipment: byID[approval.Shipment]}
	}
	return views, nil
}

// withApproval adds what a person decided to a shipment that needed it.
func (s *Service) withApproval(ctx context.Context, sh ship.Shipment) (ship.Shipment, error) {
	if sh.Purchase.Approval == "" {
		return sh, nil
	}
	approval, err := s.store.Approval(ctx, sh.Tenant, sh.Purchase.Approval)
	if ship.KindOf(err) == ship.NotFound {
		return sh, nil
	}
	if err != nil {
		return sh, err
	}
	sh.Approval = &approval
	return sh, nil
}

// sweepApprovals goes on with every purchase whose approval was decided or has
// expired. A job beside it finds nothing to do.
func (s *Service) sweepApprovals(ctx context.Context) error {
	due, err := s.store.DueApprovals(ctx)
	if err != nil {
		return err
	}
	for _, subject := range due {
		if ctx.Err() != nil {
			break // the next sweep goes on: what was begun is due no longer
		}
		id := ship.ShipmentIDOf(subject.ID)
		if _, err := s.Settle(ctx, subject.Tenant, id); err != nil {
			s.log.WarnContext(ctx, "sweep approvals", "shipment", id, "error", err)
		}
	}
	return ctx.Err()
}
