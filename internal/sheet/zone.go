package sheet

import (
	"slices"
	"strings"
)

// A lane is a row of [zones], for one origin and one destination.
type lane struct {
	from, to area
	zone     int
	line     int
}

// zone reads a row of [zones].
func (p *parser) zone(r *row) {
	zone, ok := r.zone("zone", r.get("zone"))
	if r.get("country") == "" {
		r.fail("country", "required", anywhere, "the row has no country; %s is all", anywhere)
	}
	to, from := r.areas(""), r.areas("from ")
	if !ok || r.bad {
		return
	}
	if len(from) == 0 {
		from = []area{{country: anywhere}}
	}
	if len(from)*len(to)+len(p.lanes) > MaxRows {
		r.fail("", "too_large", "", "the zones have more than %d areas", MaxRows)
		return
	}
	for _, f := range from {
		for _, t := range to {
			p.lanes = append(p.lanes, lane{from: f, to: t, zone: zone, line: r.line})
		}
	}
}

// areas reads the columns country, state and zip, whose names have the prefix.
// There are none if all three are empty.
func (r *row) areas(prefix string) []area {
	states, zips := list(r.get(prefix+"state"), false), list(r.get(prefix+"zip"), false)
	var countries []string
	for _, s := range list(r.get(prefix+"country"), true) {
		if c, ok := r.country(prefix+"country", s); ok {
			countries = append(countries, strings.Clone(c))
		}
	}
	switch {
	case r.bad || len(countries)+len(states)+len(zips) == 0:
		return nil
	case len(states) > 0 && len(zips) > 0:
		r.fail(prefix+"state", "invalid", "", "a row has states or postal codes, not both")
		return nil
	case len(states)+len(zips) > 0 && (len(countries) != 1 || countries[0] == anywhere):
		r.fail(prefix+"country", "required", "", "states and postal codes need the one country that they are in")
		return nil
	}
	var out []area
	for _, c := range countries {
		switch {
		case len(states) > 0:
			for _, s := range states {
				if state, ok := r.state(prefix+"state", c, s); ok {
					out = append(out, area{country: c, state: state})
				}
			}
		case len(zips) > 0:
			for _, s := range zips {
				if a, ok := r.zips(prefix+"zip", c, s); ok {
					out = append(out, a)
				}
			}
		default:
			out = append(out, area{country: c})
		}
	}
	return out
}

// zips reads the beginning of a postal code, or a range of them: "900..935" or
// "900-935".
func (r *row) zips(column, country, s string) (area, bool) {
	lo, hi, ranged := strings.Cut(s, "..")
	if before, after, ok := strings.Cut(s, "-"); ok && !ranged && !strings.Contains(hyphenated, country) {
		// Of unequal length they are one code: 94103-1234.
		if a, b := zipKey(country, before), zipKey(country, after); a != "" && len(a) == len(b) {
			lo, hi, ranged = before, after, true
		}
	}
	if !ranged {
		hi = lo
	}
	a := area{country: country, lo: zipKey(country, lo), hi: zipKey(country, hi)}
	most := r.zipDigits(country)
	switch {
	case a.lo == "" || a.hi == "":
		r.fail(column, "invalid", "", "%s is not the beginning of a postal code, or a range such as 900..935", quoted(s))
	case len(a.lo) != len(a.hi):
		r.fail(column, "invalid", "", "both ends of a range have the same length")
	case a.lo > a.hi:
		r.fail(column, "invalid", zipText(country, a.hi)+".."+zipText(country, a.lo), "the range ends before it begins")
	case most > 0 && !allDigits(a.lo+a.hi):
		r.fail(column, "invalid", digitsAfter(s), "the postal codes of %s are digits, and a range of them is written 900..935", country)
	case most > 0 && len(a.lo) > most:
		r.fail(column, "invalid", "", "is longer than the postal codes of %s: commas or bars stand between several", country)
	default:
		return a, true
	}
	return area{}, false
}

// digitsAfter is the postal code in "D-10" and the range in "900 to 935".
func digitsAfter(s string) string {
	parts := strings.FieldsFunc(s, func(c rune) bool { return c < '0' || c > '9' })
	if len(parts) > 2 {
		return ""
	}
	return strings.Join(parts, "..")
}

func (r *row) zipDigits(country string) int {
	n, ok := r.p.digits[country]
	if !ok {
		n = zipDigits(country)
		r.p.digits[country] = n
	}
	return n
}

// buildLanes puts the zones in order: one list of destinations for each origin.
func (p *parser) buildLanes() {
	slices.SortStableFunc(p.lanes, func(a, b lane) int {
		if c := a.from.compare(b.from); c != 0 {
			return c
		}
		return a.to.compare(b.to)
	})
	s := &p.sheet
	var far area // the origin that reaches farthest
	for i := 0; i < len(p.lanes); {
		first := &p.lanes[i]
		if far.overlaps(first.from) {
			p.fail(first.line, "from zip", "overlap", "", "%s overlaps the origin %s: use the same range or separate ones", first.from, far)
		}
		if !far.overlaps(first.from) || first.from.hi > far.hi {
			far = first.from
		}
		end := i
		var list []located
		for ; end < len(p.lanes) && p.lanes[end].from == first.from; end++ {
			l := &p.lanes[end]
			list = append(list, located{sited{l.to, l.zone}, l.line})
		}
		s.origins = append(s.origins, sited{first.from, len(s.lanes)})
		s.lanes = append(s.lanes, p.disjoint(list))
		i = end
	}
}

// A located is an area with its place in the text.
type located struct {
	sited
	line int
}

// disjoint is the sorted list without repeats. Areas of one level that overlap
// are told: what is found there would depend on the order of the rows.
func (p *parser) disjoint(list []located) places {
	var out places
	far := -1 // the area that reaches farthest
	for i, l := range list {
		if far < 0 || !list[far].overlaps(l.area) {
			out, far = append(out, l.sited), i
			continue
		}
		earlier, later := list[far], l
		if later.line < earlier.line {
			earlier, later = later, earlier
		}
		switch {
		case earlier.sited == later.sited:
			p.warn(later.line, "", "duplicate", "", "%s repeats line %d", later.area, earlier.line)
		case earlier.area == later.area:
			zones := p.sheet.Zones
			p.fail(later.line, "zone", "overlap", "", "%s is in zone %s here and in zone %s on line %d", later.area, zones[later.value], zones[earlier.value], earlier.line)
		default:
			p.fail(later.line, "zip", "overlap", "", "%s overlaps %s of line %d", later.area, earlier.area, earlier.line)
		}
		if l.hi > list[far].hi {
			far = i
		}
	}
	return out
}
