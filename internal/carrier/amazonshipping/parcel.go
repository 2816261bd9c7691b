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
		InsuredValue: c.insuredValue(order),
		Items:        c.items(order),
	}
}

// weightUnits and lengthUnits are Amazon's words for the units that it takes.
//
// fact: units
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

// insuredValue returns the value that the order asks to insure, or that of the goods
// where it is known: Amazon requires one of every parcel.
//
// fact: insured-value
func (c *checker) insuredValue(order ship.Order) money {
	if !order.Options.InsuredValue.IsZero() || order.Customs == nil {
		return c.zeroOr(order.Options.InsuredValue)
	}

	total := ship.Money{Currency: c.business.currency}
	for _, given := range order.Customs.Items {
		if given.Value.Currency != total.Currency {
			return c.zeroOr(ship.Money{})
		}
		total.Minor += given.Value.Minor * int64(given.Quantity)
	}
	return c.zeroOr(total)
}

// items returns what is in the parcel. Amazon requires an item with its weight, so a
// parcel whose contents are not known has one that weighs as much as the parcel.
//
// fact: item-weight
func (c *checker) items(order ship.Order) []item {
	parcel := order.Parcels[0]
	if order.Customs == nil || len(order.Customs.Items) == 0 {
		return []item{{
			Quantity:    1,
			Description: "Merchandise",
			Weight:      weightOf(parcel.WeightUnit, parcel.Weight, parcel.WeightGrams),
		}}
	}

	weights := carrierkit.ItemWeights(order)
	var list []item
	for i, given := range order.Customs.Items {
		value := c.zeroOr(given.Value)
		written := item{
			Quantity:    given.Quantity,
			Description: given.Description,
			Identifier:  given.SKU,
			Value:       &value,
			Weight:      weightOf("", 0, weights[i]),
		}
		if number := order.Customs.InvoiceNumber; number != "" && c.business.country == "IN" {
			written.Invoice = &invoiceDetails{number}
		}
		list = append(list, written)
	}
	return list
}
