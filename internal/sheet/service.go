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

// readService reads a row of [services].
func (p *parser) readService(r *row) {
	id, ok := r.readService("service", r.get("service"))
	if !ok {
		return
	}

	service := declared{id: id, line: r.line}
	service.Code = p.services.list[id]
	service.Name = strings.Clone(r.readText("name", 100))
	if service.Name == "" {
		service.Name = service.Code
	}
	service.Guaranteed = r.readBool("guaranteed")
	service.byShipment = r.readWord("rate by", "piece", "shipment") == "shipment"

	if cell := r.get("max weight"); cell != "" {
		service.maxWeight = r.readWeight("max weight", cell)
	}
	if cell := r.get("max length"); cell != "" {
		service.maxLength = r.readLength("max length", cell)
	}
	if cell := r.get("max girth"); cell != "" {
		service.maxGirth = r.readLength("max girth", cell)
	}

	if cell := r.get("divisor"); cell != "" {
		divisor := r.readDivisor("divisor", cell)
		service.divisor = &divisor
	}
	service.minimum = r.readOwnWeight("minimum weight")
	service.step = r.readOwnWeight("round weight")

	if at := slices.IndexFunc(p.declared, func(other declared) bool { return other.id == id }); at >= 0 {
		r.fail("service", "duplicate", "", "the service is already defined on line %d", p.declared[at].line)
		return
	}
	p.declared = append(p.declared, service)
}

// readOwnWeight reads a weight that a service has instead of the sheet's; nil if
// the cell is empty.
func (r *row) readOwnWeight(column string) *weight {
	var own weight
	switch cell := r.get(column); {
	case cell == "":
		return nil
	case !strings.EqualFold(cell, "none"):
		own = r.readWeight(column, cell)
	}
	return &own
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

// readFuel reads a row of [fuel].
func (p *parser) readFuel(r *row) {
	step := fuelStep{from: r.readDate("from")}
	if r.get("from") == "" {
		r.fail("from", "required", "", "the row has no start date")
	}
	step.percent, _ = r.readPercent("percent", r.get("percent"))
	services := r.readServices()
	if r.bad {
		return
	}

	if services == nil {
		services = []int{-1}
	}
	if len(services)+len(p.fuel) > MaxFuel {
		r.fail("", "too_large", "", "the sheet has more than %d fuel surcharges: remove those of past months", MaxFuel)
		return
	}
	for _, id := range services {
		p.fuel = append(p.fuel, fuelRow{step, id, r.line})
	}
}

// readServices reads the services that a row is for; nil is all.
func (r *row) readServices() []int {
	var ids []int
	for _, code := range splitList(r.get("service"), true) {
		if id, ok := r.readService("service", code); ok && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// readZones reads the zones that a row is for; nil is all.
func (r *row) readZones() []int {
	var ids []int
	seen := map[int]bool{}
	for _, name := range splitList(r.get("zone"), true) {
		if id, ok := r.readZone("zone", name); ok && !seen[id] {
			ids = append(ids, id)
			seen[id] = true
		}
	}
	return ids
}

// buildFuel sorts the rows of [fuel] by day and service. The services have their
// new numbers by then.
func (p *parser) buildFuel() {
	sheet := &p.sheet
	sheet.ownFuel = make([][]fuelStep, len(sheet.Services))
	slices.SortStableFunc(p.fuel, func(a, b fuelRow) int { return strings.Compare(string(a.from), string(b.from)) })

	for _, row := range p.fuel {
		steps := &sheet.fuel
		if row.service >= 0 {
			steps = &sheet.ownFuel[row.service]
		}
		if n := len(*steps); n > 0 && (*steps)[n-1].from == row.from {
			p.fail(row.line, "from", "duplicate", "", "another row sets the fuel surcharge from the same day")
			continue
		}

		*steps = append(*steps, row.fuelStep)
		if sheet.ValidUntil != "" && row.from > sheet.ValidUntil {
			p.warn(row.line, "from", "unreachable", "", "the sheet is valid until %s", sheet.ValidUntil)
		}
	}
}
