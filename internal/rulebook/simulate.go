package rulebook

import (
	"cmp"
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/budget"
	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// MostSimulated is the most shipments of one back-test.
const MostSimulated = 100_000

// simulatePage is how many shipments are read at a time. An order may be as
// large as a request, so a page of them takes up to 25 MB.
const simulatePage = 100

// SimulateInput says which rules are applied to which shipments.
type SimulateInput struct {
	Tenant   ship.Tenant
	Account  ship.Account
	Rules    routing.Book
	Last     int                  // shipments, the newest first
	Since    time.Time            // zero for any time
	Progress func(done, most int) // called after each part; may be nil
	Changes  int                  // how many changed shipments are listed; 0 for 50
	Zone     string               // only changed shipments of this zone are listed; "" for all
}

// Simulate applies rules to past shipments: what would they have bought, and
// what would it have cost? It decides by the offers that were stored then; it
// buys nothing and calls no carrier.
//
// It uses all processors for a while, so an account has one simulation at a
// time: another is ship.Limited.
func (s *Service) Simulate(ctx context.Context, in SimulateInput) (Simulation, error) {
	if _, running := s.simulating.LoadOrStore(in.Tenant.Account, true); running {
		return Simulation{}, &ship.Error{
			Kind:       ship.Limited,
			Message:    "an account can run only one simulation at a time; try again when it has finished",
			RetryAfter: time.Second,
		}
	}
	defer s.simulating.Delete(in.Tenant.Account)

	release, err := s.Heavy.Reserve(ctx, in.Tenant.Account, budget.BackTest)
	if err != nil {
		return Simulation{}, err
	}
	defer release()

	in.Changes = cmp.Or(in.Changes, defaultChanges)
	if _, err := s.Check(ctx, in.Tenant, in.Rules); err != nil {
		return Simulation{}, err
	}
	book, err := routing.Compile(in.Rules)
	if err != nil {
		return Simulation{}, err
	}

	fromFiles, err := s.fromFiles(ctx, in)
	if err != nil {
		return Simulation{}, err
	}

	// Ids begin with their time, so every shipment is before an id of the next
	// hour.
	before := ship.ShipmentIDOf(ship.RawIDAt(time.Now().Add(time.Hour)))
	total := newTally(in)
	for left := in.Last; left > 0; {
		rows, err := s.Store.Routed(ctx, in.Tenant, before, in.Since, min(left, simulatePage))
		if err != nil {
			return Simulation{}, err
		}
		if len(rows) == 0 {
			break
		}

		parts, err := s.replay(ctx, in, book, rows, fromFiles)
		if err != nil {
			return Simulation{}, err
		}
		for _, part := range parts {
			total.add(part)
		}

		before = rows[len(rows)-1].ID
		left -= len(rows)
		if in.Progress != nil {
			in.Progress(in.Last-left, in.Last)
		}
	}
	return total.result(), nil
}

// fromFiles are the shipments that were bought for lines of files. Their limit is
// the price that was shown. Purchases say so themselves since
// ship.Purchase.LimitShown exists; older ones are known by their batch.
func (s *Service) fromFiles(ctx context.Context, in SimulateInput) (map[ship.ShipmentID]bool, error) {
	list, err := s.Store.FileShipments(ctx, in.Tenant, in.Since, in.Last)
	if err != nil {
		return nil, err
	}

	known := make(map[ship.ShipmentID]bool, len(list))
	for _, id := range list {
		known[id] = true
	}
	return known, nil
}

// replay decides about the shipments again, on all processors. The tallies are
// in the order of the shipments.
func (s *Service) replay(
	ctx context.Context, in SimulateInput, book *routing.Compiled, rows []store.RoutedRow, fromFiles map[ship.ShipmentID]bool,
) ([]*tally, error) {
	workers := runtime.GOMAXPROCS(0)
	parts := make([]*tally, workers)
	errs := make([]error, workers)

	var group sync.WaitGroup
	for i := range workers {
		share := rows[len(rows)*i/workers : len(rows)*(i+1)/workers]
		parts[i] = newTally(in)
		group.Go(func() {
			for _, row := range share {
				if errs[i] = s.redecide(ctx, in, book, row, fromFiles[row.ID], parts[i]); errs[i] != nil {
					return
				}
			}
		})
	}
	group.Wait()

	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return parts, ctx.Err()
}

// redecide decides about one shipment again, and adds the result to the tally.
// fromFile says that it was bought for a line of a file.
func (s *Service) redecide(
	ctx context.Context, in SimulateInput, book *routing.Compiled, row store.RoutedRow, fromFile bool, sum *tally,
) error {
	order, purchase, err := row.Read()
	if err != nil {
		return err
	}
	if purchase.BoughtAt.IsZero() {
		return nil // nothing was bought
	}

	sum.Shipments++
	if purchase.Routing.Strategy == "named" || purchase.Routing.Strategy == "rate" {
		sum.Named++
		return nil
	}

	// The order has the signature that the rules of then required. The new
	// rules start from what the client asked for.
	quotedSignature := order.Options.Signature
	if purchase.Routing.Raised != nil {
		order.Options.Signature = purchase.Routing.Raised.From
	}

	// A price that was shown follows from the rules of then, so it does not bind
	// the new ones. A limit of the client does.
	limit := purchase.Limit
	if purchase.LimitShown || fromFile {
		limit = ship.Money{}
	}
	input := book.Prepare(routing.Input{
		Account:   in.Tenant.Account,
		Order:     order,
		Currency:  in.Account.Currency,
		MaxAmount: limit,
		Now:       row.ID.Raw().Time(),
	})

	// The stored offers are for the signature of then. Only simulated carriers
	// can be asked for the price of another one.
	offers := []ship.Rate(purchase.Routing.Seen)
	otherSignature := input.Order.Options.Signature != quotedSignature
	if otherSignature || len(offers) == 0 {
		switch {
		case purchase.Simulated && s.Requote != nil:
			offers = s.Requote(ctx, input.Order)
			sum.Requoted++
		case otherSignature && len(offers) > 0:
			sum.Approximate++
		}
	}
	if len(offers) == 0 {
		sum.Unknown++
		return nil
	}

	decision := book.Decide(input, offers)
	sum.count(row.ID, order, purchase, decision)
	return nil
}
