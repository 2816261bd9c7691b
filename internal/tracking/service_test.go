package tracking_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
	"github.com/waybillhq/waybill/internal/tracking"
)

func TestTrackTakesANumberAsPeopleWriteItAndAnyID(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := storetest.Bought(storetest.Shipment(b.tenant, "o"), "1Z999AA10123456784")
	if _, err := b.store.Create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	for _, number := range []string{"1Z999AA10123456784", "1z999aa10123456784", " 1Z 999 AA1 0123 4567 84 ", string(c.Shipment.ID)} {
		got, err := b.Track(t.Context(), b.tenant, number, "")
		if err != nil || got.Shipment != c.Shipment.ID || got.TrackingNumber != "1Z999AA10123456784" || got.Carrier != "ups" || len(got.Scans) != 2 {
			t.Errorf("%q: %+v, %v", number, got, err)
		}
	}
	intended := storetest.Shipment(b.tenant, "o-2")
	if _, err := b.store.Intend(t.Context(), intended, store.Attempt{Number: 1, Reference: "R"}, ship.KeyName{}); err != nil {
		t.Fatal(err)
	}
	for _, number := range []string{"1Z0", "", string(ship.NewShipmentID(1, storetest.Now())), string(intended.ID), "shp_" + string(c.Shipment.ID[5:])} {
		_, err := b.Track(t.Context(), b.tenant, number, "")
		wantCode(t, err, "tracking_not_found")
	}
	_, err := b.Track(t.Context(), storetest.Tenant(), string(c.Shipment.ID), "")
	wantCode(t, err, "tracking_not_found")
}

func TestFollowAndUnfollow(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first, isNew, err := b.Follow(t.Context(), b.tenant, "", "1z 999 aa1 0123 4567 84", "")
	if err != nil || !isNew || first.Carrier != "ups" || first.Tracker == "" || first.Progress.Status != ship.Created || len(first.Scans) != 0 {
		t.Fatalf("%+v, %t, %v", first, isNew, err)
	}
	again, isNew, err := b.Follow(t.Context(), b.tenant, "", "1Z999AA10123456784", "ups")
	if err != nil || isNew || again.Tracker != first.Tracker {
		t.Errorf("%+v, %t, %v", again, isNew, err)
	}
	for _, tc := range [][3]string{
		{"", "", "validation_failed"}, {"1Z999AA10123456784", "upz", "validation_failed"}, {"no such thing", "", "validation_failed"},
	} {
		_, _, err := b.Follow(t.Context(), b.tenant, "", tc[0], tc[1])
		wantCode(t, err, tc[2])
	}
	err = b.ApplyUpdates(t.Context(), []tracking.Update{{
		Subject: ship.Subject{Tenant: b.tenant, ID: first.Tracker.Raw()},
		Scans:   []store.NewScan{{Scan: ship.Scan{Code: "OR", At: storetest.Now(), Status: ship.PickedUp}}, {Scan: ship.Scan{Code: "D", At: storetest.Now(), Status: ship.Delivered}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	events := b.events(t, 2)
	if len(events) != 2 || events[1].Event.Tracker != first.Tracker || events[1].Event.Sequence != 2 || events[1].Tracker.TrackingNumber != "1Z999AA10123456784" {
		t.Errorf("events %+v", events)
	}
	if got, err := b.Track(t.Context(), b.tenant, string(first.Tracker), ""); err != nil || got.Progress.Status != ship.Delivered || len(got.Scans) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	wantCode(t, b.Unfollow(t.Context(), storetest.Tenant(), first.Tracker), "tracker_not_found")
	if err := b.Unfollow(t.Context(), b.tenant, first.Tracker); err != nil {
		t.Error(err)
	}
	wantCode(t, b.Unfollow(t.Context(), b.tenant, first.Tracker), "tracker_not_found")
}

func TestTrackersAreListedNewestFirst(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i := range 5 {
		if _, _, err := b.Follow(t.Context(), b.tenant, "", fmt.Sprint("NUMBER", i), "usps"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Millisecond) // trackers of one millisecond have no order
	}
	var page ship.Page
	page.Limit = 2
	var got []string
	for more := true; more; {
		list, further, err := b.Trackers(t.Context(), b.tenant, page)
		if err != nil || len(list) == 0 {
			t.Fatal(len(list), err)
		}
		for _, tr := range list {
			got = append(got, tr.TrackingNumber)
		}
		more, page.Before = further, list[len(list)-1].Tracker.Raw()
	}
	if want := "[NUMBER4 NUMBER3 NUMBER2 NUMBER1 NUMBER0]"; fmt.Sprint(got) != want {
		t.Errorf("listed %v, want %s", got, want)
	}
}
