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

// maxZip is the longest postal code, without its separators.
const maxZip = 12

// zipKey writes a postal code, or the beginning of one, so that codes which
// begin the same are in the same area: without its separators, without its
// country, and with the parts of a British code at fixed positions. It is "" if
// there is none.
func zipKey(country, zip string) string {
	var buffer [maxZip]byte
	n := 0
	gap := 0 // the position of the last separator
	for i := range len(zip) {
		char := zip[i]
		switch {
		case char == ' ' || char == '-':
			gap = n
			continue
		case char >= 'a' && char <= 'z':
			char -= 'a' - 'A'
		case char >= '0' && char <= '9', char >= 'A' && char <= 'Z':
		default:
			return ""
		}
		if n == maxZip {
			return ""
		}
		buffer[n] = char
		n++
	}

	key := buffer[:n]
	if isBritish(country) {
		return britishKey(key, gap)
	}

	// The country may stand before the code: "LV-1010".
	if n > 2 && string(key[:2]) == country && isDigit(key[2]) {
		key = key[2:]
	}
	return string(key)
}

func isBritish(country string) bool { return len(country) == 2 && strings.Contains(british, country) }

// britishKey is the key of an area ("B"), a district ("B1", "SW1A") or more of
// a code. What follows the gap, or the last three characters of a complete code,
// is the inward part, of the street. The key is "" if the code is not valid.
func britishKey(code []byte, gap int) string {
	n := len(code)
	if gap == 0 || gap == n {
		gap = n
		if n >= 5 && isDigit(code[n-3]) && !isDigit(code[n-2]) && !isDigit(code[n-1]) {
			gap = n - 3
		}
	}
	outward := code[:gap]
	inward := code[gap:]

	letters := 0
	for letters < len(outward) && !isDigit(outward[letters]) {
		letters++
	}
	digits := letters
	for digits < len(outward) && isDigit(outward[digits]) {
		digits++
	}
	number := outward[letters:digits]
	suffix := outward[digits:]
	if letters < 1 || letters > 2 || len(number) > 2 || len(suffix) > 1 || len(number) == 0 && len(suffix)+len(inward) > 0 {
		return ""
	}

	// Each part is padded to its full length, so that B1 is not the beginning of
	// B10.
	key := string(outward[:letters]) + "_"[letters-1:]
	if len(number) == 0 {
		return key
	}
	key += "0"[len(number)-1:] + string(number)
	if len(suffix)+len(inward) > 0 {
		key += string(suffix) + "_"[len(suffix):] + string(inward)
	}
	return key
}

// formatZip writes a key as people do.
func formatZip(country, key string) string {
	if !isBritish(country) || key == "" {
		return key
	}

	outward := strings.TrimSuffix(key[:2], "_")
	if len(key) == 2 {
		return outward
	}
	outward += strings.TrimPrefix(key[2:4], "0")
	if len(key) == 4 {
		return outward
	}
	outward += strings.TrimPrefix(key[4:5], "_")
	if len(key) == 5 {
		return outward
	}
	return outward + " " + key[5:]
}

// zipDigits is how many digits the longest postal code of a country has, where
// codes are digits alone; 0 elsewhere.
func zipDigits(country string) int {
	// Any text is valid in a country without postal codes.
	if strings.Contains(lettered, country) || isValidZip(country, "A") {
		return 0
	}
	longest := 0
	for n := 3; n <= 10; n++ {
		if isValidZip(country, strings.Repeat("1", n)) {
			longest = n
		}
	}
	return longest
}

func isValidZip(country, zip string) bool {
	_, invalid := ship.Address{Country: country, Zip: zip}.Normalize("")
	for _, field := range invalid {
		if field.Pointer == "/zip" {
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
