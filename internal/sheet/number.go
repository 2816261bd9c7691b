package sheet

import (
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
)

// decimal reads a number and returns it with a decimal point. A single comma is
// a decimal comma, unless it may as well divide thousands. A sheet that has
// points and commas is refused, because one of them is then a mistake.
func (r *row) decimal(column, s string) (string, bool) {
	points, commas := strings.Count(s, "."), strings.Count(s, ",")
	before, after, _ := strings.Cut(s, ",")
	switch {
	case s == "":
		r.fail(column, "required", "", "the cell is empty")
	case s[0] == '-':
		r.fail(column, "invalid", "", "is negative")
	case strings.Trim(s, "0123456789.,") != "" || !isDigit(s[0]) || !isDigit(s[len(s)-1]):
		r.fail(column, "invalid", digitsOf(s), "%s is not a plain number", quoted(s))
	case points+commas > 1:
		r.fail(column, "invalid", ungrouped(s), "has a thousands separator")
	case commas == 1 && len(after) == 3 && strings.Trim(before, "0") != "":
		r.fail(column, "ambiguous", "", "may mean %s.%s or %s%s: write it with a point or without the comma", before, after, before, after)
	default:
		return r.dotted(column, s, points, commas)
	}
	return "", false
}

func (r *row) dotted(column, s string, points, commas int) (string, bool) {
	p := r.p
	if points > 0 && p.points == 0 {
		p.points = r.line
	}
	if commas > 0 && p.commas == 0 {
		p.commas = r.line
	}
	if p.points > 0 && p.commas > 0 {
		if !p.mixed {
			r.fail(column, "ambiguous", "", "the sheet has a decimal point on line %d and a decimal comma on line %d: use one of them", p.points, p.commas)
		}
		p.mixed, r.bad = true, true
		return "", false
	}
	return strings.Replace(s, ",", ".", 1), true
}

// digitsOf is the number in a cell with a currency sign or a space, if there is
// one and no doubt.
func digitsOf(s string) string {
	bare := strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' || c == '.' || c == ',' {
			return c
		}
		return -1
	}, s)
	if strings.ContainsAny(s, "-+%eE()/:") || bare == "" || strings.Count(bare, ".")+strings.Count(bare, ",") > 1 || !isDigit(bare[0]) || !isDigit(bare[len(bare)-1]) {
		return ""
	}
	return bare
}

// ungrouped is a number without its thousands separators.
func ungrouped(s string) string {
	last := strings.LastIndexAny(s, ".,")
	groups := func(s string) string { return strings.NewReplacer(".", "", ",", "").Replace(s) }
	if strings.Count(s, s[last:last+1]) == 1 { // the other sign divides the thousands
		return groups(s[:last]) + "." + s[last+1:]
	}
	if strings.ContainsAny(s, ".") && strings.ContainsAny(s, ",") {
		return ""
	}
	return groups(s)
}

// number reads a number in units of 10^-places, at most limit of them.
func (r *row) number(column, s string, places int, limit int64) (int64, bool) {
	s, ok := r.decimal(column, s)
	if !ok {
		return 0, false
	}
	before, after, _ := strings.Cut(s, ".")
	if rest := strings.TrimRight(after, "0"); len(rest) > places {
		r.fail(column, "invalid", "", "has more than %d decimals", places)
		return 0, false
	} else {
		after = rest + strings.Repeat("0", places-len(rest))
	}
	n, err := strconv.ParseInt(before+after, 10, 64)
	if err != nil || n > limit {
		r.fail(column, "too_large", "", "is too large")
		return 0, false
	}
	return n, true
}

// money reads a price in minor units.
func (r *row) money(column, s string) (int64, bool) {
	s, ok := r.decimal(column, s)
	if !ok {
		return 0, false
	}
	currency := r.p.sheet.Currency
	if currency == "" {
		currency = "USD" // what is wrong has been told
	}
	m, ok := ship.ParseMoney(s, currency)
	_, frac, _ := strings.Cut(s, ".")
	switch {
	case !ok && len(strings.TrimRight(frac, "0")) > ship.Exponent(currency):
		r.fail(column, "invalid", "", "has more decimals than %s has: %d", currency, ship.Exponent(currency))
	case !ok || m.Minor > dearestCell:
		r.fail(column, "too_large", "", "is too large")
	default:
		return m.Minor, true
	}
	return 0, false
}

// maxPercent is 1000 %, in millionths.
const maxPercent = 10 * whole

// percent reads a percentage in millionths of the whole.
func (r *row) percent(column, s string) (int64, bool) {
	return r.number(column, strings.TrimSpace(strings.TrimSuffix(s, "%")), 4, maxPercent)
}

// measure divides a number from its unit: "2.5 kg".
func measure(s string) (number, unit string) {
	at := strings.LastIndexAny(s, "0123456789") + 1
	return strings.TrimSpace(s[:at]), strings.ToLower(strings.TrimSpace(s[at:]))
}

// weight reads a weight of more than nothing; 0 if it is wrong.
func (r *row) weight(column, s string) weight {
	number, unit := measure(s)
	u := r.weightUnit(column, unit, r.p.sheet.terms.weightUnit)
	if u == "" {
		return 0
	}
	per := milliWeight(u)
	n, ok := r.number(column, number, 3, int64(heaviest/per))
	if ok && n == 0 {
		r.fail(column, "invalid", "", "a weight is more than 0")
	}
	return weight(n) * per
}

// length reads a length of more than nothing; 0 if it is wrong.
func (r *row) length(column, s string) length {
	number, unit := measure(s)
	u := r.lengthUnit(column, unit, r.p.sheet.terms.lengthUnit)
	if u == "" {
		return 0
	}
	per := milliLength(u)
	n, ok := r.number(column, number, 3, int64(longest/per))
	if ok && n == 0 {
		r.fail(column, "invalid", "", "a length is more than 0")
	}
	return length(n) * per
}

// weightUnit reads a unit; none means the usual one.
func (r *row) weightUnit(column, s string, usual ship.WeightUnit) ship.WeightUnit {
	if u := ship.WeightUnit(strings.ToLower(s)); milliWeight(u) > 0 {
		return ship.WeightUnit(strings.Clone(string(u)))
	}
	if s == "" && usual == "" {
		r.fail(column, "required", "", "has no unit, and [sheet] has no weight unit: kg, g, lb or oz")
	} else if s != "" {
		meant := map[string]string{"lbs": "lb", "#": "lb", "pound": "lb", "pounds": "lb", "kgs": "kg", "kilo": "kg", "gr": "g", "gram": "g", "grams": "g", "ounce": "oz"}[s]
		r.fail(column, "unknown", meant, "there is no unit %s: kg, g, lb or oz", quoted(s))
		return ""
	}
	return usual
}

// lengthUnit reads a unit; none means the usual one.
func (r *row) lengthUnit(column, s string, usual ship.LengthUnit) ship.LengthUnit {
	if u := ship.LengthUnit(strings.ToLower(s)); milliLength(u) > 0 {
		return ship.LengthUnit(strings.Clone(string(u)))
	}
	if s == "" && usual == "" {
		r.fail(column, "required", "", "has no unit, and [sheet] has no length unit: cm, mm or in")
	} else if s != "" {
		meant := map[string]string{"inch": "in", "inches": "in", "\"": "in", "''": "in", "cms": "cm", "centimeter": "cm"}[s]
		r.fail(column, "unknown", meant, "there is no unit %s: cm, mm or in", quoted(s))
		return ""
	}
	return usual
}

// divisor reads "139 in/lb", "5000 cm/kg" or "none".
func (r *row) divisor(column, s string) divisor {
	if strings.EqualFold(s, "none") {
		return divisor{}
	}
	number, units := measure(s)
	l, w, _ := strings.Cut(units, "/")
	l, w = strings.TrimSpace(l), strings.TrimSpace(w)
	if l != "in" && l != "cm" || w != "lb" && w != "kg" {
		r.fail(column, "invalid", "", "is written 139 in/lb or 5000 cm/kg")
		return divisor{}
	}
	n, ok := r.number(column, number, 0, maxDivisor)
	if ok && n == 0 {
		r.fail(column, "invalid", "", "is more than 0")
	}
	if n == 0 {
		return divisor{}
	}
	return newDivisor(n, ship.LengthUnit(strings.Clone(l)), ship.WeightUnit(strings.Clone(w)))
}

// rounding reads "up 1 in" or "nearest 1 cm".
func (r *row) rounding(column, s string) rounding {
	how, to, _ := strings.Cut(strings.ToLower(s), " ")
	if how != "up" && how != "nearest" {
		r.fail(column, "invalid", "", "is written up 1 in or nearest 1 cm")
		return rounding{}
	}
	return rounding{to: r.length(column, strings.TrimSpace(to)), nearest: how == "nearest"}
}
