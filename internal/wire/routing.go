package wire

import (
	"cmp"

	"github.com/waybillhq/waybill/internal/ship"
)

// Routing says why this carrier and service were chosen. Events show its first
// four members only.
type Routing struct {
	Strategy   string   `json:"strategy" example:"cheapest" doc:"How the offer was chosen: by a rule, by the default of the rules, as the cheapest where there are no rules, by the client, or by a rate."`
	Considered int      `json:"considered" doc:"How many offers were compared."`
	RunnerUp   *Offer   `json:"runnerUp,omitempty" doc:"The best offer that was not chosen."`
	Failed     []Failed `json:"failed" doc:"Carriers that failed before one succeeded."`

	Version int       `json:"version,omitempty" example:"3" doc:"Version of the routing rules that were applied. Not in events."`
	Rule    string    `json:"rule,omitempty" example:"Heavy parcels by UPS" doc:"Name of the rule that chose. Not in events."`
	Also    []string  `json:"also,omitempty" doc:"Names of the rules that forbade or required something, in order. Not in events."`
	Why     string    `json:"why,omitempty" example:"the cheapest of 9 offers" doc:"The reason for the choice, as text. Not in events."`
	Offers  []Offer   `json:"offers,omitempty" doc:"Every offer received, cheapest first. Not in events."`
	Dropped []Dropped `json:"dropped,omitempty" doc:"Offers that were excluded, and why. Not in events."`
	Raised  *Raised   `json:"raised,omitempty" doc:"A signature that rules required beyond what the client requested. Not in events."`
}

// Offer is a rate that was compared.
type Offer struct {
	Carrier      string `json:"carrier" example:"usps" doc:"Identifier of the carrier."`
	Service      string `json:"service" example:"priority" doc:"The carrier's service."`
	Amount       string `json:"amount" example:"12.90" doc:"Decimal amount."`
	Currency     string `json:"currency" example:"USD" doc:"ISO 4217 code."`
	ConnectionID string `json:"connectionId,omitempty" doc:"The carrier account that made the offer."`
	TransitDays  int    `json:"transitDays,omitempty" example:"2" doc:"Days in transit, if known."`
	Source       string `json:"source,omitempty" enum:"carrier,sheet,cache" doc:"Where the price comes from: the carrier, the account's rate sheet, or a recent quote of the carrier."`
}

// Failed is a carrier that was asked and failed.
type Failed struct {
	Carrier string `json:"carrier" doc:"Identifier of the carrier."`
	Code    string `json:"code" doc:"What happened, as a stable code."`
	Message string `json:"message" doc:"What happened, as text."`
}

// Dropped is an offer that could not be chosen.
type Dropped struct {
	Carrier string `json:"carrier" example:"dhl_express" doc:"Identifier of the carrier."`
	Service string `json:"service" example:"express" doc:"The carrier's service."`
	Why     string `json:"why" example:"forbidden" doc:"Why the offer was excluded: late (misses deliverBy), over_limit (costs more than maxAmount), forbidden (by a rule), not_in_rule (not allowed by the rule that decided), other_currency (cannot be compared), guard (too expensive or too slow to replace the first choice), unsupported (the service cannot do an option of the shipment)."`
	Rule    string `json:"rule,omitempty" example:"No DHL inside the country" doc:"The rule that excluded it."`
	Option  string `json:"option,omitempty" example:"dry_ice" doc:"The option that the service cannot do."`
}

// Raised is a signature that rules required.
type Raised struct {
	From string `json:"from,omitempty" enum:"standard,indirect,direct,adult" doc:"The signature that the client requested; omitted if none."`
	To   string `json:"to" enum:"standard,adult" doc:"The signature that the rules require."`
}

// RoutingOf is a routing as clients see it; nil if nothing was decided.
func RoutingOf(routing ship.Routing) *Routing {
	if routing.Strategy == "" && len(routing.Failed) == 0 {
		return nil
	}

	shown := &Routing{
		Strategy:   routing.Strategy,
		Considered: routing.Considered,
		Failed:     make([]Failed, len(routing.Failed)),
		Version:    routing.Version,
		Rule:       routing.Rule,
		Also:       routing.Also,
		Why:        routing.Why,
		Offers:     OffersOf(routing.Seen),
		Dropped:    make([]Dropped, len(routing.Dropped)),
	}

	if routing.RunnerUp != nil {
		offer := OfferOf(*routing.RunnerUp)
		shown.RunnerUp = &offer
	}
	for i, failed := range routing.Failed {
		shown.Failed[i] = Failed{Carrier: failed.Carrier, Code: failed.Code, Message: failed.Message}
	}
	for i, dropped := range routing.Dropped {
		shown.Dropped[i] = Dropped{
			Carrier: dropped.Carrier,
			Service: dropped.Service,
			Why:     dropped.Why,
			Rule:    dropped.Rule,
			Option:  string(dropped.Option),
		}
	}
	if raised := routing.Raised; raised != nil {
		shown.Raised = &Raised{From: raised.From, To: raised.To}
	}
	return shown
}

// OfferOf is a rate as clients see it.
func OfferOf(rate ship.Rate) Offer {
	return Offer{
		Carrier:      rate.Carrier,
		Service:      rate.Service,
		Amount:       rate.Price.Amount(),
		Currency:     rate.Price.Currency,
		ConnectionID: string(rate.Connection),
		TransitDays:  rate.TransitDays,
		Source:       SourceOf(rate),
	}
}

// OffersOf is the list as clients see it.
func OffersOf(rates []ship.Rate) []Offer {
	offers := make([]Offer, len(rates))
	for i, rate := range rates {
		offers[i] = OfferOf(rate)
	}
	return offers
}

// SourceOf says where a price comes from.
func SourceOf(rate ship.Rate) string { return cmp.Or(rate.Source, "carrier") }

// v1 is the routing as bodies of events have it since their first version.
func (r *Routing) v1() *Routing {
	if r == nil {
		return nil
	}

	// Members that were added later stay out: a body of a version never
	// changes.
	first := &Routing{Strategy: r.Strategy, Considered: r.Considered, Failed: r.Failed}
	if offer := r.RunnerUp; offer != nil {
		first.RunnerUp = &Offer{
			Carrier:  offer.Carrier,
			Service:  offer.Service,
			Amount:   offer.Amount,
			Currency: offer.Currency,
		}
	}
	return first
}
