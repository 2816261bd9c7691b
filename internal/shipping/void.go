package shipping

import (
	"context"
	"slices"
	"time"

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
	c, err := s.carrierOf(t, sh.Deal.Carrier)
	if err != nil {
		return sh, err
	}
	if !slices.Contains(c.Abilities(), "void") {
		return sh, ship.Coded(ship.Conflict, "void_not_supported", "%s cannot void labels; an unused label is usually not charged", c.Spec().Title)
	}
	err = s.store.InTx(ctx, t, func(tx *store.Store) error {
		if err := tx.Move(ctx, sh, ship.StateVoiding); err != nil {
			return err
		}
		return tx.Enqueue(ctx, job.SettleVoid{Account: t.Account, Livemode: t.Livemode, Shipment: id}, s.waits.Settle)
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
	c, err := s.carrierOf(sh.Tenant, sh.Deal.Carrier)
	if err != nil {
		return sh, err
	}
	v, err := c.Void(ctx, sh.Deal)
	switch ship.KindOf(err) {
	case "":
		return s.voided(ctx, sh, v.State)
	case ship.Invalid, ship.Unsupported:
		if err := s.store.Move(ctx, sh, ship.StatePurchased); err != nil {
			return sh, err
		}
		e := asError(err)
		return sh, &ship.Error{Kind: ship.Conflict, Code: "void_refused", Message: e.Message, Carrier: sh.Deal.Carrier, Refusal: e.Refusal, Err: err}
	}
	s.log.WarnContext(ctx, "void outcome unknown", "shipment", sh.ID, "carrier", sh.Deal.Carrier, "error", err)
	return sh, nil // still voiding; the job asks again
}

func (s *Service) voided(ctx context.Context, sh ship.Shipment, to ship.State) (ship.Shipment, error) {
	err := s.store.InTx(ctx, sh.Tenant, func(tx *store.Store) error {
		if err := tx.Move(ctx, sh, to); err != nil {
			return err
		}
		return tx.PastOrder(ctx, sh)
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

// Sweep gives a job to every purchase and void that has waited long for its
// outcome: a job that was lost must not lose money. A job too many finds
// nothing to do.
func (s *Service) Sweep(ctx context.Context) error {
	open, err := s.store.OpenPurchases(ctx, time.Now().Add(-5*s.waits.Settle))
	if err != nil {
		return err
	}
	for _, p := range open {
		id := ship.ShipmentIDOf(p.ID)
		if p.State == ship.StateVoiding {
			_, err = s.SettleVoid(ctx, p.Tenant, id)
		} else {
			_, err = s.Settle(ctx, p.Tenant, id)
		}
		if err != nil {
			s.log.WarnContext(ctx, "sweep", "shipment", id, "error", err)
		}
	}
	return nil
}
