package shipping

import (
	"context"
	"time"

	"github.com/waybillhq/waybill/internal/job"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// buyWithIntent writes the purchase and its settle job down, asks the carrier
// with no transaction open, and writes down what it said.
func (s *Service) buyWithIntent(ctx context.Context, b *buying) (Bought, error) {
	b.written = time.Now()
	earlier, err := s.write(ctx, b, true, func(tx *store.Store) (err error) {
		b.shipment.DuplicateOf, err = tx.Intend(ctx, b.shipment, s.attemptOf(b), b.in.IdempotencyKey, b.in.Fingerprint)
		if err != nil {
			return err
		}
		return tx.Enqueue(ctx, settleJob(b.shipment), s.waits.Settle)
	})
	if earlier != nil || err != nil {
		return value(earlier), err
	}
	return s.attemptAll(ctx, b)
}

func (s *Service) attemptOf(b *buying) store.Attempt {
	return store.Attempt{Number: b.attempt, Reference: s.reference(b, b.attempt), Carrier: b.shipment.Deal.Carrier, Service: b.shipment.Deal.Service}
}

func settleJob(sh ship.Shipment) job.SettlePurchase {
	return job.SettlePurchase{Account: sh.Tenant.Account, Livemode: sh.Tenant.Livemode, Shipment: sh.ID}
}

// attemptAll asks one carrier after the other until one sells, all have said
// no, or one has not answered. The attempt at hand is written down.
func (s *Service) attemptAll(ctx context.Context, b *buying) (Bought, error) {
	ctx = context.WithoutCancel(ctx) // from here on the caller may hang up
	for {
		p, err := s.attempt(ctx, b)
		switch ship.KindOf(err) {
		case "":
			return s.conclude(ctx, b, p)
		case ship.Uncertain, ship.Internal:
			return s.uncertain(ctx, b, err)
		}
		if err := s.store.EndAttempt(ctx, b.in.Tenant, b.shipment.ID, endedAttempt(b.attempt, err)); err != nil {
			return Bought{}, err
		}
		if !b.next(err) {
			return Bought{}, s.fail(ctx, b.shipment, refusal(err))
		}
		b.attempt++
		if err := s.again(ctx, b); err != nil {
			return Bought{}, err
		}
	}
}

// attempt asks the carrier once. A process that slept since it wrote the
// attempt down does not send: the settle job may be looking already.
func (s *Service) attempt(ctx context.Context, b *buying) (ship.Purchase, error) {
	c, err := s.carrierOf(b.in.Tenant, b.shipment.Deal.Carrier)
	if err != nil {
		return ship.Purchase{}, err
	}
	if time.Since(b.written) > s.waits.Settle/3 {
		return ship.Purchase{}, ship.Errorf(ship.Unavailable, "the purchase was not sent in time")
	}
	ctx, cancel := context.WithTimeout(ctx, s.waits.Answer)
	defer cancel()
	return c.Buy(ctx, s.order(b))
}

// again writes the next attempt down before the carrier is asked.
func (s *Service) again(ctx context.Context, b *buying) error {
	b.written = time.Now()
	err := s.store.InTx(ctx, b.in.Tenant, func(tx *store.Store) error {
		if err := tx.Move(ctx, b.shipment, ship.StatePurchasing); err != nil {
			return err
		}
		if err := tx.SetDeal(ctx, b.shipment); err != nil {
			return err
		}
		if err := tx.AddAttempt(ctx, b.in.Tenant, b.shipment.ID, s.attemptOf(b)); err != nil {
			return err
		}
		return tx.Enqueue(ctx, settleJob(b.shipment), s.waits.Settle)
	})
	b.shipment.State = ship.StatePurchasing
	return err
}

// conclude stores what was bought, unless it costs more than the client will
// pay and the carrier takes it back.
func (s *Service) conclude(ctx context.Context, b *buying, p ship.Purchase) (Bought, error) {
	c := s.creation(b.shipment, p, b.in.IdempotencyKey, b.in.Fingerprint)
	if limit := b.shipment.Deal.Limit; !limit.IsZero() && p.Price.Exceeds(limit, 1) {
		err := s.giveBack(ctx, &c, limit)
		if err != nil {
			end := store.Attempt{Number: b.attempt, Outcome: "refused", Code: "price_changed", Message: "the label was voided: its price is above the limit"}
			if ended := s.store.EndAttempt(ctx, b.in.Tenant, b.shipment.ID, end); ended != nil {
				return Bought{}, ended
			}
			return Bought{}, s.fail(ctx, b.shipment, err)
		}
	}
	sequence, err := s.store.Settle(ctx, store.Settlement{Creation: c, Attempt: b.attempt})
	if ship.KindOf(err) == ship.Conflict {
		return s.settledMeanwhile(ctx, b.shipment, err)
	}
	if err == nil && c.Shipment.Deal.Returned != "" {
		err = s.followReturn(ctx, c.Shipment)
	}
	if err != nil {
		return Bought{}, err
	}
	s.told()
	c.Shipment.Sequence = sequence
	return Bought{Shipment: c.Shipment.AsCreated()}, nil
}

// followReturn goes on with the void of a label that was too dear: the carrier
// has not confirmed it yet.
func (s *Service) followReturn(ctx context.Context, sh ship.Shipment) error {
	return s.store.InTx(ctx, sh.Tenant, func(tx *store.Store) error {
		if err := tx.Move(ctx, sh, ship.StateVoiding); err != nil {
			return err
		}
		sh.State = ship.StateVoiding
		if sh.Deal.Returned == ship.StateRefundPending {
			if err := tx.Move(ctx, sh, ship.StateRefundPending); err != nil {
				return err
			}
			return tx.PastOrder(ctx, sh)
		}
		return tx.Enqueue(ctx, job.SettleVoid{Account: sh.Tenant.Account, Livemode: sh.Tenant.Livemode, Shipment: sh.ID}, s.waits.Look)
	})
}

// settledMeanwhile answers with what somebody else, the settle job, made of
// the purchase while the carrier answered here too.
func (s *Service) settledMeanwhile(ctx context.Context, sh ship.Shipment, cause error) (Bought, error) {
	now, err := s.store.Shipment(ctx, sh.Tenant, sh.ID)
	if err != nil || !now.State.Bought() {
		return Bought{}, cause
	}
	return Bought{Shipment: now.AsCreated()}, nil
}

// giveBack voids a label that is too dear. It returns the price_changed error
// once the carrier has confirmed; else it adds a warning to the creation, which
// is kept with as much of the void as there is.
func (s *Service) giveBack(ctx context.Context, c *store.Creation, limit ship.Money) error {
	deal := &c.Shipment.Deal
	at, err := s.carrierOf(c.Shipment.Tenant, deal.Carrier)
	if err != nil {
		return err
	}
	v, err := at.Void(ctx, *deal)
	if err != nil || v.State != ship.StateVoided {
		switch kind := ship.KindOf(err); {
		case err == nil:
			deal.Returned = v.State
		case kind != ship.Invalid && kind != ship.Unsupported:
			deal.Returned = ship.StateVoiding
		}
		deal.Warnings = append(deal.Warnings, "the label costs "+deal.Price.Amount()+" "+deal.Price.Currency+", more than "+limit.Amount()+" "+limit.Currency+
			" as agreed, and could not be voided at once; void it yourself if you do not want it")
		return nil
	}
	e := ship.Coded(ship.Invalid, "price_changed", "the carrier charged more than agreed, and the label was voided")
	e.Carrier = deal.Carrier
	e.Details = map[string]any{
		"quoted":  map[string]string{"amount": limit.Amount(), "currency": limit.Currency},
		"charged": map[string]string{"amount": deal.Price.Amount(), "currency": deal.Price.Currency},
	}
	return e
}

// uncertain answers 202: the carrier may have sold, the settle job will look.
func (s *Service) uncertain(ctx context.Context, b *buying, cause error) (Bought, error) {
	s.log.WarnContext(ctx, "purchase outcome unknown", "shipment", b.shipment.ID, "carrier", b.shipment.Deal.Carrier, "error", cause)
	sh, err := s.tell(ctx, b.in.Tenant, b.shipment.ID, func(sh *ship.Shipment) []ship.Scan {
		if sh.State == ship.StatePurchasing {
			sh.State = ship.StateUncertain
		}
		return nil
	})
	if err != nil {
		return Bought{}, err
	}
	return Bought{Shipment: sh, Pending: !sh.State.Bought()}, nil
}

// endedAttempt is what became of an attempt that did not buy.
func endedAttempt(n int, err error) store.Attempt {
	e := asError(err)
	a := store.Attempt{Number: n, Outcome: "not_sent", Code: e.Refusal.Code, Message: e.Message}
	if saidNo(e) == "carrier_rejected" {
		a.Outcome, a.Message = "refused", e.Refusal.Message
	}
	return a
}
