package wire

import (
	"cmp"

	"github.com/waybillhq/waybill/internal/ship"
)

// Routing says why this carrier and service. Events show its first four
// members alone.
type Routing struct {
	Strategy   string   `json:"strategy" example:"cheapest" doc:"What chose: a rule, the rules' default, cheapest of the offers where there are no rules, named by the client, or a rate."`
	Considered int      `json:"considered" doc:"How many offers were compared."`
	RunnerUp   *Offer   `json:"runnerUp,omitempty" doc:"The best offer that was not taken."`
	Failed     []Failed `json:"failed" doc:"Carriers that failed first."`

	Version int       `json:"version,omitempty" example:"3" doc:"Version of the routing rules that were asked. Not in events."`
	Rule    string    `json:"rule,omitempty" example:"Heavy parcels by UPS" doc:"Name of the rule that chose. Not in events."`
	Also    []string  `json:"also,omitempty" doc:"Names of the rules that forbade or required something, in their order. Not in events."`
	Why     string    `json:"why,omitempty" example:"the cheapest of 9 offers" doc:"The choice in plain words. Not in events."`
	Offers  []Offer   `json:"offers,omitempty" doc:"Every offer that was seen, cheapest first. Not in events."`
	Dropped []Dropped `json:"dropped,omitempty" doc:"Offers that could not be chosen, and why. Not in events."`
	Raised  *Raised   `json:"raised,omitempty" doc:"A signature that rules required beyond what was asked for. Not in events."`
}

// Offer is a rate that was compared.
type Offer struct {
	Carrier      string `json:"carrier" example:"usps" doc:"Identifier of the carrier."`
	Service      string `json:"service" example:"priority" doc:"The carrier's service."`
	Amount       string `json:"amount" example:"12.90" doc:"Decimal amount."`
	Currency     string `json:"currency" example:"USD" doc:"ISO 4217 code."`
	ConnectionID string `json:"connectionId,omitempty" doc:"The carrier account that offered."`
	TransitDays  int    `json:"transitDays,omitempty" example:"2" doc:"Days on the way, if they are known."`
	Source       string `json:"source,omitempty" enum:"carrier,sheet,cache" doc:"Who named the price: the carrier when asked, the account's rate sheet, or the carrier minutes before."`
}

// Failed is a carrier that could not help.
type Failed struct {
	Carrier string `json:"carrier" doc:"Identifier of the carrier."`
	Code    string `json:"code" doc:"What happened, as a stable code."`
	Message string `json:"message" doc:"What happened, in words."`
}

// Dropped is an offer that could not be chosen.
type Dropped struct {
	Carrier string `json:"carrier" example:"dhl_express" doc:"Identifier of the carrier."`
	Service string `json:"service" example:"express" doc:"The carrier's service."`
	Why     string `json:"why" example:"forbidden" doc:"Why not: late (misses deliverBy), over_limit (costs more than maxAmount), forbidden (by a rule), not_in_rule (the rule that chose does not allow it), other_currency (cannot be compared), guard (too dear or too slow to stand in for the choice)."`
	Rule    string `json:"rule,omitempty" example:"No DHL inside the country" doc:"The rule that says so."`
}

// Raised is a signature that rules required.
type Raised struct {
	From string `json:"from,omitempty" enum:"standard,adult" doc:"The signature that was asked for; left out if none was."`
	To   string `json:"to" enum:"standard,adult" doc:"The signature that the rules require."`
}

// RoutingOf is r as clients see it; nil if nothing was decided.
func RoutingOf(r ship.Routing) *Routing {
	if r.Strategy == "" && len(r.Failed) == 0 {
		return nil
	}
	out := &Routing{
		Strategy: r.Strategy, Considered: r.Considered, Failed: make([]Failed, len(r.Failed)),
		Version: r.Version, Rule: r.Rule, Also: r.Also, Why: r.Why, Offers: OffersOf(r.Seen), Dropped: make([]Dropped, len(r.Dropped)),
	}
	if u := r.RunnerUp; u != nil {
		offer := OfferOf(*u)
		out.RunnerUp = &offer
	}
	for i, f := range r.Failed {
		out.Failed[i] = Failed{Carrier: f.Carrier, Code: f.Code, Message: f.Message}
	}
	for i, d := range r.Dropped {
		out.Dropped[i] = Dropped(d)
	}
	if r.Raised != nil {
		out.Raised = &Raised{From: r.Raised.From, To: r.Raised.To}
	}
	return out
}

// OfferOf is r as clients see it.
func OfferOf(r ship.Rate) Offer {
	return Offer{
		Carrier: r.Carrier, Service: r.Service, Amount: r.Price.Amount(), Currency: r.Price.Currency,
		ConnectionID: string(r.Connection), TransitDays: r.TransitDays, Source: SourceOf(r),
	}
}

// OffersOf is the list as clients see it.
func OffersOf(rates []ship.Rate) []Offer {
	out := make([]Offer, len(rates))
	for i, r := range rates {
		out[i] = OfferOf(r)
	}
	return out
}

// SourceOf says who named a price.
func SourceOf(r ship.Rate) string { return cmp.Or(r.Source, "carrier") }

// v1 is the routing as bodies of events have it since their first version.
func (r *Routing) v1() *Routing {
	if r == nil {
		return nil
	}
	out := &Routing{Strategy: r.Strategy, Considered: r.Considered, Failed: r.Failed}
	if u := r.RunnerUp; u != nil {
		out.RunnerUp = &Offer{Carrier: u.Carrier, Service: u.Service, Amount: u.Amount, Currency: u.Currency}
	}
	return out
}
