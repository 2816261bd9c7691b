package sheet

import (
	"encoding/binary"
	"encoding/csv"
	"slices"
	"strconv"

	"github.com/waybillhq/waybill/internal/ship"
)

// CSV writes the sheet in its normal form: with commas and decimal points, its
// zones, weights and areas in order, one area per row. Parse reads it back as
// the same sheet, warnings aside.
func (s Sheet) CSV() []byte {
	if s.Currency == "" {
		return nil
	}
	return s.write(true).out.text
}

// A writer writes rows and counts them.
type writer struct {
	out   output
	rows  int // without headings
	sheet *Sheet
	csv   *csv.Writer
}

// An output is what was written, or only how much it is.
type output struct {
	text  []byte
	size  int
	keeps bool
}

// Write is io.Writer.
func (o *output) Write(text []byte) (int, error) {
	o.size += len(text)
	if o.keeps {
		o.text = append(o.text, text...)
	}
	return len(text), nil
}

// write writes the sheet in its normal form. Unless the text is kept, it is
// only measured.
func (s *Sheet) write(keeps bool) *writer {
	w := &writer{sheet: s, out: output{keeps: keeps}}
	w.csv = csv.NewWriter(&w.out)

	w.writeTerms()
	w.writeServices()
	w.writeZones()
	w.writeRates()
	w.writeTransit()
	w.writeSurcharges()
	w.writeFuel()

	w.csv.Flush()
	return w
}

// beginSection writes the name of a section and its heading.
func (w *writer) beginSection(name string, columns ...string) {
	if w.csv.Flush(); w.out.size > 0 {
		_, _ = w.out.Write([]byte("\n")) // to memory: it cannot fail
	}
	w.writeCells("[" + name + "]")
	if len(columns) > 0 {
		w.writeCells(columns...)
	}
}

func (w *writer) writeCells(cells ...string) {
	// The sheet is too large already, and the caller will refuse it.
	if w.out.size > MaxBytes {
		return
	}
	_ = w.csv.Write(cells) // to memory, with a valid separator: it cannot fail
}

func (w *writer) writeRow(cells ...string) {
	w.rows++
	w.writeCells(cells...)
}

func (w *writer) money(minor int64) string {
	return ship.Money{Minor: minor, Currency: w.sheet.Currency}.Amount()
}

func (w *writer) weight(value weight) string {
	if value == 0 {
		return ""
	}
	return value.format(w.sheet.terms.weightUnit)
}

func (w *writer) length(value length) string {
	if value == 0 {
		return ""
	}
	return value.format(w.sheet.terms.lengthUnit)
}

func (w *writer) writeTerms() {
	terms := &w.sheet.terms
	set := func(name, value string) {
		if value != "" {
			w.writeRow(name, value)
		}
	}

	w.beginSection("sheet")
	set("name", w.sheet.Name)
	set("currency", w.sheet.Currency)
	set("valid from", string(w.sheet.ValidFrom))
	set("valid until", string(w.sheet.ValidUntil))
	set("weight unit", string(terms.weightUnit))
	set("length unit", string(terms.lengthUnit))
	if terms.divisor.by > 0 {
		set("divisor", terms.divisor.format())
	}
	set("minimum weight", w.weight(terms.minimum))
	set("round weight", w.weight(terms.step))
	if terms.lengths.to > 0 {
		set("round lengths", choose(terms.lengths.nearest, "nearest ", "up ")+w.length(terms.lengths.to))
	}
}

// choose is the first text if the condition holds, else the second.
func choose(condition bool, first, second string) string {
	if condition {
		return first
	}
	return second
}

func (w *writer) writeServices() {
	w.beginSection("services", "service", "name", "rate by", "max weight", "max length", "max girth", "divisor", "minimum weight",
		"round weight", "guaranteed")

	for _, service := range w.sheet.Services {
		divisor := ""
		if service.divisor != nil {
			divisor = service.divisor.format()
		}

		w.writeRow(
			service.Code,
			service.Name,
			choose(service.byShipment, "shipment", "piece"),
			w.weight(service.maxWeight),
			w.length(service.maxLength),
			w.length(service.maxGirth),
			divisor,
			w.ownWeight(service.minimum),
			w.ownWeight(service.step),
			choose(service.Guaranteed, "yes", ""),
		)
	}
}

// ownWeight is the cell of a weight that a service has instead of the sheet's.
func (w *writer) ownWeight(value *weight) string {
	switch {
	case value == nil:
		return ""
	case *value == 0:
		return "none"
	}
	return w.weight(*value)
}

func (w *writer) writeZones() {
	sheet := w.sheet
	if len(sheet.origins) == 1 && sheet.origins[0].country == anywhere {
		w.beginSection("zones", "zone", "country", "state", "zip")
		for _, to := range sheet.lanes[0] {
			w.writeRow(sheet.Zones[to.value], to.country, to.state, to.zip())
		}
		return
	}

	w.beginSection("zones", "zone", "country", "state", "zip", "from country", "from state", "from zip")
	for _, from := range sheet.origins {
		for _, to := range sheet.lanes[from.value] {
			w.writeRow(sheet.Zones[to.value], to.country, to.state, to.zip(), from.country, from.state, from.zip())
		}
	}
}

// writeRates writes the tables of a service that have the same weights side by
// side. A new section begins where the zones of the heading change.
func (w *writer) writeRates() {
	var headed []int // the zones of the heading
	for id, tables := range w.sheet.tables {
		for _, group := range groupByWeights(tables) {
			var zones []int
			for _, table := range group {
				zones = append(zones, table.zone)
			}
			if !slices.Equal(headed, zones) {
				headed = zones
				w.beginSection("rates", w.zoneColumns([]string{"service", "up to"}, zones)...)
			}
			w.writeTables(w.sheet.Services[id].Code, group)
		}
	}
}

// groupByWeights groups tables that have the same weights.
func groupByWeights(tables []table) [][]*table {
	var groups [][]*table
	at := map[string]int{}
	for i := range tables {
		table := &tables[i]
		key := binary.AppendVarint(nil, int64(table.each))
		for _, priceBreak := range table.breaks {
			key = binary.AppendVarint(key, int64(priceBreak.upTo))
		}

		group, ok := at[string(key)]
		if !ok {
			group = len(groups)
			at[string(key)] = group
			groups = append(groups, nil)
		}
		groups[group] = append(groups[group], table)
	}
	return groups
}

// zoneColumns appends a column for each zone.
func (w *writer) zoneColumns(columns []string, zones []int) []string {
	for _, zone := range zones {
		columns = append(columns, "zone "+w.sheet.Zones[zone])
	}
	return columns
}

// writeTables writes tables of the same weights, a row for each weight.
func (w *writer) writeTables(service string, group []*table) {
	cells := make([]string, 2+len(group))
	cells[0] = service
	for i, priceBreak := range group[0].breaks {
		cells[1] = w.weight(priceBreak.upTo)
		for j, table := range group {
			cells[2+j] = w.money(table.breaks[i].price)
		}
		w.writeRow(cells...)
	}

	if group[0].each > 0 {
		cells[1] = eachFurther + " " + w.weight(group[0].each)
		for j, table := range group {
			cells[2+j] = w.money(table.more)
		}
		w.writeRow(cells...)
	}
}

func (w *writer) writeTransit() {
	var headed []int // the zones of the heading
	for id, tables := range w.sheet.tables {
		var zones []int
		cells := []string{w.sheet.Services[id].Code}
		for i := range tables {
			if table := &tables[i]; table.days > 0 {
				zones = append(zones, table.zone)
				cells = append(cells, strconv.Itoa(table.days))
			}
		}
		if len(zones) == 0 {
			continue
		}

		if !slices.Equal(headed, zones) {
			headed = zones
			w.beginSection("transit", w.zoneColumns([]string{"service"}, zones)...)
		}
		w.writeRow(cells...)
	}
}
