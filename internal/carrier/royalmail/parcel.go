package royalmail

import (
	"fmt"
	"slices"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// parcel returns the only parcel of an order in Royal Mail's terms.
func (c *checker) parcel(order ship.Order, chosen service) packageRequest {
	if len(order.Parcels) != 1 {
		c.refuse("/parcels", "invalid", "Royal Mail sells a label for each parcel: create one shipment per parcel")
		return packageRequest{}
	}

	parcel := order.Parcels[0]
	pointer := carrierkit.ParcelPointer(order, 0)
	grams := max(parcel.WeightGrams, 1)
	if grams > chosen.maxGrams {
		c.refuse(pointer+"/weight", "invalid", fmt.Sprintf("%s takes at most %d g", chosen.name, chosen.maxGrams))
	}

	sent := packageRequest{
		WeightInGrams: grams,
		Format:        c.format(parcel, chosen, pointer),
	}
	if sides := parcel.Dimensions; sides != nil && sides.LengthMM > 0 && sides.WidthMM > 0 && sides.HeightMM > 0 {
		sent.Dimensions = &dimensions{
			Height: sides.HeightMM,
			Width:  sides.WidthMM,
			Depth:  sides.LengthMM,
		}
	}
	return sent
}

// format returns Royal Mail's format of a parcel: the one that the client names,
// that of the service, or the smallest that fits.
func (c *checker) format(parcel ship.Parcel, chosen service, pointer string) string {
	named := parcel.Packaging
	if named == "" || named == "custom" {
		switch {
		case chosen.abroad:
			return c.formatAbroad(parcel, pointer)
		case chosen.flat:
			named = "large_letter"
		default:
			return c.smallestFormat(parcel, pointer)
		}
	}

	chosenFormat, ok := formatByCode(named)
	switch {
	case !ok:
		c.refuse(pointer+"/packaging", "unknown_packaging", "is not a Royal Mail format; GET /v1/carriers lists them, and \"custom\" is your own box")
	case chosen.flat && chosenFormat.code != "letter" && chosenFormat.code != "large_letter":
		c.refuse(pointer+"/packaging", "invalid", chosen.name+" takes large letters")
	case !chosenFormat.fits(parcel):
		c.refuse(pointer+"/dimensions", "invalid", fmt.Sprintf("a %s of Royal Mail is at most %s", chosenFormat.name, chosenFormat.limits()))
	}
	return chosenFormat.own
}

// smallestFormat returns the smallest format of parcels that fits.
func (c *checker) smallestFormat(parcel ship.Parcel, pointer string) string {
	var largest format
	for _, f := range formats {
		if f.code == "letter" || f.code == "large_letter" {
			continue // chosen by the service or by the client, as their prices differ
		}
		if f.fits(parcel) {
			return f.own
		}
		largest = f
	}
	c.refuse(pointer+"/dimensions", "invalid", "Royal Mail takes parcels of at most "+largest.limits())
	return largest.own
}

// formatAbroad refuses parcels that are too large for the post abroad.
func (c *checker) formatAbroad(parcel ship.Parcel, pointer string) string {
	const longest, sum = 600, 900
	sides := sidesOf(parcel)
	if sides[0] > longest || sides[0]+sides[1]+sides[2] > sum {
		c.refuse(pointer+"/dimensions", "invalid", fmt.Sprintf("Royal Mail takes parcels abroad of at most %d mm, and %d mm for length, width and height together", longest, sum))
	}
	return parcelAbroad
}

// fits reports whether a parcel has the format. One of unknown size does.
func (f format) fits(parcel ship.Parcel) bool {
	sides := sidesOf(parcel)
	return parcel.WeightGrams <= f.maxGrams && sides[0] <= f.sides[0] && sides[1] <= f.sides[1] && sides[2] <= f.sides[2]
}

func (f format) limits() string {
	return fmt.Sprintf("%d g and %d x %d x %d mm", f.maxGrams, f.sides[0], f.sides[1], f.sides[2])
}

// sidesOf returns the sides of a parcel, the longest first; zero if they are not
// known.
func sidesOf(parcel ship.Parcel) [3]int64 {
	if parcel.Dimensions == nil {
		return [3]int64{}
	}
	sides := []int64{parcel.Dimensions.LengthMM, parcel.Dimensions.WidthMM, parcel.Dimensions.HeightMM}
	slices.Sort(sides)
	return [3]int64{sides[2], sides[1], sides[0]}
}
