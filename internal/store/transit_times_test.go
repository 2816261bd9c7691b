package store_test

import (
	"sync"
	"testing"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

func laneOf(t ship.Tenant, service string) store.Lane {
	return store.Lane{Tenant: t, Carrier: "ups", Service: service, Origin: "US-941", Destination: "US-101"}
}

// took is what is counted when each of the parcels took so many days.
func took(days ...int) (t ship.TransitDays) {
	for _, d := range days {
		t.Add(d)
	}
	return t
}

func TestDeliveriesAreCountedByLane(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	other := newTenant()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			err := f.CountDeliveries(t.Context(), map[store.Lane]ship.TransitDays{
				laneOf(f.tenant, "ground"): took(3, 4), laneOf(f.tenant, "air"): took(1), laneOf(other, "ground"): took(9),
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got, err := f.Lanes(t.Context(), f.tenant, "US-941", "US-101")
	if err != nil || len(got) != 2 {
		t.Fatalf("%v, %v", got, err)
	}
	if ground := got[laneOf(f.tenant, "ground")]; ground[3] != 20 || ground[4] != 20 {
		t.Errorf("ground took %v", ground)
	}
	if air := got[laneOf(f.tenant, "air")]; air[1] != 20 {
		t.Errorf("air took %v", air)
	}
	if got, err := f.Lanes(t.Context(), f.tenant, "US-101", "US-941"); err != nil || len(got) != 0 {
		t.Errorf("the other way: %v, %v", got, err)
	}
}

func TestOldDeliveriesFade(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	lane := laneOf(f.tenant, "ground")
	var summer, winter ship.TransitDays
	summer[3], winter[6] = 600, 100
	for _, season := range []ship.TransitDays{summer, winter, winter, winter, winter, winter, winter} {
		if err := f.CountDeliveries(t.Context(), map[store.Lane]ship.TransitDays{lane: season}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := f.Lanes(t.Context(), f.tenant, lane.Origin, lane.Destination)
	if err != nil {
		t.Fatal(err)
	}
	if days, ok := got[lane].Within(0.5); days != 6 || !ok {
		t.Errorf("after as many in winter as in summer it takes %d days: %v", days, got[lane])
	}
}
