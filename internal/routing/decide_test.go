package routing

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// named are offers as "carrier service".
func named(rates []ship.Rate) []string {
	out := make([]string, len(rates))
	for i, r := range rates {
		out[i] = r.Carrier + " " + r.Service
	}
	return out
}

func drops(list []ship.Dropped) []string {
	out := make([]string, len(list))
	for i, d := range list {
		out[i] = strings.TrimSpace(fmt.Sprintf("%s %s: %s %s", d.Carrier, d.Service, d.Why, d.Rule))
	}
	return out
}

// four are offers with a clear order.
func four() []ship.Rate {
	return []ship.Rate{rate("ups", "ground", 1000, 4), rate("usps", "priority", 900, 3), rate("fedex", "2day", 2000, 2), rate("ups", "next_day", 4000, 1)}
}

func TestActionsPutOffersInOrder(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ rule, offers, dropped string }{
		{`"then": {"choose": "cheapest"}`, "usps priority, ups ground, fedex 2day, ups next_day", ""},
		{`"then": {"choose": "fastest"}`, "ups next_day, fedex 2day, usps priority, ups ground", ""},
		{`"then": {"choose": "cheapest", "withinDays": 2}`, "fedex 2day, ups next_day", "usps priority: late R, ups ground: late R"},
		{`"then": {"choose": "cheapest", "by": "2026-03-06"}`, "fedex 2day, ups next_day", "usps priority: late R, ups ground: late R"},
		{`"then": {"choose": "cheapest", "withinDaysOfFastest": 1}`, "fedex 2day, ups next_day", "usps priority: late R, ups ground: late R"},
		{`"then": {"choose": "cheapest", "withinDaysOfFastest": 0}`, "ups next_day", "usps priority: late R, ups ground: late R, fedex 2day: late R"},
		{`"then": {"choose": "fastest", "withinPercentOfCheapest": 11.11}`, "usps priority", "ups ground: over_limit R, fedex 2day: over_limit R, ups next_day: over_limit R"},
		{`"then": {"choose": "fastest", "withinPercentOfCheapest": 11.12}`, "usps priority, ups ground", "fedex 2day: over_limit R, ups next_day: over_limit R"},
		{`"then": {"choose": "fastest", "withinDays": 2, "withinPercentOfCheapest": 100}`, "ups next_day, fedex 2day", "usps priority: late R, ups ground: late R"},
		{`"then": {"choose": "cheapest", "only": [{"carrier": "ups"}]}`, "ups ground, ups next_day", "usps priority: not_in_rule R, fedex 2day: not_in_rule R"},
		{`"then": {"use": [{"carrier": "ups"}, {"carrier": "fedex"}]}`, "ups ground, ups next_day, fedex 2day", "usps priority: not_in_rule R"},
		{`"then": {"use": [{"carrier": "ups", "service": "next_day"}, {"carrier": "ups"}]}`, "ups next_day, ups ground", "usps priority: not_in_rule R, fedex 2day: not_in_rule R"},
		{`"then": {"use": [{"carrier": "ups", "connectionId": "con_other"}, {"carrier": "fedex"}]}`, "fedex 2day", "usps priority: not_in_rule R, ups ground: not_in_rule R, ups next_day: not_in_rule R"},
		{`"then": {"prefer": [{"carrier": "ups"}], "tolerancePercent": 12}`, "ups ground, usps priority, fedex 2day, ups next_day", ""},
		{`"then": {"prefer": [{"carrier": "ups"}], "tolerancePercent": 11}`, "usps priority, ups ground, fedex 2day, ups next_day", ""},
		{`"then": {"prefer": [{"carrier": "ups"}], "toleranceAmount": "1.00"}`, "ups ground, usps priority, fedex 2day, ups next_day", ""},
		{`"then": {"prefer": [{"carrier": "ups"}], "toleranceAmount": "0.99"}`, "usps priority, ups ground, fedex 2day, ups next_day", ""},
		{`"then": {"prefer": [{"carrier": "ups"}], "toleranceAmount": "1.00", "tolerancePercent": 5}`, "usps priority, ups ground, fedex 2day, ups next_day", ""},
		{`"then": {"prefer": [{"carrier": "fedex"}, {"carrier": "ups"}], "tolerancePercent": 200}`, "ups ground, fedex 2day, usps priority, ups next_day", ""},
		{`"then": {"split": [{"carrier": "fedex", "percent": 100}]}`, "fedex 2day", "usps priority: not_in_rule R, ups ground: not_in_rule R, ups next_day: not_in_rule R"},
		{`"then": {"choose": "cheapest"}, "guard": {"none": true}`, "usps priority", "ups ground: guard R, fedex 2day: guard R, ups next_day: guard R"},
		{`"then": {"choose": "cheapest"}, "guard": {"extraPercent": 12}`, "usps priority, ups ground", "fedex 2day: guard R, ups next_day: guard R"},
		{`"then": {"choose": "cheapest"}, "guard": {"extraAmount": "11.00"}`, "usps priority, ups ground, fedex 2day", "ups next_day: guard R"},
		{`"then": {"choose": "cheapest"}, "guard": {"extraDays": 0}`, "usps priority, fedex 2day, ups next_day", "ups ground: guard R"},
		{`"then": {"choose": "fastest"}, "guard": {"extraDays": 1, "extraPercent": 0}`, "ups next_day, fedex 2day", "usps priority: guard R, ups ground: guard R"},
	} {
		c := bookOf(t, `{"rules": [{"name": "R", `+tc.rule+`}]}`)
		in, _ := usual()
		d := c.Decide(in, four())
		if got := strings.Join(named(d.Offers), ", "); got != tc.offers {
			t.Errorf("%s: %s, want %s", tc.rule, got, tc.offers)
		}
		if got := strings.Join(drops(d.Routing.Dropped), ", "); got != tc.dropped {
			t.Errorf("%s drops %s, want %s", tc.rule, got, tc.dropped)
		}
		if d.Routing.Strategy != "rule" || d.Routing.Rule != "R" || d.Routing.Considered != 4 {
			t.Errorf("%s: trace %+v", tc.rule, d.Routing)
		}
	}
}

func TestTheTraceTellsWhy(t *testing.T) {
	t.Parallel()
	in, _ := usual()
	for _, tc := range []struct{ book, why string }{
		{`{"rules": []}`, "usps priority (9.00 USD) is the cheapest; next is ups ground (10.00 USD)"},
		{`{"rules": [], "default": {"choose": "fastest"}}`, "No rule decides: ups next_day (40.00 USD) is the fastest; next is fedex 2day (20.00 USD)"},
		{`{"rules": [{"name": "Never", "when": "false", "then": {"choose": "fastest"}}]}`, "No rule decides: usps priority (9.00 USD) is the cheapest; next is ups ground (10.00 USD)"},
		{`{"rules": [{"name": "Heavy", "then": {"use": [{"carrier": "ups", "service": "ground"}, {"carrier": "fedex"}]}}]}`, "Rule “Heavy”: ups ground (10.00 USD) is the first in the list with an offer; next is fedex 2day (20.00 USD)"},
		{`{"rules": [{"name": "One", "then": {"use": [{"carrier": "fedex"}]}}]}`, "Rule “One”: fedex 2day (20.00 USD) is the first in the list with an offer; next is usps priority (9.00 USD)"},
		{`{"rules": [{"name": "P", "then": {"prefer": [{"carrier": "ups"}], "tolerancePercent": 20}}]}`, "Rule “P”: ups ground (10.00 USD) is preferred and within the tolerance; next is usps priority (9.00 USD)"},
		{`{"rules": [{"name": "P", "then": {"prefer": [{"carrier": "ups"}], "tolerancePercent": 2}}]}`, "Rule “P”: usps priority (9.00 USD) is the cheapest because no preferred offer is within the tolerance; next is ups ground (10.00 USD)"},
		{`{"rules": [{"name": "Gone", "then": {"use": [{"carrier": "gls"}]}}]}`, "No rule decides: usps priority (9.00 USD) is the cheapest; next is ups ground (10.00 USD). Rule “Gone” matched but found no offer"},
		{`{"rules": [{"name": "Gone", "then": {"use": [{"carrier": "gls"}]}, "otherwise": "refuse"}]}`, "Rule “Gone” allows none of the offers and is set to refuse"},
		{`{"rules": [{"name": "Bad", "when": "int(destination.city) > 5", "then": {"use": [{"carrier": "fedex"}]}}]}`, "No rule decides: usps priority (9.00 USD) is the cheapest; next is ups ground (10.00 USD). Rule “Bad” could not be evaluated for this order and was treated as not met"},
	} {
		d := bookOf(t, tc.book).Decide(in, four())
		if d.Routing.Why != tc.why {
			t.Errorf("%s:\n  %s, want\n  %s", tc.book, d.Routing.Why, tc.why)
		}
		if got := named(d.Routing.Seen); strings.Join(got, ", ") != "usps priority, ups ground, fedex 2day, ups next_day" {
			t.Errorf("%s: seen %v", tc.book, got)
		}
	}
}

func TestStrategiesAreNamed(t *testing.T) {
	t.Parallel()
	in, _ := usual()
	for book, want := range map[string]string{
		`{"rules": []}`: "cheapest",
		`{"rules": [], "default": {"choose": "cheapest"}}`:                             "cheapest",
		`{"rules": [], "default": {"choose": "fastest"}}`:                              "default",
		`{"rules": [], "default": {"choose": "cheapest", "withinDays": 9}}`:            "default",
		`{"rules": [{"name": "a", "when": "false", "then": {"choose": "cheapest"}}]}`:  "default",
		`{"rules": [{"name": "a", "then": {"choose": "cheapest"}}]}`:                   "rule",
		`{"rules": [{"name": "a", "then": {"choose": "cheapest"}, "disabled": true}]}`: "default",
	} {
		if d := bookOf(t, book).Decide(in, four()); d.Routing.Strategy != want {
			t.Errorf("%s: strategy %q, want %q", book, d.Routing.Strategy, want)
		}
	}
}

func TestTheOrdersOwnLimitsComeFirst(t *testing.T) {
	t.Parallel()
	c := bookOf(t, `{"rules": [{"name": "R", "then": {"use": [{"carrier": "ups", "service": "next_day"}, {"carrier": "usps"}, {"carrier": "fedex"}]}}]}`)
	in, _ := usual()
	in.Order.DeliverBy, in.MaxAmount = "2026-03-07", ship.Money{Minor: 2000, Currency: "USD"}
	vague := rate("usps", "media", 100, 2)
	vague.DeliveryAt = time.Time{}
	d := c.Decide(in, append(four(), vague, abroad(rate("fedex", "euro", 500, 2), "EUR"), rate("fedex", "cent", 2001, 2)))
	if got := strings.Join(named(d.Offers), ", "); got != "usps priority, fedex 2day" {
		t.Errorf("offers %s", got)
	}
	if got := strings.Join(drops(d.Routing.Dropped), ", "); got != "usps media: late, ups ground: late, fedex cent: over_limit, ups next_day: over_limit, fedex euro: other_currency" {
		t.Errorf("dropped %s", got)
	}
	in.Order.DeliverBy = "2026-03-05"
	if d := c.Decide(in, four()); d.Refused != "no offer arrives by deliverBy and costs no more than maxAmount" || len(d.Offers) > 0 {
		t.Errorf("%+v", d)
	}
	if d := c.Decide(in, nil); d.Refused != "no carrier made an offer" {
		t.Errorf("%+v", d)
	}
}

func TestForbidTakesOffersAwayFromTheRulesThatFollow(t *testing.T) {
	t.Parallel()
	in, _ := usual()
	c := bookOf(t, `{"rules": [
		{"name": "The post is the cheapest at first", "when": "cheapest.carrier.substring(0, 2) == 'us' && fastest.amount / 2.0 > 100.0", "then": {"choose": "fastest"}},
		{"name": "No post", "then": {"forbid": [{"carrier": "usps"}]}},
		{"name": "No GLS", "then": {"forbid": [{"carrier": "gls"}]}},
		{"name": "UPS is the cheapest now", "when": "cheapest.carrier.substring(0, 2) == 'up' && !quotes.exists(q, q.carrier == 'usps')", "then": {"use": [{"carrier": "usps"}, {"carrier": "fedex"}]}}]}`)
	d := c.Decide(in, four())
	if got := strings.Join(named(d.Offers), ", "); got != "fedex 2day" || !slices.Equal(d.Routing.Also, []string{"No post"}) {
		t.Errorf("%s, also %v", got, d.Routing.Also)
	}
	if got := drops(d.Routing.Dropped)[0]; got != "usps priority: forbidden No post" {
		t.Errorf("dropped %s", got)
	}
	c = bookOf(t, `{"rules": [{"name": "Nobody", "then": {"forbid": [{"carrier": "usps"}, {"carrier": "ups"}, {"carrier": "fedex"}]}}]}`)
	if d := c.Decide(in, four()); d.Refused != "rule “Nobody” forbids the last remaining offer" || len(d.Offers) > 0 {
		t.Errorf("%+v", d)
	}
}

func TestRequireOnlyRaises(t *testing.T) {
	t.Parallel()
	book := func(signatures ...string) *Compiled {
		b := Book{}
		for i, s := range signatures {
			b.Rules = append(b.Rules, Rule{Name: fmt.Sprint("R", i), Then: Action{Require: &Requirement{Signature: s}}})
		}
		c, err := Compile(b)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for _, tc := range []struct {
		has      string
		requires []string
		want     string
		by       []string
	}{
		{"", []string{"standard"}, "standard", []string{"R0"}},
		{"", []string{"standard", "adult", "standard"}, "adult", []string{"R0", "R1"}},
		{"adult", []string{"standard"}, "adult", nil},
		{"standard", []string{"standard"}, "standard", nil},
		{"", nil, "", nil},
	} {
		in, _ := usual()
		in.Order.Options.Signature = tc.has
		c := book(tc.requires...)
		out := c.Prepare(in)
		if out.Order.Options.Signature != tc.want || !slices.Equal(out.Required, tc.by) || in.Order.Options.Signature != tc.has {
			t.Errorf("%+v: %q by %v", tc, out.Order.Options.Signature, out.Required)
		}
		if d := c.Decide(out, four()); !slices.Equal(d.Routing.Also, tc.by) || d.Routing.Strategy == "rule" {
			t.Errorf("%+v: trace %+v", tc, d.Routing)
		}
	}
}

func TestOffersInAnotherCurrencyComeLastWherePricesDecide(t *testing.T) {
	t.Parallel()
	in, _ := usual()
	rates := []ship.Rate{rate("ups", "ground", 1000, 4), rate("ups", "next_day", 4000, 3), abroad(rate("canpar", "air", 100, 1), "CAD"), abroad(rate("canpar", "ground", 50, 2), "CAD")}
	for then, want := range map[string]string{
		`{"choose": "cheapest"}`:                                                                 "ups ground, ups next_day, canpar ground, canpar air",
		`{"choose": "fastest"}`:                                                                  "ups next_day, ups ground, canpar air, canpar ground",
		`{"use": [{"carrier": "canpar"}, {"carrier": "ups"}]}`:                                   "canpar ground, canpar air, ups ground, ups next_day",
		`{"use": [{"carrier": "canpar"}]}`:                                                       "canpar ground, canpar air",
		`{"prefer": [{"carrier": "canpar"}], "tolerancePercent": 100}`:                           "ups ground, ups next_day, canpar ground, canpar air",
		`{"choose": "fastest", "withinPercentOfCheapest": 500}`:                                  "ups next_day, ups ground",
		`{"choose": "fastest", "only": [{"carrier": "canpar"}], "withinPercentOfCheapest": 100}`: "canpar air, canpar ground",
	} {
		d := bookOf(t, `{"rules": [{"name": "R", "then": `+then+`}]}`).Decide(in, rates)
		if got := strings.Join(named(d.Offers), ", "); got != want {
			t.Errorf("%s: %s, want %s", then, got, want)
		}
	}
}

func TestNotesOfATraceAreShort(t *testing.T) {
	t.Parallel()
	b := Book{}
	for i := range 100 {
		b.Rules = append(b.Rules, Rule{Name: fmt.Sprintf("%03d%s", i, strings.Repeat("x", 90)), When: `int(destination.city) > 5`, Then: Action{Choose: "fastest"}})
	}
	c, err := Compile(b)
	if err != nil {
		t.Fatal(err)
	}
	in, _ := usual()
	if d := c.Decide(in, four()); len(d.Routing.Why) > 700 || !strings.Contains(d.Routing.Why, "and 97 more could not be evaluated for this order and were treated as not met") {
		t.Errorf("%d bytes: %s", len(d.Routing.Why), d.Routing.Why)
	}
}

func TestChooseIsTheDecisionOfAnEmptyBook(t *testing.T) {
	t.Parallel()
	rates := four()
	in, _ := usual()
	fit, why := Choose(rates, Wish{Currency: "USD", MaxAmount: ship.Money{Minor: 2000, Currency: "USD"}})
	in.MaxAmount = ship.Money{Minor: 2000, Currency: "USD"}
	d := bookOf(t, `{"rules": []}`).Decide(in, rates)
	if !reflect.DeepEqual(fit, d.Offers) || !reflect.DeepEqual(why, d.Routing) || why.Strategy != "cheapest" || why.RunnerUp.Carrier != "ups" {
		t.Errorf("%+v %+v", fit, why)
	}
	if _, why := Choose(rates, Wish{Named: true}); why.Strategy != "named" {
		t.Errorf("strategy %q", why.Strategy)
	}
	if !reflect.DeepEqual(rates, four()) {
		t.Error("the offers were changed")
	}
}

func TestManyDecideAtTheSameTime(t *testing.T) {
	t.Parallel()
	c := bookOf(t, fullBook)
	heavy, err := Compile(heavyBook(50))
	if err != nil {
		t.Fatal(err)
	}
	for i, shipment := range shipments() {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			in, rates := shipment()
			first, second := c.Decide(c.Prepare(in), rates), heavy.Decide(in, rates)
			for range 200 {
				if !reflect.DeepEqual(c.Decide(c.Prepare(in), rates), first) || !reflect.DeepEqual(heavy.Decide(in, rates), second) {
					t.Fatal("another decision")
				}
			}
		})
	}
}
