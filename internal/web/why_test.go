package web

import (
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier/sandbox"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/rulebook"
	"github.com/waybillhq/waybill/internal/ship"
)

// simulatedNames are the carriers' own names of their services.
func simulatedNames() (c catalog) {
	for _, spec := range sandbox.Specs() {
		c = append(c, catalogCarrier{Name: spec.Name, Title: spec.Title, Services: spec.Services})
	}
	return c
}

func TestAChoiceIsToldInTheCarriersOwnNames(t *testing.T) {
	t.Parallel()
	usd := func(minor int64) ship.Money { return ship.Money{Minor: minor, Currency: "USD"} }
	ground := ship.Rate{Carrier: "usps", Service: "ground_advantage", Price: usd(1607)}
	dhl := ship.Rate{Carrier: "dhl_express", Service: "express_domestic_12", Price: usd(3690)}
	old := ship.Rate{Carrier: "ups", Service: "sure_post", ServiceName: "UPS SurePost", Price: usd(900)}
	no := ship.FailedOffer{Carrier: "ups", Service: "ground", Price: usd(1200), Code: "carrier_refused", Message: "no"}
	silent := ship.FailedOffer{Carrier: "fedex", Code: "carrier_unavailable", Message: "did not answer"}
	for _, tc := range []struct {
		taken ship.Rate
		trace ship.Routing
		want  string
	}{
		{ground, ship.Routing{Strategy: "cheapest", Reason: "cheapest", RunnerUp: &dhl}, "USPS Ground Advantage ($16.07) is the cheapest; next best is DHL Express Domestic 12:00 ($36.90)."},
		{dhl, ship.Routing{Strategy: "rule", Rule: "Fast", Reason: "fastest", Failed: []ship.FailedOffer{silent}}, "Rule “Fast”: DHL Express Domestic 12:00 ($36.90) is the fastest."},
		{ground, ship.Routing{Strategy: "default", Reason: "share", Missed: &ship.Noted{Rules: []string{"A", "B"}, More: 1}}, "No rule applied: USPS Ground Advantage ($16.07) was selected for this order by the split. Rules “A”, “B” and 1 more matched but found no offer."},
		{ground, ship.Routing{Strategy: "cheapest", Reason: "cheapest", Failed: []ship.FailedOffer{silent, no}, RunnerUp: &dhl}, "UPS Ground ($12.00) is the cheapest. UPS declined, so USPS Ground Advantage ($16.07) was bought; next best is DHL Express Domestic 12:00 ($36.90)."},
		{ship.Rate{Carrier: "ups", Service: "ground", Price: usd(1200)}, ship.Routing{Strategy: "cheapest", Reason: "cheapest", Failed: []ship.FailedOffer{no}}, "UPS Ground ($12.00) is the cheapest. UPS declined."},
		{ship.Rate{Carrier: "usps", Service: "ground_advantage", Price: usd(1700)}, ship.Routing{Strategy: "cheapest", Reason: "cheapest", Seen: ship.Seen{ground}}, "USPS Ground Advantage ($16.07) is the cheapest."},
		{old, ship.Routing{Strategy: "cheapest", Reason: "cheapest"}, "UPS SurePost ($9.00) is the cheapest."},
		// Traces from before reasons were stored.
		{ground, ship.Routing{Strategy: "rule", Rule: "Far", Why: "Rule “Far”: usps ground_advantage (16.07 USD) is preferred"}, "The rule “Far” chose it."},
		{ground, ship.Routing{Strategy: "default", Why: "No rule decides: usps ground_advantage (16.07 USD) is the cheapest"}, "No rule applied, so the default was used."},
		{ground, ship.Routing{Strategy: "cheapest"}, "The cheapest suitable offer was chosen."},
		{ground, ship.Routing{}, ""},
	} {
		if got := simulatedNames().why(tc.taken, tc.trace); got != tc.want {
			t.Errorf("%+v:\n  %s, want\n  %s", tc.trace, got, tc.want)
		}
	}
}

func TestAServiceIsCalledByItsNameWithoutSayingTheCarrierTwice(t *testing.T) {
	t.Parallel()
	names := append(simulatedNames(), catalogCarrier{})
	for want, r := range map[string]ship.Rate{
		"DHL Express Worldwide":      {Carrier: "dhl_express", Service: "express_worldwide"},
		"DHL Express domestic saver": {Carrier: "dhl_express", Service: "express_domestic_saver"},
		"DHL Medical Express":        {Carrier: "dhl_express", Service: "medical", ServiceName: "DHL Medical Express"},
		"USPS Priority Mail":         {Carrier: "usps", Service: "priority_mail", ServiceName: "told otherwise"},
		"Gone Next day":              {Carrier: "gone", Service: "next_day"},
		"UPS Gone but not forgotten": {Carrier: "ups", Service: "x", ServiceName: "Gone but not forgotten"},
	} {
		if got := names.offer(r); got != want {
			t.Errorf("%s %s: %s, want %s", r.Carrier, r.Service, got, want)
		}
	}
}

// TestWhatRoutingStoresIsEnoughToTell buys by a rule and looks at the page.
func TestWhatRoutingStoresIsEnoughToTell(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tenant := ship.Tenant{Account: b.owner.ID}
	_, err := b.web.Rules.SaveDraft(t.Context(), tenant, routing.Book{Rules: []routing.Rule{{Name: "Ours", Then: routing.Action{Use: []routing.Target{{Carrier: "fedex", Service: "ground"}, {Carrier: "ups"}}}}}})
	b.must(err)
	_, err = b.web.Rules.Publish(t.Context(), rulebook.PublishInput{Tenant: tenant})
	b.must(err)
	sh := b.buy(b.owner, "1", people[0], 1)
	page := b.send(member.Owner, b.home+"/shipments/"+string(sh.ID), nil).Body.String()
	want := "Rule “Ours”: FedEx Ground ($"
	if !strings.Contains(page, want) || !strings.Contains(page, ") is the first in the list with an offer; next best is UPS ") || strings.Contains(page, "fedex ground (") {
		t.Errorf("the page does not say %q", want)
	}
	if !strings.HasPrefix(sh.Purchase.Routing.Why, "Rule “Ours”: fedex ground (") {
		t.Errorf("the API says %q", sh.Purchase.Routing.Why)
	}
}
