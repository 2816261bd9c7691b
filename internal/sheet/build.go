package sheet

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// build puts what was read in order, and tells what does not fit together.
func (p *parser) build() Sheet {
	s := &p.sheet
	p.checkTerms()
	p.orderZones()
	p.orderServices()
	p.buildLanes()
	p.buildTables()
	p.buildFuel()
	p.buildSurcharges()
	if p.found == 0 {
		p.checkHoles()
		p.checkAreas()
		p.checkFuel()
	}
	return *s
}

func (p *parser) checkTerms() {
	s := &p.sheet
	if p.last == "" && p.found == 0 {
		p.fail(0, "", "missing", "", "the sheet is empty")
		return
	}
	if s.Currency == "" && p.found == 0 {
		p.fail(0, "currency", "required", "", "[sheet] names no currency")
	}
	if s.ValidUntil != "" && s.ValidUntil < s.ValidFrom {
		p.fail(p.set["valid until"], "valid until", "invalid", "", "the sheet ends before it begins")
	}
	if p.found > 0 {
		return // rows that are missing may be those that are wrong
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
	slices.SortFunc(order, func(a, b int) int { return natural(p.zones.list[a], p.zones.list[b]) })
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
	p.drafts = rekeyed(p.drafts, nil, rank)
	p.days = rekeyed(p.days, nil, rank)
	for key := range p.drafts {
		used[key[1]] = true
	}
	for _, d := range p.surcharges {
		for i := range d.steps {
			renumber(d.steps[i].zones, rank)
		}
	}
	var known []string
	for zone, name := range p.sheet.Zones {
		if used[zone] {
			known = append(known, name)
		}
	}
	clean := p.found == 0 // else the rows that lead there may be those that are wrong
	for from, to := range rank {
		if !used[to] && clean {
			name := p.zones.list[from]
			p.fail(p.zones.line[from], "zone", "unknown", p.nearest(name, known), "no row of [zones] leads to zone %s", name)
		}
	}
}

// orderServices numbers the services as [services] lists them; without it, as
// the prices do.
func (p *parser) orderServices() {
	rank := p.rankServices()
	p.services = reordered(p.services, rank)
	p.drafts, p.days = rekeyed(p.drafts, rank, nil), rekeyed(p.days, rank, nil)
	for i := range p.fuel {
		if p.fuel[i].service >= 0 {
			p.fuel[i].service = rank[p.fuel[i].service]
		}
	}
	for _, d := range p.surcharges {
		for i := range d.steps {
			renumber(d.steps[i].services, rank)
		}
	}
}

// rankServices fills the sheet's services and returns the new numbers. A
// service that is nowhere described is told, and has a number too.
func (p *parser) rankServices() []int {
	s := &p.sheet
	rank := make([]int, len(p.services.list))
	for i := range rank {
		rank[i] = -1
	}
	var known []string
	for _, d := range p.declared {
		rank[d.id] = len(s.Services)
		s.Services, known = append(s.Services, d.Service), append(known, d.Code)
	}
	priced := make([]bool, len(rank))
	for key := range p.drafts {
		priced[key[0]] = true
	}
	for id, code := range p.services.list {
		if rank[id] >= 0 {
			continue
		}
		if len(p.declared) == 0 && (priced[id] || p.found > 0) {
			known = append(known, code)
		} else {
			p.fail(p.services.line[id], "service", "unknown", p.nearest(code, known), "there is no service %s", code)
		}
		rank[id] = len(s.Services)
		s.Services = append(s.Services, Service{Code: code, Name: code})
	}
	return rank
}

func reordered(n names, rank []int) names {
	out := names{list: make([]string, len(rank)), line: make([]int, len(rank))}
	for from, to := range rank {
		out.list[to], out.line[to] = n.list[from], n.line[from]
	}
	return out
}

// rekeyed renumbers the services, the zones or both.
func rekeyed[T any](m map[[2]int]T, services, zones []int) map[[2]int]T {
	out := make(map[[2]int]T, len(m))
	for key, v := range m {
		if services != nil {
			key[0] = services[key[0]]
		}
		if zones != nil {
			key[1] = zones[key[1]]
		}
		out[key] = v
	}
	return out
}

func renumber(list, rank []int) {
	for i := range list {
		list[i] = rank[list[i]]
	}
	slices.Sort(list)
}

// natural orders names by their letters and, where both have digits, by their
// numbers: Z2 comes before Z10.
func natural(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		m, n := run(x), run(y)
		c := strings.Compare(x[:m], y[:n])
		if isDigit(x[0]) && isDigit(y[0]) {
			p, q := strings.TrimLeft(x[:m], "0"), strings.TrimLeft(y[:n], "0")
			c = cmp.Or(cmp.Compare(len(p), len(q)), strings.Compare(p, q))
		}
		if c != 0 {
			return c
		}
		x, y = x[m:], y[n:]
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

// run is how many characters s begins with that are all digits, or none.
func run(s string) int {
	n := 1
	for n < len(s) && isDigit(s[n]) == isDigit(s[0]) {
		n++
	}
	return n
}

// buildTables puts the prices in order.
func (p *parser) buildTables() {
	s := &p.sheet
	s.tables = make([][]table, len(s.Services))
	for _, key := range sortedKeys(p.drafts) {
		t := p.table(key[0], key[1], p.drafts[key])
		t.days = p.days[key].days
		s.tables[key[0]] = append(s.tables[key[0]], t)
	}
}

func sortedKeys[T any](m map[[2]int]T) [][2]int {
	return slices.SortedFunc(maps.Keys(m), func(a, b [2]int) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
}
