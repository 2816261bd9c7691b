package sheet

import (
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/ship"
)

// dearestCell is the largest price that a cell may hold, in minor units.
const dearestCell = 1_000_000_000_000

// quoted shows a short piece of the sheet.
func quoted(s string) string {
	if utf8.RuneCountInString(s) > 30 {
		s = string([]rune(s)[:30]) + "..."
	}
	return strconv.Quote(s)
}

// text reads a name of at most limit characters.
func (r *row) text(column string, limit int) string {
	s := strings.Join(strings.Fields(r.get(column)), " ")
	switch {
	case utf8.RuneCountInString(s) > limit:
		r.fail(column, "too_long", "", "is longer than %d characters", limit)
	case strings.ContainsFunc(s, func(c rune) bool { return !unicode.IsPrint(c) }):
		r.fail(column, "invalid", "", "has characters that cannot be printed")
	case strings.HasPrefix(s, "#"), strings.HasPrefix(s, "["):
		r.fail(column, "invalid", "", "may not begin with # or [")
	}
	return s
}

// isName reports whether s is made of letters, digits and the extra characters,
// begins with a letter or digit, and is not longer than limit.
func isName(s, extra string, limit int) bool {
	for i := range len(s) {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || isDigit(c)
		if !letter && (i == 0 || strings.IndexByte(extra, c) < 0) {
			return false
		}
	}
	return s != "" && len(s) <= limit
}

// zone reads the name of a zone.
func (r *row) zone(column, name string) (id int, ok bool) {
	switch {
	case name == "":
		r.fail(column, "required", "", "the row names no zone")
	case !isName(name, "-_.", 20):
		r.fail(column, "invalid", "", "a zone is named by up to 20 letters, digits, points and hyphens, without spaces")
	case len(r.p.zones.list) >= MaxZones && !r.p.zones.has(name):
		r.fail(column, "too_large", "", "the sheet has more than %d zones", MaxZones)
	default:
		return r.p.zones.of(name, r.line), true
	}
	return 0, false
}

// serviceCode reads the code of a service.
func (r *row) serviceCode(column, code string) (id int, ok bool) {
	switch {
	case code == "":
		r.fail(column, "required", "", "the row names no service")
	case !isName(code, "-_", 50) || strings.ToLower(code) != code:
		r.fail(column, "invalid", tidyCode(code), "a service has a code of small letters, digits and underscores; its name stands in [services]")
	case len(r.p.services.list) >= MaxServices && !r.p.services.has(code):
		r.fail(column, "too_large", "", "the sheet has more than %d services", MaxServices)
	default:
		return r.p.services.of(code, r.line), true
	}
	return 0, false
}

// tidyCode makes a code of what was written, if it can.
func tidyCode(s string) string {
	code := strings.ToLower(strings.Join(strings.Fields(s), "_"))
	if !isName(code, "-_", 50) {
		return ""
	}
	return code
}

// list reads several names in one cell: with commas, bars or, if they have no
// spaces of their own, spaces between them.
func list(cell string, spaces bool) []string {
	all := strings.FieldsFunc(cell, func(c rune) bool { return c == ',' || c == '|' || spaces && unicode.IsSpace(c) })
	out := all[:0]
	for _, s := range all {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}

func (r *row) yes(column string) bool {
	switch strings.ToLower(r.get(column)) {
	case "", "no":
		return false
	case "yes":
		return true
	}
	r.fail(column, "invalid", "", "is yes or no")
	return false
}

// oneOf reads one of the words; the first if the cell is empty.
func (r *row) oneOf(column string, words ...string) string {
	s := strings.ToLower(r.get(column))
	if s == "" {
		return words[0]
	}
	for _, w := range words {
		if s == w {
			return w
		}
	}
	r.fail(column, "invalid", r.p.nearest(s, words), "is one of: %s", strings.Join(words, ", "))
	return words[0]
}

func (r *row) currency(column, s string) string {
	if _, ok := ship.ParseMoney("1", s); !ok {
		suggestion := map[string]string{"$": "USD", "€": "EUR", "£": "GBP", "EURO": "EUR"}[strings.ToUpper(s)]
		if _, ok := ship.ParseMoney("1", strings.ToUpper(s)); ok {
			suggestion = strings.ToUpper(s)
		}
		r.fail(column, "invalid", suggestion, "is not a three-letter currency code")
		return ""
	}
	return strings.Clone(s)
}

// date reads a day, and suggests what another way of writing it means if it can
// mean one day alone.
func (r *row) date(column string) ship.Date {
	s := r.get(column)
	if d, ok := ship.ParseDate(s); ok || s == "" {
		return ship.Date(strings.Clone(string(d)))
	}
	meant := map[string]bool{}
	for _, layout := range []string{"2.1.2006", "2/1/2006", "1/2/2006", "2006/1/2", "2006-1-2", "2 Jan 2006", "Jan 2, 2006"} {
		if t, err := time.Parse(layout, s); err == nil {
			meant[t.Format(time.DateOnly)] = true
		}
	}
	suggestion := ""
	if len(meant) == 1 {
		for suggestion = range meant {
		}
	}
	r.fail(column, "invalid", suggestion, "is not a date such as 2026-01-31")
	return ""
}

// country reads a country's code, or * for all.
func (r *row) country(column, s string) (string, bool) {
	if s == anywhere {
		return s, true
	}
	if code := strings.ToUpper(s); ship.KnownCountry(code) {
		return code, true
	}
	suggestion := ""
	if r.p.found < MaxProblems {
		_, wrong := ship.Address{Country: s}.Normalize("")
		for _, f := range wrong {
			if f.Pointer == "/country" {
				suggestion = f.Suggestion
			}
		}
	}
	r.fail(column, "unknown", suggestion, "%s is not a two-letter country code", quoted(s))
	return "", false
}

// state reads a state of the country.
func (r *row) state(column, country, s string) (string, bool) {
	known, ok := r.p.states[[2]string{country, s}]
	if !ok && r.p.found > MaxProblems {
		r.bad = true // looking for it takes time, and nobody is told
		return "", false
	}
	if !ok {
		var wrong []ship.FieldError
		known, wrong = ship.Address{Country: country, State: s}.Normalize("")
		for _, f := range wrong {
			if f.Pointer == "/state" {
				r.fail(column, "unknown", f.Suggestion, "%s has no state %s", country, quoted(s))
				return "", false
			}
		}
		r.p.states[[2]string{country, strings.Clone(s)}] = known
	}
	if known.State == "" || strings.ContainsAny(known.State, ",|") {
		r.fail(column, "unknown", "", "%s has no state %s", country, quoted(s))
		return "", false
	}
	return strings.Clone(known.State), true
}
