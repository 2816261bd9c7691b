package easypost

import (
	"testing"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
)

// TestAShipmentIsNeverBoundToAnotherRequest buys a parcel to somebody else under the
// name that a rated shipment had before keys of the service were set apart, as
// another API key of the account can.
func TestAShipmentIsNeverBoundToAnotherRequest(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	made := b.call(201, "POST", "/v2/shipments", shipmentTo(recipient))
	id := text(made, "id")
	foreign := b.buyUnder("compat:"+id+":1", [32]byte{1, 2, 3})

	if got := b.call(200, "GET", "/v2/shipments/"+id, ""); got["postage_label"] != nil || got["tracking_code"] != nil {
		t.Errorf("a shipment that was not bought is shown with %v", got["tracking_code"])
	}
	bought := b.call(200, "POST", "/v2/shipments/"+id+"/buy", buyBody(rateBy(made, "USPS")))
	if code := text(bought, "tracking_code"); code == "" || code == foreign.Purchase.TrackingNumber {
		t.Errorf("the shipment is bound to the parcel of another request: %v", code)
	}
}

// TestAShipmentThatAnOldCopyBoughtIsNotBoughtAgain has a copy of the release before
// this one buy a shipment, and die before it has recorded it.
func TestAShipmentThatAnOldCopyBoughtIsNotBoughtAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	made := b.call(201, "POST", "/v2/shipments", shipmentTo(recipient))
	id := text(made, "id")
	key := "compat:" + id + ":1"
	first := b.buyUnder(key, ship.KeyFingerprint(key))

	again := b.call(200, "GET", "/v2/shipments/"+id, "")
	if code := text(again, "tracking_code"); code != first.Purchase.TrackingNumber {
		t.Errorf("the shipment has %q, and was bought as %q", code, first.Purchase.TrackingNumber)
	}
	list, _, err := shipping.New(b.shipping).Shipments(t.Context(), b.tenant, shipping.Filter{Page: ship.Page{Limit: 10}})
	if err != nil || len(list) != 1 {
		t.Errorf("%d shipments were bought: %v", len(list), err)
	}
}

// buyUnder buys a parcel to somebody else under an idempotency key.
func (b *bench) buyUnder(key string, fingerprint [32]byte) ship.Shipment {
	b.Helper()
	owner, err := account.New(b.store).Account(b.Context(), b.tenant.Account)
	if err != nil {
		b.Fatal(err)
	}
	bought, err := shipping.New(b.shipping).Buy(b.Context(), shipping.BuyInput{
		Tenant:  b.tenant,
		Account: owner,
		Order: ship.Order{
			OrderID:     "attack",
			Destination: ship.Address{Name: "Mallory", Address1: "1 Other Street", City: "Reno", State: "NV", Zip: "89501", Country: "US"},
			Parcels:     []ship.Parcel{{Weight: 2}},
		},
		OneParcel:      true,
		IdempotencyKey: key,
		Fingerprint:    fingerprint,
	})
	if err != nil {
		b.Fatal(err)
	}
	return bought.Shipment
}
