package shipping_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/quoting"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
)

func TestAConnectionOfSeveralIsChosenByItsID(t *testing.T) {
	t.Parallel()
	first, second := newLiveBench(t, "ups"), newLiveBench(t, "ups")
	first.carrier.Label, second.carrier.Label = "Main", "Second"
	quotes, s := settings{Config: shipping.Config{
		Store: first.store, SigningKey: []byte("test"), BaseURL: "http://test", Log: slog.New(slog.DiscardHandler), Spool: first.spool, Waits: shipping.DefaultWaits,
		Accounts: connectedTo(first.carrier, second.carrier),
	}}.open()
	in := first.order(1)
	in.Connection = second.carrier.Connection
	got, err := s.Buy(t.Context(), in)
	if err != nil || got.Shipment.Purchase.Connection != second.carrier.Connection {
		t.Fatalf("bought over %s, %v", got.Shipment.Purchase.Connection, err)
	}
	if len(first.alive()) != 0 || len(second.alive()) != 1 {
		t.Errorf("sold were %d and %d", len(first.alive()), len(second.alive()))
	}
	if voided, err := s.Void(t.Context(), in.Tenant, got.Shipment.ID); err != nil || voided.State != ship.StateVoided || len(second.alive()) != 0 {
		t.Errorf("void: %s, %v; alive %v", voided.State, err, second.alive())
	}
	in = first.order(2)
	in.Connection = ship.NewConnectionID(1, got.Shipment.CreatedAt())
	if _, err := s.Buy(t.Context(), in); ship.CodeOf(err) != "validation_failed" {
		t.Errorf("somebody else's connection: %v", err)
	}
	list, err := s.Carriers(t.Context(), in.Tenant)
	if err != nil || len(list) != 1 || list[0].Simulated || len(list[0].Connections) != 2 || list[0].Connections[1].Name != "Second" {
		t.Errorf("carriers %+v, %v", list, err)
	}
	quoted, err := quotes.Quote(t.Context(), quoting.Input{Tenant: in.Tenant, Account: in.Account, Order: first.order(3).Order, OneParcel: true})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[ship.ConnectionID]bool{}
	for _, q := range quoted.Rates {
		seen[q.Connection] = true
	}
	if len(seen) != 2 {
		t.Errorf("quotes of %v", seen)
	}
}

func TestCustomsPapersCanBeFetched(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "ups")
	in := b.order(1)
	in.Order.Destination = ship.Address{Name: "Ada Lovelace", Address1: "12 St James's Square", City: "London", Zip: "SW1Y 4LB", Country: "GB", Phone: "+442075550100"}
	in.Order.Customs = &ship.Customs{ContentsType: "merchandise", Signer: "Grace Hopper", Items: []ship.CustomsItem{{
		Description: "Cotton shirt", Quantity: 2, Value: ship.Money{Minor: 2500, Currency: "USD"}, Weight: 0.5, HSCode: "610910", OriginCountry: "US",
	}}}
	got, err := b.Buy(t.Context(), in)
	if err != nil || got.Pending || len(got.Shipment.Purchase.Documents) == 0 {
		t.Fatalf("documents %v, %v", got.Shipment.Purchase.Documents, err)
	}
	d, err := b.Document(t.Context(), b.tenant, got.Shipment.ID, 1)
	if err != nil || d.Type != got.Shipment.Purchase.Documents[0] || !strings.HasPrefix(string(d.Data), "%PDF") {
		t.Errorf("document %s of %d bytes, %v", d.Type, len(d.Data), err)
	}
	if _, err := b.Document(t.Context(), b.tenant, got.Shipment.ID, 9); ship.KindOf(err) != ship.NotFound {
		t.Errorf("a ninth document: %v", err)
	}
	if _, err := b.Document(t.Context(), ship.Tenant{Account: b.tenant.Account}, got.Shipment.ID, 1); ship.KindOf(err) != ship.NotFound {
		t.Errorf("of test mode: %v", err)
	}
}

func TestATestConnectionTakesThePlaceOfTheSimulatedCarrier(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "ups", func(c *settings) { c.Accounts.Simulated = simulated(t) })
	b.tenant.Livemode = false
	in := b.order(1)
	in.Tenant, in.Carrier = b.tenant, "ups"
	got, err := b.Buy(t.Context(), in)
	if err != nil || got.Shipment.Purchase.Simulated || got.Shipment.Purchase.Connection != b.carrier.Connection || len(b.alive()) != 1 {
		t.Errorf("ups is %+v, %v; sold there are %d", got.Shipment.Purchase, err, len(b.alive()))
	}
	in = b.order(2)
	in.Tenant, in.Carrier = b.tenant, "fedex"
	if got, err := b.Buy(t.Context(), in); err != nil || !got.Shipment.Purchase.Simulated {
		t.Errorf("fedex, which is not connected, is %+v, %v", got.Shipment.Purchase, err)
	}
}
