package ups

import (
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
)

// placeholder is the number of every parcel and every shipment that UPS's test
// environment sells. It has no check digit, and cannot be tracked, voided or
// looked up.
const placeholder = "1ZXXXXXXXXXXXXXXXX"

// isPlaceholder reports whether a number is the placeholder, or one of ours
// that begins with it.
func isPlaceholder(number string) bool {
	return strings.HasPrefix(strings.ToUpper(number), placeholder)
}

// placeholderSuffix is how much of the attempt's reference makes placeholders
// unique: 70 bits of it, which leaves room for the number of a piece.
const placeholderSuffix = 14

// renumber makes placeholders unique, because numbers are kept and looked up as
// if they were. The rest is the end of the attempt's reference, so that the
// same purchase always has the same numbers.
func renumber(purchase *ship.Sale, pieces []piece, reference string) {
	unique := reference[max(len(reference)-placeholderSuffix, 0):]
	if isPlaceholder(purchase.CarrierRef) {
		purchase.CarrierRef = placeholder + unique
	}

	for i := range pieces {
		if !isPlaceholder(pieces[i].number) {
			continue
		}
		pieces[i].number = placeholder + unique
		if i > 0 {
			pieces[i].number += strconv.FormatInt(int64(i), 36)
		}
	}
}
