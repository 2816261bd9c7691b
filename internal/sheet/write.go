package sheet

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"slices"
	"strconv"

	"github.com/waybillhq/waybill/internal/ship"
)

// CSV writes the sheet in its normal form: with commas and decimal points, its
// zones, weights and areas in order, one area a row. Parse reads it back as the
// same sheet, warnings aside.
func (s Sheet) CSV() []byte {
	if s.Currency == "" {
		return nil
	}
	return s.write().out
}

// A writer writes rows and counts them.
type writer struct {
	out  []byte
	rows int // without headings

	s   *Sheet
	buf bytes.Buffer
	csv *csv.Writer
}

func (s *Sheet) write() *writer {
	w := &writer{s: s}
	w.csv = csv.NewWriter(&w.buf)
	w.terms()
	w.services()
	w.zones()
	w.rates()
	w.transit()
	w.surcharges()
	w.fuel()
	w.csv.Flush()
	w.out = w.buf.Bytes()
	return w
}

// begin writes the name of a section and its heading.
func (w *writer) begin(name string, columns ...string) {
	if w.csv.Flush(); w.buf.Len() > 0 {
		w.buf.WriteByte('\n')
	}
	w.put("[" + name + "]")
	if len(columns) > 0 {
		w.put(columns...)
	}
}

func (w *writer) put(cells ...string) {
	if w.buf.Len() > MaxBytes {
		return // too large already
	}
	_ = w.csv.Write(cells) // to memory, with a valid separator: it cannot fail
}

func (w *writer) row(cells ...string) {
	w.rows++
	w.put(cells...)
}

func (w *writer) money(minor int64) string {
	return ship.Money{Minor: minor, Currency: w.s.Currency}.Amount()
}

func (w *writer) weight(v weight) string {
	if v == 0 {
		return ""
	}
	return v.text(w.s.terms.weightUnit)
}

func (w *writer) length(v length) string {
	if v == 0 {
		return ""
	}
	return v.text(w.s.terms.lengthUnit)
}

func (w *writer) terms() {
	t := &w.s.terms
	w.begin("sheet")
	set := func(name, value string) {
		if value != "" {
			w.row(name, value)
		}
	}
	set("name", w.s.Name)
	set("currency", w.s.Currency)
	set("valid from", string(w.s.ValidFrom))
	set("valid until", string(w.s.ValidUntil))
	set("weight unit", string(t.weightUnit))
	set("length unit", string(t.lengthUnit))
	if t.divisor.by > 0 {
		set("divisor", t.divisor.text())
	}
	set("minimum weight", w.weight(t.minimum))
	set("round weight", w.weight(t.step))
	if t.lengths.to > 0 {
		set("round lengths", pick(t.lengths.nearest, "nearest ", "up ")+w.length(t.lengths.to))
	}
}

func pick(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}

func (w *writer) services() {
	w.begin("services", "service", "name", "rate by", "max weight", "max length", "max girth", "divisor", "minimum weight",
		"round weight", "guaranteed")
	for _, v := range w.s.Services {
		divisor := ""
		if v.divisor != nil {
			divisor = v.divisor.text()
		}
		w.row(v.Code, v.Name, pick(v.byShipment, "shipment", "piece"), w.weight(v.maxWeight), w.length(v.maxLength), w.length(v.maxGirth),
			divisor, w.own(v.minimum), w.own(v.step), pick(v.Guaranteed, "yes", ""))
	}
}

// own writes what a service has instead of the sheet's.
func (w *writer) own(v *weight) string {
	switch {
	case v == nil:
		return ""
	case *v == 0:
		return "none"
	}
	return w.weight(*v)
}

func (w *writer) zones() {
	if len(w.s.origins) == 1 && w.s.origins[0].country == anywhere {
		w.begin("zones", "zone", "country", "state", "zip")
		for _, to := range w.s.lanes[0] {
			w.row(w.s.Zones[to.value], to.country, to.state, to.zip())
		}
		return
	}
	w.begin("zones", "zone", "country", "state", "zip", "from country", "from state", "from zip")
	for _, from := range w.s.origins {
		for _, to := range w.s.lanes[from.value] {
			w.row(w.s.Zones[to.value], to.country, to.state, to.zip(), from.country, from.state, from.zip())
		}
	}
}

// rates writes the tables of a service that have the same weights side by side.
func (w *writer) rates() {
	var zones []int // of the heading
	for id, tables := range w.s.tables {
		for _, group := range alike(tables) {
			var at []int
			for _, t := range group {
				at = append(at, t.zone)
			}
			if !slices.Equal(zones, at) {
				zones = at
				w.begin("rates", w.heading([]string{"service", "up to"}, zones)...)
			}
			w.block(w.s.Services[id].Code, group)
		}
	}
}

// alike groups tables that have the same weights.
func alike(tables []table) [][]*table {
	var groups [][]*table
	at := map[string]int{}
	for i := range tables {
		t := &tables[i]
		key := binary.AppendVarint(nil, int64(t.each))
		for _, b := range t.breaks {
			key = binary.AppendVarint(key, int64(b.upTo))
		}
		g, ok := at[string(key)]
		if !ok {
			g = len(groups)
			at[string(key)], groups = g, append(groups, nil)
		}
		groups[g] = append(groups[g], t)
	}
	return groups
}

func (w *writer) heading(columns []string, zones []int) []string {
	for _, z := range zones {
		columns = append(columns, "zone "+w.s.Zones[z])
	}
	return columns
}

func (w *writer) block(service string, group []*table) {
	cells := make([]string, 2+len(group))
	cells[0] = service
	for i, b := range group[0].breaks {
		cells[1] = w.weight(b.upTo)
		for j, t := range group {
			cells[2+j] = w.money(t.breaks[i].price)
		}
		w.row(cells...)
	}
	if group[0].each > 0 {
		cells[1] = eachFurther + " " + w.weight(group[0].each)
		for j, t := range group {
			cells[2+j] = w.money(t.more)
		}
		w.row(cells...)
	}
}

func (w *writer) transit() {
	var zones []int
	for id, tables := range w.s.tables {
		var at []int
		cells := []string{w.s.Services[id].Code}
		for i := range tables {
			if t := &tables[i]; t.days > 0 {
				at, cells = append(at, t.zone), append(cells, strconv.Itoa(t.days))
			}
		}
		if len(at) == 0 {
			continue
		}
		if !slices.Equal(zones, at) {
			zones = at
			w.begin("transit", w.heading([]string{"service"}, zones)...)
		}
		w.row(cells...)
	}
}
