package rulebook

import (
	"cmp"
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// MostSimulated is how many shipments one back-test looks at.
const MostSimulated = 100_000

// simulatePage is how many shipments are read at a time.
const simulatePage = 2000

// SimulateInput says which rules are tried on which shipments.
type SimulateInput struct {
	Tenant   ship.Tenant
	Account  ship.Account
	Rules    routing.Book
	Last     int                  // shipments, the newest first
	Since    time.Time            // zero for any time
	Progress func(done, most int) // told now and then; may be nil
	Changes  int                  // how many changed shipments are listed; 0 for 50
	Zone     string               // only changed shipments of this zone are listed; "" for all
}

// Simulate tries rules on shipments that were bought: what would they have
// bought, and what would it have cost? It decides by the offers that were seen
// then; it buys nothing and asks no carrier. It takes all processors for a
// while, so an account has one at a time: another is ship.Limited.
func (s *Service) Simulate(ctx context.Context, in SimulateInput) (Simulation, error) {
	if _, running := s.busy.LoadOrStore(in.Tenant.Account, true); running {
		return Simulation{}, &ship.Error{Kind: ship.Limited, Message: "an account can have one simulation run at a time", RetryAfter: time.Second}
	}
	defer s.busy.Delete(in.Tenant.Account)
	in.Changes = cmp.Or(in.Changes, usualChanges)
	if _, err := s.Check(ctx, in.Tenant, in.Rules); err != nil {
		return Simulation{}, err
	}
	book, err := routing.Compile(in.Rules)
	if err != nil {
		return Simulation{}, err
	}
	sim := newTally(in)
	before := ship.ShipmentIDOf(ship.RawIDAt(time.Now().Add(time.Hour)))
	for left := in.Last; left > 0; {
		rows, err := s.Store.Routed(ctx, in.Tenant, before, in.Since, min(left, simulatePage))
		if err != nil {
			return Simulation{}, err
		}
		if len(rows) == 0 {
			break
		}
		tallies, err := s.replay(ctx, in, book, rows)
		if err != nil {
			return Simulation{}, err
		}
		for _, t := range tallies {
			sim.add(t)
		}
		before, left = rows[len(rows)-1].ID, left-len(rows)
		if in.Progress != nil {
			in.Progress(in.Last-left, in.Last)
		}
	}
	return sim.result(), nil
}

// replay decides about the shipments again, on all processors. The parts come
// back in the order of the shipments.
func (s *Service) replay(ctx context.Context, in SimulateInput, book *routing.Compiled, rows []store.RoutedRow) ([]*tally, error) {
	n := runtime.GOMAXPROCS(0)
	parts, errs := make([]*tally, n), make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		mine := rows[len(rows)*i/n : len(rows)*(i+1)/n]
		parts[i] = newTally(in)
		wg.Go(func() {
			for _, row := range mine {
				if errs[i] = s.again(ctx, in, book, row, parts[i]); errs[i] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return parts, ctx.Err()
}

// again decides about one shipment again.
func (s *Service) again(ctx context.Context, in SimulateInput, book *routing.Compiled, row store.RoutedRow, t *tally) error {
	order, deal, err := row.Read()
	if err != nil {
		return err
	}
	if deal.BoughtAt.IsZero() {
		return nil // nothing was bought
	}
	t.Shipments++
	if deal.Routing.Strategy == "named" || deal.Routing.Strategy == "rate" {
		t.Named++
		return nil
	}
	quotedFor := order.Options.Signature
	if deal.Routing.Raised != nil {
		order.Options.Signature = deal.Routing.Raised.From
	}
	input := book.Prepare(routing.Input{Account: in.Tenant.Account, Order: order, Currency: in.Account.Currency, MaxAmount: deal.Limit, Now: row.ID.Raw().Time()})
	seen := []ship.Rate(deal.Routing.Seen)
	if other := input.Order.Options.Signature != quotedFor; other || len(seen) == 0 {
		switch {
		case deal.Simulated && s.Requote != nil:
			seen = s.Requote(ctx, input.Order)
			t.Requoted++
		case other && len(seen) > 0:
			t.Approximate++
		}
	}
	if len(seen) == 0 {
		t.Unknown++
		return nil
	}
	decision := book.Decide(input, seen)
	t.count(row.ID, order, deal, decision)
	return nil
}
