package sheet

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// checkHoles warns of what is priced and cannot be reached, and of what can be
// reached and has no price.
func (p *parser) checkHoles() {
	s := &p.sheet
	reached := make([]bool, len(s.Zones))
	for _, l := range p.lanes {
		reached[l.zone] = true
	}
	for id, service := range s.Services {
		p.checkService(id, reached)
		if len(s.tables[id]) == 0 {
			p.warn(p.services.line[id], "service", "missing", "", "%s has no prices", service.Code)
		}
	}
	for _, key := range sortedKeys(p.days) {
		if t := p.days[key]; p.drafts[key] == nil {
			p.warn(t.line, "days", "unreachable", "", "%s has no price for zone %s", s.Services[key[0]].Code, s.Zones[key[1]])
		}
	}
	var zones []string
	for z, name := range s.Zones {
		if reached[z] {
			zones = append(zones, name)
		}
	}
	for z, name := range s.Zones {
		if !reached[z] && len(p.warnings) < MaxProblems {
			p.warn(p.zones.line[p.zones.id[name]], "zone", "unreachable", p.nearest(name, zones), "no row of [zones] leads to zone %s, which has prices", name)
		}
	}
}

func (p *parser) checkService(id int, reached []bool) {
	s := &p.sheet
	tables := s.tables[id]
	if len(tables) == 0 {
		return
	}
	priced := make([]bool, len(s.Zones))
	weights := map[weight]bool{}
	for i := range tables {
		priced[tables[i].zone] = true
		for _, b := range tables[i].breaks {
			weights[b.upTo] = true
		}
	}
	var holes []string
	for z, name := range s.Zones {
		if reached[z] && !priced[z] {
			holes = append(holes, name)
		}
	}
	if len(holes) > 0 {
		p.warn(p.services.line[id], "service", "missing", "", "%s has no price for %s", s.Services[id].Code, zonesText(holes))
	}
	all := make([]weight, 0, len(weights))
	for w := range weights {
		all = append(all, w)
	}
	slices.Sort(all)
	for i := range tables {
		p.checkTable(id, &tables[i], all)
	}
}

func zonesText(names []string) string {
	if len(names) == 1 {
		return "zone " + names[0]
	}
	if more := len(names) - 10; more > 0 {
		return "zones " + strings.Join(names[:10], ", ") + " and " + strconv.Itoa(more) + " more"
	}
	return "zones " + strings.Join(names, ", ")
}

// checkTable warns of a price that falls, of a break that the service's other
// zones have, and of prices for weights that the service does not take.
func (p *parser) checkTable(id int, t *table, all []weight) {
	s := &p.sheet
	d := p.drafts[[2]int{id, t.zone}]
	what := s.Services[id].Code + " to zone " + s.Zones[t.zone]
	line := func(w weight) int {
		return d.breaks[slices.IndexFunc(d.breaks, func(b draftBreak) bool { return b.upTo == w })].line
	}
	for i := 1; i < len(t.breaks); i++ {
		if b := t.breaks[i]; b.price < t.breaks[i-1].price {
			p.warn(line(b.upTo), "price", "falling", "", "%s costs less up to %s than up to %s", what, p.weightText(b.upTo), p.weightText(t.breaks[i-1].upTo))
			break
		}
	}
	for i := 1; i < len(t.breaks); i++ {
		if top := s.Services[id].maxWeight; top > 0 && !s.Services[id].byShipment && t.breaks[i-1].upTo >= top {
			p.warn(line(t.breaks[i].upTo), "up to", "unreachable", "", "%s takes %s at most", s.Services[id].Code, p.weightText(top))
			break
		}
	}
	if len(t.breaks) == len(all) || len(p.warnings) >= MaxProblems {
		return
	}
	for i, w := range all {
		if i >= len(t.breaks) || t.breaks[i].upTo != w {
			p.warn(d.breaks[0].line, "up to", "missing", "", "%s has no price up to %s, which other zones have", what, p.weightText(w))
			return
		}
	}
}

// checkFuel warns of days without fuel in a sheet that has some.
func (p *parser) checkFuel() {
	for _, steps := range append([][]fuelStep{p.sheet.fuel}, p.sheet.ownFuel...) {
		if len(steps) > 0 && p.sheet.ValidFrom != "" && steps[0].from > p.sheet.ValidFrom {
			p.warn(0, "fuel", "missing", "", "no fuel is charged from %s until %s", p.sheet.ValidFrom, steps[0].from)
		}
	}
}

// checkAreas warns of areas that are hidden by more exact ones, and of postal
// codes that a spreadsheet may have taken the leading zeros from.
func (p *parser) checkAreas() {
	lines := func(a area) int {
		at := slices.IndexFunc(p.lanes, func(l lane) bool { return l.to == a })
		return p.lanes[at].line
	}
	for _, lane := range p.sheet.lanes {
		for first := 0; first < len(lane) && len(p.warnings) < MaxProblems; {
			land := lane.land(lane[first].country)
			for _, a := range hidden(land) {
				if len(p.warnings) >= MaxProblems {
					break // looking up a line takes time
				}
				p.warn(lines(a), "zip", "unreachable", "", "%s is hidden: rows with longer postal codes are all of it", a)
			}
			if a, zip := shortened(land); zip != "" {
				p.warn(lines(a), "zip", "short", zip, "%s is shorter than the other postal codes of %s: did a spreadsheet drop its zeros?", a.zip(), a.country)
			}
			first += len(land)
		}
	}
}

// hidden returns the areas of a country, sorted, that areas with longer postal
// codes are all of. It knows of codes that are digits alone.
func hidden(land places) []area {
	deep := len(land[len(land)-1].lo)
	if deep == 0 || deep > 9 {
		return nil
	}
	var out []area
	var covered [][2]int // sorted, apart from each other
	for at := len(land); at > 0; {
		level := land[at-1].level()
		first := at
		for first > 0 && land[first-1].level() == level {
			first--
		}
		for _, s := range land[first:at] {
			if s.state != "" || s.lo != "" && (!allDigits(s.lo) || !allDigits(s.hi)) {
				return out
			}
			if inside(covered, widened(s.area, deep)) {
				out = append(out, s.area)
			}
		}
		for _, s := range land[first:at] {
			covered = append(covered, widened(s.area, deep))
		}
		covered = joined(covered)
		at = first
	}
	return out
}

// widened is the area as numbers of deep digits.
func widened(a area, deep int) [2]int {
	lo, _ := strconv.Atoi("0" + a.lo)
	hi, _ := strconv.Atoi("0" + a.hi)
	unit := int(math.Pow10(deep - len(a.lo)))
	return [2]int{lo * unit, (hi+1)*unit - 1}
}

func inside(list [][2]int, want [2]int) bool {
	at, _ := slices.BinarySearchFunc(list, want[0], func(have [2]int, first int) int {
		if have[1] < first {
			return -1
		}
		return 1
	})
	return at < len(list) && list[at][0] <= want[0] && want[1] <= list[at][1]
}

// joined sorts the ranges and joins those that touch.
func joined(list [][2]int) [][2]int {
	slices.SortFunc(list, func(a, b [2]int) int { return a[0] - b[0] })
	out := list[:0]
	for _, r := range list {
		if n := len(out); n > 0 && r[0] <= out[n-1][1]+1 {
			out[n-1][1] = max(out[n-1][1], r[1])
		} else {
			out = append(out, r)
		}
	}
	return out
}

// shortened returns the first area whose postal code is shorter than nearly all
// of the country's, and the code with the zeros that it may have lost.
func shortened(land places) (area, string) {
	count := map[int]int{}
	total, usual := 0, 0
	for _, s := range land {
		if s.lo == "" || !allDigits(s.lo) || !allDigits(s.hi) {
			continue
		}
		total++
		if n := len(s.lo); count[n]+1 > count[usual] || n == usual {
			usual = n
		}
		count[len(s.lo)]++
	}
	for _, s := range land {
		if n := len(s.lo); n > 0 && n < usual && allDigits(s.lo) && count[usual]*5 >= total*4 {
			zeros := strings.Repeat("0", usual-n)
			return s.area, area{country: s.country, lo: zeros + s.lo, hi: zeros + s.hi}.zip()
		}
	}
	return area{}, ""
}
