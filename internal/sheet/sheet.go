// Package sheet is the rate sheet: the price list of a carrier contract that
// has no rate call, as data. A sheet is one CSV text that a shipping manager
// keeps in a spreadsheet. This package parses and checks it, writes it in its
// normal form, and quotes prices from it. The package is pure: no I/O, no
// clock, and a sheet never changes.
package sheet

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
)

// The limits of a sheet. A larger one is refused. Together they bound the
// memory that parsing takes to a few times the size of the text, whatever is
// in it.
const (
	MaxBytes      = 4_000_000
	MaxRowBytes   = 100_000
	MaxRows       = 50_000  // without headings, comments and empty rows; also areas, which a row may list
	MaxPrices     = 100_000 // a row has one for every zone
	MaxTables     = 20_000  // pairs of a service and a zone
	MaxServices   = 100
	MaxZones      = 2000 // names; many areas may be in one zone
	MaxSurcharges = 500  // rows that differ in more than their area
	MaxFuel       = 5000 // a row has one for every service
	MaxProblems   = 50   // errors, and warnings, that are reported one by one
)

// Code is the code of the error that Parse returns.
const Code = "invalid_rate_sheet"

// A Sheet is a checked price list. Only Parse makes one; the zero Sheet quotes
// nothing. It is safe for concurrent use, and must not be changed.
type Sheet struct {
	Name       string
	Currency   string    // ISO 4217, of every price
	ValidFrom  ship.Date // inclusive; "" is no limit
	ValidUntil ship.Date // inclusive; "" is no limit
	Services   []Service // in the sheet's order
	Zones      []string  // names, in natural order
	Warnings   []Problem // what is allowed and may be a mistake, at most MaxProblems

	terms      terms
	origins    areaIndex    // where parcels come from: index into lanes
	lanes      []areaIndex  // where they go to, for each origin: index into Zones
	fuel       []fuelStep   // of the services that have none of their own
	surcharges []surcharge  // in the sheet's order
	tables     [][]table    // for each service, by zone
	ownFuel    [][]fuelStep // for each service
}

// A Service is a way to send a parcel, as the sheet names it.
type Service struct {
	Code       string // as in the API and in rules
	Name       string
	Guaranteed bool

	byShipment bool     // all pieces are weighed together, else each is priced on its own
	maxWeight  weight   // of a piece; 0 is no limit
	maxLength  length   // of a piece's longest side; 0 is no limit
	maxGirth   length   // of a piece; 0 is no limit
	divisor    *divisor // nil: the sheet's own
	minimum    *weight  // nil: the sheet's own; 0 is none
	step       *weight  // nil: the sheet's own; 0 is none
}

// Counts say how large a sheet is.
type Counts struct {
	Services   int `json:"services"`
	Zones      int `json:"zones"`
	Areas      int `json:"areas"` // places that lead to a zone
	Prices     int `json:"prices"`
	Surcharges int `json:"surcharges"`
}

// An Offer is a price and how it was calculated.
type Offer struct {
	Rate   ship.Rate
	Zone   string
	Billed string // the weight that is charged for: "4.5 kg"; of several pieces, of all together
	Lines  []Line // the freight first; their sum is the price
}

// A Line is one part of a price.
type Line struct {
	Name  string // "freight", "fuel", or the surcharge's own
	Minor int64  // in the minor unit of the sheet's currency
}

// A Problem is an error or a warning about one place in a sheet.
type Problem struct {
	Line       int    // 1 is the first of the text; 0 if it is about the whole
	Column     string // as the sheet heads it, or the name of a setting; "" if it is about the row
	Code       string // "invalid", "required", "unknown", "duplicate", "overlap", "missing", "unreachable", ...
	Detail     string // what is wrong
	Suggestion string // what to write instead, if we can tell
}

// String is the problem in one line: "line 12, price: ... (write 9.50)".
func (p Problem) String() string {
	var out strings.Builder
	if p.Line > 0 {
		out.WriteString("line " + strconv.Itoa(p.Line))
		if p.Column != "" {
			out.WriteString(", " + p.Column)
		}
		out.WriteString(": ")
	} else if p.Column != "" {
		out.WriteString(p.Column + ": ")
	}

	out.WriteString(p.Detail)
	if p.Suggestion != "" {
		out.WriteString(" (write " + p.Suggestion + ")")
	}
	return out.String()
}

// Problems is the cause of the error that Parse returns: what is wrong, in the
// order of the lines, at most MaxProblems.
type Problems []Problem

func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i := range p {
		lines[i] = p[i].String()
	}
	return strings.Join(lines, "\n")
}

// ProblemsOf returns the errors that Parse found, or nil if err is not its own.
func ProblemsOf(err error) []Problem {
	list, _ := errors.AsType[Problems](err)
	return list
}

// refusal is the error for a sheet with problems. Their count may be larger than
// the list, which then has the first of them.
func refusal(list []Problem, count int) error {
	refused := &ship.Error{Kind: ship.Invalid, Code: Code, Err: Problems(list)}
	if count == 1 {
		refused.Message = "the rate sheet has an error: " + list[0].String()
	} else {
		refused.Message = fmt.Sprintf("the rate sheet has %d errors; the first: %s", count, list[0].String())
	}

	// A field error has the suggestion as a field of its own, so it is left out
	// of the detail.
	for _, problem := range list {
		field := ship.FieldError{Pointer: "/csv", Code: problem.Code, Suggestion: problem.Suggestion}
		problem.Suggestion = ""
		field.Detail = problem.String()
		refused.Fields = append(refused.Fields, field)
	}
	return refused
}

// MemoryBytes estimates how much memory the sheet takes.
func (s Sheet) MemoryBytes() int {
	const areaBytes, tableBytes, breakBytes, stepBytes = 112, 64, 16, 128

	size := 64 * len(s.Zones)
	for i := range s.lanes {
		size += areaBytes * len(s.lanes[i])
	}
	for _, tables := range s.tables {
		size += tableBytes * len(tables)
		for i := range tables {
			size += breakBytes * len(tables[i].breaks)
		}
	}
	for i := range s.surcharges {
		for _, step := range s.surcharges[i].steps {
			size += stepBytes + areaBytes*len(step.areas) + 8*(len(step.services)+len(step.zones))
		}
	}
	return size
}

// Counts counts what is in the sheet.
func (s Sheet) Counts() Counts {
	counts := Counts{Services: len(s.Services), Zones: len(s.Zones), Surcharges: len(s.surcharges)}
	for i := range s.lanes {
		counts.Areas += len(s.lanes[i])
	}
	for _, tables := range s.tables {
		for i := range tables {
			counts.Prices += len(tables[i].breaks)
		}
	}
	return counts
}

// Covers reports whether the sheet is valid for a parcel that is shipped on the
// day. It is valid for the empty day, which is not known yet.
func (s Sheet) Covers(day ship.Date) bool {
	return day == "" || day >= s.ValidFrom && (s.ValidUntil == "" || day <= s.ValidUntil)
}
