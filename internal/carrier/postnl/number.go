package postnl

import (
	"regexp"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
)

// domestic are the barcodes of parcels: 3S, the customer's code and a number. They
// have no check digit.
var domestic = regexp.MustCompile(`^3S[A-Z]{1,6}[0-9]{7,10}$`)

// recognize knows the barcodes of parcels and postal S10 numbers of the
// Netherlands.
func recognize(number string) carrier.Recognition {
	if domestic.MatchString(number) && len(number) >= 11 && len(number) <= 16 || isS10(number) && strings.HasSuffix(number, "NL") {
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

// Lengths of barcodes: PostNL takes no others for the type 3S, and only the short
// one for parcels that leave the Netherlands. Its own plug-ins disagree about
// Belgium, where the short one is accepted by all of them.
// fact: barcode-length, barcode-length-abroad
const (
	longBarcode  = 15
	shortBarcode = 13
)

// minSerieDigits is the shortest range that PostNL draws from: it must hold 100,000
// numbers.
// fact: barcode-range
const minSerieDigits = 6

// barcodeSerie returns the range of numbers that barcodes are drawn from. The type,
// the customer's code and a number make up the length of a barcode.
func barcodeSerie(customerCode string, isAbroad bool) string {
	digits := longBarcode - len(barcodeType) - len(customerCode)
	if short := shortBarcode - len(barcodeType) - len(customerCode); isAbroad && short >= minSerieDigits {
		digits = short
	}
	return strings.Repeat("0", digits) + "-" + strings.Repeat("9", digits)
}
