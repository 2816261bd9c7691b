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
	StepRequired = "required" // holds, and the order has what it requires
	StepMissed   = "missed"   // holds, and no offer fits
	StepRefused  = "refused"  // holds, no offer fits, and it refuses then
	StepChose    = "chose"
)

// A Step is the outcome of one rule.
type Step struct{ Rule, Outcome string }

// Steps decides as Decide does, and returns the outcome of each rule that was
// evaluated: first those that require, then the others in their order. Rules
// behind the one that decides are not evaluated. The input is what Prepare
// returned.
func (c *Compiled) Steps(in Input, rates []ship.Rate) []Step {
	var list []Step
	for _, rule := range c.requires {
		outcome := StepNotMet
		switch {
		case slices.Contains(in.Required, rule.name), slices.Contains(in.Satisfied, rule.name):
			outcome = StepRequired
		case slices.Contains(in.Untested, rule.name):
			outcome = StepFailed
		}
		list = append(list, Step{rule.name, outcome})
	}

	c.decide(in, rates, func(rule, outcome string) { list = append(list, Step{rule, outcome}) })
	return list
}

func (d *decider) step(rule *rule, outcome string) {
	if d.steps != nil {
		d.steps(rule.name, outcome)
	}
}

func outcomeOf(found *choice, done bool) string {
	switch {
	case found != nil:
		return StepChose
	case done:
		return StepRefused
	}
	return StepMissed
}
