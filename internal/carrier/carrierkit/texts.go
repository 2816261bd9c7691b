package carrierkit

import (
	"fmt"
	"slices"

	"github.com/waybillhq/waybill/internal/ship"
)

// FitTexts returns the order with the texts that are printed beside the
// addresses in characters of the carrier's charsets (see AddressLimits.Charset):
// one for the order number and the reference, one for the descriptions of
// declared goods. It also returns warnings for the client, and an Invalid error
// for descriptions that cannot be written in the charset.
func FitTexts(order ship.Order, references, goods string) (ship.Order, []string, error) {
	f := fitter{script: script{charset: references}}
	order.OrderID = f.reference("orderId", order.OrderID)
	order.Reference = f.reference("reference", order.Reference)

	// The declaration is shared with the caller's order, so it is copied.
	if order.Customs != nil {
		customs := *order.Customs
		customs.Items = slices.Clone(customs.Items)
		f.script = script{charset: goods}
		for i := range customs.Items {
			f.pointer = fmt.Sprintf("/customs/items/%d", i)
			customs.Items[i].Description = f.printable("description", customs.Items[i].Description)
		}
		order.Customs = &customs
	}
	return order, f.warnings, ship.InvalidFields(f.invalid)
}

// reference returns an order number or a reference in characters that the
// carrier prints. One that has none is left off the label and not refused: the
// parcel arrives without it.
func (f *fitter) reference(field, value string) string {
	value = tidy(value)
	if value == "" {
		return ""
	}

	written, ok := f.script.write(value)
	switch {
	case !ok:
		f.warn(field, "is not on the label: the carrier cannot print its characters")
		return ""
	case written != value:
		f.warn(field, "is transliterated on the label: the carrier cannot print all of its characters")
	}
	return written
}
