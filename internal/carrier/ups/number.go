package ups

import (
	"strings"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
)

// recognize knows 1Z numbers, air waybills and, by their shape alone, numbers of
// Roadie, which have no check digit.
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

	case isRoadie(number):
		return carrier.FitsLoosely
	}
	return carrier.NotRecognized
}

// isRoadie knows "1R" and 14 or 26 letters and digits.
func isRoadie(number string) bool {
	own, hasPrefix := strings.CutPrefix(number, "1R")
	if !hasPrefix || len(own) != 14 && len(own) != 26 {
		return false
	}
	return strings.Trim(own, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}
