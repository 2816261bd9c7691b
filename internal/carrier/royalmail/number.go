package royalmail

import (
	"strings"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
)

// recognize knows postal S10 numbers of the United Kingdom. The identifiers in
// two-dimensional barcodes, and Parcelforce's own numbers, have no published form.
func recognize(number string) carrier.Recognition {
	if isS10(number) && strings.HasSuffix(number, "GB") {
		return carrier.Fits
	}
	return carrier.NotRecognized
}

// isS10 reports whether the number is two letters, nine digits with a check
// digit, and a country.
func isS10(number string) bool {
	const length = 13
	if len(number) != length || !carrierkit.AllDigits(number[2:11]) {
		return false
	}
	for _, i := range []int{0, 1, 11, 12} {
		if number[i] < 'A' || number[i] > 'Z' {
			return false
		}
	}
	return number[10] == carrierkit.S10CheckDigit(number[2:10])
}
