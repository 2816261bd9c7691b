package sheet

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// build puts what was read in order, and reports what does not fit together.
func (p *parser) build() Sheet {
	p.checkTerms()

	// Zones and services get their final numbers first: everything after it
	// refers to them.
	p.orderZones()
	p.orderServices()

	p.buildLanes()
	p.buildTables()
	p.buildFuel()
	p.buildSurcharges()

	// In a sheet with errors, what seems to be missing may be in a row that
	// could not be read.
	if p.problemCount == 0 {
		p.checkHoles()
		p.checkAreas()
		p.checkFuel()
	}
	return p.sheet
}

func (p *parser) checkTerms() {
	sheet := &p.sheet
	if p.lastSection == "" && p.problemCount == 0 {
		p.fail(0, "", "missing", "", "the sheet is empty")
		return
	}
	if sheet.Currency == "" && p.problemCount == 0 {
		p.fail(0, "currency", "required", "", "[sheet] has no currency; add one such as USD")
	}
	if sheet.ValidUntil != "" && sheet.ValidUntil < sheet.ValidFrom {
		p.fail(p.set["valid until"], "valid until", "invalid", "", "must not be before valid from")
	}

	// Rows that are missing may be those that could not be read.
	if p.problemCount > 0 {
		return
	}
	if len(p.lanes) == 0 {
		p.fail(0, "", "missing", "", "the sheet has no rows in [zones]")
	}
	if len(p.drafts) == 0 {
		p.fail(0, "", "missing", "", "the sheet has no prices in [rates]")
	}
}

// orderZones numbers the zones in the order of their names.
func (p *parser) orderZones() {
	order := make([]int, len(p.zones.list))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return compareNatural(p.zones.list[a], p.zones.list[b]) })

	rank := make([]int, len(order))
	for to, from := range order {
		rank[from] = to
		p.sheet.Zones = append(p.sheet.Zones, p.zones.list[from])
	}

	used := make([]bool, len(order))
	for i := range p.lanes {
		p.lanes[i].zone = rank[p.lanes[i].zone]
		used[p.lanes[i].zone] = true
	}
	p.drafts = renumberKeys(p.drafts, nil, rank)
	p.days = renumberKeys(p.days, nil, rank)
	for key := range p.drafts {
		used[key[1]] = true
	}
	for _, draft := range p.surcharges {
		for i := range draft.steps {
			renumber(draft.steps[i].zones, rank)
		}
	}

	// With errors, the rows that lead to a zone may be those that could not be
	// read.
	if p.problemCount > 0 {
		return
	}
	var known []string
	for zone, name := range p.sheet.Zones {
		if used[zone] {
			known = append(known, name)
		}
	}
	for from, to := range rank {
		if !used[to] {
			name := p.zones.list[from]
			p.fail(p.zones.line[from], "zone", "unknown", p.nearest(name, known), "no row of [zones] defines zone %s", name)
		}
	}
}

// orderServices numbers the services as [services] lists them; without it, as
// the prices do.
func (p *parser) orderServices() {
	rank := p.rankServices()
	p.services = reorder(p.services, rank)
	p.drafts = renumberKeys(p.drafts, rank, nil)
	p.days = renumberKeys(p.days, rank, nil)

	for i := range p.fuel {
		if p.fuel[i].service >= 0 {
			p.fuel[i].service = rank[p.fuel[i].service]
		}
	}
	for _, draft := range p.surcharges {
		for i := range draft.steps {
			renumber(draft.steps[i].services, rank)
		}
	}
}

// rankServices fills the sheet's services and returns the new numbers. A
// service that is not described anywhere is reported, and has a number too.
func (p *parser) rankServices() []int {
	sheet := &p.sheet
	rank := make([]int, len(p.services.list))
	for i := range rank {
		rank[i] = -1
	}

	var known []string
	for _, declared := range p.declared {
		rank[declared.id] = len(sheet.Services)
		sheet.Services = append(sheet.Services, declared.Service)
		known = append(known, declared.Code)
	}

	priced := make([]bool, len(rank))
	for key := range p.drafts {
		priced[key[0]] = true
	}
	for id, code := range p.services.list {
		if rank[id] >= 0 {
			continue
		}
		if len(p.declared) == 0 && (priced[id] || p.problemCount > 0) {
			known = append(known, code)
		} else {
			p.fail(p.services.line[id], "service", "unknown", p.nearest(code, known), "there is no service %s", code)
		}
		rank[id] = len(sheet.Services)
		sheet.Services = append(sheet.Services, Service{Code: code, Name: code})
	}
	return rank
}

// reorder returns the names under their new numbers.
func reorder(old names, rank []int) names {
	out := names{list: make([]string, len(rank)), line: make([]int, len(rank))}
	for from, to := range rank {
		out.list[to] = old.list[from]
		out.line[to] = old.line[from]
	}
	return out
}

// renumberKeys renumbers the services, the zones or both.
func renumberKeys[T any](old map[[2]int]T, services, zones []int) map[[2]int]T {
	out := make(map[[2]int]T, len(old))
	for key, value := range old {
		if services != nil {
			key[0] = services[key[0]]
		}
		if zones != nil {
			key[1] = zones[key[1]]
		}
		out[key] = value
	}
	return out
}

func renumber(list, rank []int) {
	for i := range list {
		list[i] = rank[list[i]]
	}
	slices.Sort(list)
}

// compareNatural orders names by their letters and, where both have digits, by
// their numbers: Z2 comes before Z10.
func compareNatural(a, b string) int {
	restA := a
	restB := b
	for restA != "" && restB != "" {
		partA := restA[:runLength(restA)]
		partB := restB[:runLength(restB)]
		restA = restA[len(partA):]
		restB = restB[len(partB):]

		order := strings.Compare(partA, partB)
		if isDigit(partA[0]) && isDigit(partB[0]) {
			// Without leading zeros the longer number is the larger one.
			numberA := strings.TrimLeft(partA, "0")
			numberB := strings.TrimLeft(partB, "0")
			order = cmp.Or(cmp.Compare(len(numberA), len(numberB)), strings.Compare(numberA, numberB))
		}
		if order != 0 {
			return order
		}
	}
	return cmp.Or(cmp.Compare(len(restA), len(restB)), cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

// runLength is how many characters at the beginning of s are all digits, or all
// not.
func runLength(s string) int {
	n := 1
	for n < len(s) && isDigit(s[n]) == isDigit(s[0]) {
		n++
	}
	return n
}

// buildTables puts the prices in order.
func (p *parser) buildTables() {
	sheet := &p.sheet
	sheet.tables = make([][]table, len(sheet.Services))
	for _, key := range sortedKeys(p.drafts) {
		table := p.buildTable(key[0], key[1], p.drafts[key])
		table.days = p.days[key].days
		sheet.tables[key[0]] = append(sheet.tables[key[0]], table)
	}
}

func sortedKeys[T any](m map[[2]int]T) [][2]int {
	return slices.SortedFunc(maps.Keys(m), func(a, b [2]int) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
}
