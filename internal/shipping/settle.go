package shipping

import (
	"context"
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// Settle finds out what became of a purchase that was left open: adopted if it
// was bought, bought again only when it is known not to exist, given to a
// person when the carrier can neither confirm nor deny. It reports after how
// long to look again; zero means that it is settled.
func (s *Service) Settle(ctx context.Context, t ship.Tenant, id ship.ShipmentID) (again time.Duration, err error) {
	sh, err := s.store.Shipment(ctx, t, id)
	if ship.KindOf(err) == ship.NotFound {
		return 0, nil
	}
	if err != nil || sh.State != ship.StatePurchasing && sh.State != ship.StateUncertain {
		return 0, err
	}
	attempts, err := s.store.Attempts(ctx, t, id)
	if err != nil {
		return 0, err
	}
	last := attempts[len(attempts)-1]
	if sh.State == ship.StatePurchasing && time.Since(last.StartedAt) < s.waits.Settle {
		return s.waits.Settle - time.Since(last.StartedAt), nil // its request may still be running
	}
	// Every attempt ever made is looked up, each at its own carrier: a late
	// answer to an early one is a label too.
	for _, a := range slices.Backward(attempts) {
		c, err := s.carrierOf(t, a.Carrier)
		if err != nil {
			return s.waits.Look, err
		}
		p, err := c.Find(ctx, carrier.BuyOrder{Order: sh.Order, Service: a.Service, Reference: a.Reference, Shipment: sh.ID})
		switch ship.KindOf(err) {
		case "":
			return 0, s.adopt(ctx, sh, last, p)
		case ship.NotFound:
		default:
			return s.stillUnknown(ctx, sh)
		}
	}
	return s.absent(ctx, sh, last)
}

// adopt stores a purchase that was found.
func (s *Service) adopt(ctx context.Context, sh ship.Shipment, last store.Attempt, p ship.Purchase) error {
	b := &buying{in: BuyInput{Tenant: sh.Tenant}, shipment: sh, attempt: last.Number}
	_, err := s.conclude(ctx, b, p)
	if ship.KindOf(err) == ship.Invalid {
		return nil // it was too dear and is voided
	}
	return err
}

// stillUnknown waits on, until a person must decide.
func (s *Service) stillUnknown(ctx context.Context, sh ship.Shipment) (time.Duration, error) {
	now := time.Now().UTC()
	review := now.Sub(sh.CreatedAt()) > s.waits.Review
	_, err := s.tell(ctx, sh.Tenant, sh.ID, func(sh *ship.Shipment) []ship.Scan {
		if !review {
			sh.State = ship.StateUncertain
			return nil
		}
		sh.State = ship.StateNeedsReview
		return []ship.Scan{ship.FailedScan(now, ship.ReasonPurchaseUnconfirmed)}
	})
	if review {
		return 0, err
	}
	return s.waits.Look, err
}

// absent is reached when the carrier knows nothing of any attempt. One absence
// proves little, because a purchase may show late; after the second, the
// purchase is made again while the client still waits for it, or has failed.
func (s *Service) absent(ctx context.Context, sh ship.Shipment, last store.Attempt) (time.Duration, error) {
	if last.Outcome != "unknown" {
		return s.waits.Look, s.store.EndAttempt(ctx, sh.Tenant, sh.ID, store.Attempt{Number: last.Number, Outcome: "unknown", Message: "not found at the first look"})
	}
	if wait := s.waits.Look - time.Since(last.EndedAt); wait > 0 {
		return wait, nil // a sweep beside the job is no second look
	}
	if err := s.store.EndAttempt(ctx, sh.Tenant, sh.ID, store.Attempt{Number: last.Number, Outcome: "absent"}); err != nil {
		return s.waits.Look, err
	}
	if sh.Sequence == 0 || time.Since(sh.CreatedAt()) > s.waits.Rebuy {
		return 0, s.fail(ctx, sh, nil)
	}
	b := &buying{in: BuyInput{Tenant: sh.Tenant}, shipment: sh, attempt: last.Number + 1}
	b.offers = []ship.Rate{{Carrier: sh.Deal.Carrier, Connection: sh.Deal.Connection, Service: sh.Deal.Service, ServiceName: sh.Deal.ServiceName, Price: sh.Deal.Price}}
	if err := s.again(ctx, b); err != nil {
		return s.waits.Look, err
	}
	_, err := s.attemptAll(ctx, b)
	if kind := ship.KindOf(err); kind == ship.Invalid || kind == ship.Unavailable {
		return 0, nil // refused this time, and told
	}
	return s.waits.Look, err
}

// fail ends a purchase that bought nothing, and returns cause. A client who
// was told of the shipment is told of this too; one who was not gets the
// cause as the answer, and the shipment stays unseen.
func (s *Service) fail(ctx context.Context, sh ship.Shipment, cause error) error {
	now := time.Now().UTC()
	_, err := s.change(ctx, sh.Tenant, sh.ID, func(sh *ship.Shipment) (told bool, scans []ship.Scan) {
		sh.State = ship.StateFailed
		if sh.Sequence == 0 {
			return false, nil
		}
		return true, []ship.Scan{ship.FailedScan(now, ship.ReasonPurchaseFailed)}
	})
	if err == nil {
		err = s.store.PastOrder(ctx, sh)
	}
	if err != nil {
		return err
	}
	return cause
}

// tell changes a shipment and tells the client of it, of its creation too if
// that has not been done.
func (s *Service) tell(ctx context.Context, t ship.Tenant, id ship.ShipmentID, edit func(*ship.Shipment) []ship.Scan) (ship.Shipment, error) {
	return s.change(ctx, t, id, func(sh *ship.Shipment) (bool, []ship.Scan) { return true, edit(sh) })
}

// change edits an open purchase in one transaction. It does nothing to one
// that was settled meanwhile, or cannot become what the edit makes of it.
func (s *Service) change(ctx context.Context, t ship.Tenant, id ship.ShipmentID, edit func(*ship.Shipment) (told bool, scans []ship.Scan)) (sh ship.Shipment, err error) {
	err = s.store.InTx(ctx, t, func(tx *store.Store) error {
		journeys, err := tx.LockJourneys(ctx, []ship.Subject{{Tenant: t, ID: id.Raw()}})
		if err != nil {
			return err
		}
		if sh, err = tx.Shipment(ctx, t, id); err != nil || sh.State.Bought() || sh.State == ship.StateFailed {
			return err
		}
		known, err := tx.Scans(ctx, journeys)
		if err != nil {
			return err
		}
		told, scans := edit(&sh)
		j := &journeys[0]
		if j.State != sh.State && !j.State.CanBecome(sh.State) {
			sh.State = j.State
			return nil
		}
		j.State = sh.State
		c := store.Change{}
		if told {
			telling := ship.Telling{Now: time.Now().UTC().Truncate(time.Millisecond), BaseURL: s.baseURL, Deal: &sh.Deal}
			c.Events = j.Announce(telling)
			fresh, events := j.Hear(append(known[j.Subject], j.OwnScans()...), scans, telling)
			for _, f := range fresh {
				c.Scans = append(c.Scans, store.NewScan{Scan: f})
			}
			c.Events = append(c.Events, events...)
		}
		c.Journey = *j
		sh.Progress, sh.Sequence = j.Progress, j.Sequence
		return tx.Apply(ctx, []store.Change{c})
	})
	return sh, err
}
