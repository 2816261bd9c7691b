package tracking_test

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/all"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/emulator/dhlexpress"
	"github.com/waybillhq/waybill/internal/emulator/fedex"
	"github.com/waybillhq/waybill/internal/emulator/ups"
	"github.com/waybillhq/waybill/internal/emulator/usps"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
	"github.com/waybillhq/waybill/internal/tracking"
)

// standIns are the emulators, with the credentials that they accept.
var standIns = map[string]struct {
	open  func(*emulator.Ledger) *emulator.Server
	given carrier.Credentials
}{
	"ups":         {ups.New, carrier.Credentials{"client_id": ups.ClientID, "client_secret": ups.ClientSecret, "account_number": ups.Account}},
	"usps":        {usps.New, carrier.Credentials{"client_id": usps.ClientID, "client_secret": usps.ClientSecret, "crid": usps.CRID, "mid": usps.MID, "manifest_mid": usps.ManifestMID, "account_number": usps.Account}},
	"fedex":       {fedex.New, carrier.Credentials{"client_id": fedex.ClientID, "client_secret": fedex.ClientSecret, "account_number": fedex.Account, "track_client_id": fedex.TrackClientID, "track_client_secret": fedex.TrackClientSecret}},
	"dhl_express": {dhlexpress.New, carrier.Credentials{"api_key": dhlexpress.APIKey, "api_secret": dhlexpress.APISecret, "account_number": dhlexpress.Account}},
}

// liveBench is a service with one live connection to an emulator.
type liveBench struct {
	*tracking.Service
	store    *store.Store
	database string // its address
	tenant   ship.Tenant
	carrier  *carrier.Carrier
	emulator *emulator.Server
}

func newLiveBench(t *testing.T, name string) liveBench {
	t.Helper()
	database := storetest.URL(t)
	st, err := store.Open(t.Context(), store.Options{URL: database, Connections: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)
	a, err := account.New(st).Create(t.Context(), account.Settings{Name: new("Test shop")})
	if err != nil {
		t.Fatal(err)
	}
	ledger, err := emulator.OpenLedger("")
	if err != nil {
		t.Fatal(err)
	}
	stand := standIns[name].open(ledger)
	stand.LookupScale = 0
	server := httptest.NewServer(stand)
	t.Cleanup(server.Close)
	spec := all.Specs[slices.IndexFunc(all.Specs, func(s carrier.Spec) bool { return s.Name == name })]
	path, err := url.Parse(spec.LiveURL)
	if err != nil {
		t.Fatal(err)
	}
	b := liveBench{store: st, database: database, emulator: stand, tenant: ship.Tenant{Account: a.ID, Livemode: true}}
	id := ship.NewConnectionID(b.tenant.Shard(), time.Now())
	key := []byte(pushKey)
	b.carrier, err = carrier.Open(spec, carrier.Opening{
		Credentials: standIns[name].given, BaseURL: server.URL + path.Path, Live: true, Via: carriertest.Via(t), PushSecret: tracking.PushSecret(key, id),
		OldPushSecrets: []string{tracking.PushSecret([]byte(oldPushKey), id)},
	})
	if err != nil {
		t.Fatal(err)
	}
	b.carrier.Connection = id
	b.Service = b.another()
	return b
}

// pushKey is the key from which push addresses and their secrets are derived.
const pushKey = "0123456789abcdef0123456789abcdef"

// oldPushKey is the key before that.
const oldPushKey = "fedcba9876543210fedcba9876543210"

// another returns the service in another copy of the program.
func (b liveBench) another() *tracking.Service {
	return tracking.New(tracking.Config{
		Specs: all.Specs,
		Store: b.store, BaseURL: "http://test", Log: slog.New(slog.DiscardHandler), Key: []byte(pushKey), OldKeys: [][]byte{[]byte(oldPushKey)},
		Connection: func(context.Context, ship.Tenant, ship.ConnectionID) (*carrier.Carrier, error) { return b.carrier, nil },
		Connected: func(context.Context, ship.Tenant) ([]*carrier.Carrier, error) {
			return []*carrier.Carrier{b.carrier}, nil
		},
		TenantOf: func(context.Context, ship.ConnectionID) (ship.Tenant, error) { return b.tenant, nil },
	})
}

// buy buys a parcel from the emulator, and records it as due.
func (b liveBench) buy(t *testing.T) ship.Shipment {
	t.Helper()
	o := ship.Order{
		OrderID:     "o",
		Origin:      ship.Address{Name: "Warehouse", Address1: "1 Market St", City: "San Francisco", State: "CA", Zip: "94105", Country: "US", Phone: "+14155550100"},
		Destination: ship.Address{Name: "Ada Lovelace", Address1: "350 5th Ave", City: "New York", State: "NY", Zip: "10118", Country: "US", Phone: "+12125550100"},
		Parcels:     []ship.Parcel{{Weight: 2.5, Dimensions: &ship.Dimensions{Length: 10, Width: 8, Height: 4}}},
	}
	o, err := o.Normalize(ship.Normalizing{Tenant: b.tenant, Account: ship.Account{Units: ship.DefaultUnits}, Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	rates, err := b.carrier.Rates(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	p, err := b.carrier.Buy(t.Context(), carrier.BuyOrder{Order: o, Service: rates[0].Service, Reference: "S1"})
	if err != nil {
		t.Fatal(err)
	}
	sh := storetest.Shipment(b.tenant, "o")
	sh.Purchase.Carrier = b.carrier.Spec().Name
	if _, err := b.store.Intend(t.Context(), sh, store.Attempt{Number: 1, Reference: "S1", Carrier: sh.Purchase.Carrier}, ship.KeyName{}); err != nil {
		t.Fatal(err)
	}
	c := storetest.Bought(sh, p.TrackingNumber)
	c.Shipment.Purchase.Carrier, c.Shipment.Purchase.Connection, c.Shipment.Purchase.Simulated, c.PollAt = b.carrier.Spec().Name, b.carrier.Connection, false, time.Now()
	if _, err := b.store.Settle(t.Context(), store.Settlement{Creation: c, Attempt: 1, BoughtBy: 1}); err != nil {
		t.Fatal(err)
	}
	return c.Shipment
}

// delivered is a carrier's code of a delivery.
var delivered = map[string]string{"ups": "D/FS/011", "usps": "01", "fedex": "DL", "dhl_express": "OK"}

func TestAParcelOfALiveCarrierIsAskedAboutUntilItIsDelivered(t *testing.T) {
	t.Parallel()
	for name := range standIns {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newLiveBench(t, name)
			if !slices.Contains(b.carrier.Abilities(), "track") {
				t.Skip("it is not tracked yet")
			}
			if err := b.emulator.Turn(emulator.Faults{Tracking: []emulator.Scan{{Code: delivered[name], Text: "Delivered", City: "New York"}}}); err != nil {
				t.Fatal(err)
			}
			sh := b.buy(t)
			if n, err := b.Poll(t.Context()); err != nil || n != 1 {
				t.Fatalf("asked about %d, %v", n, err)
			}
			got, err := b.Track(t.Context(), b.tenant, string(sh.ID), "")
			if err != nil || got.Progress.Status != ship.Delivered {
				t.Errorf("it is %s, %v: %+v", got.Progress.Status, err, got.Scans)
			}
			if n, err := b.Poll(t.Context()); err != nil || n != 0 {
				t.Errorf("after its delivery it was asked about again: %d, %v", n, err)
			}
			if watched, err := b.store.WatchedConnections(t.Context()); err != nil || len(watched) != 0 {
				t.Errorf("still watched: %v, %v", watched, err)
			}
		})
	}
}
