package carrierkit

import "github.com/waybillhq/waybill/internal/ship"

// ItemWeights returns the weight of one piece of each customs item, in grams, for
// carriers that need one. Items without a weight share what the others leave of
// the parcels, and weigh at least a gram.
func ItemWeights(order ship.Order) []int64 {
	var left, unknown int64
	for _, parcel := range order.Parcels {
		left += parcel.WeightGrams
	}
	for _, item := range order.Customs.Items {
		left -= item.WeightGrams * int64(item.Quantity)
		if item.WeightGrams == 0 {
			unknown += int64(item.Quantity)
		}
	}

	list := make([]int64, len(order.Customs.Items))
	for i, item := range order.Customs.Items {
		list[i] = item.WeightGrams
		if item.WeightGrams == 0 {
			list[i] = max(left/max(unknown, 1), 1)
		}
	}
	return list
}
