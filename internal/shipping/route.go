package shipping

import (
	"context"
	"fmt"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/sheet"
	"github.com/waybillhq/waybill/internal/ship"
)

// A Policy is what an account decided about its routing.
type Policy struct {
	Version int               // of the rules; 0 if there are none
	Book    *routing.Compiled // never nil; one without rules chooses the cheapest
	// Sheet is the rate sheet that prices a carrier account, and its name; nil
	// if the carrier itself is asked.
	Sheet func(carrier string, connection ship.ConnectionID) (*sheet.Sheet, string)
}

// contract is the rate sheet that prices an order with a carrier account; nil
// if there is none for the day.
func (p Policy) contract(c *carrier.Carrier, o ship.Order) *sheet.Sheet {
	if p.Sheet == nil {
		return nil
	}
	contract, _ := p.Sheet(c.Spec().Name, c.Connection)
	if contract == nil || !contract.Covers(o.ShipDate) {
		return nil
	}
	return contract
}

// sheetOf is the name of the rate sheet that made an offer; "" if none did.
func (p Policy) sheetOf(r ship.Rate) string {
	if r.Source != "sheet" || p.Sheet == nil {
		return ""
	}
	_, name := p.Sheet(r.Carrier, r.Connection)
	return name
}

// accountKey names a carrier account of a tenant.
type accountKey struct {
	carrier    string
	connection ship.ConnectionID
}

func accountOf(r ship.Rate) accountKey { return accountKey{r.Carrier, r.Connection} }

// isNamed reports whether the client chose for itself; rules do not apply then.
func (in *BuyInput) isNamed() bool {
	return in.Carrier != "" || in.Service != "" || in.Connection != ""
}

// route finds the offers that may be bought, best first, and says why. Rules
// may ask more of the carriers than the client did.
func (s *Service) route(ctx context.Context, b *buying, now time.Time) error {
	purchase := &b.shipment.Purchase
	purchase.Limit = b.in.MaxAmount

	policy, err := s.policy(ctx, b.in.Tenant)
	if err != nil {
		return err
	}
	b.policy = policy

	switch {
	case b.in.RateID != "":
		rate, err := s.rateOf(b.in.Tenant, b.in.RateID, b.shipment.Order, now)
		if err != nil {
			return err
		}
		if err := b.in.agreesWith(rate); err != nil {
			return err
		}

		// The price of the rate was agreed on, so it binds even where the
		// client would have paid more.
		purchase.Limit = rate.Price
		purchase.Routing = ship.Routing{Strategy: "rate", Considered: 1}
		b.offers = []ship.Rate{rate}
		return nil

	case b.in.isNamed():
		return s.routeNamed(ctx, b)
	}

	wanted := routing.Input{
		Account:   b.in.Tenant.Account,
		Order:     b.shipment.Order,
		Currency:  b.in.Account.Currency,
		MaxAmount: b.in.MaxAmount,
		Now:       now,
	}
	d, err := s.decide(ctx, b.policy, b.in.Tenant, wanted, s.quotes.lifeToBuy, oneParcel(b.in.OneParcel))

	// Even without an offer, the decision says which carriers did not quote.
	b.shipment.Order = d.input.Order
	b.offers = d.Offers
	purchase.Routing = d.Routing
	b.failed = d.failed
	return err
}

// routeNamed ranks the offers of the carrier and service that the client named.
func (s *Service) routeNamed(ctx context.Context, b *buying) error {
	var names, services []string
	if b.in.Carrier != "" {
		names = []string{b.in.Carrier}
	}
	if b.in.Service != "" {
		services = []string{b.in.Service}
	}

	asked, err := s.carriersFor(ctx, b.in.Tenant, names, "/carrier", b.in.Connection)
	if err != nil {
		return err
	}
	got := s.ask(ctx, asked, inquiry{
		tenant:    b.in.Tenant,
		order:     b.shipment.Order,
		policy:    b.policy,
		soft:      s.waits.SoftQuote,
		acceptAge: s.quotes.lifeToBuy,
	})

	rates := offered(got, services)
	if len(rates) == 0 {
		if err := unknownService(asked, got, services, "/service"); err != nil {
			return err
		}
		return s.noOffer(got, oneParcel(b.in.OneParcel))
	}

	b.failed = failures(got)
	if err := unmetLimits(rates, b.shipment.Order.DeliverBy, b.in.MaxAmount); err != nil {
		return err
	}

	b.offers, b.shipment.Purchase.Routing = routing.Choose(rates, routing.Wish{
		Named:     true,
		DeliverBy: b.shipment.Order.DeliverBy,
		MaxAmount: b.in.MaxAmount,
		Currency:  b.in.Account.Currency,
	})
	if len(b.offers) == 0 {
		return ship.Coded(ship.Invalid, "no_rate", "no offer arrives by deliverBy and costs no more than maxAmount")
	}
	b.shipment.Purchase.Routing.Failed = s.notQuoted(got)
	return nil
}

// A decision is what the rules decided about an order.
type decision struct {
	routing.Decision
	input  routing.Input  // the order as the rules want it sent
	failed []carrierError // carriers that did not quote
}

// decide asks all carriers for the order as the rules want it sent, and lets
// the rules choose. Quotes may be as old as acceptAge.
func (s *Service) decide(
	ctx context.Context, p Policy, t ship.Tenant, wanted routing.Input, acceptAge time.Duration, parcel oneParcel,
) (decision, error) {
	asked, err := s.carriersFor(ctx, t, nil, "", "")
	if err != nil {
		return decision{input: wanted}, err
	}

	in := p.Book.Prepare(wanted)
	got := s.ask(ctx, asked, inquiry{
		tenant:    t,
		order:     in.Order,
		policy:    p,
		soft:      s.waits.SoftQuote,
		acceptAge: acceptAge,
	})
	rates := offered(got, nil)
	if len(rates) == 0 {
		return decision{input: in}, s.noOffer(got, parcel)
	}

	d := decision{Decision: p.Book.Decide(in, rates), input: in, failed: failures(got)}
	d.Routing.Version = p.Version
	d.Routing.Failed = s.notQuoted(got)
	if was, is := wanted.Order.Options.Signature, in.Order.Options.Signature; was != is {
		d.Routing.Raised = &ship.Raised{From: was, To: is}
	}

	if d.Refused != "" {
		if err := unmetLimits(rates, in.Order.DeliverBy, in.MaxAmount); err != nil {
			return d, err
		}
		return d, &ship.Error{Kind: ship.Invalid, Code: "no_rate", Message: d.Refused}
	}
	return d, nil
}

// notQuoted are the carriers that did not quote, and why.
func (s *Service) notQuoted(got []asking) (list []ship.FailedOffer) {
	for _, a := range got {
		if a.err != nil {
			list = append(list, ship.FailedOffer{
				Carrier: a.carrier,
				Code:    saidNo(asError(a.err)),
				Message: s.reasonOf(carrierError{a.carrier, a.err}),
			})
		}
	}
	return list
}

// tries is how many carrier accounts can be asked one after the other.
func (b *buying) tries() int {
	seen := map[accountKey]bool{}
	for _, o := range b.offers {
		seen[accountOf(o)] = true
	}
	return len(seen)
}

// next turns to the next offer of another carrier account after one said no.
// It reports false when there is none.
func (b *buying) next(err error) bool {
	e := asError(err)
	d := &b.shipment.Purchase
	failed := accountKey{d.Carrier, d.Connection}
	d.Routing.Failed = append(d.Routing.Failed, ship.FailedOffer{
		Carrier: d.Carrier,
		Code:    saidNo(e),
		Message: e.Message,
		Service: d.Service,
		Price:   d.Price,
	})

	// An account that did not sell this service is not asked for another.
	rest := b.offers[:0:0]
	for _, o := range b.offers {
		if accountOf(o) != failed {
			rest = append(rest, o)
		}
	}
	b.offers = rest
	if len(rest) == 0 {
		return false
	}

	d.Routing.RunnerUp = nil
	if len(rest) > 1 {
		d.Routing.RunnerUp = &rest[1]
	}
	b.take(rest[0])
	d.Routing.Why += fmt.Sprintf(". %s failed, so %s %s (%s) was bought instead", failed.carrier, d.Carrier, d.Service, d.Price)
	return true
}
