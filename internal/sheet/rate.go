package sheet

import (
	"cmp"
	"slices"
	"strings"
)

// A table is what a service costs to a zone.
type table struct {
	zone   int
	breaks []brk // by weight
	each   weight
	more   int64 // for each started part of the weight beyond the last break, if each is not 0
	days   int   // 0 is unknown
}

// A brk is a price for a weight up to and including this one.
type brk struct {
	upTo  weight
	price int64
}

// price is what a weight costs; not ok if it is too heavy.
func (t *table) price(w weight) (minor int64, ok bool) {
	at, _ := slices.BinarySearchFunc(t.breaks, w, func(b brk, w weight) int { return cmp.Compare(b.upTo, w) })
	if at < len(t.breaks) {
		return t.breaks[at].price, true
	}
	if t.each == 0 {
		return 0, false
	}
	last := t.breaks[len(t.breaks)-1]
	parts := (w - last.upTo + t.each - 1) / t.each
	return plus(last.price, times(t.more, int64(parts))), true
}

// top is the heaviest weight that has a price; 0 if there is no limit.
func (t *table) top() weight {
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
	brk
	line int
}

// eachFurther begins the cell of a row that prices what is heavier.
const eachFurther = "each further"

// rate reads a row of [rates].
func (p *parser) rate(r *row) {
	service, _ := r.serviceCode("service", r.get("service"))
	limit := strings.ToLower(r.get("up to"))
	part, further := strings.CutPrefix(limit, eachFurther)
	var w weight
	switch {
	case limit == "":
		r.fail("up to", "required", "", "the row has no weight")
	case !further && strings.Trim(limit[:1], "0123456789") != "":
		r.fail("up to", "invalid", "", "is a weight such as 5 kg, or %s 1 kg for what is heavier", eachFurther)
	case further:
		w = r.weight("up to", strings.TrimSpace(part))
	default:
		w = r.weight("up to", limit)
	}
	p.eachZone(r, "price", func(column, cell string, zone int) {
		price, ok := r.money(column, cell)
		switch {
		case !ok:
		case price == 0 && !further:
			r.fail(column, "invalid", "", "a price is more than 0: leave the cell empty where the service does not go")
		case w > 0:
			p.price(r, column, [2]int{service, zone}, further, brk{w, price})
		}
	})
}

// eachZone calls f for the cell of every zone that the row has one for.
func (p *parser) eachZone(r *row, value string, f func(column, cell string, zone int)) {
	if len(p.head.zones) == 0 {
		zone, ok := r.zone("zone", r.get("zone"))
		if r.get(value) == "" {
			r.fail(value, "required", "", "the cell is empty")
		} else if ok && !r.bad {
			f(value, r.get(value), zone)
		}
		return
	}
	if r.bad {
		return
	}
	found := false
	for _, z := range p.head.zones {
		if cell := r.cell(z.at); cell != "" {
			found = true
			f(z.name, cell, z.zone)
		}
	}
	if !found {
		p.warn(r.line, "", "unreachable", "", "the row has no %s", value)
	}
}

// price takes one price. Repeats of breaks are found when they are sorted.
func (p *parser) price(r *row, column string, key [2]int, further bool, b brk) {
	if p.prices++; p.prices > MaxPrices {
		if p.prices == MaxPrices+1 {
			r.fail(column, "too_large", "", "the sheet has more than %d prices", MaxPrices)
		}
		return
	}
	d := p.drafts[key]
	if d == nil {
		d = &draft{}
		p.drafts[key] = d
	}
	switch {
	case !further:
		d.breaks = append(d.breaks, draftBreak{b, r.line})
	case d.each == 0:
		d.each, d.more, d.line = b.upTo, b.price, r.line
	case d.each == b.upTo && d.more == b.price:
		p.warn(r.line, column, "duplicate", "", "the price repeats line %d", d.line)
	default:
		r.fail(column, "duplicate", "", "line %d has another price for what is heavier", d.line)
	}
}

// A transit is how long a service takes to a zone.
type transit struct{ days, line int }

// maxDays is the longest that a parcel may be said to take.
const maxDays = 90

// transit reads a row of [transit].
func (p *parser) transit(r *row) {
	service, _ := r.serviceCode("service", r.get("service"))
	p.eachZone(r, "days", func(column, cell string, zone int) {
		days, ok := r.number(column, cell, 0, maxDays)
		key := [2]int{service, zone}
		known, twice := p.days[key]
		switch {
		case !ok:
		case days == 0:
			r.fail(column, "invalid", "", "is a number of days from 1 to %d", maxDays)
		case twice && known.days != int(days):
			r.fail(column, "duplicate", "", "line %d says %d days", known.line, known.days)
		case twice:
			p.warn(r.line, column, "duplicate", "", "the row repeats line %d", known.line)
		default:
			p.days[key] = transit{int(days), r.line}
		}
	})
}

// table puts a draft in order.
func (p *parser) table(service, zone int, d *draft) table {
	t := table{zone: zone, each: d.each, more: d.more}
	slices.SortStableFunc(d.breaks, func(a, b draftBreak) int { return cmp.Compare(a.upTo, b.upTo) })
	t.breaks = make([]brk, 0, len(d.breaks))
	what := p.services.list[service] + " to zone " + p.sheet.Zones[zone]
	for i, b := range d.breaks {
		if i == 0 || b.upTo != d.breaks[i-1].upTo {
			t.breaks = append(t.breaks, b.brk)
			continue
		}
		before := d.breaks[i-1]
		if b.price != before.price {
			p.fail(b.line, "up to", "duplicate", "", "%s up to %s has another price on line %d", what, p.weightText(b.upTo), before.line)
		} else {
			p.warn(b.line, "up to", "duplicate", "", "%s up to %s repeats line %d", what, p.weightText(b.upTo), before.line)
		}
	}
	if len(t.breaks) == 0 {
		p.fail(d.line, "up to", "missing", "", "%s has no price up to a weight, from which each further part counts", what)
	}
	return t
}

func (p *parser) weightText(w weight) string { return w.text(p.sheet.terms.weightUnit) }
