package rulebook_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/sandbox"
	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/rulebook"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

func usd(minor int64) ship.Money { return ship.Money{Minor: minor, Currency: "USD"} }

// keep stores a shipment that was bought, with the offers that were seen.
func (b bench) keep(t *testing.T, order string, change func(*ship.Shipment)) {
	t.Helper()
	sh := storetest.Shipment(b.tenant, order)
	sh.Purchase.Price = usd(1000)
	sh.Purchase.Routing = ship.Routing{Strategy: "cheapest", Seen: ship.Seen{
		{Carrier: "ups", Service: "ground", Price: usd(1000), TransitDays: 4},
		{Carrier: "usps", Service: "priority", Price: usd(1200), TransitDays: 2},
		{Carrier: "fedex", Service: "ground", Price: usd(1500), TransitDays: 3},
	}}
	if change != nil {
		change(&sh)
	}
	if _, err := b.store.Create(t.Context(), storetest.Bought(sh, "1Z"+order)); err != nil {
		t.Fatal(err)
	}
}

func (b bench) simulate(t *testing.T, book routing.Book) rulebook.Simulation {
	t.Helper()
	sim, err := b.Simulate(t.Context(), rulebook.SimulateInput{Tenant: b.tenant, Account: ship.Account{ID: b.tenant.Account, Currency: "USD"}, Rules: book, Last: 100})
	if err != nil {
		t.Fatal(err)
	}
	return sim
}

func TestABackTestSaysWhatWouldChangeAndWhatItCannotSay(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.keep(t, "plain", nil)
	b.keep(t, "refused by USPS", func(sh *ship.Shipment) { sh.Purchase.Routing.Failed = []ship.FailedOffer{{Carrier: "usps"}} })
	b.keep(t, "named", func(sh *ship.Shipment) { sh.Purchase.Routing.Strategy = "named" })
	b.keep(t, "of before offers were kept", func(sh *ship.Shipment) { sh.Purchase.Routing.Seen, sh.Purchase.Simulated = nil, false })
	b.keep(t, "in euros", func(sh *ship.Shipment) {
		sh.Purchase.Price.Currency = "EUR"
		for i := range sh.Purchase.Routing.Seen {
			sh.Purchase.Routing.Seen[i].Price.Currency = "EUR"
		}
	})
	b.keep(t, "offered by UPS alone", func(sh *ship.Shipment) { sh.Purchase.Routing.Seen = sh.Purchase.Routing.Seen[:1] })
	book := useBook("usps", "fedex")
	book.Rules[0].Otherwise = "refuse"
	sim := b.simulate(t, book)
	if sim.Shipments != 6 || sim.Named != 1 || sim.Unknown != 1 || sim.Foreign != 1 || sim.Refused != 1 || sim.Compared != 2 || sim.Changed != 2 {
		t.Errorf("counted %+v", sim)
	}
	want := rulebook.Sum{Shipments: 2, Minor: 1200 + 1500, Days: 2 + 3, Timed: 2}
	if sim.Is != want || sim.Was.Minor != 2000 || sim.Was.Days != 8 {
		t.Errorf("was %+v, is %+v", sim.Was, sim.Is)
	}
	if len(sim.Carriers) != 3 || len(sim.Zones) != 1 || len(sim.Rules) != 1 || sim.Rules[0] != (rulebook.RuleCount{Rule: "only", Shipments: 2}) {
		t.Errorf("parts are %+v, %+v, %+v", sim.Carriers, sim.Zones, sim.Rules)
	}
	if len(sim.Changes) != 2 || sim.Changes[0].OrderID != "refused by USPS" || sim.Changes[0].Is.Carrier != "fedex" {
		t.Errorf("changes are %+v", sim.Changes)
	}
}

// TestAShownPriceDoesNotBindABackTest keeps purchases that could cost at most what
// they did. Only the client's own limit may keep new rules from another carrier.
func TestAShownPriceDoesNotBindABackTest(t *testing.T) {
	t.Parallel()
	b := newBench(t)

	b.keep(t, "limited by the client", func(shipment *ship.Shipment) {
		shipment.Purchase.Limit = usd(1000)
	})
	b.keep(t, "line of a file", func(shipment *ship.Shipment) {
		shipment.Purchase.Limit = usd(1000)
		shipment.Purchase.LimitShown = true
	})
	b.keep(t, "line of a file, before limits were marked", func(shipment *ship.Shipment) {
		shipment.Purchase.Limit = usd(1000)
		b.addToBatch(t, shipment.ID, "")
	})
	b.keep(t, "line of a batch by API, with a limit", func(shipment *ship.Shipment) {
		shipment.Purchase.Limit = usd(1000)
		b.addToBatch(t, shipment.ID, ship.NewKeyID(b.tenant.Shard(), time.Now()))
	})

	simulation := b.simulate(t, useBook("usps"))

	var changed []string
	for _, change := range simulation.Changes {
		changed = append(changed, change.OrderID)
	}
	slices.Sort(changed)
	want := []string{"line of a file", "line of a file, before limits were marked"}
	if !slices.Equal(changed, want) {
		t.Errorf("changed are %q, want %q", changed, want)
	}
	if simulation.Compared != 4 {
		t.Errorf("%d are compared, want 4", simulation.Compared)
	}
}

// addToBatch makes a shipment that of the only line of a new batch: of a file, or
// of the API key that is named.
func (b bench) addToBatch(t *testing.T, shipment ship.ShipmentID, key ship.KeyID) {
	t.Helper()
	id := ship.NewBatchID(b.tenant.Shard(), time.Now())
	err := b.store.AddBatch(t.Context(), store.Batch{
		ID:      id,
		Tenant:  b.tenant,
		Name:    "orders.csv",
		MadeBy:  "Dana",
		State:   "done",
		Header:  []string{"Order"},
		Mapping: []byte("{}"),
		APIKey:  key,
	}, [][]string{{"1001"}})
	if err != nil {
		t.Fatal(err)
	}

	line := store.BatchRow{Number: 1, State: "purchased", Cells: []string{"1001"}, Shipment: shipment}
	saved, err := b.store.SaveBatchRows(t.Context(), b.tenant, id, []store.ChangedRow{{BatchRow: line}}, "uploaded")
	if saved != 1 || err != nil {
		t.Fatalf("%d lines saved, %v", saved, err)
	}
}

func TestASignatureThatWasNotQuotedMakesABackTestApproximate(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.keep(t, "live", func(sh *ship.Shipment) { sh.Purchase.Simulated = false })
	b.keep(t, "raised then", func(sh *ship.Shipment) {
		sh.Purchase.Simulated = false
		sh.Order.Options.Signature, sh.Purchase.Routing.Raised = "adult", &ship.Raised{To: "adult"}
	})
	b.keep(t, "simulated", nil)
	asked := 0
	quoting, err := rulebook.New(rulebook.Config{
		Store: b.store, Carriers: func(bool) []carrier.Spec { return sandbox.Specs() },
		Connected: func(context.Context, ship.Tenant) ([]*carrier.Carrier, error) { return nil, nil },
		Requote: func(_ context.Context, o ship.Order) []ship.Rate {
			asked++
			if o.Options.Signature != "adult" {
				t.Errorf("asked for signature %q", o.Options.Signature)
			}
			return []ship.Rate{{Carrier: "ups", Service: "ground", Price: usd(1400), TransitDays: 4}}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	b.Service = quoting
	sim := b.simulate(t, routing.Book{Rules: []routing.Rule{{Name: "Sign", Then: routing.Action{Require: &routing.Requirement{Signature: "adult"}}}}})
	if asked != 1 || sim.Requoted != 1 || sim.Approximate != 1 || sim.Compared != 3 || sim.Is.Minor != 1000+1000+1400 {
		t.Errorf("asked %d times: %+v", asked, sim)
	}
}
