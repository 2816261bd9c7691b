package quoting

import (
	"context"
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/customs"
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

	// ForPurchase has Offer leave out what would be refused before it is sent to
	// the carrier, as a purchase would.
	ForPurchase bool
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

	// Warnings are what customs would object to.
	Warnings []ship.FieldError
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
	return s.sellable(ctx, in, tried.Order, tried.Offers, offered)
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
	if err != nil {
		return offered, err
	}
	return s.sellable(ctx, in, offers.Order, offers.Rates, offered)
}

// sellable takes the first of the offers. For a purchase it is the first that is
// not refused before anything is sent: of each account one is tried, as Buy does.
func (s *Service) sellable(ctx context.Context, in DryRunInput, order ship.Order, offers []ship.Rate, offered Offered) (Offered, error) {
	if !in.ForPurchase {
		offered.Rate = offers[0]
		return offered, nil
	}
	carriers, err := s.accounts.List(ctx, in.Tenant)
	if err != nil {
		return offered, err
	}
	if carrierkit.NeedsCustoms(order.Origin, order.Destination) {
		offered.Warnings = customs.Check(order)
	}

	type account struct {
		carrier    string
		connection ship.ConnectionID
	}
	refusing := map[account]bool{}
	var failed []carrier.Failure
	for _, offer := range offers {
		of := account{offer.Carrier, offer.Connection}
		if refusing[of] {
			continue
		}
		err := checkPurchase(ctx, carriers, in.Tenant, order, offer)
		if err == nil {
			offered.Rate = offer
			return offered, nil
		}
		refusing[of] = true
		failed = append(failed, carrier.Failure{Carrier: offer.Carrier, Connection: offer.Connection, Err: err})
	}
	return offered, s.accounts.Refusal(failed, carrier.OneParcel(in.OneParcel))
}

// checkPurchase says what would be refused about an offer before it is sent.
func checkPurchase(ctx context.Context, carriers []*carrier.Carrier, t ship.Tenant, order ship.Order, offer ship.Rate) error {
	i := slices.IndexFunc(carriers, func(c *carrier.Carrier) bool {
		return c.Spec().Name == offer.Carrier && c.Connection == offer.Connection
	})
	if i < 0 {
		return nil
	}

	// Every live carrier refuses it; the simulated ones sell with a warning.
	if offer.Connection == "" && order.Customs == nil && carrierkit.NeedsCustoms(order.Origin, order.Destination) {
		return ship.InvalidFields([]ship.FieldError{{
			Pointer: "/customs",
			Code:    "required",
			Detail:  "the parcel crosses a customs border and needs a customs declaration: say what is in it, with its value",
		}})
	}
	return carriers[i].CheckPurchase(ctx, carrier.BuyOrder{
		Order:     order,
		Service:   offer.Service,
		Selection: offer.Selection,
		Reference: ship.Reference(nil, t, "check", 1),
		Shipment:  ship.NewShipmentID(t.Shard(), time.Now()),
	})
}
