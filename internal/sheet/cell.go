package sheet

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/ship"
)

// maxCellAmount is the largest price that a cell may hold, in minor units.
const maxCellAmount = 1_000_000_000_000

// quoteCell shows a short piece of the sheet.
func quoteCell(s string) string {
	count := 0
	for at := range s {
		if count++; count > 30 {
			s = s[:at] + "..."
			break
		}
	}
	return strconv.Quote(s)
}

// readText reads a name of at most limit characters.
func (r *row) readText(column string, limit int) string {
	text := strings.Join(strings.Fields(r.get(column)), " ")
	switch {
	case utf8.RuneCountInString(text) > limit:
		r.fail(column, "too_long", "", "is longer than %d characters", limit)
	case strings.ContainsFunc(text, func(char rune) bool { return !unicode.IsPrint(char) }):
		r.fail(column, "invalid", "", "contains unprintable characters")
	case strings.HasPrefix(text, "#"), strings.HasPrefix(text, "["):
		r.fail(column, "invalid", "", "may not begin with # or [")
	}
	return text
}

// isName reports whether s is made of letters, digits and the extra characters,
// begins with a letter or digit, and is not longer than limit.
func isName(s, extra string, limit int) bool {
	for i := range len(s) {
		char := s[i]
		isLetter := char >= 'a' && char <= 'z' || char >= 'A' && char <= 'Z' || isDigit(char)
		if !isLetter && (i == 0 || strings.IndexByte(extra, char) < 0) {
			return false
		}
	}
	return s != "" && len(s) <= limit
}

// readZone reads the name of a zone.
func (r *row) readZone(column, name string) (id int, ok bool) {
	switch {
	case name == "":
		r.fail(column, "required", "", "the row has no zone")
	case !isName(name, "-_.", 20):
		r.fail(column, "invalid", "", "a zone name is up to 20 letters, digits, periods and hyphens, without spaces")
	case len(r.p.zones.list) >= MaxZones && !r.p.zones.has(name):
		r.fail(column, "too_large", "", "the sheet has more than %d zones: use fewer zones", MaxZones)
	default:
		return r.p.zones.idOf(name, r.line), true
	}
	return 0, false
}

// readService reads the code of a service.
func (r *row) readService(column, code string) (id int, ok bool) {
	switch {
	case code == "":
		r.fail(column, "required", "", "the row has no service")
	case !isName(code, "-_", 50) || strings.ToLower(code) != code:
		r.fail(column, "invalid", suggestCode(code), "a service code is lower-case letters, digits and underscores; its display name belongs in [services]")
	case len(r.p.services.list) >= MaxServices && !r.p.services.has(code):
		r.fail(column, "too_large", "", "the sheet has more than %d services: remove those that you do not use", MaxServices)
	default:
		return r.p.services.idOf(code, r.line), true
	}
	return 0, false
}

// suggestCode makes a code of a name, or "" if it cannot.
func suggestCode(name string) string {
	code := strings.ToLower(strings.Join(strings.Fields(name), "_"))
	if !isName(code, "-_", 50) {
		return ""
	}
	return code
}

// splitList splits a cell with several names: with commas, bars or, if they have
// no spaces of their own, spaces between them.
func splitList(cell string, spaces bool) []string {
	all := strings.FieldsFunc(cell, func(char rune) bool { return char == ',' || char == '|' || spaces && unicode.IsSpace(char) })
	out := all[:0]
	for _, name := range all {
		if name = strings.TrimSpace(name); name != "" {
			out = append(out, name)
		}
	}
	return out
}

// readBool reads yes or no; an empty cell is no.
func (r *row) readBool(column string) bool {
	switch strings.ToLower(r.get(column)) {
	case "", "no":
		return false
	case "yes":
		return true
	}
	r.fail(column, "invalid", "", "must be yes or no")
	return false
}

// readWord reads one of the words; the first if the cell is empty.
func (r *row) readWord(column string, words ...string) string {
	cell := strings.ToLower(r.get(column))
	if cell == "" {
		return words[0]
	}
	if at := slices.Index(words, cell); at >= 0 {
		return words[at]
	}
	r.fail(column, "invalid", r.p.nearest(cell, words), "must be one of: %s", strings.Join(words, ", "))
	return words[0]
}

// readCurrency reads a currency code, and suggests one for a sign or small
// letters.
func (r *row) readCurrency(column, cell string) string {
	if ship.IsCurrency(cell) {
		return strings.Clone(cell)
	}

	upper := strings.ToUpper(cell)
	suggestion := map[string]string{"$": "USD", "€": "EUR", "£": "GBP", "EURO": "EUR"}[upper]
	if ship.IsCurrency(upper) {
		suggestion = upper
	}
	r.fail(column, "invalid", suggestion, "is not a three-letter currency code")
	return ""
}

// readDate reads a day. If it is written in another way that can mean only one
// day, that day is suggested.
func (r *row) readDate(column string) ship.Date {
	cell := r.get(column)
	if date, ok := ship.ParseDate(cell); ok || cell == "" {
		return ship.Date(strings.Clone(string(date)))
	}

	meanings := map[string]bool{}
	for _, layout := range []string{"2.1.2006", "2/1/2006", "1/2/2006", "2006/1/2", "2006-1-2", "2 Jan 2006", "Jan 2, 2006"} {
		if day, err := time.Parse(layout, cell); err == nil {
			meanings[day.Format(time.DateOnly)] = true
		}
	}
	suggestion := ""
	if len(meanings) == 1 {
		for suggestion = range meanings {
		}
	}
	r.fail(column, "invalid", suggestion, "is not a date such as 2026-01-31")
	return ""
}

// readCountry reads a country's code, or * for all.
func (r *row) readCountry(column, cell string) (string, bool) {
	if cell == anywhere {
		return cell, true
	}
	if code := strings.ToUpper(cell); ship.KnownCountry(code) {
		return code, true
	}

	// A suggestion takes time, and only the first problems are reported.
	suggestion := ""
	if r.p.problemCount < MaxProblems {
		_, invalid := ship.Address{Country: cell}.Normalize("")
		for _, field := range invalid {
			if field.Pointer == "/country" {
				suggestion = field.Suggestion
			}
		}
	}
	r.fail(column, "unknown", suggestion, "%s is not a two-letter country code", quoteCell(cell))
	return "", false
}

// maxStates is how many spellings of states are remembered.
const maxStates = 5000

// readState reads a state of the country.
func (r *row) readState(column, country, cell string) (string, bool) {
	// Looking a state up takes time. Once no more problems are reported, the
	// row is only marked as bad.
	state, ok := r.p.states[[2]string{country, cell}]
	if !ok && r.p.problemCount > MaxProblems {
		r.bad = true
		return "", false
	}

	if !ok {
		address, invalid := ship.Address{Country: country, State: cell}.Normalize("")
		for _, field := range invalid {
			if field.Pointer == "/state" {
				r.fail(column, "unknown", field.Suggestion, "%s has no state %s", country, quoteCell(cell))
				return "", false
			}
		}

		// A state can be spelled in more ways than are worth remembering.
		state = strings.Clone(address.State)
		if len(r.p.states) < maxStates {
			r.p.states[[2]string{country, strings.Clone(cell)}] = state
		}
	}

	// A state with a comma or a bar could not be written in a list.
	if state == "" || strings.ContainsAny(state, ",|") {
		r.fail(column, "unknown", "", "%s has no state %s", country, quoteCell(cell))
		return "", false
	}
	return state, true
}
