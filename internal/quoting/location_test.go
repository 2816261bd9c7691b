package quoting_test

import (
	"context"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/quoting"
	"github.com/waybillhq/waybill/internal/ship"
)

// TestALocationLimitsTheCarrierAccounts quotes and buys from locations that use
// the account's connection, and from one that does not.
func TestALocationLimitsTheCarrierAccounts(t *testing.T) {
	t.Parallel()
	locations := map[ship.LocationID]ship.Location{}
	asked := 0
	b := newBench(t, quoting.Config{
		Location: func(_ context.Context, _ ship.Tenant, id ship.LocationID) (ship.Location, error) {
			asked++
			if found, ok := locations[id]; ok {
				return found, nil
			}
			return ship.Location{}, ship.Errorf(ship.NotFound, "no such location")
		},
	})
	add := func(connections ...ship.ConnectionID) ship.LocationID {
		id := ship.NewLocationID(0, time.Now())
		locations[id] = ship.Location{ID: id, Name: "Reno", Address: b.order().Origin, Connections: connections}
		return id
	}
	from := func(id ship.LocationID) func(*ship.Order) {
		return func(o *ship.Order) {
			o.Origin = ship.Address{}
			o.Location.ID = id
		}
	}
	other := ship.NewConnectionID(0, time.Now())

	if _, err := b.quote(t, nil); err != nil || asked != 0 {
		t.Errorf("an order with an address: %v; locations were read %d times", err, asked)
	}
	for _, id := range []ship.LocationID{add(), add(other, b.carrier.Connection)} {
		if got, err := b.quote(t, from(id)); err != nil || len(got.Rates) == 0 {
			t.Errorf("%v, %v", got, err)
		}
	}

	elsewhere := add(other)
	if _, err := b.quote(t, from(elsewhere)); ship.CodeOf(err) != "no_carrier" {
		t.Errorf("a location without a usable account: %v", err)
	}
	if _, err := b.quote(t, from(ship.NewLocationID(0, time.Now()))); ship.CodeOf(err) != "unknown_location" || ship.KindOf(err) != ship.Invalid {
		t.Errorf("an unknown location: %v", err)
	}

	// A rate that was quoted for the address cannot be bought from a location
	// that does not use its account, and naming the account does not help.
	quoted, err := b.quote(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	order := b.order()
	order.LeaveFrom(locations[elsewhere])
	order, err = b.CheckOrder(quoting.Input{Tenant: b.tenant, Account: b.account, Order: order, OneParcel: true})
	if err != nil {
		t.Fatal(err)
	}
	request := quoting.Request{Tenant: b.tenant, Account: b.account, Order: order, OneParcel: true, Now: time.Now(), RateID: quoted.Rates[0].ID}
	if _, err := b.Offers(t.Context(), request); ship.CodeOf(err) != "connection_not_at_location" {
		t.Errorf("by its rate: %v", err)
	}
	request.RateID = ""
	request.Connection = b.carrier.Connection
	if _, err := b.Offers(t.Context(), request); ship.CodeOf(err) != "connection_not_at_location" {
		t.Errorf("by its connection: %v", err)
	}
}
