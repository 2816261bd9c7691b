package sheet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
)

// A surcharge is the rows of one name. Of those that apply to a piece, or to
// the shipment, the dearest alone is charged.
type surcharge struct {
	name    string
	byPiece bool
	fuel    bool // fuel is charged on it too
	steps   []step
}

// A step is the rows of a surcharge that differ in their areas alone.
type step struct {
	when     condition
	amount   int64  // minor units, if percent is 0
	percent  int64  // of the freight, in millionths
	services []int  // sorted; nil is all
	zones    []int  // sorted; nil is all
	areas    places // of the destination; nil is all
}

// A condition says which shipments or pieces a step is for.
type condition struct {
	kind   string
	weight weight // over which it applies
	length length
}

// The kinds of conditions. The last four are about a piece.
const (
	always      = "always"
	residential = "residential"
	signature   = "signature"
	adult       = "adult signature"
	saturday    = "saturday"
	weightOver  = "weight over"
	lengthOver  = "length over"
	secondOver  = "second side over"
	girthOver   = "girth over"
)

var conditions = []string{always, residential, signature, adult, saturday, weightOver, lengthOver, secondOver, girthOver}

func (c condition) text(t terms) string {
	switch {
	case c.weight > 0:
		return c.kind + " " + c.weight.text(t.weightUnit)
	case c.length > 0:
		return c.kind + " " + c.length.text(t.lengthUnit)
	}
	return c.kind
}

// ofOrder reports whether the condition is met by the order as a whole; what is
// about its pieces is.
func (c condition) ofOrder(o *ship.Order) bool {
	switch c.kind {
	case residential:
		return o.Destination.Residential != nil && *o.Destination.Residential
	case signature:
		return o.Options.Signature == "standard"
	case adult:
		return o.Options.Signature == "adult"
	case saturday:
		return o.Options.SaturdayDelivery
	}
	return true
}

// ofPiece reports whether a piece meets the condition.
func (c condition) ofPiece(p piece) bool {
	switch c.kind {
	case weightOver:
		return p.weight > c.weight
	case lengthOver:
		return p.sides[0] > c.length
	case secondOver:
		return p.sides[1] > c.length
	case girthOver:
		return p.girth() > c.length
	}
	return true
}

// A surchargeDraft is a surcharge whose areas are not in order yet.
type surchargeDraft struct {
	surcharge
	line  int
	areas [][]located    // of each step; nil is all
	lines []int          // of each step
	at    map[string]int // steps by all but their areas
}

// surcharge reads a row of [surcharges].
func (p *parser) surcharge(r *row) {
	name := strings.Clone(r.text("surcharge", 60))
	if name == "" && !r.bad {
		r.fail("surcharge", "required", "", "the surcharge has no name")
	} else if n := strings.ToLower(name); n == freightLine || n == fuelLine {
		r.fail("surcharge", "invalid", "", "freight and fuel are lines of their own")
	}
	st := step{when: r.condition("when")}
	byPiece, fuel := r.oneOf("per", "shipment", "piece") == "piece", r.yes("fuel")
	if amount := r.get("amount"); strings.HasSuffix(amount, "%") {
		st.percent, _ = r.percent("amount", amount)
		if byPiece {
			r.fail("per", "invalid", "shipment", "a percentage is of the whole freight")
		}
		if st.percent == 0 && !r.bad {
			r.fail("amount", "invalid", "0", "a percentage is more than 0")
		}
	} else {
		st.amount, _ = r.money("amount", amount)
	}
	st.services, st.zones = r.serviceList(), r.zoneList()
	areas := r.areas("")
	if r.bad {
		return
	}
	d := p.named(r, name, byPiece, fuel)
	if d != nil {
		p.step(r, d, st, areas)
	}
}

// condition reads the column; empty is always.
func (r *row) condition(column string) condition {
	s := strings.ToLower(strings.Join(strings.Fields(r.get(column)), " "))
	if s == "" {
		s = always
	}
	kind, limit, over := strings.Cut(s, " over ")
	if over {
		kind += " over"
	}
	c := condition{kind: kind}
	at := slices.Index(conditions, kind)
	if at < 0 || over && limit == "" || !over && strings.HasSuffix(kind, " over") {
		r.fail(column, "invalid", r.p.nearest(kind, conditions), "is one of: %s (with over, a weight or a length follows)", strings.Join(conditions, ", "))
		return condition{kind: always}
	}
	c.kind = conditions[at]
	switch {
	case kind == weightOver:
		c.weight = r.weight(column, limit)
	case over:
		c.length = r.length(column, limit)
	}
	return c
}

// named is the surcharge of the name.
func (p *parser) named(r *row, name string, byPiece, fuel bool) *surchargeDraft {
	for _, d := range p.surcharges {
		if d.name != name {
			continue
		}
		if d.byPiece != byPiece {
			r.fail("per", "invalid", "", "rows of one name are steps of one surcharge, and line %d says otherwise", d.line)
			return nil
		} else if d.fuel != fuel {
			r.fail("fuel", "invalid", "", "rows of one name are steps of one surcharge, and line %d says otherwise", d.line)
			return nil
		}
		return d
	}
	if p.steps >= MaxSurcharges {
		r.fail("", "too_large", "", "the sheet has more than %d different surcharges", MaxSurcharges)
		return nil
	}
	d := &surchargeDraft{surcharge: surcharge{name: name, byPiece: byPiece, fuel: fuel}, line: r.line, at: map[string]int{}}
	p.surcharges = append(p.surcharges, d)
	return d
}

// step adds a row to its surcharge.
func (p *parser) step(r *row, d *surchargeDraft, st step, areas []area) {
	slices.Sort(st.services)
	slices.Sort(st.zones)
	key := fmt.Sprint(st.when, st.amount, st.percent, st.services, st.zones)
	at, known := d.at[key]
	if known && (areas == nil || d.areas[at] == nil) {
		r.fail("surcharge", "duplicate", "", "line %d is the same surcharge", d.lines[at])
		return
	}
	if !known {
		if p.steps++; p.steps > MaxSurcharges {
			r.fail("", "too_large", "", "the sheet has more than %d different surcharges", MaxSurcharges)
			return
		}
		at = len(d.steps)
		d.at[key] = at
		d.steps, d.areas, d.lines = append(d.steps, st), append(d.areas, nil), append(d.lines, r.line)
	}
	if p.sites += len(areas); p.sites > MaxRows {
		r.fail("", "too_large", "", "the surcharges have more than %d areas", MaxRows)
		return
	}
	for _, a := range areas {
		d.areas[at] = append(d.areas[at], located{sited{area: a}, r.line})
	}
}

// buildSurcharges puts the areas of the surcharges in order.
func (p *parser) buildSurcharges() {
	for _, d := range p.surcharges {
		for i := range d.steps {
			slices.SortStableFunc(d.areas[i], func(a, b located) int { return a.compare(b.area) })
			d.steps[i].areas = p.disjoint(d.areas[i])
			p.eclipsed(d, i)
		}
		p.sheet.surcharges = append(p.sheet.surcharges, d.surcharge)
	}
}

// eclipsed warns of a step that a dearer one with the same conditions hides.
func (p *parser) eclipsed(d *surchargeDraft, i int) {
	for j := range d.steps {
		a, b := &d.steps[i], &d.steps[j]
		if i == j || a.when != b.when || a.percent+b.percent > 0 || a.amount > b.amount || !slices.Equal(a.services, b.services) ||
			!slices.Equal(a.zones, b.zones) || b.areas != nil || d.areas[j] != nil {
			continue
		}
		p.warn(d.lines[i], "surcharge", "unreachable", "", "line %d charges more for the same, and the dearest row of a name is charged", d.lines[j])
		return
	}
}
