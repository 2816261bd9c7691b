package amazonshipping

import (
	"encoding/json"
	"strconv"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

func (c *checker) pack(order ship.Order, reference string) pack {
	// Every parcel is a purchase of its own, and one purchase of ours must be
	// one effect at the carrier.
	if len(order.Parcels) != 1 {
		c.refuse("/parcels", "unsupported", "Amazon Shipping sells one label per parcel: create a separate shipment for each parcel")
		return pack{}
	}

	parcel := order.Parcels[0]
	pointer := carrierkit.ParcelPointer(order, 0)
	if parcel.Packaging != "" && parcel.Packaging != "custom" {
		c.refuse(pointer+"/packaging", "unknown_packaging", "Amazon Shipping has no packaging types: use \"custom\", your own box")
	}
	sides := parcel.Dimensions
	if sides == nil {
		c.refuse(pointer+"/dimensions", "required", "Amazon Shipping needs the length, width and height of the parcel")
		return pack{}
	}

	return pack{
		Reference:    reference,
		Dimensions:   dimensionsOf(*sides),
		Weight:       weightOf(parcel.WeightUnit, parcel.Weight, parcel.WeightGrams),
		InsuredValue: c.zeroOr(order.Options.InsuredValue),
		Items:        c.items(order),
	}
}

// weightUnits and lengthUnits are Amazon's words for the units that it takes.
var (
	weightUnits = map[ship.WeightUnit]string{ship.Gram: "GRAM", ship.Kilogram: "KILOGRAM", ship.Ounce: "OUNCE", ship.Pound: "POUND"}
	lengthUnits = map[ship.LengthUnit]string{ship.Inch: "INCH", ship.Centimetre: "CENTIMETER"}
)

// weightOf returns a weight in the client's own unit.
func weightOf(unit ship.WeightUnit, value float64, grams int64) weight {
	if name, ok := weightUnits[unit]; ok && value > 0 {
		return weight{Value: number(value), Unit: name}
	}
	return weight{Value: json.Number(strconv.FormatInt(max(grams, 1), 10)), Unit: "GRAM"}
}

// dimensionsOf returns the sides in the client's own unit; millimetres become
// centimetres.
func dimensionsOf(sides ship.Dimensions) dimensions {
	if name, ok := lengthUnits[sides.Unit]; ok {
		return dimensions{Length: number(sides.Length), Width: number(sides.Width), Height: number(sides.Height), Unit: name}
	}
	return dimensions{
		Length: number(float64(sides.LengthMM) / 10),
		Width:  number(float64(sides.WidthMM) / 10),
		Height: number(float64(sides.HeightMM) / 10),
		Unit:   "CENTIMETER",
	}
}

func number(value float64) json.Number {
	return json.Number(strconv.FormatFloat(value, 'f', -1, 64))
}

// items returns what is in the parcel. Amazon requires an item, so a parcel whose
// contents are not known has one.
func (c *checker) items(order ship.Order) []item {
	if order.Customs == nil || len(order.Customs.Items) == 0 {
		return []item{{Quantity: 1, Description: "Merchandise"}}
	}

	var list []item
	for _, given := range order.Customs.Items {
		value := c.zeroOr(given.Value)
		list = append(list, item{
			Quantity:    given.Quantity,
			Description: given.Description,
			Identifier:  given.SKU,
			Value:       &value,
		})
	}
	return list
}
