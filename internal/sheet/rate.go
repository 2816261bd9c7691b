package sheet

import (
	"cmp"
	"slices"
	"strings"
)

// A table is what a service costs to a zone.
type table struct {
	zone   int
	breaks []priceBreak // by weight
	each   weight
	more   int64 // for each started part of the weight beyond the last break, if each is not 0
	days   int   // 0 is unknown
}

// A priceBreak is a price for a weight up to and including this one.
type priceBreak struct {
	upTo  weight
	price int64
}

// price is what a weight costs; not ok if it is too heavy.
func (t *table) price(charged weight) (minor int64, ok bool) {
	at, _ := slices.BinarySearchFunc(t.breaks, charged, func(b priceBreak, charged weight) int { return cmp.Compare(b.upTo, charged) })
	if at < len(t.breaks) {
		return t.breaks[at].price, true
	}
	if t.each == 0 {
		return 0, false
	}

	// A started part counts as a whole one.
	last := t.breaks[len(t.breaks)-1]
	parts := (charged - last.upTo + t.each - 1) / t.each
	return addAmounts(last.price, multiplyAmount(t.more, int64(parts))), true
}

// heaviest is the heaviest weight that has a price; 0 if there is no limit.
func (t *table) heaviest() weight {
	if t.each > 0 {
		return 0
	}
	return t.breaks[len(t.breaks)-1].upTo
}

// A draft is a table before it is in order.
type draft struct {
	breaks []draftBreak
	each   weight
	more   int64
	line   int // of each
}

type draftBreak struct {
	priceBreak
	line int
}

// eachFurther begins the cell of a row that prices what is heavier.
const eachFurther = "each further"

// readRate reads a row of [rates].
func (p *parser) readRate(r *row) {
	service, _ := r.readService("service", r.get("service"))

	limit := strings.ToLower(r.get("up to"))
	part, isFurther := strings.CutPrefix(limit, eachFurther)
	var upTo weight
	switch {
	case limit == "":
		r.fail("up to", "required", "", "the row has no weight")
	case !isFurther && strings.Trim(limit[:1], "0123456789") != "":
		r.fail("up to", "invalid", "", "must be a weight such as 5 kg, or %s 1 kg for anything heavier", eachFurther)
	case isFurther:
		upTo = r.readWeight("up to", strings.TrimSpace(part))
	default:
		upTo = r.readWeight("up to", limit)
	}

	p.eachZone(r, "price", func(column, cell string, zone int) {
		price, ok := r.readMoney(column, cell)
		switch {
		case !ok:
		case price == 0 && !isFurther:
			r.fail(column, "invalid", "", "a price must be more than 0: leave the cell empty if the service does not serve the zone")
		case upTo > 0:
			p.addPrice(r, column, [2]int{service, zone}, isFurther, priceBreak{upTo, price})
		}
	})
}

// eachZone calls read for every zone that the row has a cell for.
func (p *parser) eachZone(r *row, value string, read func(column, cell string, zone int)) {
	// The section has the columns zone and value.
	if len(p.heading.zones) == 0 {
		zone, ok := r.readZone("zone", r.get("zone"))
		if r.get(value) == "" {
			r.fail(value, "required", "", "the cell is empty")
		} else if ok && !r.bad {
			read(value, r.get(value), zone)
		}
		return
	}

	// The section has a column for each zone.
	if r.bad {
		return
	}
	found := false
	for _, column := range p.heading.zones {
		if cell := r.cell(column.at); cell != "" {
			found = true
			read(column.name, cell, column.zone)
		}
	}
	if !found {
		p.warn(r.line, "", "unreachable", "", "the row has no %s", value)
	}
}

// addPrice adds one price. Repeated breaks are found when they are sorted.
func (p *parser) addPrice(r *row, column string, key [2]int, isFurther bool, added priceBreak) {
	// Too many prices are reported once.
	if p.prices++; p.prices > MaxPrices {
		if p.prices == MaxPrices+1 {
			r.fail(column, "too_large", "", "the sheet has more than %d prices: use fewer weights, or %s for heavy ones", MaxPrices, eachFurther)
		}
		return
	}

	table := p.drafts[key]
	if table == nil {
		if !p.hasRoom(r, column, len(p.drafts)) {
			return
		}
		table = &draft{}
		p.drafts[key] = table
	}
	switch {
	case !isFurther:
		table.breaks = append(table.breaks, draftBreak{added, r.line})
	case table.each == 0:
		table.each = added.upTo
		table.more = added.price
		table.line = r.line
	case table.each == added.upTo && table.more == added.price:
		p.warn(r.line, column, "duplicate", "", "the price repeats line %d", table.line)
	default:
		r.fail(column, "duplicate", "", "line %d has a different price for each further weight", table.line)
	}
}

// hasRoom reports whether another pair of a service and a zone can be added to
// as many. The first one that is too many is reported.
func (p *parser) hasRoom(r *row, column string, count int) bool {
	if count < MaxTables {
		return true
	}
	if !p.hasTooManyTables {
		p.hasTooManyTables = true
		r.fail(column, "too_large", "", "the services have more than %d zones in total: use fewer zones", MaxTables)
	}
	return false
}

// A transit is how long a service takes to a zone.
type transit struct{ days, line int }

// maxDays is the longest transit time that a sheet may have.
const maxDays = 90

// readTransit reads a row of [transit].
func (p *parser) readTransit(r *row) {
	service, _ := r.readService("service", r.get("service"))
	p.eachZone(r, "days", func(column, cell string, zone int) {
		days, ok := r.readNumber(column, cell, 0, maxDays)
		key := [2]int{service, zone}
		known, exists := p.days[key]
		switch {
		case !ok:
		case days == 0:
			r.fail(column, "invalid", "", "must be a number of days from 1 to %d", maxDays)
		case exists && known.days != int(days):
			r.fail(column, "duplicate", "", "line %d says %d days", known.line, known.days)
		case exists:
			p.warn(r.line, column, "duplicate", "", "the row repeats line %d", known.line)
		case p.hasRoom(r, column, len(p.days)):
			p.days[key] = transit{int(days), r.line}
		}
	})
}

// buildTable puts a draft in order.
func (p *parser) buildTable(service, zone int, draft *draft) table {
	out := table{
		zone:   zone,
		breaks: make([]priceBreak, 0, len(draft.breaks)),
		each:   draft.each,
		more:   draft.more,
	}

	slices.SortStableFunc(draft.breaks, func(a, b draftBreak) int { return cmp.Compare(a.upTo, b.upTo) })
	what := p.services.list[service] + " to zone " + p.sheet.Zones[zone]
	for i, row := range draft.breaks {
		if i == 0 || row.upTo != draft.breaks[i-1].upTo {
			out.breaks = append(out.breaks, row.priceBreak)
			continue
		}

		before := draft.breaks[i-1]
		if row.price != before.price {
			p.fail(row.line, "up to", "duplicate", "", "%s up to %s has a different price on line %d", what, p.formatWeight(row.upTo), before.line)
		} else {
			p.warn(row.line, "up to", "duplicate", "", "%s up to %s repeats line %d", what, p.formatWeight(row.upTo), before.line)
		}
	}

	if len(out.breaks) == 0 {
		p.fail(draft.line, "up to", "missing", "", "%s has a price for each further weight, but no price up to a weight to start from", what)
	}
	return out
}

func (p *parser) formatWeight(w weight) string { return w.format(p.sheet.terms.weightUnit) }
