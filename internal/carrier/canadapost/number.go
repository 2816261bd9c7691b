package canadapost

import (
	"strings"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
)

// recognize knows PINs of 16 digits and postal S10 numbers of Canada. The digits
// have no prefix, so a check digit that fits may be chance.
func recognize(number string) carrier.Recognition {
	switch {
	case len(number) == 16 && carrierkit.EndsWithCheckDigit(number, carrierkit.GS1CheckDigit):
		return carrier.Fits
	case isS10(number):
		return carrier.Fits
	}
	return carrier.NotRecognized
}

// isS10 reports whether the number is two letters, nine digits with a check digit,
// and Canada.
func isS10(number string) bool {
	if len(number) != 13 || !strings.HasSuffix(number, home) || !carrierkit.AllDigits(number[2:11]) {
		return false
	}
	for _, letter := range number[:2] {
		if letter < 'A' || letter > 'Z' {
			return false
		}
	}
	return number[10] == carrierkit.S10CheckDigit(number[2:10])
}
