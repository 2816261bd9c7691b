package usps

import (
	"strings"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// recognize knows the numbers of domestic labels, with and without the routing
// that their barcodes begin with, postal S10 numbers, and old labels.
func recognize(number string) carrier.Recognition {
	switch {
	case hasOwnFormat(withoutRouting(number)):
		return carrier.Fits
	case isLegacy(number):
		return carrier.FitsLoosely
	}
	return carrier.NotRecognized
}

// withoutRouting returns a number as it is stored: without "420" and the ZIP
// code that the barcode puts before it.
func withoutRouting(number string) string {
	number = ship.NormalizeTrackingNumber(number)
	if !strings.HasPrefix(number, "420") || !carrierkit.AllDigits(number) {
		return number
	}

	// What follows are 22 or 26 digits that begin with a 9. A barcode of 34
	// digits can be read both ways, with a ZIP code of 9 or of 5 digits: the
	// check digit decides.
	for _, length := range []int{22, 26} {
		zip := len(number) - len("420") - length
		if zip != 5 && zip != 9 {
			continue
		}
		own := number[len(number)-length:]
		if own[0] == '9' && endsWithGS1(own) {
			return own
		}
	}
	return number
}

func hasOwnFormat(number string) bool {
	switch len(number) {
	case 13:
		return strings.HasSuffix(number, "US") && isS10(number)
	case 22:
		return number[0] == '9' && number[1] >= '1' && number[1] <= '5' && endsWithGS1(number)
	case 26:
		return number[0] == '9' && number[1] >= '2' && number[1] <= '5' && endsWithGS1(number)
	case 30:
		return strings.HasPrefix(number, "94") && endsWithGS1(number)
	}
	return false
}

// isLegacy knows the 20 digits from before the prefixes; the check digit of
// some was computed as if their "91" stood in front. "00340" is DHL Paket in
// Germany.
func isLegacy(number string) bool {
	if len(number) != 20 || strings.HasPrefix(number, "00340") {
		return false
	}
	return endsWithGS1(number) || endsWithGS1("91"+number)
}

// isS10 reports whether the number is two letters, nine digits with a check
// digit, and a country.
func isS10(number string) bool {
	for _, i := range []int{0, 1, 11, 12} {
		if number[i] < 'A' || number[i] > 'Z' {
			return false
		}
	}
	return number[10] == carrierkit.S10CheckDigit(number[2:10])
}

func endsWithGS1(number string) bool {
	return carrierkit.EndsWithCheckDigit(number, carrierkit.GS1CheckDigit)
}
