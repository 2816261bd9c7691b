package carrierkit

// Check digits of tracking numbers. Each function returns the digit that
// follows the given characters, or 0, which is no digit, if they hold anything
// that the scheme does not know.

// AlphanumericCheckDigit returns the last character of a 1Z number of UPS, from
// the 15 digits and capital letters after "1Z".
func AlphanumericCheckDigit(payload string) byte {
	sum := 0
	for i := range len(payload) {
		c := payload[i]
		var value int
		switch {
		case isDigit(c):
			value = int(c - '0')
		case c >= 'A' && c <= 'Z':
			value = int(c-63) % 10
		default:
			return 0
		}
		sum += value * (1 + i%2)
	}
	return complement10(sum)
}

// GS1CheckDigit returns the modulo 10 check digit of GS1, which USPS, FedEx
// Ground and every SSCC use.
func GS1CheckDigit(digits string) byte {
	if !AllDigits(digits) {
		return 0
	}

	sum := 0
	weight := 3
	for i := len(digits) - 1; i >= 0; i-- {
		sum += int(digits[i]-'0') * weight
		weight = 4 - weight
	}
	return complement10(sum)
}

// WeightedCheckDigit returns the sum of the digits times the weights, which
// repeat, modulo 11 and then modulo 10. FedEx uses it with two sets of weights.
func WeightedCheckDigit(digits string, weights [3]int) byte {
	if !AllDigits(digits) {
		return 0
	}

	sum := 0
	for i := range len(digits) {
		sum += int(digits[i]-'0') * weights[i%3]
	}
	return '0' + byte(sum%11%10)
}

// Mod7CheckDigit returns the number that the digits make, modulo 7: the last
// digit of a DHL Express waybill.
func Mod7CheckDigit(digits string) byte {
	if !AllDigits(digits) {
		return 0
	}

	rest := 0
	for i := range len(digits) {
		rest = (rest*10 + int(digits[i]-'0')) % 7
	}
	return '0' + byte(rest)
}

// S10CheckDigit returns the ninth digit of a postal S10 number
// ("RB123456785GB"), from the eight before it.
func S10CheckDigit(digits8 string) byte {
	weights := [8]int{8, 6, 4, 2, 3, 5, 9, 7}
	if len(digits8) != len(weights) || !AllDigits(digits8) {
		return 0
	}

	sum := 0
	for i, weight := range weights {
		sum += int(digits8[i]-'0') * weight
	}
	switch rest := 11 - sum%11; rest {
	case 10:
		return '0'
	case 11:
		return '5'
	default:
		return '0' + byte(rest)
	}
}

// EndsWithCheckDigit reports whether the last character of the number is the
// check digit of the ones before it.
func EndsWithCheckDigit(number string, check func(string) byte) bool {
	last := len(number) - 1
	return last > 0 && number[last] == check(number[:last])
}

// AllDigits reports whether the text has digits and nothing else.
func AllDigits(text string) bool {
	for i := range len(text) {
		if !isDigit(text[i]) {
			return false
		}
	}
	return text != ""
}

func complement10(sum int) byte { return '0' + byte((10-sum%10)%10) }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
