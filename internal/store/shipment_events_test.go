package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

func TestWhatWasToldOfAShipmentIsFoundWithoutAnIndex(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var mine ship.Shipment
	for i := range 60 {
		sh := f.create(t, f.tenant, fmt.Sprint("o", i), fmt.Sprint("1Z", i))
		if i == 30 {
			mine = sh
		}
	}
	for i, status := range []ship.Status{ship.PickedUp, ship.InTransit, ship.Delivered} {
		f.hear(t, mine, ship.Scan{Code: fmt.Sprint(i), At: now().Add(time.Duration(i) * time.Second), Status: status, Description: "Scan"})
	}
	list, err := f.ShipmentEvents(t.Context(), f.tenant, mine.ID, 50)
	if err != nil || len(list) != 5 {
		t.Fatalf("%d events, %v", len(list), err)
	}
	for i, e := range list {
		if e.Event.Shipment != mine.ID || e.Event.Sequence != 5-i {
			t.Errorf("event %d is %d of %s", i, e.Event.Sequence, e.Event.Shipment)
		}
	}
	if list, err := f.ShipmentEvents(t.Context(), newTenant(), mine.ID, 50); err != nil || len(list) != 0 {
		t.Errorf("another tenant finds %d, %v", len(list), err)
	}
}

func TestTellingsAreTheFirstTryAndWhatWaits(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	good, err := f.AddEndpoint(ctx, f.tenant, ship.NewEndpointID(7, now()), hookSettings())
	if err != nil {
		t.Fatal(err)
	}
	bad, err := f.AddEndpoint(ctx, f.tenant, ship.NewEndpointID(7, now()), hookSettings())
	if err != nil {
		t.Fatal(err)
	}
	events := ship.NewEventIDs(7, now(), 2)
	for _, a := range []store.WebhookAttempt{
		{Endpoint: good.ID, Outcome: "delivered", Status: 200}, {Endpoint: bad.ID, Outcome: "failed", Status: 503},
	} {
		a.ID, a.Tenant, a.Event, a.Number, a.Trigger = ship.NewAttemptID(7, now().Add(time.Second)), f.tenant, events[0], 1, "auto"
		if err := f.AddAttempts(ctx, []store.WebhookAttempt{a}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.owner.Exec(ctx, `INSERT INTO webhook_retries (account_id, livemode, endpoint_id, event_id, event_txid, slot, attempts, next_attempt_at) VALUES ($1, $2, $3, $4, '9', $5, 1, now())`,
		[16]byte(f.tenant.Account.Raw()), f.tenant.Livemode, [16]byte(bad.ID.Raw()), [16]byte(events[0].Raw()), bad.Slot); err != nil {
		t.Fatal(err)
	}
	list, err := f.EventDeliveries(ctx, f.tenant, events)
	if err != nil || len(list) != 2 {
		t.Fatalf("%v %v", list, err)
	}
	for _, x := range list {
		if x.Event != events[0] || (x.Endpoint == bad.ID) != (x.Tries == 1 && x.Status == 503) || (x.Endpoint == good.ID) != (x.Outcome == "delivered") {
			t.Errorf("%+v", x)
		}
	}
}
