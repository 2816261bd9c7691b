package carrierkit_test

import (
	"slices"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

func TestItemsWithoutAWeightShareWhatIsLeft(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		parcel int64
		items  []ship.CustomsItem
		want   []int64
	}{
		{1000, []ship.CustomsItem{{Quantity: 2, WeightGrams: 200}, {Quantity: 3}}, []int64{200, 200}},
		{1000, []ship.CustomsItem{{Quantity: 1}, {Quantity: 3}}, []int64{250, 250}},
		{100, []ship.CustomsItem{{Quantity: 1, WeightGrams: 200}, {Quantity: 1}}, []int64{200, 1}},
		{100, []ship.CustomsItem{{Quantity: 0}}, []int64{100}},
	} {
		order := ship.Order{
			Parcels: []ship.Parcel{{WeightGrams: tc.parcel}},
			Customs: &ship.Customs{Items: tc.items},
		}
		if got := carrierkit.ItemWeights(order); !slices.Equal(got, tc.want) {
			t.Errorf("%d g, %+v: %v, want %v", tc.parcel, tc.items, got, tc.want)
		}
	}
}
