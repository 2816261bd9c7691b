package sheet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
)

// Parse reads a sheet. All problems are reported in one error of kind
// ship.Invalid and code Code, whose cause is Problems. Sheet.Warnings lists
// what is allowed and may be a mistake.
func Parse(csv []byte) (Sheet, error) {
	p := newParser()
	text, problem := decodeText(csv)
	if problem != nil {
		return Sheet{}, refusal([]Problem{*problem}, 1)
	}

	p.read(text)
	sheet := p.build()
	if p.problemCount == 0 && len(csv) > smallSheet {
		p.checkNormalForm(&sheet)
	}

	byLine := func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) }
	if p.problemCount > 0 {
		slices.SortStableFunc(p.problems, byLine)
		return Sheet{}, refusal(p.problems, p.problemCount)
	}
	slices.SortStableFunc(p.warnings, byLine)
	sheet.Warnings = p.warnings
	return sheet, nil
}

// smallSheet is the size of a text whose normal form cannot reach the limits.
const smallSheet = 500

// checkNormalForm makes sure that the normal form of a sheet is within the
// limits of a sheet.
func (p *parser) checkNormalForm(sheet *Sheet) {
	if w := sheet.write(false); w.out.size > MaxBytes || w.rows > MaxRows {
		p.fail(0, "", "too_large", "", "the sheet is too large with one area in each row: more than %d rows or %d bytes; combine areas into ranges or prefixes", MaxRows, MaxBytes)
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
	sheet        Sheet
	problems     []Problem
	warnings     []Problem
	problemCount int // of all problems, of which the first are in problems

	section     *section // the current one
	lastSection string   // its name, or that of the one before
	heading     heading
	skip        bool // the section cannot be understood
	rows        int

	set              map[string]int // the lines of the settings that were given
	points           int            // the first line with a decimal point
	commas           int            // the first line with a decimal comma
	mixed            bool           // both, and reported
	zones            names
	services         names
	declared         []declared
	lanes            []lane
	drafts           map[[2]int]*draft // by service and zone
	prices           int
	hasTooManyTables bool // and it was reported
	days             map[[2]int]transit
	fuel             []fuelRow
	surcharges       []*surchargeDraft
	steps            int                  // of all surcharges
	areas            int                  // of all surcharges
	digits           map[string]int       // zipDigits of the countries seen
	states           map[[2]string]string // normalized, by country and cell
}

func newParser() *parser {
	return &parser{
		set:      map[string]int{},
		zones:    newNames(),
		services: newNames(),
		drafts:   map[[2]int]*draft{},
		days:     map[[2]int]transit{},
		digits:   map[string]int{},
		states:   map[[2]string]string{},
	}
}

func (p *parser) fail(line int, column, code, suggestion, format string, args ...any) {
	if p.problemCount++; p.problemCount <= MaxProblems {
		p.problems = append(p.problems, Problem{
			Line:       line,
			Column:     column,
			Code:       code,
			Detail:     fmt.Sprintf(format, args...),
			Suggestion: suggestion,
		})
	}
}

func (p *parser) warn(line int, column, code, suggestion, format string, args ...any) {
	if len(p.warnings) < MaxProblems {
		p.warnings = append(p.warnings, Problem{
			Line:       line,
			Column:     column,
			Code:       code,
			Detail:     fmt.Sprintf(format, args...),
			Suggestion: suggestion,
		})
	}
}

// nearest suggests a word. It takes time, so there is no suggestion once no more
// problems are reported.
func (p *parser) nearest(word string, candidates []string) string {
	if p.problemCount >= MaxProblems {
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

func newNames() names { return names{id: map[string]int{}} }

func (n *names) has(name string) bool {
	_, ok := n.id[name]
	return ok
}

// idOf returns the number of a name, and gives it one if it is new.
func (n *names) idOf(name string, line int) int {
	id, ok := n.id[name]
	if !ok {
		id = len(n.list)
		name = strings.Clone(name) // a row's cells share their memory
		n.id[name] = id
		n.list = append(n.list, name)
		n.line = append(n.line, line)
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
	{
		name: "sheet",
		read: (*parser).readSetting,
	},
	{
		name:     "services",
		read:     (*parser).readService,
		required: []string{"service"},
		columns:  []string{"service", "name", "rate by", "max weight", "max length", "max girth", "divisor", "minimum weight", "round weight", "guaranteed"},
	},
	{
		name:     "zones",
		read:     (*parser).readZone,
		required: []string{"zone", "country"},
		columns:  []string{"zone", "country", "state", "zip", "from country", "from state", "from zip"},
	},
	{
		name:     "rates",
		read:     (*parser).readRate,
		required: []string{"service", "up to"},
		wide:     true,
		value:    "price",
		columns:  []string{"service", "zone", "up to", "price"},
	},
	{
		name:     "transit",
		read:     (*parser).readTransit,
		required: []string{"service"},
		wide:     true,
		value:    "days",
		columns:  []string{"service", "zone", "days"},
	},
	{
		name:     "surcharges",
		read:     (*parser).readSurcharge,
		required: []string{"surcharge", "amount"},
		columns:  []string{"surcharge", "when", "amount", "per", "fuel", "service", "zone", "country", "state", "zip"},
	},
	{
		name:     "fuel",
		read:     (*parser).readFuel,
		required: []string{"from", "percent"},
		columns:  []string{"from", "percent", "service"},
	},
}

func sectionNames() []string {
	list := make([]string, len(sections))
	for i, section := range sections {
		list[i] = section.name
	}
	return list
}

var settings = []string{
	"name", "currency", "valid from", "valid until", "weight unit", "length unit", "divisor", "minimum weight", "round weight", "round lengths",
}

// readSetting reads a row of [sheet].
func (p *parser) readSetting(r *row) {
	// Each row is its own heading: the setting is the name of its second cell.
	key := strings.ToLower(strings.Join(strings.Fields(r.cell(0)), " "))
	p.heading.at = map[string]int{key: 1}
	value := r.cell(1)

	switch {
	case !slices.Contains(settings, key):
		r.fail("", "unknown", p.nearest(key, settings), "unknown setting %s", quoteCell(r.cell(0)))
	case p.set[key] > 0:
		r.fail(key, "duplicate", "", "the setting is given twice")
	case len(r.cells) > 2 && !isEmpty(r.cells[2:]):
		r.fail(key, "invalid", "", "a setting has one value: put a value with a decimal comma in quotes")
	case value != "":
		p.assign(r, key, value)
	}

	if slices.Contains(settings, key) {
		p.set[key] = r.line
	}
	if r.bad {
		p.assumeUnits()
	}
}

// assign gives a setting its value.
func (p *parser) assign(r *row, key, value string) {
	sheet := &p.sheet
	terms := &p.sheet.terms
	switch key {
	case "name":
		sheet.Name = r.readText(key, 100)
	case "currency":
		sheet.Currency = r.readCurrency(key, value)
	case "valid from":
		sheet.ValidFrom = r.readDate(key)
	case "valid until":
		sheet.ValidUntil = r.readDate(key)

	case "weight unit":
		terms.weightUnit = r.readWeightUnit(key, value, "")
	case "length unit":
		terms.lengthUnit = r.readLengthUnit(key, value, "")
	case "divisor":
		terms.divisor = r.readDivisor(key, value)
	case "minimum weight":
		terms.minimum = r.readWeight(key, value)
	case "round weight":
		terms.step = r.readWeight(key, value)
	case "round lengths":
		terms.lengths = r.readRounding(key, value)
	}
}
