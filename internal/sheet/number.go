package sheet

import (
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
)

// readDecimal reads a number and returns it with a decimal point. A single comma
// is a decimal comma, unless it may as well be a thousands separator. A sheet
// that has points and commas is refused, because one of them is then a mistake.
func (r *row) readDecimal(column, cell string) (string, bool) {
	points := strings.Count(cell, ".")
	commas := strings.Count(cell, ",")
	before, after, _ := strings.Cut(cell, ",")

	switch {
	case cell == "":
		r.fail(column, "required", "", "the cell is empty")
	case cell[0] == '-':
		r.fail(column, "invalid", "", "must not be negative")
	case strings.Trim(cell, "0123456789.,") != "" || !isDigit(cell[0]) || !isDigit(cell[len(cell)-1]):
		r.fail(column, "invalid", suggestNumber(cell), "%s is not a plain number", quoteCell(cell))
	case points+commas > 1:
		r.fail(column, "invalid", removeGrouping(cell), "has a thousands separator")
	case commas == 1 && len(after) == 3 && strings.Trim(before, "0") != "":
		r.fail(column, "ambiguous", "", "could mean %s.%s or %s%s: use a decimal point, or remove the comma", before, after, before, after)
	default:
		return r.normalizeDecimal(column, cell, points > 0, commas > 0)
	}
	return "", false
}

// normalizeDecimal turns a decimal comma into a point, if the sheet does not use
// both. That it does is reported once.
func (r *row) normalizeDecimal(column, cell string, hasPoint, hasComma bool) (string, bool) {
	p := r.p
	if hasPoint && p.points == 0 {
		p.points = r.line
	}
	if hasComma && p.commas == 0 {
		p.commas = r.line
	}

	if p.points > 0 && p.commas > 0 {
		if !p.mixed {
			r.fail(column, "ambiguous", "", "the sheet has a decimal point on line %d and a decimal comma on line %d: use only one style", p.points, p.commas)
		}
		p.mixed = true
		r.bad = true
		return "", false
	}
	return strings.Replace(cell, ",", ".", 1), true
}

// suggestNumber is the number in a cell with a currency sign or a space, or ""
// if it is not certain which one is meant.
func suggestNumber(cell string) string {
	number := strings.Map(func(char rune) rune {
		if char >= '0' && char <= '9' || char == '.' || char == ',' {
			return char
		}
		return -1
	}, cell)

	if strings.ContainsAny(cell, "-+%eE()/:") || number == "" || strings.Count(number, ".")+strings.Count(number, ",") > 1 || !isDigit(number[0]) || !isDigit(number[len(number)-1]) {
		return ""
	}
	return number
}

// removeGrouping is a number without its thousands separators, or "" if they
// cannot be told from the decimal point.
func removeGrouping(number string) string {
	last := strings.LastIndexAny(number, ".,")
	removeSigns := func(s string) string { return strings.NewReplacer(".", "", ",", "").Replace(s) }

	// A last sign that occurs once is the decimal one: the other sign separates
	// the thousands.
	if strings.Count(number, number[last:last+1]) == 1 {
		return removeSigns(number[:last]) + "." + number[last+1:]
	}
	if strings.ContainsAny(number, ".") && strings.ContainsAny(number, ",") {
		return ""
	}
	return removeSigns(number)
}

// readNumber reads a number in units of 10^-places, at most limit of them.
func (r *row) readNumber(column, cell string, places int, limit int64) (int64, bool) {
	decimal, ok := r.readDecimal(column, cell)
	if !ok {
		return 0, false
	}

	integer, fraction, _ := strings.Cut(decimal, ".")
	fraction = strings.TrimRight(fraction, "0")
	if len(fraction) > places {
		r.fail(column, "invalid", "", "has more than %d decimals", places)
		return 0, false
	}
	fraction += strings.Repeat("0", places-len(fraction))

	n, err := strconv.ParseInt(integer+fraction, 10, 64)
	if err != nil || n > limit {
		r.fail(column, "too_large", "", "is too large")
		return 0, false
	}
	return n, true
}

// readMoney reads a price in minor units.
func (r *row) readMoney(column, cell string) (int64, bool) {
	decimal, ok := r.readDecimal(column, cell)
	if !ok {
		return 0, false
	}

	// A missing or invalid currency has been reported already. Assuming one
	// lets the price be checked too.
	currency := r.p.sheet.Currency
	if currency == "" {
		currency = "USD"
	}

	money, ok := ship.ParseMoney(decimal, currency)
	_, fraction, _ := strings.Cut(decimal, ".")
	switch {
	case !ok && len(strings.TrimRight(fraction, "0")) > ship.Exponent(currency):
		r.fail(column, "invalid", "", "has too many decimals: %s has %d", currency, ship.Exponent(currency))
	case !ok || money.Minor > maxCellAmount:
		r.fail(column, "too_large", "", "is too large")
	default:
		return money.Minor, true
	}
	return 0, false
}

// maxPercent is 1000 %, in millionths.
const maxPercent = 10 * hundredPercent

// readPercent reads a percentage in millionths.
func (r *row) readPercent(column, cell string) (int64, bool) {
	return r.readNumber(column, strings.TrimSpace(strings.TrimSuffix(cell, "%")), 4, maxPercent)
}

// cutUnit separates a number from its unit: "2.5 kg".
func cutUnit(cell string) (number, unit string) {
	at := strings.LastIndexAny(cell, "0123456789") + 1
	return strings.TrimSpace(cell[:at]), strings.ToLower(strings.TrimSpace(cell[at:]))
}

// readWeight reads a weight above 0; it returns 0 if there is none.
func (r *row) readWeight(column, cell string) weight {
	number, name := cutUnit(cell)
	unit := r.readWeightUnit(column, name, r.p.sheet.terms.weightUnit)
	if unit == "" {
		return 0
	}

	milli := milliWeight(unit)
	n, ok := r.readNumber(column, number, 3, int64(maxWeight/milli))
	if ok && n == 0 {
		r.fail(column, "invalid", "", "a weight must be more than 0")
	}
	return weight(n) * milli
}

// readLength reads a length above 0; it returns 0 if there is none.
func (r *row) readLength(column, cell string) length {
	number, name := cutUnit(cell)
	unit := r.readLengthUnit(column, name, r.p.sheet.terms.lengthUnit)
	if unit == "" {
		return 0
	}

	milli := milliLength(unit)
	n, ok := r.readNumber(column, number, 3, int64(maxLength/milli))
	if ok && n == 0 {
		r.fail(column, "invalid", "", "a length must be more than 0")
	}
	return length(n) * milli
}

// readWeightUnit reads a unit; an empty name is the sheet's unit.
func (r *row) readWeightUnit(column, name string, fallback ship.WeightUnit) ship.WeightUnit {
	if unit := ship.WeightUnit(strings.ToLower(name)); milliWeight(unit) > 0 {
		return ship.WeightUnit(strings.Clone(string(unit)))
	}
	if name == "" && fallback == "" {
		r.fail(column, "required", "", "has no unit, and [sheet] has no weight unit: add kg, g, lb or oz")
	} else if name != "" {
		suggestion := map[string]string{"lbs": "lb", "#": "lb", "pound": "lb", "pounds": "lb", "kgs": "kg", "kilo": "kg", "gr": "g", "gram": "g", "grams": "g", "ounce": "oz"}[name]
		r.fail(column, "unknown", suggestion, "unknown unit %s: use kg, g, lb or oz", quoteCell(name))
		return ""
	}
	return fallback
}

// readLengthUnit reads a unit; an empty name is the sheet's unit.
func (r *row) readLengthUnit(column, name string, fallback ship.LengthUnit) ship.LengthUnit {
	if unit := ship.LengthUnit(strings.ToLower(name)); milliLength(unit) > 0 {
		return ship.LengthUnit(strings.Clone(string(unit)))
	}
	if name == "" && fallback == "" {
		r.fail(column, "required", "", "has no unit, and [sheet] has no length unit: add cm, mm or in")
	} else if name != "" {
		suggestion := map[string]string{"inch": "in", "inches": "in", "\"": "in", "''": "in", "cms": "cm", "centimeter": "cm"}[name]
		r.fail(column, "unknown", suggestion, "unknown unit %s: use cm, mm or in", quoteCell(name))
		return ""
	}
	return fallback
}

// readDivisor reads "139 in/lb", "5000 cm/kg" or "none".
func (r *row) readDivisor(column, cell string) divisor {
	if strings.EqualFold(cell, "none") {
		return divisor{}
	}

	number, units := cutUnit(cell)
	lengthUnit, weightUnit, _ := strings.Cut(units, "/")
	lengthUnit = strings.TrimSpace(lengthUnit)
	weightUnit = strings.TrimSpace(weightUnit)
	if lengthUnit != "in" && lengthUnit != "cm" || weightUnit != "lb" && weightUnit != "kg" {
		r.fail(column, "invalid", "", "must be like 139 in/lb or 5000 cm/kg")
		return divisor{}
	}

	n, ok := r.readNumber(column, number, 0, maxDivisor)
	if ok && n == 0 {
		r.fail(column, "invalid", "", "must be more than 0")
	}
	if n == 0 {
		return divisor{}
	}
	return newDivisor(n, ship.LengthUnit(strings.Clone(lengthUnit)), ship.WeightUnit(strings.Clone(weightUnit)))
}

// readRounding reads "up 1 in" or "nearest 1 cm".
func (r *row) readRounding(column, cell string) rounding {
	how, to, _ := strings.Cut(strings.ToLower(cell), " ")
	if how != "up" && how != "nearest" {
		r.fail(column, "invalid", "", "must be like up 1 in or nearest 1 cm")
		return rounding{}
	}
	return rounding{to: r.readLength(column, strings.TrimSpace(to)), nearest: how == "nearest"}
}
