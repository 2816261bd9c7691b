package quoting

import (
	"context"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/ship"
)

// DryRunInput is an order that rules are tried on.
type DryRunInput struct {
	Tenant    ship.Tenant
	Account   ship.Account
	Order     ship.Order // as the client wrote it: not yet normalized, OrderID may be empty
	OneParcel bool
	Carrier   string // that the client names; for Offer alone
	Service   string // likewise
	MaxAmount ship.Money
	Book      *routing.Compiled // nil for the rules that count now
	Recent    bool              // quotes of the last minutes will do, whatever the operator set
}

// DryRun is what rules would do with an order.
type DryRun struct {
	Order ship.Order     // as it would be sent
	Steps []routing.Step // what became of each rule that was asked
	routing.Decision

	failed []carrier.Failure // carriers that did not quote
}

// DryRun asks the carriers for an order and lets the rules choose. It buys nothing
// and writes nothing.
func (s *Service) DryRun(ctx context.Context, in DryRunInput) (DryRun, error) {
	if err := s.Locate(ctx, in.Tenant, &in.Order); err != nil {
		return DryRun{}, err
	}
	now := time.Now().UTC()
	order, err := in.Order.Normalize(ship.Normalizing{Tenant: in.Tenant, Account: in.Account, OneParcel: in.OneParcel, Quote: true, Now: now})
	if err != nil {
		return DryRun{}, err
	}
	policy, err := s.policy(ctx, in.Tenant)
	if err != nil {
		return DryRun{}, err
	}
	if in.Book != nil {
		policy.Book = in.Book
		policy.Version = 0
	}

	acceptAge := s.cache.lifeToBuy
	if in.Recent {
		acceptAge = s.cache.lifeInForm()
	}
	wanted := routing.Input{
		Account:   in.Tenant.Account,
		Order:     order,
		Currency:  in.Account.Currency,
		MaxAmount: in.MaxAmount,
		Now:       now,
	}
	d, err := s.decide(ctx, policy, in.Tenant, wanted, acceptAge, carrier.OneParcel(in.OneParcel))
	if d.Refused != "" {
		err = nil // that is the answer
	}

	out := DryRun{Order: d.input.Order, Decision: d.Decision, failed: d.failed}
	if err == nil {
		out.Steps = policy.Book.Steps(d.input, d.Routing.Seen)
	}
	return out, err
}

// An Offered is the offer that Buy would take first, and the carriers that gave
// none.
type Offered struct {
	Rate      ship.Rate
	NotQuoted []ship.NotQuoted // not nil once carriers were asked
}

// Offer is the offer that Buy would take first: of the carrier and service that
// are named, else the one that the rules choose. A refusal by the rules is
// ship.Invalid. The carriers that did not quote are there with an error too.
func (s *Service) Offer(ctx context.Context, in DryRunInput) (Offered, error) {
	if in.Carrier != "" || in.Service != "" {
		return s.offerNamed(ctx, in)
	}

	tried, err := s.DryRun(ctx, in)
	offered := Offered{NotQuoted: missed(tried.failed)}
	switch {
	case err != nil:
		return offered, err
	case tried.Refused != "":
		return offered, ship.Coded(ship.Invalid, "no_rate", "%s", tried.Refused)
	case len(tried.Offers) == 0:
		return offered, ship.Coded(ship.Invalid, "no_rate", "no carrier offers this service for this shipment")
	}
	offered.Rate = tried.Offers[0]
	return offered, nil
}

func (s *Service) offerNamed(ctx context.Context, in DryRunInput) (Offered, error) {
	if err := s.Locate(ctx, in.Tenant, &in.Order); err != nil {
		return Offered{}, err
	}
	order, err := in.Order.Normalize(ship.Normalizing{Tenant: in.Tenant, Account: in.Account, OneParcel: in.OneParcel, Quote: true, Now: time.Now().UTC()})
	if err != nil {
		return Offered{}, err
	}

	policy, err := s.policy(ctx, in.Tenant)
	if err != nil {
		return Offered{}, err
	}

	offers, err := s.offersNamed(ctx, policy, Request{
		Tenant:    in.Tenant,
		Account:   in.Account,
		Order:     order,
		OneParcel: in.OneParcel,
		Carrier:   in.Carrier,
		Service:   in.Service,
		MaxAmount: in.MaxAmount,
	})
	offered := Offered{NotQuoted: missed(offers.Failed)}
	if err == nil {
		offered.Rate = offers.Rates[0]
	}
	return offered, err
}
