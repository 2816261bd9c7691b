package quoting

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/customs"
	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/ship"
)

// rateLife is how long a quote can be bought.
const rateLife = 24 * time.Hour

// Quote asks all carriers at once. One carrier's failure never loses another's
// quote; only when all fail is there an error. It writes nothing.
func (s *Service) Quote(ctx context.Context, in Input) (Quotes, error) {
	now := time.Now().UTC()
	if err := s.Locate(ctx, in.Tenant, &in.Order); err != nil {
		return Quotes{}, err
	}
	isEstimate := in.MayEstimate && in.Order.Destination.IsPartial()
	order, err := in.Order.Normalize(ship.Normalizing{
		Tenant:    in.Tenant,
		Account:   in.Account,
		OneParcel: in.OneParcel,
		Quote:     true,
		Estimate:  isEstimate,
		Now:       now,
	})
	if err != nil {
		return Quotes{}, err
	}
	var assumed []string
	if isEstimate {
		assumed = order.AssumeDestination()
	}

	carriers, err := s.carriersFor(ctx, in.Tenant, order, in.Carriers, "/carriers/%d", in.Connection)
	if err != nil {
		return Quotes{}, err
	}
	policy, err := s.policy(ctx, in.Tenant)
	if err != nil {
		return Quotes{}, err
	}
	soft := s.softDeadline
	if in.Timeout > 0 {
		soft = in.Timeout
	}
	acceptAge := s.cache.life
	if in.Recent {
		acceptAge = s.cache.lifeInForm()
	}
	answers := s.ask(ctx, carriers, inquiry{
		tenant:    in.Tenant,
		order:     order,
		policy:    policy,
		soft:      soft,
		acceptAge: acceptAge,
	})

	rates := offered(answers, in.Services)
	if len(rates) == 0 {
		// A service that no carrier has is the client's mistake; it is reported
		// before what the carriers said.
		if err := unknownService(carriers, answers, in.Services, "/services/%d"); err != nil {
			return Quotes{}, err
		}
		return Quotes{}, s.noOffer(answers, in.Services, carrier.OneParcel(in.OneParcel))
	}
	if err := unmetLimits(rates, order.DeliverBy, ship.Money{}); err != nil {
		return Quotes{}, err
	}
	rates, _ = routing.Choose(rates, routing.Wish{DeliverBy: order.DeliverBy, Currency: in.Account.Currency})

	quotes := Quotes{
		ExpiresAt: now.Add(rateLife).Truncate(time.Second),
		ShipDate:  order.ShipDate,
		Estimate:  isEstimate,
		Assumed:   assumed,
		Warnings:  customs.Check(order),
	}
	hash := orderHash(order)
	for _, rate := range rates {
		quote := Quote{Rate: rate}
		// An estimate is not for sale: its destination is incomplete.
		if !isEstimate {
			quote.ID = s.rateToken(in.Tenant, carriers, rate, hash, quotes.ExpiresAt)
		}
		quotes.Rates = append(quotes.Rates, quote)
	}
	for _, answer := range answers {
		if answer.err != nil {
			quotes.Errors = append(quotes.Errors, s.quoteError(answer, carrier.OneParcel(in.OneParcel)))
		}
		quotes.Partial = quotes.Partial || answer.late
		quotes.Removed = append(quotes.Removed, answer.removed...)
	}
	return quotes, nil
}

// carriersFor returns the account's carriers that a request allows: the named
// connection, the named carriers, or all of those that are used from the order's
// location and take parcels there. The pointer is where the client wrote the i-th
// name.
func (s *Service) carriersFor(ctx context.Context, t ship.Tenant, order ship.Order, names []string, pointer string, connection ship.ConnectionID) ([]*carrier.Carrier, error) {
	connected, err := s.accounts.List(ctx, t)
	if err != nil {
		return nil, err
	}
	if len(connected) == 0 {
		return nil, ship.Coded(ship.Invalid, "no_carrier", "no carrier is connected in this mode; connect one under Carriers, or use a test key")
	}

	if connection != "" {
		connected = slices.DeleteFunc(slices.Clone(connected), func(c *carrier.Carrier) bool { return c.Connection != connection })
		if len(connected) == 0 {
			return nil, ship.InvalidFields([]ship.FieldError{{Pointer: "/connectionId", Code: "unknown_connection", Detail: "is not a connection of this account"}})
		}
	}
	from := order.Location
	connected, err = usedFrom(connected, from, connection)
	switch {
	case err != nil:
		return nil, err
	case len(names) == 0 && connection == "":
		return takingFrom(connected, order.Origin.Country), nil
	case len(names) == 0:
		return connected, nil
	}

	var chosen []*carrier.Carrier
	for i, name := range names {
		matching := slices.DeleteFunc(slices.Clone(connected), func(c *carrier.Carrier) bool { return c.Spec().Name != name })
		if len(matching) == 0 {
			detail := "is not a carrier of this account"
			if len(from.Connections) > 0 {
				detail += " that the location " + strconv.Quote(from.Name) + " uses"
			}
			return nil, ship.InvalidFields([]ship.FieldError{{
				Pointer:    strings.ReplaceAll(pointer, "%d", strconv.Itoa(i)),
				Code:       "unknown_carrier",
				Detail:     detail,
				Suggestion: ship.Nearest(name, namesOf(connected)),
			}})
		}
		chosen = append(chosen, matching...)
	}
	return chosen, nil
}

func namesOf(carriers []*carrier.Carrier) []string {
	names := make([]string, len(carriers))
	for i, c := range carriers {
		names[i] = c.Spec().Name
	}
	return names
}

// asking is one carrier's answer to a request for rates.
type asking struct {
	carrier    string
	connection ship.ConnectionID
	rates      []ship.Rate
	removed    []carrier.Removal // offers of services that cannot do what the order asks for
	err        error
	late       bool // it had not answered at the soft deadline
	took       time.Duration
}

// failure is why the carrier did not quote.
func (a asking) failure() carrier.Failure {
	return carrier.Failure{Carrier: a.carrier, Connection: a.connection, Err: a.err}
}

// An inquiry is what carriers are asked to quote.
type inquiry struct {
	tenant    ship.Tenant
	order     ship.Order
	policy    Policy
	soft      time.Duration // answer with what is there after this
	acceptAge time.Duration // a quote of this age will do; 0 asks the carrier now
}

// ask asks the carriers for rates, all at once where that takes time.
func (s *Service) ask(ctx context.Context, carriers []*carrier.Carrier, q inquiry) []asking {
	got := make([]asking, len(carriers))

	// Instant carriers compute their rates: goroutines would only cost.
	if areInstant(carriers, q.order) {
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
		// This stands if the carrier has not answered at the soft deadline.
		got[i] = asking{
			carrier:    c.Spec().Name,
			connection: c.Connection,
			late:       true,
			took:       q.soft,
			err:        &ship.Error{Kind: ship.Unavailable, Message: "the carrier did not respond in time", Err: context.DeadlineExceeded},
		}
		// A carrier may answer after this has returned; its answer can still be cached.
		go func() { answers <- numbered{i, s.askOne(context.WithoutCancel(ctx), c, q)} }()
	}

	timer := time.NewTimer(q.soft)
	defer timer.Stop()
	for range carriers {
		select {
		case answer := <-answers:
			got[answer.i] = answer.asking
		case <-timer.C:
			return got
		case <-ctx.Done():
			return got
		}
	}
	return got
}

// areInstant reports whether all answer at once.
func areInstant(carriers []*carrier.Carrier, order ship.Order) bool {
	return !slices.ContainsFunc(carriers, func(c *carrier.Carrier) bool { return !c.Instant(order) })
}

// askOne gets a carrier account's rates: by the account's own rate sheet, from
// memory, or from the carrier.
func (s *Service) askOne(ctx context.Context, c *carrier.Carrier, q inquiry) asking {
	start := time.Now()
	if off := c.WhyOff(carrier.AbilityBuy); off != nil {
		return asking{carrier: c.Spec().Name, connection: c.Connection, err: off} // what cannot be bought is not quoted
	}
	extras := q.order.Options.Extras()
	if extras != nil {
		// A carrier that cannot take the order whatever the service is not asked.
		if err := c.CheckExtras(extras); err != nil {
			return asking{carrier: c.Spec().Name, connection: c.Connection, err: err}
		}
	}

	var rates []ship.Rate
	var err error
	if contract := q.policy.contract(c, q.order); contract != nil {
		if rates, err = contract.Quote(q.order); err == nil {
			fromSheet(c.Spec(), rates)
		}
	} else {
		rates, err = s.cache.rates(ctx, c, q)
	}
	for i := range rates {
		rates[i].Carrier = c.Spec().Name
		rates[i].Connection = c.Connection
	}

	answer := asking{carrier: c.Spec().Name, connection: c.Connection, rates: rates, err: err}
	if extras != nil && err == nil {
		answer.rates, answer.removed = c.RemoveUnable(rates, extras)
	}
	answer.took = time.Since(start)
	return answer
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

// quoteError is why a carrier did not quote, as clients see it.
func (s *Service) quoteError(a asking, parcel carrier.OneParcel) QuoteError {
	failed := a.failure()
	missed := failed.NotQuoted(time.Now())
	return QuoteError{
		Carrier:   a.carrier,
		Reason:    missed.Reason,
		RetryAt:   missed.RetryAt,
		Code:      failed.Code(),
		Message:   s.accounts.Reason(failed),
		Fields:    failed.Fields(parcel),
		Refusal:   ship.ErrorOf(a.err).Refusal,
		Retryable: !failed.IsRefusal(),
		Duration:  a.took,
	}
}

// CheckOrder says what is wrong with an order before anybody is asked for its
// price, and returns it as it would be sent.
func (s *Service) CheckOrder(in Input) (ship.Order, error) {
	return in.Order.Normalize(ship.Normalizing{Tenant: in.Tenant, Account: in.Account, OneParcel: in.OneParcel, Quote: true, Now: time.Now().UTC()})
}
