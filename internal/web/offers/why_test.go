package offers

import (
	"testing"

	"github.com/waybillhq/waybill/internal/carrier/sandbox"
	"github.com/waybillhq/waybill/internal/ship"
)

// simulatedNames returns the carriers' own names of their services.
func simulatedNames() (c Catalog) {
	for _, spec := range sandbox.Specs() {
		c = append(c, Carrier{Name: spec.Name, Title: spec.Title, Services: spec.Services})
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
		if got := simulatedNames().Why(tc.taken, tc.trace); got != tc.want {
			t.Errorf("%+v:\n  %s, want\n  %s", tc.trace, got, tc.want)
		}
	}
}

func TestAServiceIsCalledByItsNameWithoutSayingTheCarrierTwice(t *testing.T) {
	t.Parallel()
	names := append(simulatedNames(), Carrier{})
	for want, r := range map[string]ship.Rate{
		"DHL Express Worldwide":      {Carrier: "dhl_express", Service: "express_worldwide"},
		"DHL Express domestic saver": {Carrier: "dhl_express", Service: "express_domestic_saver"},
		"DHL Medical Express":        {Carrier: "dhl_express", Service: "medical", ServiceName: "DHL Medical Express"},
		"USPS Priority Mail":         {Carrier: "usps", Service: "priority_mail", ServiceName: "told otherwise"},
		"Gone Next day":              {Carrier: "gone", Service: "next_day"},
		"UPS Gone but not forgotten": {Carrier: "ups", Service: "x", ServiceName: "Gone but not forgotten"},
	} {
		if got := names.Offer(r); got != want {
			t.Errorf("%s %s: %s, want %s", r.Carrier, r.Service, got, want)
		}
	}
}
