package dhlexpress

import (
	"strings"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
)

// recognize knows waybills and, by their shape alone, piece ids ("JD..."),
// which have no check digit.
func recognize(number string) carrier.Recognition {
	if isWaybill(number) || isPieceID(number) {
		return carrier.Fits
	}
	return carrier.NotRecognized
}

func isWaybill(number string) bool {
	return (len(number) == 10 || len(number) == 11) && carrierkit.EndsWithCheckDigit(number, carrierkit.Mod7CheckDigit)
}

func isPieceID(number string) bool {
	if !strings.HasPrefix(number, "J") {
		return false
	}
	digits := strings.TrimLeft(number, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
	if !carrierkit.AllDigits(digits) {
		return false
	}

	switch letters := len(number) - len(digits); letters {
	case 2:
		return number[1] == 'D' && len(digits) == 18
	case 3, 4:
		return len(digits) == 9 || len(digits) == 10 || len(digits) == 18
	}
	return false
}
