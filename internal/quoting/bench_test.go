package quoting_test

import (
	"context"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/carrier/ups"
	"github.com/waybillhq/waybill/internal/emulator"
	emulated "github.com/waybillhq/waybill/internal/emulator/ups"
	"github.com/waybillhq/waybill/internal/quoting"
	"github.com/waybillhq/waybill/internal/ship"
)

// bench is a service with one live connection to an emulator over real HTTP.
type bench struct {
	*quoting.Service
	carrier  *carrier.Carrier
	emulator *emulator.Server
	account  ship.Account
	tenant   ship.Tenant
}

func newBench(t *testing.T, config quoting.Config) bench {
	t.Helper()
	ledger, err := emulator.OpenLedger("")
	if err != nil {
		t.Fatal(err)
	}
	carrierServer := emulated.New(ledger)
	server := httptest.NewServer(carrierServer)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)

	spec := ups.Spec
	spec.Quota = carrier.Quota{}
	path, err := url.Parse(spec.LiveURL)
	if err != nil {
		t.Fatal(err)
	}
	c, err := carrier.Open(spec, carrier.Opening{
		Credentials: carrier.Credentials{
			"client_id":      emulated.ClientID,
			"client_secret":  emulated.ClientSecret,
			"account_number": emulated.Account,
		},
		BaseURL: server.URL + path.Path,
		Live:    true,
		Via:     carrierkit.NewTraffic(carrierkit.TrafficOptions{}).Doer(spec, "c"),
	})
	if err != nil {
		t.Fatal(err)
	}
	c.Connection = ship.NewConnectionID(0, time.Now())

	config.Accounts.Connected = func(context.Context, ship.Tenant) ([]*carrier.Carrier, error) { return []*carrier.Carrier{c}, nil }
	config.SigningKey = []byte("test")
	config.SoftDeadline = 5 * time.Second
	account := ship.Account{ID: ship.NewAccountID(0, time.Now()), Units: ship.DefaultUnits, Currency: "USD"}
	return bench{
		Service:  quoting.New(config),
		carrier:  c,
		emulator: carrierServer,
		account:  account,
		tenant:   ship.Tenant{Account: account.ID, Livemode: true},
	}
}

func (b bench) order() ship.Order {
	return ship.Order{
		OrderID:     "order-1",
		Origin:      ship.Address{Name: "Warehouse", Company: "Shop", Address1: "1 Market St", City: "San Francisco", State: "CA", Zip: "94105", Country: "US", Phone: "+14155550100"},
		Destination: ship.Address{Name: "Ada Lovelace", Address1: "350 5th Avenue", City: "New York", State: "NY", Zip: "10118", Country: "US", Phone: "+12125550100"},
		Parcels:     []ship.Parcel{{Weight: 2.5, Dimensions: &ship.Dimensions{Length: 10, Width: 8, Height: 4}}},
	}
}

// offers are what a purchase of the order would find.
func (b bench) offers(t *testing.T) (quoting.Offers, error) {
	t.Helper()
	order, err := b.CheckOrder(quoting.Input{Tenant: b.tenant, Account: b.account, Order: b.order(), OneParcel: true})
	if err != nil {
		t.Fatal(err)
	}
	return b.Offers(t.Context(), quoting.Request{Tenant: b.tenant, Account: b.account, Order: order, OneParcel: true, Now: time.Now()})
}

func (b bench) turn(t *testing.T, faults emulator.Faults) {
	t.Helper()
	if err := b.emulator.Turn(faults); err != nil {
		t.Fatal(err)
	}
}
