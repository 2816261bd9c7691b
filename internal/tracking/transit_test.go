package tracking_test

import (
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/tracking"
)

func TestADeliveryIsCountedOnceForItsLane(t *testing.T) {
	t.Parallel()
	b := newPollBench(t, "fedex")
	_, shipments := b.parcels(t, "fedex", 3, time.Hour)
	s := b.copy(100, time.Hour)
	var heard []tracking.Update
	for i, sh := range shipments[:2] { // the third is on its way
		// Noon in New York, the given number of days after it was sent.
		at := sh.Order.ShipDate.Time().AddDate(0, 0, 2+i).Add(17 * time.Hour)
		heard = append(heard, tracking.Update{
			Subject: ship.Subject{Tenant: b.tenant, ID: sh.ID.Raw()},
			Scans:   []store.NewScan{{Scan: ship.Scan{Code: "DL", At: at, Status: ship.Delivered}}},
		})
	}
	if err := s.ApplyUpdates(t.Context(), heard); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		pollAll(t, s)
	}
	got, err := b.store.Lanes(t.Context(), b.tenant, "US-895", "US-101")
	if err != nil {
		t.Fatal(err)
	}
	var want ship.TransitDays
	want.Add(2)
	want.Add(3)
	lane := store.Lane{Tenant: b.tenant, Carrier: "fedex", Service: "ground", Origin: "US-895", Destination: "US-101"}
	if len(got) != 1 || got[lane] != want {
		t.Errorf("the deliveries of the lane are %v", got)
	}
}
