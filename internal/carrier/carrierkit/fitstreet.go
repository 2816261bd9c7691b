package carrierkit

import (
	"fmt"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
)

// A streetLine is one line as the client gave it.
type streetLine struct {
	field string // "address1"
	words []string
}

// street returns the lines of the street: as they were given if they fit,
// otherwise with other line breaks.
func (f *fitter) street(address ship.Address) []string {
	given := make([]streetLine, 0, 3)
	refused := len(f.invalid)
	for _, line := range []struct{ field, text string }{
		{"address1", address.Address1},
		{"address2", address.Address2},
		{"address3", address.Address3},
	} {
		if text := f.printable(line.field, line.text); text != "" {
			given = append(given, streetLine{line.field, strings.Fields(text)})
		}
	}
	if len(f.invalid) > refused {
		return nil
	}

	lines, ok := f.divide(given)
	if !ok {
		f.refuseStreet(given)
	}
	return lines
}

// divide puts the street on the carrier's lines, with the least change that
// fits: lines that are too long continue on the next; then short ones are
// joined; then the words flow from line to line.
func (f *fitter) divide(given []streetLine) (lines []string, ok bool) {
	var units []unit
	var words []unit
	for _, line := range given {
		wrapped := f.pack(unitsOf(line.words))
		units = append(units, unitsOf(wrapped)...)
		words = append(words, unitsOf(line.words)...)
		lines = append(lines, wrapped...)
	}
	for _, line := range lines {
		if !fits(line, f.limits.Line) {
			return nil, false // a word that is longer than a line
		}
	}

	if f.hasRoom(lines) {
		return lines, true
	}
	if lines = f.pack(units); f.hasRoom(lines) {
		return lines, true
	}
	lines = f.pack(words)
	return lines, f.hasRoom(lines)
}

func (f *fitter) hasRoom(lines []string) bool {
	return f.limits.Lines == 0 || len(lines) <= f.limits.Lines
}

// A unit is text that stays together. The first of a line that the client gave
// is separated by a comma from what stands before it.
type unit struct {
	text  string
	first bool
}

func unitsOf(texts []string) []unit {
	units := make([]unit, len(texts))
	for i, text := range texts {
		units[i] = unit{text, i == 0}
	}
	return units
}

// pack puts units on as few lines as hold them, in order.
func (f *fitter) pack(units []unit) (lines []string) {
	for _, added := range units {
		last := len(lines) - 1
		if last < 0 {
			lines = append(lines, added.text)
			continue
		}

		between := " "
		if added.first && !strings.HasSuffix(lines[last], ",") {
			between = ", "
		}
		if joined := lines[last] + between + added.text; fits(joined, f.limits.Line) {
			lines[last] = joined
		} else {
			lines = append(lines, added.text)
		}
	}
	return lines
}

// refuseStreet points at the line that is too long, or else at the last.
func (f *fitter) refuseStreet(given []streetLine) {
	refused := given[len(given)-1]
	for i := len(given) - 1; i >= 0; i-- {
		if !fits(strings.Join(given[i].words, " "), f.limits.Line) {
			refused = given[i]
		}
	}

	room := "lines"
	if f.limits.Lines == 1 {
		room = "line"
	}
	if f.limits.Lines > 0 {
		room = fmt.Sprintf("%d %s", f.limits.Lines, room)
	}
	if f.limits.Line > 0 {
		room += fmt.Sprintf(" of %d characters", f.limits.Line)
	}
	f.refuse(refused.field, "too_long", f.streetAdvice(given), "does not fit: the carrier prints %s", room)
}

// streetAdvice says which abbreviations make the street fit, if any do.
func (f *fitter) streetAdvice(given []streetLine) string {
	var used []string
	short := make([]streetLine, len(given))
	for i, line := range given {
		text, abbreviated := streetWords.shorten(strings.Join(line.words, " "))
		short[i] = streetLine{line.field, strings.Fields(text)}
		used = append(used, abbreviated...)
	}
	if _, ok := f.divide(short); !ok {
		return ""
	}
	return streetWords.advise(used)
}
