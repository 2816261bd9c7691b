package sheet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
)

// Parse reads a sheet. Whatever is wrong with it is told in one error of kind
// ship.Invalid and code Code, whose cause is Problems. Sheet.Warnings tells
// what may be meant so.
func Parse(csv []byte) (Sheet, error) {
	p := newParser()
	data, wrong := text(csv)
	if wrong != nil {
		return Sheet{}, refusal([]Problem{*wrong}, 1)
	}
	p.read(data)
	s := p.build()
	if p.found == 0 && len(csv) > smallSheet {
		p.fits(&s)
	}
	if p.found > 0 {
		slices.SortStableFunc(p.problems, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
		return Sheet{}, refusal(p.problems, p.found)
	}
	slices.SortStableFunc(p.warnings, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
	s.Warnings = p.warnings
	return s, nil
}

// smallSheet is a text whose normal form cannot reach the limits.
const smallSheet = 8_000

// fits makes sure that the normal form of a sheet is a sheet.
func (p *parser) fits(s *Sheet) {
	if w := s.write(); len(w.out) > MaxBytes || w.rows > MaxRows {
		p.fail(0, "", "too_large", "", "the sheet is too large in its normal form: %d rows, %d bytes", w.rows, len(w.out))
	}
}

// terms are what holds for the whole sheet.
type terms struct {
	weightUnit ship.WeightUnit // of bare numbers
	lengthUnit ship.LengthUnit // of bare numbers
	divisor    divisor
	minimum    weight // that is charged for
	step       weight // weights are rounded up to its multiples; 0 is not at all
	lengths    rounding
}

// A parser collects what a text says, before it is put in order.
type parser struct {
	sheet    Sheet
	problems []Problem
	warnings []Problem
	found    int // problems, told or not

	now  *section
	last string // the name of the last section
	head heading
	skip bool // the section cannot be understood
	rows int

	set        map[string]int // the lines of the settings that were given
	points     int            // the first line with a decimal point
	commas     int            // the first line with a decimal comma
	mixed      bool           // both, and told
	zones      names
	services   names
	declared   []declared
	lanes      []lane
	drafts     map[[2]int]*draft // by service and zone
	prices     int
	days       map[[2]int]transit
	fuel       []fuelRow
	surcharges []*surchargeDraft
	steps      int                        // of all surcharges
	sites      int                        // areas of all surcharges
	digits     map[string]int             // zipDigits of the countries seen
	states     map[[2]string]ship.Address // normalized, by country and what is written
}

func newParser() *parser {
	return &parser{
		set: map[string]int{}, zones: newNames(), services: newNames(), drafts: map[[2]int]*draft{}, days: map[[2]int]transit{},
		digits: map[string]int{}, states: map[[2]string]ship.Address{},
	}
}

func (p *parser) fail(line int, column, code, suggestion, format string, args ...any) {
	if p.found++; p.found <= MaxProblems {
		p.problems = append(p.problems, Problem{line, column, code, fmt.Sprintf(format, args...), suggestion})
	}
}

func (p *parser) warn(line int, column, code, suggestion, format string, args ...any) {
	if len(p.warnings) < MaxProblems {
		p.warnings = append(p.warnings, Problem{line, column, code, fmt.Sprintf(format, args...), suggestion})
	}
}

// nearest suggests a word, while problems are told one by one: it takes time.
func (p *parser) nearest(word string, candidates []string) string {
	if p.found >= MaxProblems {
		return ""
	}
	return ship.Nearest(word, candidates)
}

// names gives numbers to names, and remembers where each was first seen.
type names struct {
	list []string
	line []int
	id   map[string]int
}

func (n *names) has(name string) bool {
	_, ok := n.id[name]
	return ok
}

func newNames() names { return names{id: map[string]int{}} }

func (n *names) of(name string, line int) int {
	id, ok := n.id[name]
	if !ok {
		id = len(n.list)
		name = strings.Clone(name) // a row's cells share their memory
		n.id[name] = id
		n.list, n.line = append(n.list, name), append(n.line, line)
	}
	return id
}

// A section is a kind of rows.
type section struct {
	name     string
	columns  []string // nil: a setting and its value, without a heading
	required []string
	wide     bool   // may have a column for each zone instead of zone and value
	value    string // of a wide section
	read     func(*parser, *row)
}

var sections = []section{
	{name: "sheet", read: (*parser).setting},
	{
		name: "services", read: (*parser).service, required: []string{"service"},
		columns: []string{"service", "name", "rate by", "max weight", "max length", "max girth", "divisor", "minimum weight", "round weight", "guaranteed"},
	},
	{
		name: "zones", read: (*parser).zone, required: []string{"zone", "country"},
		columns: []string{"zone", "country", "state", "zip", "from country", "from state", "from zip"},
	},
	{
		name: "rates", read: (*parser).rate, required: []string{"service", "up to"}, wide: true, value: "price",
		columns: []string{"service", "zone", "up to", "price"},
	},
	{
		name: "transit", read: (*parser).transit, required: []string{"service"}, wide: true, value: "days",
		columns: []string{"service", "zone", "days"},
	},
	{
		name: "surcharges", read: (*parser).surcharge, required: []string{"surcharge", "amount"},
		columns: []string{"surcharge", "when", "amount", "per", "fuel", "service", "zone", "country", "state", "zip"},
	},
	{
		name: "fuel", read: (*parser).fuelRow, required: []string{"from", "percent"},
		columns: []string{"from", "percent", "service"},
	},
}

func sectionNames() []string {
	list := make([]string, len(sections))
	for i, s := range sections {
		list[i] = s.name
	}
	return list
}

var settings = []string{
	"name", "currency", "valid from", "valid until", "weight unit", "length unit", "divisor", "minimum weight", "round weight", "round lengths",
}

// setting reads a row of [sheet].
func (p *parser) setting(r *row) {
	key := strings.ToLower(strings.Join(strings.Fields(r.cell(0)), " "))
	p.head.at = map[string]int{key: 1}
	value := r.cell(1)
	switch {
	case !slices.Contains(settings, key):
		r.fail("", "unknown", p.nearest(key, settings), "there is no setting %s", quoted(r.cell(0)))
	case p.set[key] > 0:
		r.fail(key, "duplicate", "", "the setting is given twice")
	case len(r.cells) > 2 && !empty(r.cells[2:]):
		r.fail(key, "invalid", "", "a setting has one value: is a decimal comma not in quotes?")
	case value != "":
		p.assign(r, key, value)
	}
	p.set[key] = r.line
	if r.bad {
		p.assume()
	}
}

func (p *parser) assign(r *row, key, value string) {
	s, t := &p.sheet, &p.sheet.terms
	switch key {
	case "name":
		s.Name = r.text(key, 100)
	case "currency":
		s.Currency = r.currency(key, value)
	case "valid from":
		s.ValidFrom = r.date(key)
	case "valid until":
		s.ValidUntil = r.date(key)
	case "weight unit":
		t.weightUnit = r.weightUnit(key, value, "")
	case "length unit":
		t.lengthUnit = r.lengthUnit(key, value, "")
	case "divisor":
		t.divisor = r.divisor(key, value)
	case "minimum weight":
		t.minimum = r.weight(key, value)
	case "round weight":
		t.step = r.weight(key, value)
	case "round lengths":
		t.lengths = r.rounding(key, value)
	}
}
