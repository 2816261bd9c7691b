package e2e

import (
	"bytes"
	"testing"
	"time"

	"github.com/waybillhq/waybill/client"
)

// TestAShippingDayEndsWithManifestsAndPickups closes a day through the public
// client, against the program with its jobs: what a carrier does not answer is
// settled in the background.
func TestAShippingDayEndsWithManifestsAndPickups(t *testing.T) {
	w := newWorld(t)
	url, _ := w.serve("SANDBOX_STEP=0", "PURCHASE_TIMEOUT=1s", "BUY_TIMEOUT=2s", "SETTLE_AFTER=3s", "LOOK_EVERY=500ms")
	_, key := w.account("day")
	c := client.New(key, client.Options{BaseURL: url})
	ctx := t.Context()
	from := client.Address{Name: "Dock 2", Address1: "1 Market Street", City: "San Francisco", State: "CA", Zip: "94105", Country: "US", Phone: "4155550100"}
	to := client.Address{Name: "Jane Doe", Address1: "350 5th Avenue", City: "New York", State: "NY", Zip: "10118", Country: "US"}

	var ids []string
	for _, order := range []string{"1", "2"} {
		sh, err := c.CreateShipment(ctx, client.ShipmentRequest{OrderID: order, Carrier: "usps", Origin: &from, Destination: to, Parcel: &client.Parcel{Weight: 2}})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, sh.ID)
	}
	manifest, err := c.CloseManifest(ctx, client.ManifestRequest{Carrier: "usps"}, client.IdempotencyKey("day-1"))
	if err != nil || manifest.Status != "closed" || len(manifest.ShipmentIDs) != 2 {
		t.Fatalf("%+v %v", manifest, err)
	}
	if again, err := c.CloseManifest(ctx, client.ManifestRequest{Carrier: "usps"}, client.IdempotencyKey("day-1")); err != nil || again.ID != manifest.ID {
		t.Errorf("%+v %v", again, err)
	}
	if form, err := c.ManifestFile(ctx, manifest.ID, 1); err != nil || !bytes.HasPrefix(form, []byte("%PDF-")) {
		t.Errorf("%.20q %v", form, err)
	}
	if list, err := c.Manifests(ctx, 0, ""); err != nil || len(list.Data) != 1 || list.Data[0].ShipmentCount != 2 {
		t.Errorf("%+v %v", list, err)
	}

	ready := time.Now().AddDate(0, 0, 1)
	ready = time.Date(ready.Year(), ready.Month(), ready.Day(), 14, 0, 0, 0, time.FixedZone("", -8*3600))
	request := client.PickupRequest{Carrier: "usps", ReadyAt: ready, CloseAt: ready.Add(4 * time.Hour), ShipmentIDs: ids}
	pickup, err := c.BookPickup(ctx, request)
	if err != nil || pickup.Status != "scheduled" || pickup.Parcels != 2 || !pickup.Window.ReadyAt.Equal(ready) {
		t.Fatalf("%+v %v", pickup, err)
	}
	if again, err := c.BookPickup(ctx, request); err != nil || again.ID != pickup.ID {
		t.Errorf("asked again: %+v %v", again, err)
	}
	if cancelled, err := c.CancelPickup(ctx, pickup.ID); err != nil || cancelled.Status != "cancelled" {
		t.Errorf("%+v %v", cancelled, err)
	}

	// UPS does not answer, and is asked later; DHL Express cannot be asked.
	from.Name = "FAULT TIMEOUT AFTER PURCHASE"
	for carrier, want := range map[string]string{"ups": "scheduled", "dhl_express": "needs_review"} {
		lost, err := c.BookPickup(ctx, client.PickupRequest{Carrier: carrier, Address: &from, ReadyAt: ready, CloseAt: ready.Add(4 * time.Hour), Parcels: 1})
		if err != nil {
			t.Fatal(err)
		}
		for range 100 {
			if lost.Status == want {
				break
			}
			time.Sleep(200 * time.Millisecond)
			if lost, err = c.Pickup(ctx, lost.ID); err != nil {
				t.Fatal(err)
			}
		}
		if lost.Status != want || want == "scheduled" && lost.Confirmation == "" {
			t.Errorf("%s: %+v", carrier, lost)
		}
		if want == "needs_review" {
			resolved, err := c.ResolvePickup(ctx, lost.ID, false, "")
			if err != nil || resolved.Status != "failed" {
				t.Errorf("resolved: %+v %v", resolved, err)
			}
		}
	}
}
