package sheet

import (
	"slices"

	"github.com/waybillhq/waybill/internal/ship"
)

// options are the extra services that a surcharge has priced.
type options struct{ signature, adult, saturday bool }

func (g *options) grant(kind string) {
	switch kind {
	case signature:
		g.signature = true
	case adult:
		g.adult = true
	case saturday:
		g.saturday = true
	}
}

// lack says what the order asks for and nothing has priced.
func (g options) lack(o ship.Options) string {
	switch {
	case o.Signature == "standard" && !g.signature:
		return "has no price for a signature"
	case o.Signature == "adult" && !g.adult:
		return "has no price for the signature of an adult"
	case o.SaturdayDelivery && !g.saturday:
		return "has no price for delivery on a Saturday"
	}
	return ""
}

// concerning are the steps of a surcharge that are for the order, its zone and
// its destination, whatever the service.
func (q *question) concerning(c *surcharge) []*step {
	var list []*step
	for i := range c.steps {
		st := &c.steps[i]
		if !st.when.ofOrder(q.order) || !slices.ContainsFunc(q.pieces, st.when.ofPiece) {
			continue
		}
		if st.zones != nil {
			if _, ok := slices.BinarySearch(st.zones, q.zone); !ok {
				continue
			}
		}
		if st.areas != nil {
			if _, _, ok := st.areas.best(q.to); !ok {
				continue
			}
		}
		list = append(list, st)
	}
	return list
}

// surcharge is what a surcharge, of which the steps concern the order, adds to
// the freight of a service, and whether it applies at all.
func (q *question) surcharge(c *surcharge, steps []*step, service int, freight int64, granted *options) (minor int64, applies bool) {
	if !c.byPiece {
		best := int64(-1)
		for _, st := range steps {
			if st.serves(service) {
				granted.grant(st.when.kind)
				best = max(best, st.charge(freight))
			}
		}
		return max(best, 0), best >= 0
	}
	for i := range q.pieces {
		best := int64(-1)
		for _, st := range steps {
			if st.serves(service) && st.when.ofPiece(q.pieces[i]) {
				granted.grant(st.when.kind)
				best = max(best, st.charge(freight))
			}
		}
		minor, applies = plus(minor, max(best, 0)), applies || best >= 0
	}
	return minor, applies
}

func (st *step) serves(service int) bool {
	return st.services == nil || slices.Contains(st.services, service)
}

func (st *step) charge(freight int64) int64 {
	if st.percent > 0 {
		return share(freight, st.percent)
	}
	return st.amount
}
