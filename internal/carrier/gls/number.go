package gls

import (
	"strings"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
)

// recognize knows parcel numbers of 12 digits and, by their shape alone, track ids
// of eight letters and digits, which have no check digit.
func recognize(number string) carrier.Recognition {
	switch {
	case len(number) == 12 && carrierkit.EndsWithCheckDigit(number, parcelCheckDigit):
		return carrier.Fits
	case isTrackID(number):
		return carrier.FitsLoosely
	}
	return carrier.NotRecognized
}

// parcelCheckDigit returns the last digit of a parcel number: the digits are
// weighted with 3 and 1 in turn, and one is added to their sum.
func parcelCheckDigit(digits string) byte {
	if !carrierkit.AllDigits(digits) {
		return 0
	}

	sum := 1
	for i := range len(digits) {
		weight := 3
		if i%2 == 1 {
			weight = 1
		}
		sum += int(digits[i]-'0') * weight
	}
	return '0' + byte((10-sum%10)%10)
}

// isTrackID reports whether a number may be a track id. One of letters alone is a
// word, and one of digits alone another carrier's.
func isTrackID(number string) bool {
	const letters, digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
	return len(number) == 8 && strings.Trim(number, letters+digits) == "" &&
		strings.ContainsAny(number, letters) && strings.ContainsAny(number, digits)
}
