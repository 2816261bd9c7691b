package storetest

import (
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// Tenant returns a tenant that nobody else has, in test mode.
func Tenant() ship.Tenant { return ship.Tenant{Account: ship.NewAccountID(7, time.Now())} }

// Now is the time as the services write it.
func Now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// Shipment returns the purchase of an order that is about to be made.
func Shipment(t ship.Tenant, order string) ship.Shipment {
	return ship.Shipment{
		ID: ship.NewShipmentID(t.Shard(), Now()), Tenant: t, State: ship.StatePurchasing,
		Order: ship.Order{
			OrderID: order, Parcels: []ship.Parcel{{Weight: 1, WeightUnit: ship.Pound, WeightGrams: 454}},
			Origin:      ship.Address{Name: "A", Address1: "1 A St", City: "Reno", State: "NV", Zip: "89501", Country: "US"},
			Destination: ship.Address{Name: "B", Address1: "2 B St", City: "New York", State: "NY", Zip: "10118", Country: "US"},
		},
		Deal: ship.Deal{Carrier: "ups", Service: "ground", Price: ship.Money{Minor: 1234, Currency: "USD"}, Simulated: true},
	}
}

// Bought returns sh with its label and the two events that tell of it. It is
// due to be asked about.
func Bought(sh ship.Shipment, number string) store.Creation {
	sh.State, sh.Sequence = ship.StatePurchased, 2
	sh.Deal.TrackingNumber, sh.Deal.BoughtAt, sh.Deal.CarrierRef = number, Now(), "ref-"+number
	sh.Progress = ship.Progress{Status: ship.LabelGenerated, EstimateAt: Now().Add(72 * time.Hour), EstimateSource: "carrier"}
	ids := ship.NewEventIDs(sh.Tenant.Shard(), Now(), 2)
	told := ship.Snapshot{Status: ship.Created, State: ship.StatePurchased}
	c := store.Creation{Shipment: sh, Label: ship.Label{Format: "scene", Data: []byte("label of " + number)}, PollAt: Now().Add(-time.Second)}
	c.Events[0] = ship.Event{ID: ids[0], Kind: ship.ShipmentCreated, Sequence: 1, Snapshot: told}
	told.Status, told.PreviousStatus = ship.LabelGenerated, ship.Created
	c.Events[1] = ship.Event{ID: ids[1], Kind: ship.LabelMade, Sequence: 2, Snapshot: told}
	return c
}
