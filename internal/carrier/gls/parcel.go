package gls

import (
	"encoding/json"
	"fmt"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
)

const (
	// maxGrams is the weight of a parcel; some countries have a lower limit.
	maxGrams = 40_000
	minGrams = 100 // fact: weight-minimum
)

// units returns the parcels. GLS has no packaging of its own, and asks for no
// dimensions.
func (c *checker) units(request carrier.BuyOrder) []unit {
	order := request.Order
	if len(order.Parcels) == 0 || len(order.Parcels) > maxParcels {
		c.refuse("/parcels", "invalid", fmt.Sprintf("GLS allows 1 to %d parcels per shipment", maxParcels))
		return nil
	}

	list := make([]unit, len(order.Parcels))
	for i, parcel := range order.Parcels {
		pointer := carrierkit.ParcelPointer(order, i)
		if parcel.Packaging != "" && parcel.Packaging != "custom" {
			c.refuse(pointer+"/packaging", "unknown_packaging", "GLS has no packaging types; use \"custom\" for your own box")
		}
		if parcel.WeightGrams > maxGrams {
			c.refuse(pointer+"/weight", "invalid", "must be at most 40 kg for GLS")
		}
		list[i] = unit{
			References: []string{unitReference(request.Reference, i)},
			Weight:     kilograms(parcel.WeightGrams),
			Note:       printedReference(order),
		}
	}
	list[0].Services = c.unitServices(order, request.Reference)
	return list
}

// kilograms returns a weight with the two decimals that GLS reads, rounded up. A
// lighter parcel than GLS takes is sold as the lightest.
func kilograms(grams int64) json.Number {
	hundredths := (max(grams, minGrams) + 9) / 10 // fact: weight-decimals
	return json.Number(fmt.Sprintf("%d.%02d", hundredths/100, hundredths%100))
}
