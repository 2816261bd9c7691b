package sheet

import (
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
)

// A declared is a row of [services].
type declared struct {
	Service
	id, line int
}

// service reads a row of [services].
func (p *parser) service(r *row) {
	id, ok := r.serviceCode("service", r.get("service"))
	if !ok {
		return
	}
	d := declared{id: id, line: r.line}
	d.Code, d.Name, d.Guaranteed = p.services.list[id], strings.Clone(r.text("name", 100)), r.yes("guaranteed")
	if d.Name == "" {
		d.Name = d.Code
	}
	d.byShipment = r.oneOf("rate by", "piece", "shipment") == "shipment"
	if s := r.get("max weight"); s != "" {
		d.maxWeight = r.weight("max weight", s)
	}
	if s := r.get("max length"); s != "" {
		d.maxLength = r.length("max length", s)
	}
	if s := r.get("max girth"); s != "" {
		d.maxGirth = r.length("max girth", s)
	}
	if s := r.get("divisor"); s != "" {
		v := r.divisor("divisor", s)
		d.divisor = &v
	}
	d.minimum, d.step = r.own("minimum weight"), r.own("round weight")
	if at := slices.IndexFunc(p.declared, func(other declared) bool { return other.id == id }); at >= 0 {
		r.fail("service", "duplicate", "", "the service is on line %d too", p.declared[at].line)
		return
	}
	p.declared = append(p.declared, d)
}

// own reads a weight that a service may have instead of the sheet's, or none.
func (r *row) own(column string) *weight {
	var w weight
	switch s := r.get(column); {
	case s == "":
		return nil
	case !strings.EqualFold(s, "none"):
		w = r.weight(column, s)
	}
	return &w
}

// A fuelStep is the fuel surcharge from a day on.
type fuelStep struct {
	from    ship.Date
	percent int64 // millionths
}

// fuelOn is the surcharge of a day; of the last step if there is no day.
func fuelOn(steps []fuelStep, day ship.Date) int64 {
	for i := len(steps) - 1; i >= 0; i-- {
		if day == "" || steps[i].from <= day {
			return steps[i].percent
		}
	}
	return 0
}

// A fuelRow is a row of [fuel], for one service.
type fuelRow struct {
	fuelStep
	service int // -1 is all
	line    int
}

// fuelRow reads a row of [fuel].
func (p *parser) fuelRow(r *row) {
	step := fuelStep{from: r.date("from")}
	if r.get("from") == "" {
		r.fail("from", "required", "", "the row does not say from which day on it holds")
	}
	step.percent, _ = r.percent("percent", r.get("percent"))
	services := r.serviceList()
	if r.bad {
		return
	}
	if services == nil {
		services = []int{-1}
	}
	for _, id := range services {
		p.fuel = append(p.fuel, fuelRow{step, id, r.line})
	}
}

// serviceList reads the services that a row is for; nil is all.
func (r *row) serviceList() []int {
	var ids []int
	for _, code := range list(r.get("service"), true) {
		if id, ok := r.serviceCode("service", code); ok && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// zoneList reads the zones that a row is for; nil is all.
func (r *row) zoneList() []int {
	var ids []int
	seen := map[int]bool{}
	for _, name := range list(r.get("zone"), true) {
		if id, ok := r.zone("zone", name); ok && !seen[id] {
			ids, seen[id] = append(ids, id), true
		}
	}
	return ids
}

// buildFuel sorts the rows of [fuel] out, given the services' new numbers.
func (p *parser) buildFuel() {
	s := &p.sheet
	s.ownFuel = make([][]fuelStep, len(s.Services))
	slices.SortStableFunc(p.fuel, func(a, b fuelRow) int { return strings.Compare(string(a.from), string(b.from)) })
	for _, f := range p.fuel {
		steps := &s.fuel
		if f.service >= 0 {
			steps = &s.ownFuel[f.service]
		}
		if n := len(*steps); n > 0 && (*steps)[n-1].from == f.from {
			p.fail(f.line, "from", "duplicate", "", "another row has the fuel of that day")
			continue
		}
		*steps = append(*steps, f.fuelStep)
		if s.ValidUntil != "" && f.from > s.ValidUntil {
			p.warn(f.line, "from", "unreachable", "", "the sheet is valid until %s", s.ValidUntil)
		}
	}
}
