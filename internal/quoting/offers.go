package quoting

import (
	"context"
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/ship"
)

// A Request is an order that is to be bought, and what the client says about
// how.
type Request struct {
	Tenant     ship.Tenant
	Account    ship.Account
	Order      ship.Order // normalized
	OneParcel  bool       // the client wrote "parcel", not "parcels": errors point there
	Carrier    string
	Service    string
	Connection ship.ConnectionID
	RateID     string // the token of a rate; it alone is offered
	MaxAmount  ship.Money
	MaxIsShown bool // MaxAmount is the price that a person was shown: rules decide without it
	Now        time.Time
}

// isNamed reports whether the client chose for itself; rules do not apply then.
func (in *Request) isNamed() bool {
	return in.Carrier != "" || in.Service != "" || in.Connection != ""
}

// Offers are the rates that may be bought for a request, and why these.
type Offers struct {
	Order   ship.Order        // as it is to be sent: rules may ask more of the carriers than the client did
	Rates   []ship.Rate       // best first, at least one
	Limit   ship.Money        // what the label may cost at most; zero for no limit
	Routing ship.Routing      // how they were chosen
	Failed  []carrier.Failure // carriers that did not quote

	policy Policy
}

// Sheet is the name of the rate sheet that made an offer; "" if none did.
func (o *Offers) Sheet(rate ship.Rate) string { return o.policy.sheetOf(rate) }

// Offers finds the rates that may be bought, best first, and says why.
func (s *Service) Offers(ctx context.Context, in Request) (Offers, error) {
	policy, err := s.policy(ctx, in.Tenant)
	if err != nil {
		return Offers{}, err
	}

	switch {
	case in.RateID != "":
		return s.offerQuoted(ctx, policy, in)
	case in.isNamed():
		return s.offersNamed(ctx, policy, in)
	}

	wanted := routing.Input{
		Account:   in.Tenant.Account,
		Order:     in.Order,
		Currency:  in.Account.Currency,
		MaxAmount: in.MaxAmount,
		Now:       in.Now,
	}
	if in.MaxIsShown {
		// The price was shown after rules had chosen among all offers. They must
		// choose among the same ones now, so the price is compared afterwards.
		wanted.MaxAmount = ship.Money{}
	}
	d, err := s.decide(ctx, policy, in.Tenant, wanted, s.cache.lifeToBuy, carrier.OneParcel(in.OneParcel))
	if err != nil {
		return Offers{}, err
	}
	rates := d.Offers
	if in.MaxIsShown {
		if rates = atMost(rates, in.MaxAmount); len(rates) == 0 {
			return Offers{}, ship.Coded(ship.Invalid, "price_changed",
				"the rules now choose an offer of %s, above the %s that was shown; nothing was bought",
				d.Offers[0].Price, in.MaxAmount)
		}
	}
	return Offers{
		Order:   d.input.Order,
		Rates:   rates,
		Limit:   in.MaxAmount,
		Routing: d.Routing,
		Failed:  d.failed,
		policy:  policy,
	}, nil
}

// offerQuoted is the offer that the client got before and names by its token.
func (s *Service) offerQuoted(ctx context.Context, policy Policy, in Request) (Offers, error) {
	rate, err := s.rateOf(ctx, in.Tenant, in.RateID, in.Order, in.Now)
	if err != nil {
		return Offers{}, err
	}
	if err := in.agreesWith(rate); err != nil {
		return Offers{}, err
	}
	if from := in.Order.Location; len(from.Connections) > 0 && !slices.Contains(from.Connections, rate.Connection) {
		return Offers{}, notUsedFrom(from, "/rateId")
	}

	return Offers{
		Order: in.Order,
		Rates: []ship.Rate{rate},
		// The price of the rate was agreed on, so it binds even where the
		// client would have paid more.
		Limit:   rate.Price,
		Routing: ship.Routing{Strategy: "rate", Considered: 1},
		policy:  policy,
	}, nil
}

// offersNamed ranks the offers of the carrier and service that the client
// named.
func (s *Service) offersNamed(ctx context.Context, policy Policy, in Request) (Offers, error) {
	var names, services []string
	if in.Carrier != "" {
		names = []string{in.Carrier}
	}
	if in.Service != "" {
		services = []string{in.Service}
	}

	asked, err := s.carriersFor(ctx, in.Tenant, in.Order, names, "/carrier", in.Connection)
	if err != nil {
		return Offers{}, err
	}
	got := s.ask(ctx, asked, inquiry{
		tenant:    in.Tenant,
		order:     in.Order,
		policy:    policy,
		soft:      s.softDeadline,
		acceptAge: s.cache.lifeToBuy,
	})

	rates := offered(got, services)
	if len(rates) == 0 {
		if err := unknownService(asked, got, services, "/service"); err != nil {
			return Offers{}, err
		}
		return Offers{Failed: failures(got)}, s.noOffer(got, services, carrier.OneParcel(in.OneParcel))
	}
	if err := unmetLimits(rates, in.Order.DeliverBy, in.MaxAmount); err != nil {
		return Offers{}, err
	}

	ranked, why := routing.Choose(rates, routing.Wish{
		Named:     true,
		DeliverBy: in.Order.DeliverBy,
		MaxAmount: in.MaxAmount,
		Currency:  in.Account.Currency,
	})
	if len(ranked) == 0 {
		return Offers{}, ship.Coded(ship.Invalid, "no_rate", "no offer arrives by deliverBy and costs no more than maxAmount")
	}
	why.Failed = s.notQuoted(got)
	why.Dropped = append(why.Dropped, dropped(got)...)
	return Offers{
		Order:   in.Order,
		Rates:   ranked,
		Limit:   in.MaxAmount,
		Routing: why,
		Failed:  failures(got),
		policy:  policy,
	}, nil
}

// A decision is what the rules decided about an order.
type decision struct {
	routing.Decision
	input  routing.Input     // the order as the rules want it sent
	failed []carrier.Failure // carriers that did not quote
}

// decide asks all carriers for the order as the rules want it sent, and lets
// the rules choose. Quotes may be as old as acceptAge.
func (s *Service) decide(
	ctx context.Context, p Policy, t ship.Tenant, wanted routing.Input, acceptAge time.Duration, parcel carrier.OneParcel,
) (decision, error) {
	asked, err := s.carriersFor(ctx, t, wanted.Order, nil, "", "")
	if err != nil {
		return decision{input: wanted}, err
	}

	in := p.Book.Prepare(wanted)
	got := s.ask(ctx, asked, inquiry{
		tenant:    t,
		order:     in.Order,
		policy:    p,
		soft:      s.softDeadline,
		acceptAge: acceptAge,
	})
	rates := offered(got, nil)
	if len(rates) == 0 {
		return decision{input: in, failed: failures(got)}, s.noOffer(got, nil, parcel)
	}

	d := decision{Decision: p.Book.Decide(in, rates), input: in, failed: failures(got)}
	d.Routing.Version = p.Version
	d.Routing.Failed = s.notQuoted(got)
	d.Routing.Dropped = append(d.Routing.Dropped, dropped(got)...)
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
			failed := a.failure()
			list = append(list, ship.FailedOffer{
				Carrier: a.carrier,
				Code:    failed.Code(),
				Message: s.accounts.Reason(failed),
				Reason:  failed.NotQuoted(time.Now()).Reason,
			})
		}
	}
	return list
}

// dropped are the offers of services that cannot do what the order asks for.
func dropped(got []asking) (list []ship.Dropped) {
	for _, a := range got {
		for _, removed := range a.removed {
			list = append(list, ship.Dropped{
				Carrier: removed.Carrier,
				Service: removed.Service,
				Why:     "unsupported",
				Option:  removed.Extra,
			})
		}
	}
	return list
}
