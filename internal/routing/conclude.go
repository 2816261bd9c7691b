package routing

import (
	"fmt"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
)

// A choice is what a rule or the default allows, best first.
type choice struct {
	picking
	said string // who chose, as the trace says it
}

// try applies a rule that matches. It is done unless the next rules are to be
// tried.
func (d *deciding) try(r *rule) (*choice, bool) {
	p := r.then.apply(d, r.name, d.offers)
	if len(p.allowed) == 0 {
		if r.refuse {
			d.trace.Strategy, d.trace.Rule = "rule", r.name
			d.trace.Dropped = append(d.trace.Dropped, p.dropped...)
			d.refused = "rule “" + r.name + "” finds no offer that it allows, and refuses then"
			return nil, true
		}
		d.missed = append(d.missed, r.name)
		return nil, false
	}
	d.trace.Strategy, d.trace.Rule = "rule", r.name
	d.runnerUp(p.allowed)
	r.guard.apply(&p, r.name)
	return &choice{p, "Rule “" + r.name + "”: "}, true
}

// fallback applies the default.
func (d *deciding) fallback(c *Compiled) *choice {
	d.trace.Strategy = "default"
	said := "No rule decides: "
	if c.plain {
		d.trace.Strategy, said = "cheapest", ""
	}
	p := c.fallback.apply(d, "default", d.offers)
	for i := range p.dropped {
		p.dropped[i].Rule = ""
	}
	if len(p.allowed) == 0 {
		d.trace.Dropped = append(d.trace.Dropped, p.dropped...)
		d.refused = "no rule decides, and the default finds no offer that it allows"
		return nil
	}
	d.runnerUp(p.allowed)
	return &choice{p, said}
}

// apply drops what may not follow the first choice.
func (g *guard) apply(p *picking, rule string) {
	if !g.none && g.percent < 0 && g.amount < 0 && g.days < 0 {
		return
	}
	first := p.allowed[0]
	kept := p.allowed[:1]
	for _, o := range p.allowed[1:] {
		slow := g.days >= 0 && (o.days == unknownDays || first.days == unknownDays || o.days > first.days+g.days)
		if g.none || slow || !within(o, first, g.percent, g.amount) {
			p.drop(o, guarded, rule)
			continue
		}
		kept = append(kept, o)
	}
	p.allowed = kept
}

// runnerUp notes what the first of the offers beats: the next that the action
// allows, or else the cheapest other that the order and the rules before allow.
func (d *deciding) runnerUp(allowed []offer) {
	if len(allowed) > 1 {
		second := *allowed[1].rate
		d.trace.RunnerUp = &second
		return
	}
	for _, o := range d.offers {
		if o.rate != allowed[0].rate {
			second := *o.rate
			d.trace.RunnerUp = &second
			return
		}
	}
}

// end makes the decision of what was found; nil if it is refused.
func (d *deciding) end(c *choice) Decision {
	d.trace.Missed, d.trace.Untested = noted(d.missed), noted(d.failed)
	if c == nil {
		d.trace.Why = sentence(d.refused) + Notes(d.trace)
		return Decision{Routing: d.trace, Refused: d.refused}
	}
	d.trace.Dropped = append(d.trace.Dropped, c.dropped...)
	d.trace.Reason = c.reason
	d.trace.Why = c.said + d.why(c) + Notes(d.trace)
	offers := make([]ship.Rate, len(c.allowed))
	for i, o := range c.allowed {
		offers[i] = *o.rate
	}
	return Decision{Offers: offers, Routing: d.trace}
}

// ReasonWords is what the first choice of a trace has over the others, as the
// end of a sentence about it; "" for a trace without a reason.
func ReasonWords(r ship.Routing) string { return reasonWords[r.Reason] }

var reasonWords = map[string]string{
	isCheapest: "is the cheapest", isFastest: "is the fastest", isListed: "is the first of its list that offered", isPreferred: "is preferred and within the tolerance",
	nonePreferred: "is the cheapest, and nothing preferred is within the tolerance", hasShare: "has the share of the orders that this one falls to",
}

// why is the choice in plain words.
func (d *deciding) why(c *choice) string {
	first := c.allowed[0].rate
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s (%s) %s", first.Carrier, first.Service, first.Price, ReasonWords(d.trace))
	if up := d.trace.RunnerUp; up != nil {
		fmt.Fprintf(&b, "; next is %s %s (%s)", up.Carrier, up.Service, up.Price)
	}
	return b.String()
}

// Notes tell of rules that one would expect to have decided, as sentences that
// follow one without its full stop; "" if there are none.
func Notes(r ship.Routing) string {
	return note(r.Missed, "matched and found no offer") + note(r.Untested, "could not be tested on this order and counts as not met")
}

// maxNoted is how many rules a note names. A trace is stored with every
// shipment and must stay short.
const maxNoted = 3

// noted names the first of the rules; nil if there are none.
func noted(names []string) *ship.Noted {
	if len(names) == 0 {
		return nil
	}
	n := min(len(names), maxNoted)
	return &ship.Noted{Rules: slices.Clone(names[:n]), More: len(names) - n}
}

func note(n *ship.Noted, what string) string {
	if n == nil {
		return ""
	}
	shown := make([]string, len(n.Rules), len(n.Rules)+1)
	for i, name := range n.Rules {
		shown[i] = "“" + name + "”"
	}
	if n.More > 0 {
		shown = append(shown, fmt.Sprintf("%d more", n.More))
	}
	if len(shown) == 1 {
		return ". Rule " + shown[0] + " " + what
	}
	what = strings.Replace(what, "counts", "count", 1)
	return ". Rules " + strings.Join(shown[:len(shown)-1], ", ") + " and " + shown[len(shown)-1] + " " + what
}

// sentence starts with a capital letter.
func sentence(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
