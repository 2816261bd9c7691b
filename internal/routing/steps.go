package routing

import (
	"slices"

	"github.com/waybillhq/waybill/internal/ship"
)

// What became of a rule that was asked.
const (
	StepNotMet   = "not_met"  // its condition does not hold
	StepFailed   = "failed"   // its condition cannot be computed for the order
	StepForbade  = "forbade"  // took what it forbids away
	StepRequired = "required" // asked the carriers for more
	StepMissed   = "missed"   // holds, and no offer fits
	StepRefused  = "refused"  // holds, no offer fits, and it refuses then
	StepChose    = "chose"
)

// A Step is what became of one rule.
type Step struct{ Rule, Outcome string }

// Steps decides as Decide does, and says what became of each rule that was
// asked: first those that require, then the others in their order. Rules
// behind the one that decides are not asked. The input is what Prepare
// returned.
func (c *Compiled) Steps(in Input, rates []ship.Rate) []Step {
	var list []Step
	for _, r := range c.requires {
		outcome := StepNotMet
		switch {
		case slices.Contains(in.Required, r.name):
			outcome = StepRequired
		case slices.Contains(in.Untested, r.name):
			outcome = StepFailed
		}
		list = append(list, Step{r.name, outcome})
	}
	c.decide(in, rates, func(rule, outcome string) { list = append(list, Step{rule, outcome}) })
	return list
}

func (d *deciding) step(r *rule, outcome string) {
	if d.steps != nil {
		d.steps(r.name, outcome)
	}
}

func outcomeOf(picked *choice, done bool) string {
	switch {
	case picked != nil:
		return StepChose
	case done:
		return StepRefused
	}
	return StepMissed
}
