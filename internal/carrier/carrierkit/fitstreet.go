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

// street is the lines of the street: as they were given if they fit, else
// divided in other places.
func (f *fitter) street(a ship.Address) []string {
	given := make([]streetLine, 0, 3)
	refused := len(f.wrong)
	for _, l := range []struct{ field, text string }{{"address1", a.Address1}, {"address2", a.Address2}, {"address3", a.Address3}} {
		if text := f.printable(l.field, l.text); text != "" {
			given = append(given, streetLine{l.field, strings.Fields(text)})
		}
	}
	if len(f.wrong) > refused {
		return nil
	}
	lines, ok := f.divide(given)
	if !ok {
		f.refuseStreet(given)
	}
	return lines
}

// divide puts the street on the carrier's lines, with the least change that
// fits: lines that are too long go on in the next; then short ones are joined;
// then the words flow from line to line.
func (f *fitter) divide(given []streetLine) (lines []string, ok bool) {
	var units []unit
	var words []unit
	for _, l := range given {
		wrapped := f.pack(unitsOf(l.words))
		units = append(units, unitsOf(wrapped)...)
		words = append(words, unitsOf(l.words)...)
		lines = append(lines, wrapped...)
	}
	for _, l := range lines {
		if !fits(l, f.limits.Line) {
			return nil, false // a word that is longer than a line
		}
	}
	if f.enough(lines) {
		return lines, true
	}
	if lines = f.pack(units); f.enough(lines) {
		return lines, true
	}
	lines = f.pack(words)
	return lines, f.enough(lines)
}

func (f *fitter) enough(lines []string) bool {
	return f.limits.Lines == 0 || len(lines) <= f.limits.Lines
}

// A unit is text that stays together. The first of a line that the client gave
// is parted by a comma from what stands before it.
type unit struct {
	text  string
	first bool
}

func unitsOf(texts []string) []unit {
	units := make([]unit, len(texts))
	for i, t := range texts {
		units[i] = unit{t, i == 0}
	}
	return units
}

// pack puts units on as few lines as hold them, in order.
func (f *fitter) pack(units []unit) (lines []string) {
	for _, u := range units {
		last := len(lines) - 1
		if last < 0 {
			lines = append(lines, u.text)
			continue
		}
		between := " "
		if u.first && !strings.HasSuffix(lines[last], ",") {
			between = ", "
		}
		if joined := lines[last] + between + u.text; fits(joined, f.limits.Line) {
			lines[last] = joined
		} else {
			lines = append(lines, u.text)
		}
	}
	return lines
}

// refuseStreet points at the line that is too long, or else at the last.
func (f *fitter) refuseStreet(given []streetLine) {
	at := given[len(given)-1]
	for i := len(given) - 1; i >= 0; i-- {
		if !fits(strings.Join(given[i].words, " "), f.limits.Line) {
			at = given[i]
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
	f.refuse(at.field, "too_long", f.streetAdvice(given), "does not fit: the carrier prints %s", room)
}

// streetAdvice tells which abbreviations make the street fit, if any do.
func (f *fitter) streetAdvice(given []streetLine) string {
	var used []string
	short := make([]streetLine, len(given))
	for i, l := range given {
		text, more := streetWords.shorten(strings.Join(l.words, " "))
		short[i] = streetLine{l.field, strings.Fields(text)}
		used = append(used, more...)
	}
	if _, ok := f.divide(short); !ok {
		return ""
	}
	return streetWords.advise(used)
}
