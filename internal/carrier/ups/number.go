package ups

import (
	"strings"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
)

// recognize knows 1Z numbers and air waybills.
func recognize(number string) carrier.Recognition {
	switch {
	case len(number) == 18 && strings.HasPrefix(number, "1Z"):
		if carrierkit.EndsWithCheckDigit(number[2:], carrierkit.AlphanumericCheckDigit) {
			return carrier.Fits
		}

	case len(number) == 11 && strings.IndexByte("AHJKTV", number[0]) >= 0:
		digits := number[1:]
		if carrierkit.AllDigits(digits) && carrierkit.EndsWithCheckDigit(digits, carrierkit.AlphanumericCheckDigit) {
			return carrier.Fits
		}
	}
	return carrier.NotRecognized
}
