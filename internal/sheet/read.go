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

	"github.com/waybillhq/waybill/internal/ship"
)

// A row is one line of a section, under the section's heading.
type row struct {
	p     *parser
	line  int
	cells []string
	bad   bool // a cell is wrong, and has been told
}

// get is a cell without the space around it.
func (r *row) get(column string) string {
	at, ok := r.p.head.at[column]
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

// text returns the text of a sheet in UTF-8 with plain line ends, or says why
// it cannot.
func text(data []byte) ([]byte, *Problem) {
	switch {
	case len(data) > MaxBytes:
		return nil, &Problem{Code: "too_large", Detail: fmt.Sprintf("the sheet is larger than %d MB", MaxBytes/1_000_000)}
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")):
		return nil, &Problem{Line: 1, Code: "encoding", Detail: "the text is UTF-16: save it as CSV UTF-8"}
	case bytes.HasPrefix(data, []byte("PK\x03\x04")):
		return nil, &Problem{Line: 1, Code: "encoding", Detail: "this is a spreadsheet file: save it as CSV UTF-8"}
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !utf8.Valid(data) {
		line := 1
		for rest := data; len(rest) > 0; {
			r, size := utf8.DecodeRune(rest)
			if r == utf8.RuneError && size == 1 {
				break
			}
			if r == '\n' {
				line++
			}
			rest = rest[size:]
		}
		return nil, &Problem{Line: line, Code: "encoding", Detail: "the text is not UTF-8: save it as CSV UTF-8"}
	}
	if !bytes.Contains(data, []byte("\n")) {
		data = bytes.ReplaceAll(data, []byte("\r"), []byte("\n"))
	}
	return data, nil
}

// separator is what stands between cells: the first comma, semicolon or tab of
// the first line that has one, without the names of sections and comments.
func separator(data []byte) rune {
	for line := range bytes.Lines(data) {
		if at := bytes.TrimLeft(line, "\" "); len(at) > 0 && (at[0] == '#' || at[0] == '[') {
			continue
		}
		open := false
		for _, c := range line {
			switch {
			case c == '"':
				open = !open
			case !open && (c == ',' || c == ';' || c == '\t'):
				return rune(c)
			}
		}
	}
	return ','
}

// read gives every row to the section it is in.
func (p *parser) read(data []byte) {
	in := csv.NewReader(bytes.NewReader(data))
	in.Comma, in.FieldsPerRecord, in.ReuseRecord = separator(data), -1, true
	for {
		cells, err := in.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		if wrong, ok := errors.AsType[*csv.ParseError](err); ok {
			p.fail(wrong.StartLine, "", "quotes", "", `a cell with a quotation mark is written "in ""quotes"" like this"`)
			continue
		} else if err != nil {
			p.fail(0, "", "invalid", "", "the text cannot be read")
			return
		}
		line, _ := in.FieldPos(0)
		if first := strings.TrimSpace(cells[0]); strings.HasPrefix(first, "#") || empty(cells) {
			continue
		} else if strings.HasPrefix(first, "[") {
			p.begin(line, first, cells)
			continue
		}
		if !p.row(&row{p: p, line: line, cells: cells}) {
			return
		}
	}
}

func empty(cells []string) bool {
	return !slices.ContainsFunc(cells, func(c string) bool { return strings.TrimSpace(c) != "" })
}

// begin starts a section.
func (p *parser) begin(line int, marker string, cells []string) {
	name := strings.ToLower(strings.TrimSpace(strings.Trim(marker, "[]")))
	i := slices.IndexFunc(sections, func(s section) bool { return s.name == name })
	p.now, p.head = nil, heading{}
	switch {
	case i < 0:
		p.skip = true // what follows is told by this one error
		p.fail(line, "", "unknown", bracketed(p.nearest(name, sectionNames())), "there is no section %s", quoted(marker))
		return
	case !empty(cells[1:]):
		p.fail(line, "", "invalid", "", "the name of a section stands alone in its row")
	case p.last == "" && name != "sheet":
		p.fail(line, "", "invalid", "[sheet]", "the first section has the currency and the units")
		p.assume()
	case p.last != "" && name == "sheet":
		p.fail(line, "", "duplicate", "", "there is one section [sheet], and it is the first")
		p.skip = true
		return
	}
	p.now, p.last, p.skip = &sections[i], name, false
	if name == "sheet" {
		p.head.at = map[string]int{}
	}
}

// assume makes up the units that could not be read, so that one mistake is told
// once.
func (p *parser) assume() {
	t := &p.sheet.terms
	t.weightUnit, t.lengthUnit = cmp.Or(t.weightUnit, ship.Kilogram), cmp.Or(t.lengthUnit, ship.Centimetre)
}

func bracketed(name string) string {
	if name == "" {
		return ""
	}
	return "[" + name + "]"
}

// row takes a row that is neither empty nor a comment nor a section's name. It
// reports false when there is no use in going on.
func (p *parser) row(r *row) bool {
	switch {
	case p.skip:
		return true
	case p.now == nil:
		p.fail(r.line, "", "missing", "[sheet]", "a row stands before the first section")
		p.assume()
		p.last, p.skip = "sheet", true
		return true
	case p.head.at == nil:
		p.heading(r)
		return true
	}
	if p.rows++; p.rows > MaxRows {
		p.fail(r.line, "", "too_large", "", "the sheet has more than %d rows", MaxRows)
		return false
	}
	if p.now.columns != nil && len(r.cells) > len(p.head.names) && !empty(r.cells[len(p.head.names):]) {
		r.fail("", "invalid", "", "the row has %d cells and the heading %d: is a decimal comma not in quotes?", len(r.cells), len(p.head.names))
	}
	for _, c := range r.cells {
		if strings.HasPrefix(strings.TrimSpace(c), "=") {
			r.fail("", "invalid", "", "a cell is a formula: save the values")
			return true
		}
	}
	p.now.read(p, r)
	return true
}

// heading reads the first row of a section.
func (p *parser) heading(r *row) {
	p.head.at = map[string]int{}
	if len(r.cells) > MaxZones+len(p.now.columns) {
		r.fail("", "too_large", "", "the heading has more than %d zones", MaxZones)
		p.skip = true
		return
	}
	seen := map[string]bool{}
	for i, cell := range r.cells {
		words := strings.Fields(cell)
		name := strings.ToLower(strings.Join(words, " "))
		key, isZone := name, p.now.wide && len(words) == 2 && strings.EqualFold(words[0], "zone")
		if isZone {
			name = "zone " + words[1] // zones differ in case
			key = name
		}
		p.head.names = append(p.head.names, name)
		switch {
		case name == "":
		case seen[key]:
			r.fail(name, "duplicate", "", "two columns have this name")
		case isZone:
			if id, ok := r.zone(name, words[1]); ok {
				p.head.zones = append(p.head.zones, zoneColumn{i, name, id})
			}
		case slices.Contains(p.now.columns, name):
			p.head.at[name] = i
		default:
			r.fail(name, "unknown", p.nearest(name, p.now.columns), "[%s] has no such column", p.now.name)
		}
		seen[key] = true
	}
	p.complete(r)
}

// complete says which columns a section lacks, and skips it if it lacks any.
func (p *parser) complete(r *row) {
	required := p.now.required
	if p.now.wide && len(p.head.zones) == 0 {
		required = append(slices.Clone(required), "zone", p.now.value)
	}
	for _, name := range required {
		if _, ok := p.head.at[name]; !ok {
			r.fail(name, "required", "", "[%s] has no column of this name", p.now.name)
		}
	}
	if len(p.head.zones) > 0 {
		for _, name := range []string{"zone", p.now.value} {
			if _, ok := p.head.at[name]; ok {
				r.fail(name, "invalid", "", "a section has one column for each zone, or a column zone: not both")
			}
		}
	}
	p.skip = r.bad
}
