package dhlexpress

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

func (c *checker) packages(order ship.Order) []pack {
	parcels := order.Parcels
	if len(parcels) == 0 || len(parcels) > maxPieces {
		c.refuse("/parcels", "invalid", fmt.Sprintf("DHL Express allows 1 to %d parcels per shipment", maxPieces))
		return nil
	}

	list := make([]pack, len(parcels))
	for i, parcel := range parcels {
		code, ok := packagingOf(parcel.Packaging)
		if !ok {
			c.refuse(carrierkit.ParcelPointer(order, i)+"/packaging", "unknown_packaging", "is not a DHL Express packaging type; GET /v1/carriers lists them, and \"custom\" is your own box")
		}
		list[i] = pack{TypeCode: code, Weight: kilograms(max(parcel.WeightGrams, 1))}
		if d := parcel.Dimensions; d != nil && d.LengthMM > 0 && d.WidthMM > 0 && d.HeightMM > 0 {
			list[i].Dimensions = &dimensions{centimetres(d.LengthMM), centimetres(d.WidthMM), centimetres(d.HeightMM)}
		}
	}
	return list
}

// kilograms and centimetres are exact: DHL takes three decimals.
func kilograms(grams int64) json.Number { return decimal(grams, 3) }

func centimetres(mm int64) json.Number { return decimal(mm, 1) }

// decimal returns a number with its last digits after the point.
func decimal(number int64, places int) json.Number {
	text := strconv.FormatInt(number, 10)
	for len(text) <= places {
		text = "0" + text
	}
	return json.Number(text[:len(text)-places] + "." + text[len(text)-places:])
}
