package sheet

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/csvtext"
	"github.com/waybillhq/waybill/internal/ship"
)

// A row is one line of a section, under the section's heading.
type row struct {
	p     *parser
	line  int
	cells []string
	bad   bool // a cell is invalid, and was reported
}

// get is a cell without the space around it.
func (r *row) get(column string) string {
	at, ok := r.p.heading.at[column]
	if !ok {
		return ""
	}
	return r.cell(at)
}

func (r *row) cell(at int) string {
	if at >= len(r.cells) {
		return ""
	}
	return strings.TrimSpace(r.cells[at])
}

func (r *row) fail(column, code, suggestion, format string, args ...any) {
	r.bad = true
	r.p.fail(r.line, column, code, suggestion, format, args...)
}

// A heading says which cell is which.
type heading struct {
	names []string       // as they are written, for the cells in their order
	at    map[string]int // the cells that have a name of the section's own
	zones []zoneColumn   // those that have the name of a zone
}

type zoneColumn struct {
	at   int
	name string // as it is written: "zone 4"
	zone int
}

// decodeText returns the text of a sheet in UTF-8 with plain line ends, or the
// problem because of which it cannot.
func decodeText(data []byte) ([]byte, *Problem) {
	switch {
	case len(data) > MaxBytes:
		return nil, &Problem{Code: "too_large", Detail: fmt.Sprintf("the sheet is larger than %d MB: remove services and areas that you do not ship to", MaxBytes/1_000_000)}
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")):
		return nil, &Problem{Line: 1, Code: "encoding", Detail: "the text is UTF-16: save it as CSV UTF-8"}
	case bytes.HasPrefix(data, []byte("PK\x03\x04")): // a ZIP archive, as xlsx files are
		return nil, &Problem{Line: 1, Code: "encoding", Detail: "this is a spreadsheet file: save it as CSV UTF-8"}
	}

	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !utf8.Valid(data) {
		line := 1
		for rest := data; len(rest) > 0; {
			char, size := utf8.DecodeRune(rest)
			if char == utf8.RuneError && size == 1 {
				break
			}
			if char == '\n' {
				line++
			}
			rest = rest[size:]
		}
		return nil, &Problem{Line: line, Code: "encoding", Detail: "the text is not UTF-8: save it as CSV UTF-8"}
	}

	// Postgres stores no NUL.
	if at := bytes.IndexByte(data, 0); at >= 0 {
		return nil, &Problem{
			Line:   1 + bytes.Count(data[:at], []byte("\n")),
			Code:   "encoding",
			Detail: "is not a text file: save it as CSV UTF-8",
		}
	}

	if !bytes.Contains(data, []byte("\n")) {
		data = bytes.ReplaceAll(data, []byte("\r"), []byte("\n"))
	}
	return data, nil
}

// findSeparator returns what separates cells: the first comma, semicolon or tab
// of the first line that has one, not counting the names of sections and
// comments.
func findSeparator(data []byte) rune {
	for line := range bytes.Lines(data) {
		if start := bytes.TrimLeft(line, "\" "); len(start) > 0 && (start[0] == '#' || start[0] == '[') {
			continue
		}

		inQuotes := false
		for _, char := range line {
			switch {
			case char == '"':
				inQuotes = !inQuotes
			case !inQuotes && (char == ',' || char == ';' || char == '\t'):
				return rune(char)
			}
		}
	}
	return ','
}

// read gives every row to the section it is in.
func (p *parser) read(data []byte) {
	reader := csvtext.NewReader(data, findSeparator(data), MaxRowBytes)
	for {
		cells, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		if tooLong, ok := errors.AsType[*csvtext.TooLongError](err); ok {
			p.fail(tooLong.Line, "", "too_large", "", "the row has more than %d bytes: split it into several rows, or close its quotation marks", MaxRowBytes)
			return
		}
		if parseError, ok := errors.AsType[*csv.ParseError](err); ok {
			p.fail(parseError.StartLine, "", "quotes", "", `put a cell with a quotation mark in quotes and double the mark, "like ""this"""`)
			continue
		}
		if err != nil {
			p.fail(0, "", "invalid", "", "the file could not be parsed")
			return
		}

		line, _ := reader.FieldPos(0)
		first := strings.TrimSpace(cells[0])
		if strings.HasPrefix(first, "#") || isEmpty(cells) {
			continue
		}
		if strings.HasPrefix(first, "[") {
			p.beginSection(line, first, cells)
			continue
		}
		if !p.readRow(&row{p: p, line: line, cells: cells}) {
			return
		}
	}
}

func isEmpty(cells []string) bool {
	return !slices.ContainsFunc(cells, func(cell string) bool { return strings.TrimSpace(cell) != "" })
}

// beginSection begins the section that a marker such as [rates] names.
func (p *parser) beginSection(line int, marker string, cells []string) {
	name := strings.ToLower(strings.TrimSpace(strings.Trim(marker, "[]")))
	at := slices.IndexFunc(sections, func(s section) bool { return s.name == name })
	p.section = nil
	p.heading = heading{}

	switch {
	case at < 0:
		// One error is enough for all rows of the section.
		p.skip = true
		p.fail(line, "", "unknown", inBrackets(p.nearest(name, sectionNames())), "unknown section %s", quoteCell(marker))
		return
	case !isEmpty(cells[1:]):
		p.fail(line, "", "invalid", "", "the name of a section must be the only cell in its row")
	case p.lastSection == "" && name != "sheet":
		p.fail(line, "", "invalid", "[sheet]", "the first section must be [sheet], with the currency and the units")
		p.assumeUnits()
	case p.lastSection != "" && name == "sheet":
		p.fail(line, "", "duplicate", "", "[sheet] may appear only once, as the first section")
		p.skip = true
		return
	}

	p.section = &sections[at]
	p.lastSection = name
	p.skip = false

	// [sheet] has no heading: its rows are settings.
	if name == "sheet" {
		p.heading.at = map[string]int{}
	}
}

// assumeUnits sets the units that could not be read, so that their absence is
// not reported again for every number.
func (p *parser) assumeUnits() {
	terms := &p.sheet.terms
	terms.weightUnit = cmp.Or(terms.weightUnit, ship.Kilogram)
	terms.lengthUnit = cmp.Or(terms.lengthUnit, ship.Centimetre)
}

func inBrackets(name string) string {
	if name == "" {
		return ""
	}
	return "[" + name + "]"
}

// readRow reads a row that is neither empty nor a comment nor a section's name.
// It returns false when there is no use in going on.
func (p *parser) readRow(r *row) bool {
	switch {
	case p.skip:
		return true
	case p.section == nil:
		p.fail(r.line, "", "missing", "[sheet]", "there is a row before the first section")
		p.assumeUnits()
		p.lastSection = "sheet"
		p.skip = true
		return true
	case p.heading.at == nil:
		p.readHeading(r)
		return true
	}

	if p.rows++; p.rows > MaxRows {
		p.fail(r.line, "", "too_large", "", "the sheet has more than %d rows: combine areas into ranges or prefixes", MaxRows)
		return false
	}
	if p.section.columns != nil && len(r.cells) > len(p.heading.names) && !isEmpty(r.cells[len(p.heading.names):]) {
		r.fail("", "invalid", "", "the row has %d cells and the heading %d: put values with a decimal comma in quotes", len(r.cells), len(p.heading.names))
	}
	for _, cell := range r.cells {
		if strings.HasPrefix(strings.TrimSpace(cell), "=") {
			r.fail("", "invalid", "", "a cell contains a formula: replace it with its value")
			return true
		}
	}

	p.section.read(p, r)
	return true
}

// readHeading reads the first row of a section.
func (p *parser) readHeading(r *row) {
	p.heading.at = map[string]int{}
	if len(r.cells) > MaxZones+len(p.section.columns) {
		r.fail("", "too_large", "", "the heading has more than %d zones: use fewer zones", MaxZones)
		p.skip = true
		return
	}

	seen := map[string]bool{}
	for i, cell := range r.cells {
		// Names of columns are case-insensitive, those of zones are not.
		words := strings.Fields(cell)
		name := strings.ToLower(strings.Join(words, " "))
		isZone := p.section.wide && len(words) == 2 && strings.EqualFold(words[0], "zone")
		if isZone {
			name = "zone " + words[1]
		}
		p.heading.names = append(p.heading.names, name)

		switch {
		case name == "":
		case seen[name]:
			r.fail(name, "duplicate", "", "two columns have this name")
		case isZone:
			if id, ok := r.readZone(name, words[1]); ok {
				p.heading.zones = append(p.heading.zones, zoneColumn{i, name, id})
			}
		case slices.Contains(p.section.columns, name):
			p.heading.at[name] = i
		default:
			r.fail(name, "unknown", p.nearest(name, p.section.columns), "unknown column in [%s]", p.section.name)
		}
		seen[name] = true
	}
	p.checkHeading(r)
}

// checkHeading reports the columns that a section lacks, and skips the section
// if its heading is not right.
func (p *parser) checkHeading(r *row) {
	required := p.section.required
	if p.section.wide && len(p.heading.zones) == 0 {
		required = append(slices.Clone(required), "zone", p.section.value)
	}
	for _, name := range required {
		if _, ok := p.heading.at[name]; !ok {
			r.fail(name, "required", "", "[%s] needs a column with this name", p.section.name)
		}
	}

	if len(p.heading.zones) > 0 {
		for _, name := range []string{"zone", p.section.value} {
			if _, ok := p.heading.at[name]; ok {
				r.fail(name, "invalid", "", "use either one column per zone or a single column zone, not both")
			}
		}
	}
	p.skip = r.bad
}
