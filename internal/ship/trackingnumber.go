package ship

import (
	"slices"
	"strings"
)

// The carriers whose numbers DetectCarriers knows.
const (
	carrierUPS        = "ups"
	carrierUSPS       = "usps"
	carrierFedEx      = "fedex"
	carrierDHLExpress = "dhl_express"
)

// NormalizeTrackingNumber returns a tracking number as it is stored and looked
// up: upper case, without spaces and hyphens. It does not judge it.
func NormalizeTrackingNumber(s string) string {
	s = strings.Map(func(r rune) rune {
		switch r {
		case ' ', '-', '\t', '\n', '\r', '\u00a0', '\u2010', '\u2011', '\u2012', '\u2013':
			return -1
		}
		return r
	}, s)
	return upperASCII(s)
}

// DetectCarriers returns the carriers whose format and check digit fit the
// number, best first: a format with a prefix of its own before one that any
// row of digits has. A check digit fits by chance once in ten numbers, so the
// answer is a guess: it may name a carrier to ask, never refuse a number.
func DetectCarriers(number string) []string {
	n := NormalizeTrackingNumber(number)
	var found []string
	add := func(carrier string, fits bool) {
		if fits && !slices.Contains(found, carrier) {
			found = append(found, carrier)
		}
	}
	bare := withoutRouting(n)
	usps := isUSPS(bare)
	add(carrierUPS, isUPS(n))
	add(carrierUSPS, usps)
	add(carrierFedEx, isFedEx(n) || usps && isGroundEconomy(bare))
	add(carrierDHLExpress, isDHLExpress(n))
	// Last, because it is twenty digits and nothing more.
	add(carrierUSPS, isUSPSLegacy(n))
	return found
}

// UPSCheckDigit returns the last character of a UPS 1Z number from the 15
// characters after "1Z", which are digits and capital letters. Like the other
// check digits it is 0, which is no digit, if the payload holds anything else.
func UPSCheckDigit(payload string) byte {
	sum := 0
	for i := range len(payload) {
		c := payload[i]
		var v int
		switch {
		case isDigit(c):
			v = int(c - '0')
		case c >= 'A' && c <= 'Z':
			v = int(c-63) % 10
		default:
			return 0
		}
		sum += v * (1 + i%2)
	}
	return complement10(sum)
}

// GS1CheckDigit returns the GS1 modulo 10 check digit that follows the digits:
// USPS, FedEx Ground, and every SSCC.
func GS1CheckDigit(digits string) byte {
	if !allDigits(digits) {
		return 0
	}
	sum, weight := 0, 3
	for i := len(digits) - 1; i >= 0; i-- {
		sum += int(digits[i]-'0') * weight
		weight = 4 - weight
	}
	return complement10(sum)
}

// FedExCheckDigit returns the last digit of a 12 digit FedEx number from the
// first 11.
func FedExCheckDigit(digits11 string) byte {
	return weighted11(digits11, [3]int{3, 1, 7})
}

// DHLCheckDigit returns the last digit of a DHL Express waybill from the
// digits before it: their number modulo 7.
func DHLCheckDigit(digits string) byte {
	if !allDigits(digits) {
		return 0
	}
	rest := 0
	for i := range len(digits) {
		rest = (rest*10 + int(digits[i]-'0')) % 7
	}
	return '0' + byte(rest)
}

// S10CheckDigit returns the ninth digit of a postal S10 number ("RB123456785GB")
// from the eight before it.
func S10CheckDigit(digits8 string) byte {
	weights := [8]int{8, 6, 4, 2, 3, 5, 9, 7}
	if len(digits8) != len(weights) || !allDigits(digits8) {
		return 0
	}
	sum := 0
	for i, w := range weights {
		sum += int(digits8[i]-'0') * w
	}
	switch r := 11 - sum%11; r {
	case 10:
		return '0'
	case 11:
		return '5'
	default:
		return '0' + byte(r)
	}
}

func weighted11(digits string, weights [3]int) byte {
	if !allDigits(digits) {
		return 0
	}
	sum := 0
	for i := range len(digits) {
		sum += int(digits[i]-'0') * weights[i%3]
	}
	return '0' + byte(sum%11%10)
}

func complement10(sum int) byte { return '0' + byte((10-sum%10)%10) }

// endsWith reports whether the last character of n is the check digit of the
// ones before it.
func endsWith(n string, check func(string) byte) bool {
	last := len(n) - 1
	return last > 0 && n[last] == check(n[:last])
}

func isUPS(n string) bool {
	switch {
	case len(n) == 18 && strings.HasPrefix(n, "1Z"):
		return endsWith(n[2:], UPSCheckDigit)
	case len(n) == 11 && strings.IndexByte("AHJKTV", n[0]) >= 0: // air waybill
		return allDigits(n[1:]) && endsWith(n[1:], UPSCheckDigit)
	}
	return false
}

// withoutRouting removes "420" and the ZIP code that USPS barcodes put before
// the number. 34 digits hold either a ZIP+4 and 22 digits or a ZIP and 26.
func withoutRouting(n string) string {
	if !strings.HasPrefix(n, "420") || !allDigits(n) {
		return n
	}
	for _, number := range []int{22, 26} {
		zip := len(n) - len("420") - number
		if (zip == 5 || zip == 9) && isUSPS(n[len(n)-number:]) {
			return n[len(n)-number:]
		}
	}
	return n
}

func isUSPS(n string) bool {
	switch len(n) {
	case 13:
		return n[11:] == "US" && isS10(n)
	case 22:
		return n[0] == '9' && n[1] >= '1' && n[1] <= '5' && endsWith(n, GS1CheckDigit)
	case 26:
		return n[0] == '9' && n[1] >= '2' && n[1] <= '5' && endsWith(n, GS1CheckDigit)
	case 30:
		return strings.HasPrefix(n, "94") && endsWith(n, GS1CheckDigit)
	}
	return false
}

// isUSPSLegacy knows the 20 digits from before the prefixes; some were
// computed as if their "91" stood in front. "00340" is DHL Paket in Germany.
func isUSPSLegacy(n string) bool {
	return len(n) == 20 && !strings.HasPrefix(n, "00340") &&
		(endsWith(n, GS1CheckDigit) || endsWith("91"+n, GS1CheckDigit))
}

func isS10(n string) bool {
	return len(n) == 13 && isCapital(n[0]) && isCapital(n[1]) && isCapital(n[11]) && isCapital(n[12]) &&
		n[10] == S10CheckDigit(n[2:10])
}

// isGroundEconomy knows the FedEx parcels that USPS delivers under its own 92.
func isGroundEconomy(n string) bool { return len(n) == 22 && strings.HasPrefix(n, "9261") }

func isFedEx(n string) bool {
	if !allDigits(n) {
		return false
	}
	switch len(n) {
	case 12:
		return endsWith(n, FedExCheckDigit)
	case 15:
		return endsWith(n, GS1CheckDigit)
	case 18: // container type, then the number
		return n[0] == '0' && strings.IndexByte("0124", n[1]) >= 0 && endsWith(n[2:], GS1CheckDigit)
	case 20:
		return strings.HasPrefix(n, "61") && endsWith("92"+n, GS1CheckDigit)
	case 22:
		return strings.HasPrefix(n, "96") && endsWith(n[7:], GS1CheckDigit)
	case 32: // the 12 digit number stands inside
		return n[0] == '3' && endsWith(n[16:28], FedExCheckDigit)
	case 34:
		return (n[0] <= '8' || strings.HasPrefix(n, "96")) &&
			n[33] == weighted11(n[20:33], [3]int{1, 7, 3})
	}
	return false
}

// isDHLExpress knows waybills and, by their shape alone, piece ids ("JD..."):
// these have no check digit.
func isDHLExpress(n string) bool {
	if allDigits(n) {
		return (len(n) == 10 || len(n) == 11) && endsWith(n, DHLCheckDigit)
	}
	if !strings.HasPrefix(n, "J") {
		return false
	}
	digits := strings.TrimLeft(n, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
	letters := len(n) - len(digits)
	if !allDigits(digits) {
		return false
	}
	return letters == 2 && len(digits) == 18 && n[1] == 'D' ||
		(letters == 3 || letters == 4) && (len(digits) == 9 || len(digits) == 10 || len(digits) == 18)
}

func isDigit(c byte) bool   { return c >= '0' && c <= '9' }
func isCapital(c byte) bool { return c >= 'A' && c <= 'Z' }

func allDigits(s string) bool { return s != "" && isDigits(s) }
