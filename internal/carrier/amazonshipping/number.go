package amazonshipping

import (
	"strings"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
)

// recognize knows the numbers of North America by their prefix, one for each
// country; they have no check digit. Those of other countries have no published
// form.
func recognize(number string) carrier.Recognition {
	for _, prefix := range []string{"TBA", "TBC", "TBM"} {
		digits, ok := strings.CutPrefix(number, prefix)
		if ok && len(digits) == 12 && carrierkit.AllDigits(digits) {
			return carrier.Fits
		}
	}
	return carrier.NotRecognized
}
