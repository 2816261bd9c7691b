package carrierkit

import (
	"slices"
	"strings"
)

// plusOne lists the countries that share the country code 1 and write their
// numbers with ten digits.
var plusOne = strings.Fields("AG AI AS BB BM BS CA DM DO GD GU JM KN KY LC MP MS PR SX TC TT US VC VG VI")

// phone returns the number as it was given if the carrier takes that, else its
// digits with a plus where there was one.
func (f *fitter) phone(value, country string) string {
	value = tidy(value)
	if value == "" || fits(value, f.limits.Phone) && strings.Trim(value, "0123456789 ()-.+") == "" {
		return value
	}

	number, hadExtension := cutExtension(strings.ToLower(plainDigits(value)))
	if hadExtension {
		f.warn("phone", "is sent without its extension")
	}
	digits := strings.Map(keepDigit, number)
	plus := ""
	if strings.HasPrefix(strings.TrimLeft(number, " ("), "+") {
		plus = "+"
	}
	if len(digits) == 0 {
		f.refuse("phone", "invalid_phone", "", "is not a phone number")
	}

	// The country code of a North American number, and the plus of any other,
	// are dropped only if the number does not fit with them.
	isNorthAmerican := slices.Contains(plusOne, country) && len(digits) == 11 && digits[0] == '1'
	switch {
	case fits(plus+digits, f.limits.Phone):
		return plus + digits
	case isNorthAmerican && fits(digits[1:], f.limits.Phone):
		return digits[1:]
	case fits(digits, f.limits.Phone):
		return digits
	}
	f.refuse("phone", "too_long", "", "has more than the %d digits that the carrier accepts", f.limits.Phone)
	return ""
}

// cutExtension separates the number from what is dialled after it.
func cutExtension(s string) (number string, cut bool) {
	digits := 0
	for i, r := range s {
		if keepDigit(r) >= 0 {
			digits++
		}
		// A mark before the number, as in "tel. 555 0100", is no extension.
		isMark := r == 'x' || r == '#' || r == ';' || r == ',' || strings.HasPrefix(s[i:], "ext")
		if digits >= 4 && isMark && strings.ContainsAny(s[i:], "0123456789") {
			return s[:i], true
		}
	}
	return s, false
}

// keepDigit is for strings.Map.
func keepDigit(r rune) rune {
	if r < '0' || r > '9' {
		return -1
	}
	return r
}
