package canadapost

import (
	"fmt"
	"strconv"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// The most that Canada Post's schemas let pass. What a service takes is less, and
// Canada Post's to say.
//
// fact: parcel-limits
const (
	maxGrams = 99_999
	maxSide  = 9_999 // millimetres
)

func (c *checker) parcel(order ship.Order) parcel {
	// Every parcel is a purchase of its own, and one purchase of ours must be
	// one effect at the carrier.
	if len(order.Parcels) != 1 {
		c.refuse("/parcels", "unsupported", "Canada Post sells one label per parcel: create a separate shipment for each parcel")
		return parcel{}
	}

	given := order.Parcels[0]
	pointer := carrierkit.ParcelPointer(order, 0)
	if given.Packaging != "" && given.Packaging != "custom" {
		c.refuse(pointer+"/packaging", "unknown_packaging", "Canada Post has no packaging types: use \"custom\", your own box")
	}
	if given.WeightGrams > maxGrams {
		c.refuse(pointer+"/weight", "invalid", "must be at most "+given.WeightUnit.Format(maxGrams)+" for Canada Post")
	}

	p := parcel{Weight: decimal(max(given.WeightGrams, 1), 3)}
	if d := given.Dimensions; d != nil && d.LengthMM > 0 && d.WidthMM > 0 && d.HeightMM > 0 {
		if max(d.LengthMM, d.WidthMM, d.HeightMM) > maxSide {
			c.refuse(pointer+"/dimensions", "invalid", fmt.Sprintf("must have sides of at most %s for Canada Post", d.Unit.Format(maxSide)))
		}
		p.Dimensions = &dimensions{
			Length: decimal(d.LengthMM, 1),
			Width:  decimal(d.WidthMM, 1),
			Height: decimal(d.HeightMM, 1),
		}
	}
	return p
}

// decimal returns a number with its last digits after the point: grams as
// kilograms, millimetres as centimetres.
func decimal(number int64, places int) string {
	text := strconv.FormatInt(number, 10)
	for len(text) <= places {
		text = "0" + text
	}
	return text[:len(text)-places] + "." + text[len(text)-places:]
}
