package dhlparcelde

import (
	"strings"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
)

// recognize knows shipment numbers of 20 digits, identcodes of 12, and the postal
// S10 numbers of Germany that international parcels have.
func recognize(number string) carrier.Recognition {
	switch {
	case len(number) == 20 && strings.HasPrefix(number, "00340") && carrierkit.EndsWithCheckDigit(number, carrierkit.GS1CheckDigit):
		return carrier.Fits
	case len(number) == 12 && carrierkit.EndsWithCheckDigit(number, identcodeCheckDigit):
		return carrier.Fits
	case isGermanS10(number):
		return carrier.Fits
	}
	return carrier.NotRecognized
}

// identcodeCheckDigit returns the last digit of an identcode: the digits are
// weighted with 4 and 9 in turn.
func identcodeCheckDigit(digits string) byte {
	if !carrierkit.AllDigits(digits) {
		return 0
	}

	sum := 0
	for i := range len(digits) {
		weight := 4
		if i%2 == 1 {
			weight = 9
		}
		sum += int(digits[i]-'0') * weight
	}
	return '0' + byte((10-sum%10)%10)
}

func isGermanS10(number string) bool {
	if len(number) != 13 || !strings.HasSuffix(number, "DE") || strings.Trim(number[:2], "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return false
	}
	return carrierkit.EndsWithCheckDigit(number[2:11], carrierkit.S10CheckDigit)
}
