package shipping

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/failpoint"
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
	case ship.StateNeedsReview:
		// What a restore lost was sold, and its label is not known.
		if sh.Purchase.TrackingNumber == "" {
			return sh, notReady(sh)
		}
	default:
		return sh, notReady(sh)
	}

	c, err := s.accounts.Seller(ctx, t, sh.Purchase)
	if err != nil {
		return sh, err
	}
	if !slices.Contains(c.Abilities(), "void") {
		return sh, ship.Coded(ship.Conflict, "void_not_supported", "%s cannot void labels; an unused label is usually not charged", c.Spec().Title)
	}
	if err := c.CheckVoid(sh.Progress.Status); err != nil {
		return sh, s.voidRefused(sh, err)
	}
	if off := c.WhyOff(carrier.AbilityVoid); off != nil {
		return sh, ship.Coded(ship.Conflict, carrier.CodeUnconfirmed, "%s", ship.ErrorOf(off).Message)
	}

	// The void is written down before the carrier is asked, with the job that
	// asks again: after a crash or a lost answer it is not forgotten.
	err = failpoint.Around("voiding", func() error { return s.recordVoiding(ctx, sh) })
	if err != nil {
		return sh, err
	}

	sh.State = ship.StateVoiding
	return s.askVoid(context.WithoutCancel(ctx), sh)
}

// recordVoiding writes down that the label is to be voided, with the job that
// finds out what became of it.
func (s *Service) recordVoiding(ctx context.Context, sh ship.Shipment) error {
	return s.store.InTx(ctx, sh.Tenant, func(tx *store.Store) error {
		if err := tx.Move(ctx, sh, ship.StateVoiding); err != nil {
			return err
		}
		return tx.Enqueue(ctx, settleVoidJob(sh.Tenant, sh.ID), s.waits.Settle)
	})
}

// askVoid asks the carrier to take the label back and writes down what it
// said. Asking twice is safe.
func (s *Service) askVoid(ctx context.Context, sh ship.Shipment) (ship.Shipment, error) {
	c, err := s.accounts.Seller(ctx, sh.Tenant, sh.Purchase)
	if err != nil {
		return sh, err
	}

	var v carrier.VoidResult
	err = failpoint.Around("void", func() (err error) {
		v, err = c.Void(s.overheard(ctx, sh.Tenant, sh.ID, sh.Purchase), sh.Purchase)
		return err
	})

	switch ship.KindOf(err) {
	case "":
		s.logVoid(sh.Tenant, sh.ID, 0, sh.Purchase)
		return s.voided(ctx, sh, v.State)

	case ship.Invalid, ship.Unsupported:
		refused := s.voidRefused(sh, err)
		back := failpoint.Around("void_refused", func() error { return s.recordRefusal(ctx, sh, refused) })
		if back != nil {
			return sh, back
		}
		return sh, refused
	}

	// It is still voiding. The job asks again.
	s.log.WarnContext(ctx, "void outcome unknown", "shipment", sh.ID, "carrier", sh.Purchase.Carrier, "error", err)
	return sh, nil
}

// voidRefused says which label the carrier did not void, why, and what can be
// done.
func (s *Service) voidRefused(sh ship.Shipment, err error) error {
	advice := "the label stays valid and charged; use it, or ask the carrier for a refund"
	if sh.Progress.Status.Rank() > ship.LabelGenerated.Rank() {
		advice = "the parcel is in transit, so the label can no longer be voided; ask the carrier to intercept or return the parcel"
	}

	label := "the label"
	if sh.Purchase.TrackingNumber != "" {
		label = "label " + sh.Purchase.TrackingNumber
	}

	return &ship.Error{
		Kind:    ship.Conflict,
		Code:    "void_refused",
		Message: label + " was not voided: " + s.accounts.Reason(carrier.Failure{Carrier: sh.Purchase.Carrier, Err: err}) + ". " + strings.ToUpper(advice[:1]) + advice[1:],
		Carrier: sh.Purchase.Carrier,
		Refusal: ship.ErrorOf(err).Refusal,
		Err:     err,
	}
}

// voidRefusedAction is the audit log's name of a void that a carrier refused.
const voidRefusedAction = "shipment.void_refused"

// recordRefusal makes the label usable again and writes into the audit log that
// the carrier refused the void: a job may have asked, with nobody waiting for
// the answer.
func (s *Service) recordRefusal(ctx context.Context, sh ship.Shipment, refused error) error {
	entry := store.EntryOf(sh.Tenant, voidRefusedAction, string(sh.ID))
	entry.Who = s.accounts.Title(sh.Purchase.Carrier)
	entry.Details = map[string]string{"number": sh.Purchase.TrackingNumber, "reason": ship.ErrorOf(refused).Message}

	return s.store.InTx(ctx, sh.Tenant, func(tx *store.Store) error {
		if err := tx.Move(ctx, sh, ship.StatePurchased); err != nil {
			return err
		}
		return tx.AddAudit(ctx, entry)
	})
}

// A RefusedVoid is a void that the carrier refused, of a label that is not used
// yet.
type RefusedVoid struct {
	Shipment ship.Shipment
	Reason   string
	At       time.Time
}

// maxRefusedVoids is up to how many are listed and counted.
const maxRefusedVoids = 50

// RefusedVoids lists the refused voids of the last weeks, the newest first. A
// label that was voided later, or whose parcel moves, is not among them.
func (s *Service) RefusedVoids(ctx context.Context, t ship.Tenant) ([]RefusedVoid, error) {
	return s.refusedVoids(ctx, t, store.AuditQuery{
		Account: t.Account,
		Action:  voidRefusedAction,
		After:   AttentionSince(),
		Limit:   maxRefusedVoids,
	})
}

// RefusedVoidOf is the last refused void of a shipment; false if there is none,
// or the label was voided or used since.
func (s *Service) RefusedVoidOf(ctx context.Context, t ship.Tenant, id ship.ShipmentID) (RefusedVoid, bool, error) {
	list, err := s.refusedVoids(ctx, t, store.AuditQuery{
		Account: t.Account,
		Action:  voidRefusedAction,
		Target:  string(id),
		Limit:   1,
	})
	if err != nil || len(list) == 0 {
		return RefusedVoid{}, false, err
	}
	return list[0], true, nil
}

func (s *Service) refusedVoids(ctx context.Context, t ship.Tenant, query store.AuditQuery) ([]RefusedVoid, error) {
	entries, err := s.store.Audit(ctx, query)
	if err != nil || len(entries) == 0 {
		return nil, err
	}

	var ids []ship.ShipmentID
	for _, entry := range entries {
		if id, ok := ship.ParseShipmentID(entry.Target); ok && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}

	// Those of the other mode are not found here.
	shipments, err := s.ShipmentsByID(ctx, t, ids)
	if err != nil {
		return nil, err
	}

	var list []RefusedVoid
	for _, entry := range entries {
		sh, found := shipments[ship.ShipmentID(entry.Target)]
		if !found || sh.State != ship.StatePurchased || sh.Progress.Status.Rank() > ship.LabelGenerated.Rank() {
			continue
		}
		delete(shipments, sh.ID) // an older refusal of it says nothing new
		list = append(list, RefusedVoid{
			Shipment: sh,
			Reason:   entry.Details["reason"],
			At:       entry.ID.Raw().Time(),
		})
	}
	return list, nil
}

// voided ends a void that the carrier confirmed, and returns the shipment as it
// is then.
func (s *Service) voided(ctx context.Context, sh ship.Shipment, to ship.State) (ship.Shipment, error) {
	err := failpoint.Around("voided", func() error { return s.recordVoided(ctx, sh, to) })
	if err != nil {
		return sh, err
	}
	return s.store.Shipment(ctx, sh.Tenant, sh.ID)
}

// recordVoided moves the shipment, returns its charge and frees its order.
func (s *Service) recordVoided(ctx context.Context, sh ship.Shipment, to ship.State) error {
	return s.store.InTx(ctx, sh.Tenant, func(tx *store.Store) error {
		if err := tx.Move(ctx, sh, to); err != nil {
			return err
		}
		if err := tx.Credit(ctx, sh); err != nil {
			return err
		}
		return tx.PastOrder(ctx, sh)
	})
}

// SettleVoid finds out what became of a void that was left open. It reports
// after how long to look again; zero means that it is settled.
func (s *Service) SettleVoid(ctx context.Context, t ship.Tenant, id ship.ShipmentID) (again time.Duration, err error) {
	sh, err := s.store.Shipment(ctx, t, id)
	if err != nil || sh.State != ship.StateVoiding {
		return 0, err
	}

	// The job's time is shorter than a carrier may take, and what it answers must
	// be written down.
	sh, err = s.askVoid(context.WithoutCancel(ctx), sh)
	if ship.CodeOf(err) == "void_refused" {
		return 0, nil
	}
	if err != nil || sh.State == ship.StateVoiding {
		return s.waits.Look, err
	}
	return 0, nil
}
