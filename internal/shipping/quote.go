package shipping

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/sandbox"
	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/ship"
)

// rateLife is how long a quote can be bought.
const rateLife = 24 * time.Hour

// Quote asks all carriers at once. One carrier's failure never loses another's
// quote; only when all fail is there an error. It writes nothing.
func (s *Service) Quote(ctx context.Context, in QuoteInput) (Quotes, error) {
	now := time.Now().UTC()
	order, err := in.Order.Normalize(ship.Normalizing{Tenant: in.Tenant, Account: in.Account, OneParcel: in.OneParcel, Quote: true, Now: now})
	if err != nil {
		return Quotes{}, err
	}
	asked, err := s.choose(ctx, in.Tenant, in.Carriers, "/carriers/%d", in.Connection)
	if err != nil {
		return Quotes{}, err
	}
	soft := s.waits.SoftQuote
	if in.Timeout > 0 {
		soft = in.Timeout
	}
	policy, err := s.policy(ctx, in.Tenant)
	if err != nil {
		return Quotes{}, err
	}
	got := s.ask(ctx, asked, inquiry{tenant: in.Tenant, order: order, policy: policy, soft: soft, remember: true})
	rates := offered(got, in.Services)
	if len(rates) == 0 {
		return Quotes{}, noOffer(got)
	}
	rates, _ = routing.Choose(rates, routing.Wish{DeliverBy: order.DeliverBy, Currency: in.Account.Currency})
	if len(rates) == 0 {
		return Quotes{}, ship.Coded(ship.Invalid, "no_rate", "no offer arrives by deliverBy")
	}
	q := Quotes{ExpiresAt: now.Add(rateLife).Truncate(time.Second)}
	hash := orderHash(order)
	for _, r := range rates {
		q.Rates = append(q.Rates, Quote{ID: s.rateToken(in.Tenant, r, hash, q.ExpiresAt), Rate: r})
	}
	for _, a := range got {
		if a.err != nil {
			q.Errors = append(q.Errors, quoteError(a))
		}
		q.Partial = q.Partial || a.late
	}
	return q, nil
}

// choose returns the carriers of the names, or all; of the connection alone if
// one is named. The pointer says where the client wrote the i-th name.
func (s *Service) choose(ctx context.Context, t ship.Tenant, names []string, pointer string, connection ship.ConnectionID) ([]*carrier.Carrier, error) {
	all, err := s.carriers(ctx, t)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, ship.Coded(ship.Invalid, "no_carrier", "no carrier is connected to this account in this mode")
	}
	if connection != "" {
		all = slices.DeleteFunc(slices.Clone(all), func(c *carrier.Carrier) bool { return c.Connection != connection })
		if len(all) == 0 {
			return nil, ship.InvalidFields([]ship.FieldError{{Pointer: "/connectionId", Code: "unknown_connection", Detail: "is not a connection of this account"}})
		}
	}
	if len(names) == 0 {
		return all, nil
	}
	var list []*carrier.Carrier
	for i, name := range names {
		n := len(list)
		known := make([]string, len(all))
		for k, c := range all {
			known[k] = c.Spec().Name
			if known[k] == name {
				list = append(list, c)
			}
		}
		if len(list) == n {
			return nil, ship.InvalidFields([]ship.FieldError{{
				Pointer: strings.ReplaceAll(pointer, "%d", strconv.Itoa(i)), Code: "unknown_carrier", Detail: "is not a carrier of this account", Suggestion: ship.Nearest(name, known),
			}})
		}
	}
	return list, nil
}

// asking is one carrier's answer to a request for rates.
type asking struct {
	carrier string
	rates   []ship.Rate
	err     error
	late    bool // it had not answered at the soft deadline
	took    time.Duration
}

// An inquiry is what carriers are asked to quote.
type inquiry struct {
	tenant   ship.Tenant
	order    ship.Order
	policy   Policy
	soft     time.Duration // answer with what is there after this
	remember bool          // a quote of minutes ago will do, if the operator allows it
}

// ask asks the carriers, all at once where that takes time.
func (s *Service) ask(ctx context.Context, carriers []*carrier.Carrier, q inquiry) []asking {
	got := make([]asking, len(carriers))
	if areInstant(carriers) && !sandbox.NeedsIntent(q.order) { // goroutines would only cost
		for i, c := range carriers {
			got[i] = s.askOne(ctx, c, q)
		}
		return got
	}
	type numbered struct {
		i int
		asking
	}
	answers := make(chan numbered, len(carriers))
	for i, c := range carriers {
		got[i] = asking{carrier: c.Spec().Name, late: true, took: q.soft, err: ship.Errorf(ship.Unavailable, "the carrier has not answered in time")}
		go func() { answers <- numbered{i, s.askOne(context.WithoutCancel(ctx), c, q)} }()
	}
	timer := time.NewTimer(q.soft)
	defer timer.Stop()
	for range carriers {
		select {
		case a := <-answers:
			got[a.i] = a.asking
		case <-timer.C:
			return got
		case <-ctx.Done():
			return got
		}
	}
	return got
}

// areInstant reports whether all are simulated: they compute their answers.
func areInstant(carriers []*carrier.Carrier) bool {
	return !slices.ContainsFunc(carriers, func(c *carrier.Carrier) bool { return c.Connection != "" })
}

// askOne gets a carrier account's rates: by the account's own rate sheet, from
// memory, or from the carrier.
func (s *Service) askOne(ctx context.Context, c *carrier.Carrier, q inquiry) asking {
	start := time.Now()
	var rates []ship.Rate
	var err error
	if contract := q.policy.contract(c, q.order); contract != nil {
		if rates, err = contract.Quote(q.order); err == nil {
			fromSheet(c.Spec(), rates)
		}
	} else {
		rates, err = s.quotes.rates(ctx, c, q)
	}
	for i := range rates {
		rates[i].Carrier, rates[i].Connection = c.Spec().Name, c.Connection
	}
	return asking{carrier: c.Spec().Name, rates: rates, err: err, took: time.Since(start)}
}

// fromSheet marks the rates of a sheet, and names their services as the carrier
// does where the sheet does not.
func fromSheet(spec carrier.Spec, rates []ship.Rate) {
	for i := range rates {
		rates[i].Source = "sheet"
		if named, ok := spec.Service(rates[i].Service); ok && rates[i].ServiceName == "" {
			rates[i].ServiceName = named.Name
		}
	}
}

// offered collects the rates, of the services only if any are named.
func offered(got []asking, services []string) []ship.Rate {
	var rates []ship.Rate
	for _, a := range got {
		for _, r := range a.rates {
			if len(services) == 0 || slices.Contains(services, r.Service) {
				rates = append(rates, r)
			}
		}
	}
	return rates
}

// noOffer says why there is no rate: refused by all, or not to be had now.
func noOffer(got []asking) error {
	var refusal *ship.Error
	for _, a := range got {
		if a.err == nil {
			continue
		}
		e := asError(a.err)
		if e.Kind != ship.Invalid && e.Kind != ship.Unsupported {
			return &ship.Error{Kind: ship.Unavailable, Code: "carrier_unavailable", Message: "no carrier could quote just now", Carrier: a.carrier, RetryAfter: max(e.RetryAfter, 5*time.Second), Err: a.err}
		}
		if refusal == nil {
			refusal = &ship.Error{Kind: ship.Invalid, Code: "carrier_rejected", Message: e.Message, Carrier: a.carrier, Refusal: e.Refusal, Err: a.err}
		}
	}
	if refusal == nil {
		return ship.Coded(ship.Invalid, "no_rate", "no carrier offers such a service for this parcel")
	}
	return refusal
}

func quoteError(a asking) QuoteError {
	e := asError(a.err)
	code := "carrier_unavailable"
	if e.Kind == ship.Invalid || e.Kind == ship.Unsupported {
		code = "carrier_rejected"
	}
	return QuoteError{Carrier: a.carrier, Code: code, Message: e.Message, Retryable: code == "carrier_unavailable", Duration: a.took}
}

// CheckOrder says what is wrong with an order before anybody is asked for its
// price, and returns it as it would be sent.
func (s *Service) CheckOrder(in QuoteInput) (ship.Order, error) {
	return in.Order.Normalize(ship.Normalizing{Tenant: in.Tenant, Account: in.Account, OneParcel: in.OneParcel, Quote: true, Now: time.Now().UTC()})
}
