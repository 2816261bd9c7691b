package routing

import (
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// Input is all that rules can read, but for the offers.
type Input struct {
	Account   ship.AccountID
	Order     ship.Order
	Currency  string     // the account's own, which comes first
	MaxAmount ship.Money // zero for no limit
	Now       time.Time
	Required  []string // names of the rules that raised the order's options; Prepare fills it
	Untested  []string // names of require rules whose condition failed; Prepare fills it
}

// A Decision is what may be bought and why.
type Decision struct {
	Offers  []ship.Rate  // best first: what fail-over may try; none if Refused
	Routing ship.Routing // the trace, without the book's version
	Refused string       // why nothing may be bought, one lower-case sentence; "" otherwise
}

// rank orders the signatures. "" and what is not one are 0.
var rank = map[string]int{"standard": 1, "adult": 2}

// Prepare applies the require rules, all that match, wherever they stand. It
// must come before the carriers are asked, because what they ask for depends
// on it; Decide gets what it returns. A condition that fails counts as not
// met. Prepare changes nothing that in refers to.
func (c *Compiled) Prepare(in Input) Input {
	if len(c.requires) == 0 {
		return in
	}
	s := newScope(&in)
	defer s.close()
	signature := in.Order.Options.Signature
	var required, untested []string
	for i := range c.requires {
		r := &c.requires[i]
		met, err := r.when.met(s)
		switch {
		case err != nil:
			untested = append(untested, r.name)
		case met && rank[r.then.signature] > rank[signature]:
			signature, required = r.then.signature, append(required, r.name)
		}
	}
	out := in
	out.Order.Options.Signature = signature
	out.Required = append(slices.Clip(in.Required), required...)
	out.Untested = append(slices.Clip(in.Untested), untested...)
	return out
}

// deciding is one decision on its way.
type deciding struct {
	in      *Input
	offers  []offer // still allowed, ranked
	trace   ship.Routing
	missed  []string // rules that matched and found no offer
	failed  []string // rules whose condition failed
	refused string
	steps   func(rule, outcome string) // told of every rule that is asked; may be nil
}

// Decide applies the book to the offers. Those that miss the order's deliverBy
// or cost more than maxAmount are dropped first, whatever the rules say. Then
// the first rule whose condition is met and whose action finds an offer
// decides. A condition that fails on this order, such as a postal code that is
// not a number, counts as not met, and the trace says so. The rates stay as
// they are. The same input always gives the same decision.
func (c *Compiled) Decide(in Input, rates []ship.Rate) Decision { return c.decide(in, rates, nil) }

func (c *Compiled) decide(in Input, rates []ship.Rate, steps func(rule, outcome string)) Decision {
	s := newScope(&in)
	defer s.close()
	d := begin(&in, rates, s.shipDay)
	d.steps = steps
	if d.refused != "" {
		return d.end(nil)
	}
	s.offers = d.offers
	for i := range c.rules {
		r := &c.rules[i]
		met, err := r.when.met(s)
		switch {
		case err != nil:
			d.failed = append(d.failed, r.name)
			d.step(r, StepFailed)
		case !met:
			d.step(r, StepNotMet)
		case r.then.kind == forbid:
			d.step(r, StepForbade)
			if d.forbid(r) {
				s.narrow(d.offers)
			}
			if d.refused != "" {
				return d.end(nil)
			}
		default:
			picked, done := d.try(r)
			d.step(r, outcomeOf(picked, done))
			if done {
				return d.end(picked)
			}
		}
	}
	return d.end(d.fallback(c))
}

// begin ranks the offers and drops what the order does not allow.
func begin(in *Input, rates []ship.Rate, shipDay int64) *deciding {
	ranked := slices.Clone(rates)
	Rank(ranked, in.Currency)
	d := &deciding{in: in, failed: slices.Clip(in.Untested)}
	d.trace = ship.Routing{Considered: len(ranked), Seen: ranked, Also: slices.Clone(in.Required)}
	by := int64(noDay)
	if in.Order.DeliverBy != "" {
		by = dayOf(in.Order.DeliverBy)
	}
	all := offersOf(ranked, in.Currency, shipDay)
	d.offers = all[:0]
	for _, o := range all {
		if why := unfit(o, by, in.MaxAmount); why != "" {
			d.drop(o, why)
			continue
		}
		d.offers = append(d.offers, o)
	}
	switch {
	case len(ranked) == 0:
		d.refused = "no carrier made an offer"
	case len(d.offers) == 0:
		d.refused = "no offer arrives by deliverBy and costs no more than maxAmount"
	}
	return d
}

// unfit says why the order does not allow the offer, "" if it does.
func unfit(o offer, by int64, limit ship.Money) string {
	switch {
	case by != noDay && o.day > by:
		return late
	case limit.IsZero():
	case o.rate.Price.Currency != limit.Currency:
		return otherCurrency
	case o.rate.Price.Minor > limit.Minor:
		return overLimit
	}
	return ""
}

func (d *deciding) drop(o offer, why string) {
	d.trace.Dropped = append(d.trace.Dropped, ship.Dropped{Carrier: o.rate.Carrier, Service: o.rate.Service, Why: why})
}

// forbid takes the rule's targets away and reports whether there were any.
func (d *deciding) forbid(r *rule) bool {
	left := make([]offer, 0, len(d.offers))
	for _, o := range d.offers {
		if matchAny(r.then.targets, o) {
			d.trace.Dropped = append(d.trace.Dropped, ship.Dropped{Carrier: o.rate.Carrier, Service: o.rate.Service, Why: forbidden, Rule: r.name})
			continue
		}
		left = append(left, o)
	}
	if len(left) == len(d.offers) {
		return false
	}
	d.offers = left
	d.trace.Also = append(d.trace.Also, r.name)
	if len(left) == 0 {
		d.trace.Strategy, d.trace.Rule = "rule", r.name
		d.refused = "rule “" + r.name + "” forbids the last of the offers"
	}
	return true
}
