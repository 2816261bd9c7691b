package routing

import (
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// Input is everything that rules can read, except for the offers.
type Input struct {
	Account   ship.AccountID
	Order     ship.Order
	Currency  string     // the account's own, which comes first
	MaxAmount ship.Money // zero for no limit
	Now       time.Time
	Required  []string // names of the rules that raised the order's options; Prepare fills it
	Satisfied []string // names of require rules that match and ask for no more than the order has; Prepare fills it
	Untested  []string // names of require rules whose condition failed; Prepare fills it
}

// A Decision is what may be bought and why.
type Decision struct {
	Offers  []ship.Rate  // best first: what fail-over may try; none if Refused
	Routing ship.Routing // the trace, without the book's version
	Refused string       // why nothing may be bought, one lower-case sentence; "" otherwise
}

// signatureRank orders the signatures by how strict they are. "" and unknown
// ones are 0.
var signatureRank = map[string]int{"indirect": 1, "standard": 2, "direct": 2, "adult": 3}

// Prepare applies the require rules, all that match, wherever they stand. It
// must come before the carriers are asked, because what they are asked for
// depends on it; Decide takes what it returns. A condition that fails counts as
// not met. Prepare does not modify anything that in refers to.
func (c *Compiled) Prepare(in Input) Input {
	if len(c.requires) == 0 {
		return in
	}

	s := newScope(&in)
	defer s.close()
	signature := in.Order.Options.Signature
	var required, satisfied, untested []string
	for i := range c.requires {
		rule := &c.requires[i]
		met, err := rule.when.met(s)
		switch {
		case err != nil:
			untested = append(untested, rule.name)

		case !met:

		// A requirement only raises what the client asked for.
		case signatureRank[rule.then.signature] > signatureRank[signature]:
			signature = rule.then.signature
			required = append(required, rule.name)

		default:
			satisfied = append(satisfied, rule.name)
		}
	}

	out := in
	out.Order.Options.Signature = signature
	out.Required = append(slices.Clip(in.Required), required...)
	out.Satisfied = append(slices.Clip(in.Satisfied), satisfied...)
	out.Untested = append(slices.Clip(in.Untested), untested...)
	return out
}

// A decider is a decision in progress.
type decider struct {
	in      *Input
	offers  []offer // still allowed, ranked
	trace   ship.Routing
	missed  []string // rules that matched and found no offer
	failed  []string // rules whose condition failed
	refused string
	steps   func(rule, outcome string) // called for every rule that is evaluated; may be nil
}

// Decide applies the book to the offers. Those that miss the order's deliverBy
// or cost more than maxAmount are dropped first, whatever the rules say. Then
// the first rule whose condition is met and whose action finds an offer
// decides. A condition that fails on this order, such as a postal code that is
// not a number, counts as not met, and the trace says so. The rates are not
// modified. The same input always gives the same decision.
func (c *Compiled) Decide(in Input, rates []ship.Rate) Decision { return c.decide(in, rates, nil) }

func (c *Compiled) decide(in Input, rates []ship.Rate, steps func(rule, outcome string)) Decision {
	s := newScope(&in)
	defer s.close()

	d := newDecider(&in, rates, s.shipDay)
	d.steps = steps
	if d.refused != "" {
		return d.finish(nil)
	}
	s.offers = d.offers

	for i := range c.rules {
		rule := &c.rules[i]
		met, err := rule.when.met(s)
		switch {
		case err != nil:
			d.failed = append(d.failed, rule.name)
			d.step(rule, StepFailed)

		case !met:
			d.step(rule, StepNotMet)

		case rule.then.kind == forbid:
			d.step(rule, StepForbade)
			if d.forbid(rule) {
				s.narrow(d.offers) // the next conditions see only what is left
			}
			if d.refused != "" {
				return d.finish(nil)
			}

		default:
			found, done := d.try(rule)
			d.step(rule, outcomeOf(found, done))
			if done {
				return d.finish(found)
			}
		}
	}
	return d.finish(d.fallback(c))
}

// newDecider ranks the offers and drops those that the order does not allow.
func newDecider(in *Input, rates []ship.Rate, shipDay int64) *decider {
	ranked := slices.Clone(rates)
	Rank(ranked, in.Currency)

	// The input's lists are copied or clipped, so appending does not write into
	// them. All offers are kept in the trace: a back-test needs them.
	d := &decider{in: in, failed: slices.Clip(in.Untested)}
	d.trace = ship.Routing{Considered: len(ranked), Seen: ranked, Also: slices.Clone(in.Required)}

	by := int64(noDay)
	if in.Order.DeliverBy != "" {
		by = dayOf(in.Order.DeliverBy)
	}
	all := offersOf(ranked, in.Currency, shipDay)
	d.offers = all[:0]
	for _, candidate := range all {
		if why := dropReason(candidate, by, in.MaxAmount); why != "" {
			d.drop(candidate, why)
			continue
		}
		d.offers = append(d.offers, candidate)
	}

	switch {
	case len(ranked) == 0:
		d.refused = "no carrier made an offer"
	case len(d.offers) == 0:
		d.refused = "no offer arrives by deliverBy and costs no more than maxAmount"
	}
	return d
}

// dropReason says why the order does not allow the offer; "" if it does.
func dropReason(candidate offer, by int64, limit ship.Money) string {
	price := candidate.rate.Price
	switch {
	case by != noDay && candidate.day > by:
		return late
	case limit.IsZero():
	case price.Currency != limit.Currency:
		return otherCurrency
	case price.Minor > limit.Minor:
		return overLimit
	}
	return ""
}

func (d *decider) drop(dropped offer, why string) {
	d.trace.Dropped = append(d.trace.Dropped, ship.Dropped{Carrier: dropped.rate.Carrier, Service: dropped.rate.Service, Why: why})
}

// forbid removes the offers of the rule's targets and reports whether there
// were any.
func (d *decider) forbid(rule *rule) bool {
	left := make([]offer, 0, len(d.offers))
	for _, candidate := range d.offers {
		if !matchAny(rule.then.targets, candidate) {
			left = append(left, candidate)
			continue
		}
		d.trace.Dropped = append(d.trace.Dropped, ship.Dropped{
			Carrier: candidate.rate.Carrier,
			Service: candidate.rate.Service,
			Why:     forbidden,
			Rule:    rule.name,
		})
	}
	if len(left) == len(d.offers) {
		return false
	}

	d.offers = left
	d.trace.Also = append(d.trace.Also, rule.name)
	if len(left) == 0 {
		d.trace.Strategy = "rule"
		d.trace.Rule = rule.name
		d.refused = "rule “" + rule.name + "” forbids the last remaining offer"
	}
	return true
}
