package shipping

import (
	"context"
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/failpoint"
	"github.com/waybillhq/waybill/internal/job"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// Void takes a label back. The state of the shipment tells how far it came:
// voided, or voiding or refund_pending when the carrier takes its time.
func (s *Service) Void(ctx context.Context, t ship.Tenant, id ship.ShipmentID) (ship.Shipment, error) {
	sh, err := s.Shipment(ctx, t, id)
	if err != nil {
		return sh, err
	}
	switch sh.State {
	case ship.StateVoided, ship.StateVoiding, ship.StateRefundPending:
		return sh, nil
	case ship.StatePurchased:
	default:
		return sh, notReady(sh)
	}
	c, err := s.carrierOf(ctx, t, sh.Deal)
	if err != nil {
		return sh, err
	}
	if !slices.Contains(c.Abilities(), "void") {
		return sh, ship.Coded(ship.Conflict, "void_not_supported", "%s cannot void labels; an unused label is usually not charged", c.Spec().Title)
	}
	err = failpoint.Around("voiding", func() error {
		return s.store.InTx(ctx, t, func(tx *store.Store) error {
			if err := tx.Move(ctx, sh, ship.StateVoiding); err != nil {
				return err
			}
			return tx.Enqueue(ctx, job.SettleVoid{Account: t.Account, Livemode: t.Livemode, Shipment: id}, s.waits.Settle)
		})
	})
	if err != nil {
		return sh, err
	}
	sh.State = ship.StateVoiding
	return s.askVoid(context.WithoutCancel(ctx), sh)
}

// askVoid asks the carrier to take the label back and writes down what it
// said. Asking twice is safe.
func (s *Service) askVoid(ctx context.Context, sh ship.Shipment) (ship.Shipment, error) {
	c, err := s.carrierOf(ctx, sh.Tenant, sh.Deal)
	if err != nil {
		return sh, err
	}
	var v carrier.VoidResult
	err = failpoint.Around("void", func() (err error) {
		v, err = c.Void(s.overheard(ctx, sh.Tenant, sh.ID, sh.Deal), sh.Deal)
		return err
	})
	switch ship.KindOf(err) {
	case "":
		return s.voided(ctx, sh, v.State)
	case ship.Invalid, ship.Unsupported:
		back := failpoint.Around("void_refused", func() error { return s.store.Move(ctx, sh, ship.StatePurchased) })
		if back != nil {
			return sh, back
		}
		e := asError(err)
		return sh, &ship.Error{Kind: ship.Conflict, Code: "void_refused", Message: e.Message, Carrier: sh.Deal.Carrier, Refusal: e.Refusal, Err: err}
	}
	s.log.WarnContext(ctx, "void outcome unknown", "shipment", sh.ID, "carrier", sh.Deal.Carrier, "error", err)
	return sh, nil // still voiding; the job asks again
}

func (s *Service) voided(ctx context.Context, sh ship.Shipment, to ship.State) (ship.Shipment, error) {
	err := failpoint.Around("voided", func() error {
		return s.store.InTx(ctx, sh.Tenant, func(tx *store.Store) error {
			if err := tx.Move(ctx, sh, to); err != nil {
				return err
			}
			if err := tx.Credit(ctx, sh); err != nil {
				return err
			}
			return tx.PastOrder(ctx, sh)
		})
	})
	if err != nil {
		return sh, err
	}
	sh.State = to
	return sh, nil
}

// SettleVoid finds out what became of a void that was left open. It reports
// after how long to look again; zero means that it is settled.
func (s *Service) SettleVoid(ctx context.Context, t ship.Tenant, id ship.ShipmentID) (again time.Duration, err error) {
	sh, err := s.store.Shipment(ctx, t, id)
	if err != nil || sh.State != ship.StateVoiding {
		return 0, err
	}
	sh, err = s.askVoid(ctx, sh)
	if ship.CodeOf(err) == "void_refused" {
		return 0, nil
	}
	if err != nil || sh.State == ship.StateVoiding {
		return s.waits.Look, err
	}
	return 0, nil
}
