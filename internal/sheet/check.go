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
	sheet := &p.sheet
	reached := make([]bool, len(sheet.Zones))
	for _, lane := range p.lanes {
		reached[lane.zone] = true
	}

	for id, service := range sheet.Services {
		p.checkService(id, reached)
		if len(sheet.tables[id]) == 0 {
			p.warn(p.services.line[id], "service", "missing", "", "%s has no prices", service.Code)
		}
	}

	for _, key := range sortedKeys(p.days) {
		if transit := p.days[key]; p.drafts[key] == nil {
			p.warn(transit.line, "days", "unreachable", "", "%s has no price for zone %s", sheet.Services[key[0]].Code, sheet.Zones[key[1]])
		}
	}

	var reachable []string
	for zone, name := range sheet.Zones {
		if reached[zone] {
			reachable = append(reachable, name)
		}
	}
	for zone, name := range sheet.Zones {
		if !reached[zone] && len(p.warnings) < MaxProblems {
			p.warn(p.zones.line[p.zones.id[name]], "zone", "unreachable", p.nearest(name, reachable), "zone %s has prices, but no row of [zones] defines it", name)
		}
	}
}

// checkService warns of the zones and weights that a service has no price for.
func (p *parser) checkService(id int, reached []bool) {
	sheet := &p.sheet
	tables := sheet.tables[id]
	if len(tables) == 0 {
		return
	}

	priced := make([]bool, len(sheet.Zones))
	seen := map[weight]bool{}
	for i := range tables {
		priced[tables[i].zone] = true
		for _, priceBreak := range tables[i].breaks {
			seen[priceBreak.upTo] = true
		}
	}

	var holes []string
	for zone, name := range sheet.Zones {
		if reached[zone] && !priced[zone] {
			holes = append(holes, name)
		}
	}
	if len(holes) > 0 {
		p.warn(p.services.line[id], "service", "missing", "", "%s has no price for %s", sheet.Services[id].Code, formatZones(holes))
	}

	weights := make([]weight, 0, len(seen))
	for upTo := range seen {
		weights = append(weights, upTo)
	}
	slices.Sort(weights)
	for i := range tables {
		p.checkTable(id, &tables[i], weights)
	}
}

func formatZones(names []string) string {
	if len(names) == 1 {
		return "zone " + names[0]
	}
	if more := len(names) - 10; more > 0 {
		return "zones " + strings.Join(names[:10], ", ") + " and " + strconv.Itoa(more) + " more"
	}
	return "zones " + strings.Join(names, ", ")
}

// checkTable warns of a price that falls, of a break that the service's other
// zones have, and of prices for weights that the service does not take. Each is
// reported once.
func (p *parser) checkTable(id int, table *table, weights []weight) {
	service := &p.sheet.Services[id]
	draft := p.drafts[[2]int{id, table.zone}]
	what := service.Code + " to zone " + p.sheet.Zones[table.zone]
	lineOf := func(upTo weight) int {
		return draft.breaks[slices.IndexFunc(draft.breaks, func(row draftBreak) bool { return row.upTo == upTo })].line
	}

	for i := 1; i < len(table.breaks); i++ {
		lighter := table.breaks[i-1]
		heavier := table.breaks[i]
		if heavier.price < lighter.price {
			p.warn(lineOf(heavier.upTo), "price", "falling", "", "%s costs less up to %s than up to %s", what, p.formatWeight(heavier.upTo), p.formatWeight(lighter.upTo))
			break
		}
	}

	// The limit is of a piece. Of a shipment, all pieces are weighed together,
	// so heavier ones can be reached.
	for i := 1; i < len(table.breaks); i++ {
		if limit := service.maxWeight; limit > 0 && !service.byShipment && table.breaks[i-1].upTo >= limit {
			p.warn(lineOf(table.breaks[i].upTo), "up to", "unreachable", "", "%s has a maximum weight of %s", service.Code, p.formatWeight(limit))
			break
		}
	}

	if len(table.breaks) == len(weights) || len(p.warnings) >= MaxProblems {
		return
	}
	for i, upTo := range weights {
		if i >= len(table.breaks) || table.breaks[i].upTo != upTo {
			p.warn(draft.breaks[0].line, "up to", "missing", "", "%s has no price up to %s, which other zones have", what, p.formatWeight(upTo))
			return
		}
	}
}

// checkFuel warns of days without fuel in a sheet that has some.
func (p *parser) checkFuel() {
	for _, steps := range append([][]fuelStep{p.sheet.fuel}, p.sheet.ownFuel...) {
		if len(steps) > 0 && p.sheet.ValidFrom != "" && steps[0].from > p.sheet.ValidFrom {
			p.warn(0, "fuel", "missing", "", "no fuel surcharge is charged from %s until %s", p.sheet.ValidFrom, steps[0].from)
		}
	}
}

// checkAreas warns of areas that are hidden by more exact ones, and of postal
// codes that a spreadsheet may have taken the leading zeros from.
func (p *parser) checkAreas() {
	lineOf := func(to area) int {
		at := slices.IndexFunc(p.lanes, func(lane lane) bool { return lane.to == to })
		return p.lanes[at].line
	}

	for _, destinations := range p.sheet.lanes {
		for first := 0; first < len(destinations) && len(p.warnings) < MaxProblems; {
			country := destinations.inCountry(destinations[first].country)

			// Finding a line takes time, so this ends with the last warning that
			// is kept.
			for _, hidden := range hiddenAreas(country) {
				if len(p.warnings) >= MaxProblems {
					break
				}
				p.warn(lineOf(hidden), "zip", "unreachable", "", "%s is never used: rows with longer postal codes cover all of it", hidden)
			}

			if short, zip := shortenedArea(country); zip != "" {
				p.warn(lineOf(short), "zip", "short", zip, "%s is shorter than the other postal codes of %s: did a spreadsheet drop its zeros?", short.zip(), short.country)
			}
			first += len(country)
		}
	}
}

// hiddenAreas returns the areas of a country, sorted, that are covered
// completely by areas with longer postal codes. It knows only codes of digits.
func hiddenAreas(country areaIndex) []area {
	digits := len(country[len(country)-1].lo)
	if digits == 0 || digits > 9 {
		return nil
	}

	// From the most exact level to the least: an area is hidden if what the
	// levels before it cover is all of it.
	var hidden []area
	var covered [][2]int // sorted and disjoint
	for end := len(country); end > 0; {
		level := country[end-1].level()
		first := end
		for first > 0 && country[first-1].level() == level {
			first--
		}

		for _, entry := range country[first:end] {
			if entry.state != "" || entry.lo != "" && (!allDigits(entry.lo) || !allDigits(entry.hi)) {
				return hidden
			}
			if containsRange(covered, zipRange(entry.area, digits)) {
				hidden = append(hidden, entry.area)
			}
		}
		for _, entry := range country[first:end] {
			covered = append(covered, zipRange(entry.area, digits))
		}
		covered = joinRanges(covered)
		end = first
	}
	return hidden
}

// zipRange is the first and the last postal code of an area, as numbers of so
// many digits.
func zipRange(a area, digits int) [2]int {
	lo, _ := strconv.Atoi("0" + a.lo)
	hi, _ := strconv.Atoi("0" + a.hi)
	unit := int(math.Pow10(digits - len(a.lo)))
	return [2]int{lo * unit, (hi+1)*unit - 1}
}

// containsRange reports whether one of the ranges, which are sorted and
// disjoint, contains the wanted one.
func containsRange(ranges [][2]int, want [2]int) bool {
	at, _ := slices.BinarySearchFunc(ranges, want[0], func(have [2]int, first int) int {
		if have[1] < first {
			return -1
		}
		return 1
	})
	return at < len(ranges) && ranges[at][0] <= want[0] && want[1] <= ranges[at][1]
}

// joinRanges sorts the ranges and joins those that touch.
func joinRanges(ranges [][2]int) [][2]int {
	slices.SortFunc(ranges, func(a, b [2]int) int { return a[0] - b[0] })
	out := ranges[:0]
	for _, next := range ranges {
		if n := len(out); n > 0 && next[0] <= out[n-1][1]+1 {
			out[n-1][1] = max(out[n-1][1], next[1])
		} else {
			out = append(out, next)
		}
	}
	return out
}

// shortenedArea returns the first area whose postal code is shorter than nearly
// all of the country's, and the code with the zeros that it may have lost.
func shortenedArea(country areaIndex) (short area, zip string) {
	count := map[int]int{} // of codes, by their length
	total := 0
	usual := 0
	for _, entry := range country {
		if entry.lo == "" || !allDigits(entry.lo) || !allDigits(entry.hi) {
			continue
		}

		total++
		if n := len(entry.lo); count[n]+1 > count[usual] || n == usual {
			usual = n
		}
		count[len(entry.lo)]++
	}

	for _, entry := range country {
		if n := len(entry.lo); n > 0 && n < usual && allDigits(entry.lo) && count[usual]*5 >= total*4 {
			zeros := strings.Repeat("0", usual-n)
			full := area{country: entry.country, lo: zeros + entry.lo, hi: zeros + entry.hi}
			return entry.area, full.zip()
		}
	}
	return area{}, ""
}
