package shipping_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/all"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/emulator/dhlexpress"
	"github.com/waybillhq/waybill/internal/emulator/fedex"
	"github.com/waybillhq/waybill/internal/emulator/ups"
	"github.com/waybillhq/waybill/internal/emulator/usps"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/quoting"
	"github.com/waybillhq/waybill/internal/restore"
	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// A standIn is an emulator, with what it lets in.
type standIn struct {
	open  func(*emulator.Ledger) *emulator.Server
	given carrier.Credentials
}

// standIns are those of carriers that quote.
var standIns = map[string]standIn{
	"ups":         {ups.New, carrier.Credentials{"client_id": ups.ClientID, "client_secret": ups.ClientSecret, "account_number": ups.Account}},
	"usps":        {usps.New, carrier.Credentials{"client_id": usps.ClientID, "client_secret": usps.ClientSecret, "crid": usps.CRID, "mid": usps.MID, "manifest_mid": usps.ManifestMID, "account_number": usps.Account}},
	"fedex":       {fedex.New, carrier.Credentials{"client_id": fedex.ClientID, "client_secret": fedex.ClientSecret, "account_number": fedex.Account, "track_client_id": fedex.TrackClientID, "track_client_secret": fedex.TrackClientSecret}},
	"dhl_express": {dhlexpress.New, carrier.Credentials{"api_key": dhlexpress.APIKey, "api_secret": dhlexpress.APISecret, "account_number": dhlexpress.Account}},
}

// liveBench is a service on a real Postgres with one live connection to a
// stand-in over real HTTP.
type liveBench struct {
	bench
	emulator       *emulator.Server
	carrier        *carrier.Carrier
	spool          *seal.Spool
	recoveryLogDir string
	restores       *restore.Watch
	controls       map[string]bool // numbers of labels that were sold as controls
}

func newLiveBench(t *testing.T, name string, change ...func(*settings)) liveBench {
	t.Helper()
	address := storetest.URL(t)
	st, err := store.Open(t.Context(), store.Options{URL: address, Connections: 4})
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
	played, quotesPrices := standIns[name]
	if !quotesPrices {
		played = unpricedStandIns[name]
	}
	stand := played.open(ledger)
	stand.LookupScale = 0 // tests of delays set one as a fault
	server := httptest.NewServer(stand)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	i := slices.IndexFunc(all.Specs, func(s carrier.Spec) bool { return s.Name == name })
	spec := all.Specs[i]
	spec.Quota = carrier.Quota{}
	path, err := url.Parse(spec.LiveURL)
	if err != nil {
		t.Fatal(err)
	}
	c, err := carrier.Open(spec, carrier.Opening{
		Credentials: played.given, BaseURL: server.URL + path.Path, Live: true, Via: carrierkit.NewTraffic(carrierkit.TrafficOptions{}).Doer(spec, "c"),
	})
	if err != nil {
		t.Fatal(err)
	}
	tenant := ship.Tenant{Account: a.ID, Livemode: true}
	c.Connection = ship.NewConnectionID(tenant.Shard(), time.Now())
	box, err := seal.New([]byte(strings.Repeat("k", 32)))
	if err != nil {
		t.Fatal(err)
	}
	sp, err := seal.OpenSpool(t.TempDir(), box)
	if err != nil {
		t.Fatal(err)
	}
	recoveryLogDir := t.TempDir()
	opened, err := seal.OpenRecoveryLog(recoveryLogDir, box, shipping.RecoveryLogRetention)
	if err != nil {
		t.Fatal(err)
	}
	recoveryLog := &restore.Log{RecoveryLog: opened, Installation: "test"}
	restores := restore.New(restore.Config{Store: st, Log: recoveryLog, Box: box, Dir: recoveryLogDir, Slog: slog.New(slog.DiscardHandler)})
	if err := restores.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
	labels, err := label.NewRenderer("")
	if err != nil {
		t.Fatal(err)
	}
	config := settings{quoting: quoting.Config{SoftDeadline: 5 * time.Second}, Config: shipping.Config{
		Store: st, Labels: labels, SigningKey: []byte("test"), BaseURL: "http://test", Log: slog.New(slog.DiscardHandler), Spool: sp, RecoveryLog: recoveryLog, Restores: restores,
		Waits: shipping.Waits{
			Answer: time.Second, Settle: 4 * time.Second, Look: 200 * time.Millisecond, Rebuy: 10 * time.Minute, Review: time.Hour,
		},
		Accounts: connectedTo(c),
	}}
	for _, c := range change {
		c(&config)
	}
	quotes, service := config.open()
	return liveBench{controls: map[string]bool{}, emulator: stand, carrier: c, spool: sp, recoveryLogDir: recoveryLogDir, restores: restores, bench: bench{store: st, account: a, tenant: tenant, url: address, Service: service, quotes: quotes}}
}

// connectedTo are the accounts of tenants that are all connected to the carriers.
func connectedTo(carriers ...*carrier.Carrier) carrier.Accounts {
	return carrier.Accounts{
		Connected: func(context.Context, ship.Tenant) ([]*carrier.Carrier, error) { return carriers, nil },
		Connection: func(_ context.Context, _ ship.Tenant, id ship.ConnectionID) (*carrier.Carrier, error) {
			for _, c := range carriers {
				if c.Connection == id {
					return c, nil
				}
			}
			return nil, ship.Errorf(ship.NotFound, "no such connection")
		},
	}
}

func (b liveBench) order(n int) shipping.BuyInput {
	in := b.input("Ada Lovelace")
	in.Order.OrderID = fmt.Sprint("order-", n)
	in.Order.Parcels = []ship.Parcel{{Weight: 2.5, Dimensions: &ship.Dimensions{Length: 10, Width: 8, Height: 4}}}
	in.Order.Destination.Phone = "+12125550100"
	in.Order.Origin = ship.Address{Name: "Warehouse", Company: "Shop", Address1: "1 Market St", City: "San Francisco", State: "CA", Zip: "94105", Country: "US", Phone: "+14155550100"}
	return keyed(in, fmt.Sprint("key-", n))
}

func (b liveBench) turn(t *testing.T, k emulator.Faults) {
	t.Helper()
	if err := b.emulator.Turn(k); err != nil {
		t.Fatal(err)
	}
}

// sellControl buys a label that look-ups find from now on, whatever their delay: an
// absence is believed only together with it.
func (b liveBench) sellControl(t *testing.T) {
	t.Helper()
	got, err := b.Buy(t.Context(), b.order(9000+len(b.controls)))
	if err != nil || got.Pending {
		t.Fatalf("control: pending %t, %v", got.Pending, err)
	}

	b.emulator.Ledger.Age(2*time.Hour, got.Shipment.Purchase.TrackingNumber)
	b.controls[got.Shipment.Purchase.TrackingNumber] = true
}

// alive are the numbers of labels that are sold and not voided, without controls.
func (b liveBench) alive() (list []string) {
	for _, e := range b.emulator.Ledger.Entries() {
		if b.controls[e.Number] {
			continue
		}
		if e.Kind == "sold" {
			list = append(list, e.Number)
		} else {
			list = slices.DeleteFunc(list, func(n string) bool { return n == e.Number })
		}
	}
	return list
}

func TestALiveCarrierSellsOneLabel(t *testing.T) {
	t.Parallel()
	for name := range standIns {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newLiveBench(t, name)
			got, err := b.Buy(t.Context(), b.order(1))
			if err != nil || got.Pending {
				t.Fatalf("Buy = %+v, %v", got, err)
			}
			again, err := b.Buy(t.Context(), b.order(1))
			if err != nil || again.Shipment.ID != got.Shipment.ID || !again.Replayed {
				t.Errorf("with the same key: %+v, %v", again, err)
			}
			if alive := b.alive(); !slices.Equal(alive, []string{got.Shipment.Purchase.TrackingNumber}) {
				t.Errorf("alive are %v, recorded is %s", alive, got.Shipment.Purchase.TrackingNumber)
			}
			if names, err := b.spool.Names(); err != nil || len(names) > 0 {
				t.Errorf("on the disk: %v, %v", names, err)
			}
			file, err := b.Label(t.Context(), b.tenant, got.Shipment.ID, label.Options{Format: label.PDF, Size: label.Size4x6, DPI: 203})
			if err != nil || !strings.HasPrefix(string(file.Data), "%PDF") {
				t.Errorf("label of %d bytes, %v", len(file.Data), err)
			}
			if list, err := b.store.Violations(t.Context(), time.Now().Add(time.Second)); err != nil || len(list) > 0 {
				t.Errorf("violations %+v, %v", list, err)
			}
		})
	}
}

// TestABuyThatIsNotAnsweredEndsWithOneLabel has each carrier sell and then
// lose its answer in every way.
func TestABuyThatIsNotAnsweredEndsWithOneLabel(t *testing.T) {
	t.Parallel()
	for name := range standIns {
		for _, fault := range []string{"hang", "reset", "500", "502", "truncate", "wrong_reference"} {
			t.Run(name+" "+fault, func(t *testing.T) {
				t.Parallel()
				b := newLiveBench(t, name)
				b.turn(t, emulator.Faults{Buy: map[string]float64{fault: 1}})
				got, err := b.Buy(t.Context(), b.order(1))
				if err != nil {
					t.Fatal(err)
				}
				b.turn(t, emulator.Faults{})
				sh := b.settle(t, got.Shipment.ID, ship.StatePurchased)
				alive := b.alive()
				if name == "dhl_express" && fault != "wrong_reference" { // it voids nothing: the lost one is abandoned
					x, err := b.store.OrphanedLabel(t.Context(), b.tenant, name, alive[0])
					if err != nil || x.State != store.OrphanVoidNotNeeded {
						t.Errorf("the lost label is %s, %v", x.State, err)
					}
					alive = alive[1:]
				}
				if !slices.Equal(alive, []string{sh.Purchase.TrackingNumber}) {
					t.Errorf("alive are %v, recorded is %s", alive, sh.Purchase.TrackingNumber)
				}
				if list, err := b.store.Violations(t.Context(), time.Now().Add(time.Second)); err != nil || len(list) > 0 {
					t.Errorf("violations %+v, %v", list, err)
				}
			})
		}
	}
}
