package sheet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
)

// A surcharge is the rows of one name. Of those that apply to a piece, or to
// the shipment, only the most expensive one is charged.
type surcharge struct {
	name    string
	byPiece bool
	fuel    bool // fuel is charged on it too
	steps   []surchargeStep
}

// A surchargeStep is the rows of a surcharge that differ only in their areas.
type surchargeStep struct {
	when     condition
	amount   int64     // minor units, if percent is 0
	percent  int64     // of the freight, in millionths
	services []int     // sorted; nil is all
	zones    []int     // sorted; nil is all
	areas    areaIndex // of the destination; nil is all
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

func (c condition) format(terms terms) string {
	switch {
	case c.weight > 0:
		return c.kind + " " + c.weight.format(terms.weightUnit)
	case c.length > 0:
		return c.kind + " " + c.length.format(terms.lengthUnit)
	}
	return c.kind
}

// matchesOrder reports whether the order as a whole meets the condition. One
// about pieces is always met.
func (c condition) matchesOrder(order *ship.Order) bool {
	switch c.kind {
	case residential:
		return order.Destination.Residential != nil && *order.Destination.Residential
	case signature:
		return isSigned(order.Options)
	case adult:
		return order.Options.Signature == "adult"
	case saturday:
		return order.Options.SaturdayDelivery
	}
	return true
}

// matchesPiece reports whether a piece meets the condition. One about the order
// is always met.
func (c condition) matchesPiece(p piece) bool {
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
	areas [][]areaRow    // of each step; nil is all
	lines []int          // of each step
	at    map[string]int // steps by everything but their areas
}

// readSurcharge reads a row of [surcharges].
func (p *parser) readSurcharge(r *row) {
	name := strings.Clone(r.readText("surcharge", 60))
	if name == "" && !r.bad {
		r.fail("surcharge", "required", "", "the surcharge has no name")
	} else if lower := strings.ToLower(name); lower == freightLine || lower == fuelLine {
		r.fail("surcharge", "invalid", "", "freight and fuel are reserved names")
	}

	step := surchargeStep{when: r.readCondition("when")}
	byPiece := r.readWord("per", "shipment", "piece") == "piece"
	fuel := r.readBool("fuel")
	if amount := r.get("amount"); strings.HasSuffix(amount, "%") {
		step.percent, _ = r.readPercent("amount", amount)
		if byPiece {
			r.fail("per", "invalid", "shipment", "a percentage applies to the freight of the whole shipment")
		}
		if step.percent == 0 && !r.bad {
			r.fail("amount", "invalid", "0", "a percentage must be more than 0")
		}
	} else {
		step.amount, _ = r.readMoney("amount", amount)
	}

	step.services = r.readServices()
	step.zones = r.readZones()
	areas := r.readAreas("")
	if r.bad {
		return
	}

	if draft := p.surchargeNamed(r, name, byPiece, fuel); draft != nil {
		p.addStep(r, draft, step, areas)
	}
}

// readCondition reads the column; an empty cell is always.
func (r *row) readCondition(column string) condition {
	cell := strings.ToLower(strings.Join(strings.Fields(r.get(column)), " "))
	if cell == "" {
		cell = always
	}
	kind, limit, isOver := strings.Cut(cell, " over ")
	if isOver {
		kind += " over"
	}

	at := slices.Index(conditions, kind)
	if at < 0 || isOver && limit == "" || !isOver && strings.HasSuffix(kind, " over") {
		r.fail(column, "invalid", r.p.nearest(kind, conditions), "must be one of: %s (add a weight or a length after over)", strings.Join(conditions, ", "))
		return condition{kind: always}
	}

	// The constant is kept instead of kind, which shares the row's memory.
	out := condition{kind: conditions[at]}
	switch {
	case kind == weightOver:
		out.weight = r.readWeight(column, limit)
	case isOver:
		out.length = r.readLength(column, limit)
	}
	return out
}

// surchargeNamed is the surcharge of a name, a new one if there is none. It is
// nil if the row does not agree with the rows before it.
func (p *parser) surchargeNamed(r *row, name string, byPiece, fuel bool) *surchargeDraft {
	for _, draft := range p.surcharges {
		if draft.name != name {
			continue
		}
		if draft.byPiece != byPiece {
			r.fail("per", "invalid", "", "rows with the same name must agree, and line %d has a different value", draft.line)
			return nil
		}
		if draft.fuel != fuel {
			r.fail("fuel", "invalid", "", "rows with the same name must agree, and line %d has a different value", draft.line)
			return nil
		}
		return draft
	}

	if p.steps >= MaxSurcharges {
		r.fail("", "too_large", "", "the sheet has more than %d different surcharges: list the areas of one amount in one row", MaxSurcharges)
		return nil
	}
	draft := &surchargeDraft{
		surcharge: surcharge{name: name, byPiece: byPiece, fuel: fuel},
		line:      r.line,
		at:        map[string]int{},
	}
	p.surcharges = append(p.surcharges, draft)
	return draft
}

// addStep adds a row to its surcharge. Rows that differ only in their areas are
// one step.
func (p *parser) addStep(r *row, draft *surchargeDraft, step surchargeStep, areas []area) {
	slices.Sort(step.services)
	slices.Sort(step.zones)
	key := fmt.Sprint(step.when, step.amount, step.percent, step.services, step.zones)
	at, known := draft.at[key]
	if known && (areas == nil || draft.areas[at] == nil) {
		r.fail("surcharge", "duplicate", "", "line %d defines the same surcharge", draft.lines[at])
		return
	}

	if !known {
		if p.steps++; p.steps > MaxSurcharges {
			r.fail("", "too_large", "", "the sheet has more than %d different surcharges: list the areas of one amount in one row", MaxSurcharges)
			return
		}
		at = len(draft.steps)
		draft.at[key] = at
		draft.steps = append(draft.steps, step)
		draft.areas = append(draft.areas, nil)
		draft.lines = append(draft.lines, r.line)
	}

	if p.areas += len(areas); p.areas > MaxRows {
		r.fail("", "too_large", "", "the surcharges have more than %d areas: combine them into ranges or prefixes", MaxRows)
		return
	}
	for _, added := range areas {
		draft.areas[at] = append(draft.areas[at], areaRow{areaEntry{area: added}, r.line})
	}
}

// buildSurcharges puts the areas of the surcharges in order.
func (p *parser) buildSurcharges() {
	for _, draft := range p.surcharges {
		for i := range draft.steps {
			slices.SortStableFunc(draft.areas[i], func(a, b areaRow) int { return a.compare(b.area) })
			draft.steps[i].areas = p.buildIndex(draft.areas[i])
			p.checkHidden(draft, i)
		}
		p.sheet.surcharges = append(p.sheet.surcharges, draft.surcharge)
	}
}

// checkHidden warns of a step that another one with the same conditions hides,
// because it is more expensive and applies everywhere.
func (p *parser) checkHidden(draft *surchargeDraft, i int) {
	step := &draft.steps[i]
	for j := range draft.steps {
		other := &draft.steps[j]
		if i == j || step.when != other.when || step.percent+other.percent > 0 || step.amount > other.amount ||
			!slices.Equal(step.services, other.services) || !slices.Equal(step.zones, other.zones) ||
			other.areas != nil || draft.areas[j] != nil {
			continue
		}

		p.warn(draft.lines[i], "surcharge", "unreachable", "", "line %d charges more under the same conditions, and only the highest applies", draft.lines[j])
		return
	}
}
