package shipping

import (
	"context"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/failpoint"
	"github.com/waybillhq/waybill/internal/purchase"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// orphan writes a sale down that nobody may use, with the job that voids it.
func (r *run) orphan(a purchase.Act) purchase.Report {
	x := r.attempt(a.Sale.Attempt).sold
	r.log.WarnContext(r.ctx, "orphaned label found", "shipment", r.b.shipment.ID, "carrier", x.Purchase.Carrier, "number", x.Purchase.TrackingNumber, "found_by", r.foundBy)

	return reported(r.store.RecordOrphan(r.ctx, store.OrphanedLabel{
		Tenant:   r.b.in.Tenant,
		Shipment: r.b.shipment.ID,
		Attempt:  a.Sale.Attempt,
		FoundBy:  r.foundBy,
		Purchase: x.Purchase,
	}))
}

// voidOrphan voids an orphaned label now.
func (r *run) voidOrphan(a purchase.Act) purchase.Report {
	state, err := r.voidOrphaned(r.ctx, store.OrphanedLabel{
		Tenant:   r.b.in.Tenant,
		Shipment: r.b.shipment.ID,
		Attempt:  a.Sale.Attempt,
		Purchase: r.attempt(a.Sale.Attempt).sold.Purchase,
	})

	switch {
	case err != nil || state == store.OrphanVoidDeclined: // still live
		return purchase.Report{Result: purchase.Unsure}
	case state == store.OrphanVoidNotNeeded:
		return purchase.Report{Result: purchase.Cannot}
	}
	return reported(nil)
}

// orphanedPatience is for how long a carrier that refuses to void an orphaned
// label is asked again.
const orphanedPatience = time.Hour

// VoidOrphanedLabel voids an orphaned label. It reports after how long to ask
// again; zero means that nothing is left to do.
func (s *Service) VoidOrphanedLabel(ctx context.Context, t ship.Tenant, seller, number string) (again time.Duration, err error) {
	x, err := s.store.OrphanedLabel(ctx, t, seller, number)
	if err != nil || x.State != store.OrphanPending {
		return 0, err
	}

	// The job's time is shorter than a carrier may take, and what it answers must
	// be written down.
	ctx = context.WithoutCancel(ctx)
	state, err := s.voidOrphaned(ctx, x)
	age := time.Since(x.FoundAt)
	if err != nil || state == store.OrphanVoidDeclined && age < orphanedPatience {
		return max(s.waits.Look, age/4), err
	}

	if state == store.OrphanVoidDeclined {
		s.log.ErrorContext(ctx, "orphaned label cannot be voided", "shipment", x.Shipment, "carrier", seller, "number", number)
		return 0, s.endOrphaned(ctx, x, state, s.whyDeclined(ctx, x))
	}
	return 0, nil
}

// whyDeclined says why an orphaned label was not voided.
func (s *Service) whyDeclined(ctx context.Context, x store.OrphanedLabel) string {
	c, err := s.accounts.Seller(ctx, x.Tenant, x.Purchase)
	if err == nil && c.IsOff(carrier.AbilityVoid) {
		return ship.ErrorOf(c.WhyOff(carrier.AbilityVoid)).Message
	}
	return "the carrier refused to void it"
}

// voidOrphaned asks the carrier, and writes down what it said unless it
// refused.
func (s *Service) voidOrphaned(ctx context.Context, x store.OrphanedLabel) (state string, err error) {
	c, err := s.accounts.Seller(ctx, x.Tenant, x.Purchase)
	if err != nil {
		return "", err
	}

	var v carrier.VoidResult
	err = failpoint.Around("orphan_void", func() (err error) {
		v, err = c.Void(s.overheard(ctx, x.Tenant, x.Shipment, x.Purchase), x.Purchase)
		return err
	})

	switch ship.KindOf(err) {
	case "":
		state = string(v.State)
		s.logVoid(x.Tenant, x.Shipment, x.Attempt, x.Purchase)
	case ship.Unsupported:
		state = store.OrphanVoidNotNeeded // what this carrier sold and nobody hands over is not billed
	case ship.Invalid:
		return store.OrphanVoidDeclined, nil
	default:
		return "", err
	}
	return state, s.endOrphaned(ctx, x, state, "")
}

func (s *Service) endOrphaned(ctx context.Context, x store.OrphanedLabel, state, message string) error {
	return failpoint.Around("orphan_end", func() error { return s.store.CloseOrphan(ctx, x, state, message) })
}
