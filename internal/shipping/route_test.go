package shipping_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/quoting"
	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/sheet"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
)

// ruled is a policy of one version with the rules.
func ruled(t *testing.T, rules string) func(context.Context, ship.Tenant) (quoting.Policy, error) {
	t.Helper()
	b, err := routing.ParseBook([]byte(`{"rules":[` + rules + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := routing.Compile(b)
	if err != nil {
		t.Fatal(err)
	}
	return func(context.Context, ship.Tenant) (quoting.Policy, error) {
		return quoting.Policy{Version: 4, Book: compiled}, nil
	}
}

func TestARuleChoosesAndTheShipmentSaysWhy(t *testing.T) {
	t.Parallel()
	b := newBenchWith(t, settings{quoting: quoting.Config{Policy: ruled(t, `
		{"name": "No USPS", "then": {"forbid": [{"carrier": "usps"}]}},
		{"name": "New York by FedEx", "when": "destination.state == 'NY'", "then": {"use": [{"carrier": "fedex"}]}}`)}})
	bought, err := b.Buy(t.Context(), b.input("Ada"))
	if err != nil {
		t.Fatal(err)
	}
	sh, err := b.store.Shipment(t.Context(), b.tenant, bought.Shipment.ID)
	if err != nil {
		t.Fatal(err)
	}
	r := sh.Purchase.Routing
	if sh.Purchase.Carrier != "fedex" || r.Strategy != "rule" || r.Version != 4 || r.Rule != "New York by FedEx" || len(r.Also) != 1 || r.Why == "" {
		t.Errorf("bought from %s: %+v", sh.Purchase.Carrier, r)
	}
	if len(r.Seen) < 8 || r.Considered != len(r.Seen) || r.RunnerUp == nil || r.RunnerUp.Carrier != "fedex" {
		t.Errorf("saw %d of %d offers, runner-up %+v", len(r.Seen), r.Considered, r.RunnerUp)
	}
	forbidden := 0
	for _, d := range r.Dropped {
		if d.Why == "forbidden" && d.Carrier == "usps" && d.Rule == "No USPS" {
			forbidden++
		}
	}
	if forbidden == 0 {
		t.Errorf("dropped are %+v", r.Dropped)
	}
}

// TestRulesDecideBeforeAShownPriceIsCompared buys as a batch does: at most for what
// a person was shown.
func TestRulesDecideBeforeAShownPriceIsCompared(t *testing.T) {
	t.Parallel()
	b := newBenchWith(t, settings{quoting: quoting.Config{
		Policy: ruled(t, `{"name": "FedEx", "then": {"use": [{"carrier": "fedex"}]}, "otherwise": "refuse"}`),
	}})
	first, err := b.Buy(t.Context(), b.input("Ada"))
	if err != nil {
		t.Fatal(err)
	}

	shown := b.input("Grace")
	shown.MaxAmount = first.Shipment.Purchase.Price
	shown.MaxIsShown = true
	bought, err := b.Buy(t.Context(), shown)
	if err != nil {
		t.Fatal(err)
	}
	purchase := bought.Shipment.Purchase
	if purchase.Carrier != "fedex" || !purchase.LimitShown || purchase.Limit != shown.MaxAmount {
		t.Errorf("bought from %s for at most %s (shown: %t)", purchase.Carrier, purchase.Limit, purchase.LimitShown)
	}
	for _, dropped := range purchase.Routing.Dropped {
		if dropped.Why == "over_limit" {
			t.Errorf("%s %s was left out as over the limit", dropped.Carrier, dropped.Service)
		}
	}

	shown = b.input("Joan")
	shown.MaxAmount = first.Shipment.Purchase.Price
	shown.MaxAmount.Minor--
	shown.MaxIsShown = true
	if _, err := b.Buy(t.Context(), shown); ship.CodeOf(err) != "price_changed" {
		t.Errorf("one cent less was shown: %v, want price_changed", err)
	}
}

func TestAClientThatNamesACarrierIsNotRuled(t *testing.T) {
	t.Parallel()
	b := newBenchWith(t, settings{quoting: quoting.Config{Policy: ruled(t, `{"name": "No USPS", "then": {"forbid": [{"carrier": "usps"}]}}`)}})
	in := b.input("Ada")
	in.Carrier = "usps"
	bought, err := b.Buy(t.Context(), in)
	if err != nil || bought.Shipment.Purchase.Carrier != "usps" || bought.Shipment.Purchase.Routing.Strategy != "named" {
		t.Errorf("bought %+v, %v", bought.Shipment.Purchase, err)
	}
}

func TestASignatureThatARuleRequiresIsQuotedAndBought(t *testing.T) {
	t.Parallel()
	plain := newBench(t)
	before, err := plain.Buy(t.Context(), plain.input("Ada"))
	if err != nil {
		t.Fatal(err)
	}
	b := newBenchWith(t, settings{quoting: quoting.Config{Policy: ruled(t, `{"name": "Sign", "when": "parcel.weightLb > 1", "then": {"require": {"signature": "adult"}}}`)}})
	bought, err := b.Buy(t.Context(), b.input("Ada"))
	if err != nil {
		t.Fatal(err)
	}
	sh := bought.Shipment
	if sh.Order.Options.Signature != "adult" || sh.Purchase.Routing.Raised == nil || sh.Purchase.Routing.Raised.To != "adult" {
		t.Errorf("bought with signature %q: %+v", sh.Order.Options.Signature, sh.Purchase.Routing)
	}
	if sh.Purchase.Price.Minor <= before.Shipment.Purchase.Price.Minor {
		t.Errorf("with a signature it costs %s, without %s", sh.Purchase.Price.Amount(), before.Shipment.Purchase.Price.Amount())
	}
}

func TestTheNextOfferInsideTheGuardIsBoughtWhenACarrierRefuses(t *testing.T) {
	t.Parallel()
	upsFirst := `{"name": "UPS first", "then": {"use": [{"carrier": "ups"}, {"carrier": "fedex"}]}`
	for _, tc := range []struct{ rules, carrier, code string }{
		{upsFirst + `}`, "fedex", ""},
		{upsFirst + `, "guard": {"extraPercent": 1000}}`, "fedex", ""},
		{upsFirst + `, "guard": {"none": true}}`, "", "carrier_rejected"},
	} {
		b := newBenchWith(t, settings{quoting: quoting.Config{Policy: ruled(t, tc.rules)}, Config: shipping.Config{Waits: shipping.Waits{Answer: 10 * time.Second}}})
		bought, err := b.Buy(t.Context(), b.input("FAULT REFUSE UPS"))
		if ship.CodeOf(err) != tc.code || bought.Shipment.Purchase.Carrier != tc.carrier {
			t.Errorf("%s: bought from %q, %v", tc.rules, bought.Shipment.Purchase.Carrier, err)
			continue
		}
		if failed := bought.Shipment.Purchase.Routing.Failed; err == nil && (len(failed) != 1 || failed[0].Carrier != "ups" || !strings.Contains(bought.Shipment.Purchase.Routing.Why, ". ups failed, so fedex ")) {
			t.Errorf("%s: failed first are %+v, because %s", tc.rules, failed, bought.Shipment.Purchase.Routing.Why)
		}
	}
}

func TestNothingIsTriedAfterAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	b := newBenchWith(t, settings{quoting: quoting.Config{Policy: ruled(t, `{"name": "UPS first", "then": {"use": [{"carrier": "ups"}, {"carrier": "fedex"}]}}`)}})
	bought, err := b.Buy(t.Context(), b.input("FAULT TIMEOUT AFTER PURCHASE"))
	if err != nil || !bought.Pending {
		t.Fatalf("%+v, %v", bought, err)
	}
	attempts, err := b.store.Attempts(t.Context(), b.tenant, bought.Shipment.ID)
	if err != nil || len(attempts) != 1 || attempts[0].Carrier != "ups" {
		t.Errorf("attempts are %+v, %v", attempts, err)
	}
}

func TestARuleThatRefusesBuysNothing(t *testing.T) {
	t.Parallel()
	b := newBenchWith(t, settings{quoting: quoting.Config{Policy: ruled(t, `{"name": "None", "then": {"use": [{"carrier": "dhl_express", "service": "nothing"}]}, "otherwise": "refuse"}`)}})
	if _, err := b.Buy(t.Context(), b.input("Ada")); ship.CodeOf(err) != "no_rate" || !strings.Contains(err.Error(), "None") {
		t.Errorf("bought, or did not say why: %v", err)
	}
}

func TestTryChoosesAndBuysNothing(t *testing.T) {
	t.Parallel()
	b := newBenchWith(t, settings{quoting: quoting.Config{Policy: ruled(t, `{"name": "FedEx", "then": {"use": [{"carrier": "fedex"}]}}`)}})
	in := b.input("Ada")
	tried, err := b.quotes.DryRun(t.Context(), quoting.DryRunInput{Tenant: in.Tenant, Account: in.Account, Order: in.Order, OneParcel: true})
	if err != nil || len(tried.Offers) == 0 || tried.Offers[0].Carrier != "fedex" || tried.Routing.Rule != "FedEx" {
		t.Fatalf("tried %+v, %v", tried, err)
	}
	list, _, err := b.Shipments(t.Context(), b.tenant, shipping.Filter{Page: ship.Page{Limit: 10}})
	if err != nil || len(list) != 0 {
		t.Errorf("%d shipments, %v", len(list), err)
	}
}

func TestARateSheetPricesACarrierInsteadOfItsRateCall(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/sheet.csv")
	if err != nil {
		t.Fatal(err)
	}
	contract, err := sheet.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	policy := ruled(t, ``)
	b := newBenchWith(t, settings{quoting: quoting.Config{Policy: func(ctx context.Context, t ship.Tenant) (quoting.Policy, error) {
		p, err := policy(ctx, t)
		p.Sheet = func(carrier string, _ ship.ConnectionID) (*sheet.Sheet, string) {
			if carrier != "ups" {
				return nil, ""
			}
			return &contract, "contract 1"
		}
		return p, err
	}}})
	bought, err := b.Buy(t.Context(), b.input("Ada"))
	if err != nil {
		t.Fatal(err)
	}
	d := bought.Shipment.Purchase
	if d.Carrier != "ups" || d.Sheet != "contract 1" || d.Price.Amount() != "3.21" {
		t.Errorf("bought %+v", d)
	}
	in := b.input("Ada")
	q, err := b.quotes.Quote(t.Context(), quoting.Input{Tenant: in.Tenant, Account: in.Account, Order: in.Order, OneParcel: true, Timeout: time.Second})
	if err != nil || q.Rates[0].Source != "sheet" || q.Rates[1].Source != "" {
		t.Errorf("quoted %+v, %v", q.Rates, err)
	}
}
