package routing

import (
	"fmt"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
)

// A choice is what a rule or the default allows, best first.
type choice struct {
	selection
	prefix string // who chose, as the trace says it
}

// try applies a rule whose condition is met. It is done unless the next rules
// are to be tried.
func (d *decider) try(rule *rule) (found *choice, done bool) {
	selected := rule.then.apply(d, rule.name, d.offers)
	if len(selected.allowed) == 0 {
		if rule.refuse {
			d.trace.Strategy = "rule"
			d.trace.Rule = rule.name
			d.trace.Dropped = append(d.trace.Dropped, selected.dropped...)
			d.refused = "rule “" + rule.name + "” allows none of the offers and is set to refuse"
			return nil, true
		}
		d.missed = append(d.missed, rule.name)
		return nil, false
	}

	// The runner-up is noted before the guard drops it: it says what the first
	// choice was compared with.
	d.trace.Strategy = "rule"
	d.trace.Rule = rule.name
	d.noteRunnerUp(selected.allowed)
	rule.guard.apply(&selected, rule.name)
	return &choice{selected, "Rule “" + rule.name + "”: "}, true
}

// fallback applies the default.
func (d *decider) fallback(book *Compiled) *choice {
	d.trace.Strategy = "default"
	prefix := "No rule decides: "
	if book.plain {
		d.trace.Strategy = "cheapest"
		prefix = ""
	}

	selected := book.fallback.apply(d, "default", d.offers)
	for i := range selected.dropped {
		selected.dropped[i].Rule = "" // the default is not a rule
	}
	if len(selected.allowed) == 0 {
		d.trace.Dropped = append(d.trace.Dropped, selected.dropped...)
		d.refused = "no rule decides, and the default allows none of the offers"
		return nil
	}

	d.noteRunnerUp(selected.allowed)
	return &choice{selected, prefix}
}

// apply drops what may not follow the first choice.
func (g *guard) apply(selected *selection, rule string) {
	if !g.none && g.percent < 0 && g.amount < 0 && g.days < 0 {
		return
	}

	first := selected.allowed[0]
	kept := selected.allowed[:1]
	for _, next := range selected.allowed[1:] {
		// Days that are not known cannot be compared, so they are outside.
		isSlow := g.days >= 0 && (next.days == unknownDays || first.days == unknownDays || next.days > first.days+g.days)
		if g.none || isSlow || !within(next, first, g.percent, g.amount) {
			selected.drop(next, guarded, rule)
			continue
		}
		kept = append(kept, next)
	}
	selected.allowed = kept
}

// noteRunnerUp records what the first of the offers beats: the next that the
// action allows, or else the cheapest other that the order and the rules before
// allow.
func (d *decider) noteRunnerUp(allowed []offer) {
	if len(allowed) > 1 {
		second := *allowed[1].rate
		d.trace.RunnerUp = &second
		return
	}

	for _, other := range d.offers {
		if other.rate != allowed[0].rate {
			second := *other.rate
			d.trace.RunnerUp = &second
			return
		}
	}
}

// finish returns the decision for a choice; nil if it is refused.
func (d *decider) finish(found *choice) Decision {
	d.trace.Missed = noted(d.missed)
	d.trace.Untested = noted(d.failed)
	if found == nil {
		d.trace.Why = sentence(d.refused) + Notes(d.trace)
		return Decision{Routing: d.trace, Refused: d.refused}
	}

	d.trace.Dropped = append(d.trace.Dropped, found.dropped...)
	d.trace.Reason = found.reason
	d.trace.Why = found.prefix + d.why(found) + Notes(d.trace)
	offers := make([]ship.Rate, len(found.allowed))
	for i, allowed := range found.allowed {
		offers[i] = *allowed.rate
	}
	return Decision{Offers: offers, Routing: d.trace}
}

// ReasonWords returns what the first choice of a trace has over the others, as
// the end of a sentence about it; "" for a trace without a reason.
func ReasonWords(trace ship.Routing) string { return reasonWords[trace.Reason] }

var reasonWords = map[string]string{
	isCheapest:    "is the cheapest",
	isFastest:     "is the fastest",
	isListed:      "is the first in the list with an offer",
	isPreferred:   "is preferred and within the tolerance",
	nonePreferred: "is the cheapest because no preferred offer is within the tolerance",
	hasShare:      "was selected for this order by the split",
}

// why explains the choice.
func (d *decider) why(found *choice) string {
	first := found.allowed[0].rate
	text := fmt.Sprintf("%s %s (%s) %s", first.Carrier, first.Service, first.Price, ReasonWords(d.trace))
	if second := d.trace.RunnerUp; second != nil {
		text += fmt.Sprintf("; next is %s %s (%s)", second.Carrier, second.Service, second.Price)
	}
	return text
}

// Notes mentions rules that one would expect to have decided, as sentences that
// follow one without its full stop; "" if there are none.
func Notes(trace ship.Routing) string {
	return note(trace.Missed, "matched but found no offer") + note(trace.Untested, "could not be evaluated for this order and was treated as not met")
}

// maxNoted is how many rules a note names. A trace is stored with every
// shipment and must stay short.
const maxNoted = 3

// noted returns the first of the rules for a note; nil if there are none.
func noted(names []string) *ship.Noted {
	if len(names) == 0 {
		return nil
	}
	n := min(len(names), maxNoted)
	return &ship.Noted{Rules: slices.Clone(names[:n]), More: len(names) - n}
}

func note(rules *ship.Noted, what string) string {
	if rules == nil {
		return ""
	}

	shown := make([]string, len(rules.Rules), len(rules.Rules)+1)
	for i, name := range rules.Rules {
		shown[i] = "“" + name + "”"
	}
	if rules.More > 0 {
		shown = append(shown, fmt.Sprintf("%d more", rules.More))
	}

	// One rule counts, several count.
	if len(shown) == 1 {
		return ". Rule " + shown[0] + " " + what
	}
	what = strings.Replace(what, "was treated", "were treated", 1)
	return ". Rules " + strings.Join(shown[:len(shown)-1], ", ") + " and " + shown[len(shown)-1] + " " + what
}

// sentence returns the text with a capital first letter.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
