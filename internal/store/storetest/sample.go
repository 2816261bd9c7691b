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
		ID:     ship.NewShipmentID(t.Shard(), Now()),
		Tenant: t,
		State:  ship.StatePurchasing,
		Order: ship.Order{
			OrderID:     order,
			Parcels:     []ship.Parcel{{Weight: 1, WeightUnit: ship.Pound, WeightGrams: 454}},
			Origin:      ship.Address{Name: "A", Address1: "1 A St", City: "Reno", State: "NV", Zip: "89501", Country: "US"},
			Destination: ship.Address{Name: "B", Address1: "2 B St", City: "New York", State: "NY", Zip: "10118", Country: "US"},
		},
		Purchase: ship.Purchase{
			Carrier:   "ups",
			Service:   "ground",
			Price:     ship.Money{Minor: 1234, Currency: "USD"},
			Simulated: true,
		},
	}
}

// Bought returns the shipment with its label and the two events of a purchase.
// The carrier is due to be polled for it.
func Bought(shipment ship.Shipment, number string) store.Creation {
	shipment.State = ship.StatePurchased
	shipment.Sequence = 2
	shipment.Purchase.TrackingNumber = number
	shipment.Purchase.BoughtAt = Now()
	shipment.Purchase.CarrierRef = "ref-" + number
	shipment.Progress = ship.Progress{
		Status:         ship.LabelGenerated,
		EstimateAt:     Now().Add(72 * time.Hour),
		EstimateSource: "carrier",
	}

	ids := ship.NewEventIDs(shipment.Tenant.Shard(), Now(), 2)
	created := ship.Event{
		ID:       ids[0],
		Kind:     ship.ShipmentCreated,
		Sequence: 1,
		Snapshot: ship.Snapshot{Status: ship.Created, State: ship.StatePurchased},
	}
	labelled := ship.Event{
		ID:       ids[1],
		Kind:     ship.ShipmentLabelGenerated,
		Sequence: 2,
		Snapshot: ship.Snapshot{Status: ship.LabelGenerated, PreviousStatus: ship.Created, State: ship.StatePurchased},
	}

	return store.Creation{
		Shipment: shipment,
		Label:    ship.Label{Format: "scene", Data: []byte("label of " + number)},
		Events:   [2]ship.Event{created, labelled},
		PollAt:   Now().Add(-time.Second),
	}
}
