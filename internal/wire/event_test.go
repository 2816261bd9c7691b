package wire_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/wire"
)

func testEvent(kind ship.EventKind, sequence int, snap ship.Snapshot) ship.Event {
	snap.BaseURL = base
	return ship.Event{
		ID: ship.EventIDOf(rawAt(created.Add(time.Duration(sequence)*time.Hour), 9)), Tenant: tenant, Kind: kind,
		Shipment: testShipment().ID, Sequence: sequence, Version: 1, Snapshot: snap,
	}
}

func TestEventBodiesAreTheirGoldenBytes(t *testing.T) {
	estimate := time.Date(2026, 3, 4, 20, 0, 0, 0, time.UTC)
	carrier := &ship.ScanNote{Code: "DP", At: created.Add(24 * time.Hour), Status: ship.OutForDelivery, Description: "Out for delivery", Location: "Austin, TX, US"}
	tracker := ship.Tracker{ID: ship.TrackerIDOf(rawAt(created, 5)), Tenant: tenant, Carrier: "dhl_express", TrackingNumber: "1234567890"}
	followed := testEvent(ship.ShipmentInTransit, 4, ship.Snapshot{Status: ship.InTransit, PreviousStatus: ship.Created, Scan: carrier})
	followed.Shipment, followed.Tracker = "", tracker.ID
	late := testEvent(ship.ShipmentInTransit, 3, ship.Snapshot{
		Status: ship.OutForDelivery, PreviousStatus: ship.LabelGenerated, State: ship.StatePurchased, EstimateAt: estimate, Scan: carrier,
	})
	late.Late = true
	for name, e := range map[string]ship.Event{
		"event_created.json":   testEvent(ship.ShipmentCreated, 1, ship.Snapshot{Status: ship.Created, State: ship.StatePurchasing, Purchase: &ship.Purchase{Carrier: "ups"}}),
		"event_label.json":     testEvent(ship.ShipmentLabelGenerated, 2, ship.Snapshot{Status: ship.LabelGenerated, PreviousStatus: ship.Created, State: ship.StatePurchased, EstimateAt: estimate}),
		"event_carrier.json":   late,
		"event_exception.json": testEvent(ship.ShipmentException, 2, ship.Snapshot{Status: ship.Exception, PreviousStatus: ship.Created, State: ship.StateFailed, Reason: ship.ReasonPurchaseFailed, Purchase: &ship.Purchase{Carrier: "ups"}}),
		"event_tracker.json":   followed,
	} {
		t.Run(name, func(t *testing.T) {
			b, err := wire.EventBody(e, testShipment(), tracker)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name, b)
		})
	}
}

func TestEventBodyDoesNotFollowTheShipment(t *testing.T) {
	e := testEvent(ship.ShipmentLabelGenerated, 2, ship.Snapshot{Status: ship.LabelGenerated, PreviousStatus: ship.Created, State: ship.StatePurchased})
	then, err := wire.EventBody(e, testShipment(), ship.Tracker{})
	if err != nil {
		t.Fatal(err)
	}
	s := testShipment()
	s.State = ship.StateVoided
	s.Progress = ship.Progress{Status: ship.Delivered, Reason: "x", EstimateAt: created, EstimateSource: "carrier", CheckedAt: created}
	s.Sequence = 77
	now, err := wire.EventBody(e, s, ship.Tracker{})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(then, now) {
		t.Errorf("the body changed:\n%s\n%s", then, now)
	}
}

func TestEventBodyTellsThePurchaseThatFailed(t *testing.T) {
	e := testEvent(ship.ShipmentException, 2, ship.Snapshot{Status: ship.Exception, State: ship.StateFailed, Reason: ship.ReasonPurchaseFailed})
	b, err := wire.EventBody(e, testShipment(), ship.Tracker{})
	if err != nil {
		t.Fatal(err)
	}
	var got wire.Event
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if got.Data.Event.Reason != "purchase_failed" || got.Data.Event.Status != "exception" || got.Data.Shipment.LabelStatus != "failed" {
		t.Errorf("data = %+v", got.Data)
	}
}

func TestEventBodyRefusesAnUnknownVersion(t *testing.T) {
	e := testEvent(ship.ShipmentLabelGenerated, 2, ship.Snapshot{})
	e.Version = 2
	if _, err := wire.EventBody(e, testShipment(), ship.Tracker{}); err == nil {
		t.Error("a body of version 2 was rendered")
	}
}
