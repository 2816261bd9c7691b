package postnl

import (
	"fmt"
	"slices"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// maxGrams is the heaviest parcel that the usual contracts allow.
const maxGrams = 31_500

// parcel returns the weight and the sides of the only parcel of an order. PostNL
// wants the longest side first.
func (c *checker) parcel(order ship.Order) dimension {
	if len(order.Parcels) != 1 {
		c.refuse("/parcels", "invalid", "PostNL sells a label for each parcel: create one shipment per parcel")
		return dimension{}
	}

	parcel := order.Parcels[0]
	pointer := carrierkit.ParcelPointer(order, 0)
	if parcel.WeightGrams > maxGrams {
		c.refuse(pointer+"/weight", "invalid", fmt.Sprintf("PostNL takes at most %d g", maxGrams))
	}
	if parcel.Packaging != "" && parcel.Packaging != "custom" {
		c.refuse(pointer+"/packaging", "unknown_packaging", "PostNL has no packaging of its own; use \"custom\"")
	}

	sent := dimension{Weight: max(parcel.WeightGrams, 1)}
	if sides := parcel.Dimensions; sides != nil {
		ordered := []int64{sides.LengthMM, sides.WidthMM, sides.HeightMM}
		slices.Sort(ordered)
		sent.Length = ordered[2]
		sent.Width = ordered[1]
		sent.Height = ordered[0]
	}
	return sent
}

// Limits of a parcel that goes through the letterbox.
// fact: mailbox-limits
const maxMailboxGrams = 2000

var maxMailboxSides = [3]int64{380, 265, 32} // millimetres, the longest first

// letterbox refuses what does not fit through a letterbox.
func (c *checker) letterbox(order ship.Order, chosen service) {
	if len(order.Parcels) != 1 {
		return
	}
	parcel := order.Parcels[0]
	pointer := carrierkit.ParcelPointer(order, 0)
	if parcel.WeightGrams > maxMailboxGrams {
		c.refuse(pointer+"/weight", "invalid", fmt.Sprintf("%s weighs at most %d g", chosen.name, maxMailboxGrams))
	}
	if sides := parcel.Dimensions; sides != nil {
		ordered := []int64{sides.LengthMM, sides.WidthMM, sides.HeightMM}
		slices.Sort(ordered)
		if ordered[2] > maxMailboxSides[0] || ordered[1] > maxMailboxSides[1] || ordered[0] > maxMailboxSides[2] {
			c.refuse(pointer+"/dimensions", "invalid", chosen.name+" measures at most 38 x 26.5 x 3.2 cm")
		}
	}
}
