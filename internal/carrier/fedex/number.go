package fedex

import (
	"strings"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
)

// recognize knows the numbers of Express, Ground and Ground Economy, and the
// barcodes that hold one.
func recognize(number string) carrier.Recognition {
	if carrierkit.AllDigits(number) && (hasOwnFormat(number) || isGroundEconomy(number)) {
		return carrier.Fits
	}
	return carrier.NotRecognized
}

func hasOwnFormat(number string) bool {
	switch len(number) {
	case 12:
		return endsWithExpress(number)
	case 15:
		return endsWithGS1(number)
	case 18: // a container type, then the number
		return number[0] == '0' && strings.IndexByte("0124", number[1]) >= 0 && endsWithGS1(number[2:])
	case 20:
		return strings.HasPrefix(number, "61") && endsWithGS1("92"+number)
	case 22:
		return strings.HasPrefix(number, "96") && endsWithGS1(number[7:])
	case 32: // the number of 12 digits stands inside
		return number[0] == '3' && endsWithExpress(number[16:28])
	case 34:
		hasPrefix := number[0] <= '8' || strings.HasPrefix(number, "96")
		return hasPrefix && number[33] == carrierkit.WeightedCheckDigit(number[20:33], [3]int{1, 7, 3})
	}
	return false
}

// isGroundEconomy knows parcels that USPS delivers under a number of its own,
// also with the "420" and ZIP code that its barcodes put before the number.
func isGroundEconomy(number string) bool {
	const length = 22
	if routing := len(number) - length; strings.HasPrefix(number, "420") && (routing == 3+5 || routing == 3+9) {
		number = number[routing:]
	}
	return len(number) == length && strings.HasPrefix(number, "9261") && endsWithGS1(number)
}

func endsWithExpress(number string) bool {
	return carrierkit.EndsWithCheckDigit(number, func(digits string) byte {
		return carrierkit.WeightedCheckDigit(digits, [3]int{3, 1, 7})
	})
}

func endsWithGS1(number string) bool {
	return carrierkit.EndsWithCheckDigit(number, carrierkit.GS1CheckDigit)
}
