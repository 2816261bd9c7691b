// Package routing proves what the service promises about routing rules: a
// back-test says what the rules would really have done, to the cent.
package routing

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/sandbox"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/quoting"
	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/rulebook"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// shop is an account with the simulated carriers and its rules, on a real
// Postgres.
type shop struct {
	*shipping.Service
	rules   *rulebook.Service
	url     string
	account ship.Account
	tenant  ship.Tenant
}

func newShop(t *testing.T) *shop {
	t.Helper()
	url := storetest.URL(t)
	st, err := store.Open(t.Context(), store.Options{URL: url, Connections: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)
	accounts := account.New(st)
	a, err := accounts.Create(t.Context(), account.Settings{Name: new("Test shop")})
	if err != nil {
		t.Fatal(err)
	}
	var simulated []*carrier.Carrier
	for _, spec := range sandbox.Specs() {
		c, err := carrier.Open(spec, carrier.Opening{})
		if err != nil {
			t.Fatal(err)
		}
		simulated = append(simulated, c)
	}
	labels, err := label.NewRenderer("")
	if err != nil {
		t.Fatal(err)
	}
	s := &shop{url: url, account: a, tenant: ship.Tenant{Account: a.ID}}
	s.rules, err = rulebook.New(rulebook.Config{
		Store: st, Connected: accounts.Carriers, Carriers: func(bool) []carrier.Spec { return sandbox.Specs() },
	})
	if err != nil {
		t.Fatal(err)
	}
	sellers := carrier.Accounts{Simulated: simulated}
	s.Service = shipping.New(shipping.Config{
		Store: st, Accounts: sellers, Quoting: quoting.New(quoting.Config{Accounts: sellers, SigningKey: []byte("test"), Policy: s.policy}),
		Labels: labels, SigningKey: []byte("test"), BaseURL: "http://test", Waits: shipping.DefaultWaits, Log: slog.New(slog.DiscardHandler),
	})
	return s
}

// book reads rules as a client writes them.
func book(t *testing.T, text string) routing.Book {
	t.Helper()
	b, err := routing.ParseBook([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (s *shop) publish(t *testing.T, text string) {
	t.Helper()
	if _, err := s.rules.SaveDraft(t.Context(), s.tenant, book(t, text)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.rules.Publish(t.Context(), rulebook.PublishInput{Tenant: s.tenant, Note: "test"}); err != nil {
		t.Fatal(err)
	}
}

// before and after are rules as a shop has them, and as it thinks of having
// them.
const (
	before = `{"rules": [
		{"name": "No DHL inside the country", "when": "!order.international", "then": {"forbid": [{"carrier": "dhl_express"}]}},
		{"name": "Heavy by UPS", "when": "parcel.weightLb > 20", "then": {"use": [{"carrier": "ups"}]}}
	]}`
	after = `{"rules": [
		{"name": "Wholesale", "when": "metadata['channel'] == 'wholesale'", "then": {"split": [{"carrier": "ups", "percent": 60}, {"carrier": "fedex", "percent": 40}]}},
		{"name": "West by USPS", "when": "destination.state in ['CA', 'WA', 'OR']", "then": {"prefer": [{"carrier": "usps"}], "tolerancePercent": 10}},
		{"name": "Gold customers", "when": "metadata['tier'] == 'gold' && cheapest.days > 2", "then": {"choose": "cheapest", "withinDaysOfFastest": 1}},
		{"name": "Small and light", "when": "parcel.weightOz < 12 && !order.international", "then": {"choose": "cheapest", "withinDays": 4}},
		{"name": "Not DHL if a third is cheaper", "when": "quotes.exists(q, q.carrier != 'dhl_express' && q.amount < 60.0)", "then": {"forbid": [{"carrier": "dhl_express"}]}}
	]}`
)

// orders are n orders of all kinds.
func orders(n int, seed uint64) []ship.Order {
	rng := rand.New(rand.NewPCG(seed, 7))
	to := []ship.Address{
		{City: "New York", State: "NY", Zip: "10118", Country: "US"},
		{City: "Seattle", State: "WA", Zip: "98101", Country: "US"},
		{City: "Los Angeles", State: "CA", Zip: "90012", Country: "US"},
		{City: "Anchorage", State: "AK", Zip: "99501", Country: "US"},
		{City: "Chicago", State: "IL", Zip: "60601", Country: "US"},
		{City: "Miami", State: "FL", Zip: "33101", Country: "US"},
		{City: "Toronto", State: "ON", Zip: "M5H 2N2", Country: "CA"},
		{City: "Berlin", Zip: "10115", Country: "DE"},
	}
	list := make([]ship.Order, n)
	for i := range list {
		a := to[rng.IntN(len(to))]
		a.Name, a.Address1 = "Ada Lovelace", "1 Main Street"
		list[i] = ship.Order{
			OrderID: fmt.Sprintf("order-%d", i), Destination: a, Parcels: []ship.Parcel{{Weight: 0.1 + 40*rng.Float64()*rng.Float64()*rng.Float64()}},
			Metadata: map[string]string{"channel": []string{"web", "wholesale"}[rng.IntN(2)], "tier": []string{"gold", "", "basic"}[rng.IntN(3)]},
		}
	}
	return list
}

// buy buys all orders, some at once, and returns the purchases in their order.
func (s *shop) buy(t *testing.T, list []ship.Order) []ship.Purchase {
	t.Helper()
	purchases := make([]ship.Purchase, len(list))
	var all sync.WaitGroup
	slots := make(chan struct{}, 8)
	for i, o := range list {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			got, err := s.Buy(t.Context(), shipping.BuyInput{Tenant: s.tenant, Account: s.account, OneParcel: true, Order: o})
			if err != nil {
				t.Errorf("%s: %v", o.OrderID, err)
			}
			purchases[i] = got.Shipment.Purchase
		})
	}
	all.Wait()
	return purchases
}

// size is how many shipments are bought twice: 10,000 to prove it.
func size() int {
	if os.Getenv("PROVE") == "full" {
		return 10_000
	}
	return 600
}

func TestABackTestEqualsARealReplay(t *testing.T) {
	s := newShop(t)
	n := size()
	list := orders(n, 1)
	s.publish(t, before)
	first := s.buy(t, list)
	sim, err := s.rules.Simulate(t.Context(), rulebook.SimulateInput{Tenant: s.tenant, Account: s.account, Rules: book(t, after), Last: n})
	if err != nil {
		t.Fatal(err)
	}
	s.publish(t, after)
	second := s.buy(t, list)
	var was, is int64
	changed, carriers, rules := 0, map[string]int{}, map[string]int{}
	for i := range list {
		was, is = was+first[i].Price.Minor, is+second[i].Price.Minor
		carriers[second[i].Carrier]++
		rules[second[i].Routing.Rule]++
		if first[i].Carrier != second[i].Carrier || first[i].Service != second[i].Service {
			changed++
		}
	}
	if sim.Compared != n || sim.Was.Minor != was || sim.Is.Minor != is || sim.Changed != changed {
		t.Errorf("simulated %d of %d: was %d, is %d, changed %d; really was %d, is %d, changed %d", sim.Compared, n, sim.Was.Minor, sim.Is.Minor, sim.Changed, was, is, changed)
	}
	for _, c := range sim.Carriers {
		if c.Is.Shipments != carriers[c.Name] {
			t.Errorf("%s would get %d shipments, and really got %d", c.Name, c.Is.Shipments, carriers[c.Name])
		}
	}
	for _, r := range sim.Rules {
		if r.Shipments != rules[r.Rule] {
			t.Errorf("%q would decide %d shipments, and really decided %d", r.Rule, r.Shipments, rules[r.Rule])
		}
	}
	if changed < n/20 || len(rules) < 4 {
		t.Errorf("%d changed, by rules %v: too little to show anything", changed, rules)
	}
	t.Logf("%d shipments, %d would change: was %d, is %d cents, simulated and real; rules %v", n, changed, was, is, rules)
	report(t, map[string]any{"shipments": n, "changed": changed, "wasMinor": was, "isMinor": is, "differences": abs(sim.Is.Minor-is) + abs(sim.Was.Minor-was)})
	s.measure(t, n)
}

func abs(n int64) int64 { return max(n, -n) }

// measure multiplies the shipments to 100,000, and times a back-test of all.
func (s *shop) measure(t *testing.T, n int) {
	t.Helper()
	most, limit := 20_000, 30*time.Second
	if os.Getenv("PROVE") == "full" {
		most = rulebook.MostSimulated
	}
	conn := storetest.Conn(t, s.url)
	for have := 2 * n; have < most; {
		tag, err := conn.Exec(t.Context(), `
INSERT INTO shipments (id, account_id, livemode, response_version, carrier, request, purchase)
SELECT (substr(id::text, 1, 18) || substr(gen_random_uuid()::text, 19))::uuid, account_id, livemode, response_version, carrier, request, purchase FROM shipments LIMIT $1`, most-have)
		if err != nil {
			t.Fatal(err)
		}
		have += int(tag.RowsAffected())
	}
	start, notified := time.Now(), 0
	sim, err := s.rules.Simulate(t.Context(), rulebook.SimulateInput{
		Tenant: s.tenant, Account: s.account, Rules: book(t, after), Last: most, Progress: func(int, int) { notified++ },
	})
	took := time.Since(start)
	if err != nil || sim.Compared != most {
		t.Fatalf("compared %d of %d: %v", sim.Compared, most, err)
	}
	t.Logf("a back-test of %d shipments took %.2f s, %.0f µs each; progress was told %d times", most, took.Seconds(), took.Seconds()*1e6/float64(most), notified)
	if took > limit || notified == 0 {
		t.Errorf("a back-test of %d shipments took %s", most, took)
	}
	report(t, map[string]any{"backTested": most, "backTestSeconds": took.Seconds(), "microsecondsEach": took.Seconds() * 1e6 / float64(most)})
}

// report adds figures to proof/routing.json, in the full run.
func report(t *testing.T, figures map[string]any) {
	t.Helper()
	if os.Getenv("PROVE") != "full" {
		return
	}
	file := filepath.Join("..", "..", "proof", "routing.json")
	all := map[string]any{}
	if old, err := os.ReadFile(file); err == nil {
		if err := json.Unmarshal(old, &all); err != nil {
			t.Fatal(err)
		}
	}
	into, _ := all["figures"].(map[string]any)
	if into == nil {
		into = map[string]any{}
		all["figures"] = into
	}
	mine, _ := into[t.Name()].(map[string]any)
	if mine == nil {
		mine = map[string]any{}
	}
	for k, v := range figures {
		mine[k] = v
	}
	into[t.Name()] = mine
	out, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(out, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// policy is the shop's routing as the purchases want it.
func (s *shop) policy(ctx context.Context, t ship.Tenant) (quoting.Policy, error) {
	p, err := s.rules.Policy(ctx, t)
	return quoting.Policy(p), err
}
