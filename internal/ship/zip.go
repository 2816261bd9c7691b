package ship

import (
	"regexp"
	"strings"

	"github.com/bojanz/address"
)

// zipSeldom lists the countries that have postal codes which most people and
// carriers do without.
const zipSeldom = "AF AI BB BH BM BT CL CO CR CV DO EC EG ET GN GT GW HN HT IE IQ JO KE KH KW KY LA LB LR LS MG MM MN MU MV MZ " +
	"NA NE NG NI NP OM PE PG PY SA SD SN SO SV SZ TZ UM UY VC VE VG VN XK ZM"

// zipAlso are spellings in use that CLDR's patterns do not know.
var zipAlso = map[string]string{
	"PT": `\d{4}`,       // without the street's three digits
	"PY": `\d{6}`,       // the newer codes
	"SA": `\d{5}-\d{4}`, // with the building's number
	"SV": `\d{4}`,       // without "CP"
}

// A zipBreak says where a postal code is divided: after at characters, counted
// from the end if negative, when it has of characters in all (0: any).
type zipBreak struct {
	at  int
	sep string
	of  int
}

var (
	zipBritish = zipBreak{-3, " ", 0}
	zipPlus4   = zipBreak{5, "-", 9}
)

var zipBreaks = map[string]zipBreak{
	"AC": zipBritish, "FK": zipBritish, "GB": zipBritish, "GG": zipBritish, "GI": zipBritish, "GS": zipBritish, "IM": zipBritish,
	"IO": zipBritish, "JE": zipBritish, "PN": zipBritish, "SH": zipBritish, "TA": zipBritish, "TC": zipBritish,
	"AS": zipPlus4, "FM": zipPlus4, "GU": zipPlus4, "MH": zipPlus4, "MP": zipPlus4, "PR": zipPlus4, "PW": zipPlus4, "US": zipPlus4,
	"VI": zipPlus4, "SA": zipPlus4,
	"CZ": {3, " ", 5}, "GR": {3, " ", 5}, "SE": {3, " ", 5}, "SK": {3, " ", 5},
	"CA": {3, " ", 6}, "IE": {3, " ", 7}, "MT": {3, " ", 0}, "NL": {4, " ", 6}, "LB": {4, " ", 8}, "BM": {2, " ", 4},
	"OM": {2, " ", 5}, "SV": {2, " ", 6},
	"PL": {2, "-", 5}, "PT": {4, "-", 7}, "BR": {5, "-", 8}, "JP": {3, "-", 7}, "IR": {5, "-", 10}, "LV": {2, "-", 6},
	"KY": {3, "-", 7}, "AI": {2, "-", 6}, "CR": {3, "-", 7},
}

// zipCar are the signs other than the country's code that people put before
// its postal codes, as in "D-10115".
var zipCar = map[string]string{
	"AT": "A", "BE": "B", "DE": "D", "ES": "E", "FI": "FIN", "FR": "F", "HU": "H", "IT": "I", "LU": "L", "NO": "N", "PT": "P",
	"SE": "S", "SI": "SLO",
}

// zipOf returns a postal code in its country's spelling, and whether it is one
// of the country's. Any code is accepted where there are none.
func (c *country) zipOf(s string) (string, bool) {
	if c.zipFormat == nil || len(s) == c.zipDigits && isDigits(s) {
		return s, true
	}

	// What people write before the code, and what they leave out of it.
	bare := compactZip(s)
	spellings := []string{c.divideZip(bare), s}
	for _, sign := range []string{c.code, zipCar[c.code]} {
		if rest, ok := strings.CutPrefix(bare, sign); ok && sign != "" {
			spellings = append(spellings, c.divideZip(rest))
		}
	}
	if strings.HasPrefix(c.format.PostalCodePattern, c.code) {
		spellings = append(spellings, c.divideZip(c.code+bare))
	}

	for _, spelling := range spellings {
		if c.zipFormat().MatchString(spelling) {
			return spelling, true
		}
	}
	return s, false
}

// divideZip puts the separator where the country writes one.
func (c *country) divideZip(bare string) string {
	division, ok := zipBreaks[c.code]
	at := division.at
	if at < 0 {
		at += len(bare)
	}
	if !ok || at <= 0 || at >= len(bare) || division.of != 0 && division.of != len(bare) {
		return bare
	}
	return bare[:at] + division.sep + bare[at:]
}

// compactZip drops what divides a postal code, and the Japanese postal mark,
// and writes full-width characters as plain ones.
func compactZip(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '！' && r <= '～' {
			r -= '！' - '!'
		}
		switch {
		case r == ' ', r == '-', r == '〒', r == 'ー', r >= '\u2010' && r <= '\u2015', r == '\u2212':
			return -1
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		}
		return r
	}, s)
}

// plainDigits reads n from the pattern `\d{n}`; 0 if it is another.
func plainDigits(pattern string) int {
	if len(pattern) == len(`\d{5}`) && strings.HasPrefix(pattern, `\d{`) && isDigit(pattern[3]) {
		return int(pattern[3] - '0')
	}
	if pattern == address.GetFormat("US").PostalCodePattern {
		return len("94103")
	}
	return 0
}

func (c *country) compileZip() *regexp.Regexp {
	pattern := c.format.PostalCodePattern
	if also := zipAlso[c.code]; also != "" {
		pattern += "|" + also
	}
	return regexp.MustCompile("^(?:" + pattern + ")$")
}
