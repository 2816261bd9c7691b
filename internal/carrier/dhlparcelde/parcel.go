package dhlparcelde

import "github.com/waybillhq/waybill/internal/ship"

// maxGrams is the weight of the heaviest product.
// fact: weight-limit
const maxGrams = 31_500

// parcel returns the weight and the size of a parcel. DHL has no packaging of its
// own, and rounds millimetres to centimetres.
func (c *checker) parcel(parcel ship.Parcel) details {
	if parcel.Packaging != "" && parcel.Packaging != "custom" {
		c.refuse("/parcel/packaging", "unknown_packaging", "DHL Parcel DE has no packaging types; use \"custom\" for your own box")
	}
	if parcel.WeightGrams > maxGrams {
		c.refuse("/parcel/weight", "invalid", "must be at most 31.5 kg for DHL Parcel DE")
	}

	measured := details{Weight: grams(parcel.WeightGrams)}
	if d := parcel.Dimensions; d != nil && d.LengthMM > 0 && d.WidthMM > 0 && d.HeightMM > 0 {
		measured.Size = &size{
			Unit:   "mm",
			Length: d.LengthMM,
			Width:  d.WidthMM,
			Height: d.HeightMM,
		}
	}
	return measured
}

func grams(n int64) weight { return weight{Unit: "g", Value: max(n, 1)} }
