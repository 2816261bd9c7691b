package shipping

import (
	"context"
	"time"

	"github.com/waybillhq/waybill/internal/purchase"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// recall answers a purchase whose idempotency key was used before. It is
// ship.NotFound if the key remembers nothing.
func (s *Service) recall(ctx context.Context, in BuyInput) (Bought, error) {
	m, err := s.store.IdempotencyRecord(ctx, in.Tenant, in.IdempotencyKey)
	if ship.KindOf(err) == ship.NotFound && s.lastRestore().HasMissing {
		if err := s.recallMissing(ctx, in); err != nil {
			return Bought{}, err
		}
		m, err = s.store.IdempotencyRecord(ctx, in.Tenant, in.IdempotencyKey)
	}
	if err != nil {
		return Bought{}, err
	}

	switch {
	case !m.Repeats(s.nameOf(in)) && !s.repeatsAdopted(ctx, in, m):
		return Bought{}, s.reused(ctx, in, m)
	case m.Answer.Body != nil:
		return Bought{Answer: &m.Answer, Replayed: true}, nil
	case m.Shipment == "":
		return Bought{}, inProgress()
	}

	sh, err := s.store.Shipment(ctx, in.Tenant, m.Shipment)
	if err != nil {
		return Bought{}, err
	}
	return s.recallShipment(ctx, in, m, sh)
}

func keyReused() *ship.Error {
	return ship.Coded(ship.Invalid, "idempotency_key_reused", "the idempotency key was already used for another request, and nothing was bought now; repeat that request to get its response")
}

// recallShipment answers with where the purchase stands; nothing new is bought
// unless it is known that nothing was.
func (s *Service) recallShipment(ctx context.Context, in BuyInput, m store.IdempotencyRecord, sh ship.Shipment) (Bought, error) {
	switch {
	case sh.State.Bought() && m.Answer.Status == 201:
		return Bought{Shipment: sh.AsCreated(), Replayed: true}, nil

	case sh.State.Bought():
		// The first answer was 202. This one shows what became of it since.
		created := sh.AsCreated()
		created.State = sh.State
		created.VoidedAt = sh.VoidedAt
		return Bought{Shipment: created, Replayed: true}, nil

	case sh.State == ship.StateFailed:
		return s.recallFailed(ctx, in, sh)
	case sh.Sequence == 0:
		return Bought{}, inProgress()
	}
	return Bought{Shipment: sh, Pending: true, Replayed: true}, nil
}

// recallFailed repeats a refusal; after a failure that is known to have bought
// nothing, it makes the next attempt.
func (s *Service) recallFailed(ctx context.Context, in BuyInput, sh ship.Shipment) (Bought, error) {
	attempts, err := s.store.Attempts(ctx, in.Tenant, sh.ID)
	if err != nil {
		return Bought{}, err
	}

	last := attempts[len(attempts)-1]
	if failure := approvalFailure(last.Code); failure != nil {
		return Bought{}, failure
	}
	if purchase.Outcome(last.Outcome) == purchase.WasRefused || sh.Sequence > 0 {
		return Bought{}, &ship.Error{
			Kind:    ship.Invalid,
			Code:    "carrier_rejected",
			Message: "the carrier declined the purchase",
			Carrier: last.Carrier,
			Refusal: ship.Refusal{Code: last.Code, Message: last.Message},
		}
	}

	b, err := s.prepare(ctx, in)
	if err != nil {
		return Bought{}, err
	}
	b.shipment.ID = sh.ID
	b.shipment.Order = sh.Order
	b.shipment.State = sh.State
	b.shipment.DuplicateOf = sh.DuplicateOf
	b.attempt = last.Number

	r := s.newRun(context.WithoutCancel(ctx), b, "response")
	r.remember(attempts)
	return r.answerInTime(func() purchase.Verdict {
		if b.needsApproval {
			return r.machine().Ask(last.Number)
		}
		return r.machine().Retry(last.Number, b.tries())
	})
}

func inProgress() error {
	e := ship.Coded(ship.Conflict, "idempotency_in_progress", "a request with this idempotency key is still in progress; retry after the number of seconds in Retry-After")
	e.RetryAfter = time.Second
	return e
}
