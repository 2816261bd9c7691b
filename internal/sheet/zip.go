package sheet

import (
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
)

// british lists the countries whose codes begin with one or two letters and a
// number of one or two digits: "B1 1AA" and "BT1 1AA" have no prefix in common.
const british = "GB GG IM JE"

// hyphenated lists the countries that write a hyphen in the middle of a code,
// where it cannot also mean a range.
const hyphenated = "AI BR CR IR JP KY LV PL PT SA"

// lettered lists the countries where some codes are digits and some are not.
const lettered = "AR PE"

// maxZip is the longest postal code, without what divides it.
const maxZip = 12

// zipKey writes a postal code, or the beginning of one, so that codes which
// begin the same are in the same area: without what divides it, without its
// country, and with the parts of a British code at fixed places. It is "" if
// there is none.
func zipKey(country, zip string) string {
	var buf [maxZip]byte
	n, gap := 0, 0 // gap is where the last space stood
	for i := range len(zip) {
		c := zip[i]
		switch {
		case c == ' ' || c == '-':
			gap = n
			continue
		case c >= 'a' && c <= 'z':
			c -= 'a' - 'A'
		case c >= '0' && c <= '9', c >= 'A' && c <= 'Z':
		default:
			return ""
		}
		if n == maxZip {
			return ""
		}
		buf[n] = c
		n++
	}
	key := buf[:n]
	if isBritish(country) {
		return britishKey(key, gap)
	}
	if n > 2 && string(key[:2]) == country && isDigit(key[2]) {
		key = key[2:]
	}
	return string(key)
}

func isBritish(country string) bool { return len(country) == 2 && strings.Contains(british, country) }

// britishKey is the key of an area ("B"), a district ("B1", "SW1A") or more of
// a code; what follows the gap, or the last three characters of a whole code,
// is the street's. It is "" if the code is none.
func britishKey(code []byte, gap int) string {
	n := len(code)
	if gap == 0 || gap == n {
		gap = n
		if n >= 5 && isDigit(code[n-3]) && !isDigit(code[n-2]) && !isDigit(code[n-1]) {
			gap = n - 3
		}
	}
	out, street := code[:gap], code[gap:]
	letters := 0
	for letters < len(out) && !isDigit(out[letters]) {
		letters++
	}
	digits := letters
	for digits < len(out) && isDigit(out[digits]) {
		digits++
	}
	number, rest := out[letters:digits], out[digits:]
	if letters < 1 || letters > 2 || len(number) > 2 || len(rest) > 1 || len(number) == 0 && len(rest)+len(street) > 0 {
		return ""
	}
	key := string(out[:letters]) + "_"[letters-1:]
	if len(number) == 0 {
		return key
	}
	key += "0"[len(number)-1:] + string(number)
	if len(rest)+len(street) > 0 {
		key += string(rest) + "_"[len(rest):] + string(street)
	}
	return key
}

// zipText writes a key as people do.
func zipText(country, key string) string {
	if !isBritish(country) || key == "" {
		return key
	}
	area := strings.TrimSuffix(key[:2], "_")
	if len(key) == 2 {
		return area
	}
	area += strings.TrimPrefix(key[2:4], "0")
	if len(key) == 4 {
		return area
	}
	area += strings.TrimPrefix(key[4:5], "_")
	if len(key) == 5 {
		return area
	}
	return area + " " + key[5:]
}

// zipDigits is how many digits the longest postal code of a country has, where
// codes are digits alone; 0 elsewhere.
func zipDigits(country string) int {
	most := 0
	if strings.Contains(lettered, country) || validZip(country, "A") { // any text is a code where there are none
		return 0
	}
	for n := 3; n <= 10; n++ {
		if validZip(country, strings.Repeat("1", n)) {
			most = n
		}
	}
	return most
}

func validZip(country, zip string) bool {
	_, wrong := ship.Address{Country: country, Zip: zip}.Normalize("")
	for _, f := range wrong {
		if f.Pointer == "/zip" {
			return false
		}
	}
	return true
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func allDigits(s string) bool {
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	return s != ""
}
