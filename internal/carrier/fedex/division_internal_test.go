package fedex

import (
	"testing"

	"github.com/waybillhq/waybill/internal/ship"
)

func TestExpressAndGroundHavePickupsOfTheirOwn(t *testing.T) {
	t.Parallel()
	for want, services := range map[string][]string{
		"":          {"two_day", ""},
		fedexGround: {"ground", "home_delivery"},
	} {
		var parcels []ship.PickupParcels
		for _, service := range services {
			parcels = append(parcels, ship.PickupParcels{Service: service, Count: 1})
		}
		if got := (&driver{}).PickupDivision(parcels); got != want {
			t.Errorf("%v are collected by %q, want %q", services, got, want)
		}
	}
}
