package sheet

import (
	"slices"

	"github.com/waybillhq/waybill/internal/ship"
)

// pricedOptions are the extra services that a surcharge has priced.
type pricedOptions struct{ signature, adult, saturday bool }

// add notes that a surcharge of the kind was charged.
func (o *pricedOptions) add(kind string) {
	switch kind {
	case signature:
		o.signature = true
	case adult:
		o.adult = true
	case saturday:
		o.saturday = true
	}
}

// missing says what the order asks for and nothing has priced.
func (o pricedOptions) missing(wanted ship.Options) string {
	switch {
	case isSigned(wanted) && !o.signature:
		return "has no price for a signature"
	case wanted.Signature == "adult" && !o.adult:
		return "has no price for an adult signature"
	case wanted.SaturdayDelivery && !o.saturday:
		return "has no price for Saturday delivery"
	}

	// A price list has surcharges for the options above alone. What the carrier
	// would charge for any other is unknown.
	for _, extra := range wanted.Extras() {
		if extra != ship.ExtraDirectSignature {
			return "has no price for " + extra.String()
		}
	}
	return ""
}

// isSigned reports whether somebody at the address signs for the parcel, who
// need not be an adult.
func isSigned(wanted ship.Options) bool {
	return wanted.Signature == "standard" || wanted.Signature == "direct"
}

// applicableSteps are the steps of a surcharge that apply to the order, its zone
// and its destination, whatever the service.
func (q *quotation) applicableSteps(charge *surcharge) []*surchargeStep {
	var steps []*surchargeStep
	for i := range charge.steps {
		step := &charge.steps[i]
		if !step.when.matchesOrder(q.order) || !slices.ContainsFunc(q.pieces, step.when.matchesPiece) {
			continue
		}
		if step.zones != nil {
			if _, ok := slices.BinarySearch(step.zones, q.zone); !ok {
				continue
			}
		}
		if step.areas != nil {
			if _, _, ok := step.areas.best(q.to); !ok {
				continue
			}
		}
		steps = append(steps, step)
	}
	return steps
}

// surcharge is what a surcharge, of which the steps apply to the order, adds to
// the freight of a service, and whether it applies at all. Of the steps that
// apply, only the most expensive one is charged.
func (q *quotation) surcharge(charge *surcharge, steps []*surchargeStep, service int, freight int64, priced *pricedOptions) (minor int64, applies bool) {
	if !charge.byPiece {
		highest := int64(-1)
		for _, step := range steps {
			if step.isFor(service) {
				priced.add(step.when.kind)
				highest = max(highest, step.charge(freight))
			}
		}
		return max(highest, 0), highest >= 0
	}

	for i := range q.pieces {
		highest := int64(-1)
		for _, step := range steps {
			if step.isFor(service) && step.when.matchesPiece(q.pieces[i]) {
				priced.add(step.when.kind)
				highest = max(highest, step.charge(freight))
			}
		}
		minor = addAmounts(minor, max(highest, 0))
		applies = applies || highest >= 0
	}
	return minor, applies
}

func (s *surchargeStep) isFor(service int) bool {
	return s.services == nil || slices.Contains(s.services, service)
}

func (s *surchargeStep) charge(freight int64) int64 {
	if s.percent > 0 {
		return percentOf(freight, s.percent)
	}
	return s.amount
}
