package routing

import (
	"testing"

	"github.com/waybillhq/waybill/internal/routing"
)

func TestTheFormOfARuleSaysAllThatARuleCan(t *testing.T) {
	t.Parallel()
	five, half, day := 5, 12.5, 1
	target := []routing.Target{{Carrier: "ups", Service: "ground"}, {Carrier: "usps"}}
	for _, r := range []routing.Rule{
		{Name: "a", When: `parcel.weightLb > 20 && !order.international`, Then: routing.Action{Use: target}, Guard: routing.Guard{ExtraPercent: &half, ExtraDays: &day}},
		{Name: "b", When: `destination.state in ["AK", "HI"] || metadata["tier"] == "gold"`, Then: routing.Action{Prefer: target, TolerancePercent: &half, ToleranceAmount: "1.50"}},
		{Name: "c", When: `quotes.exists(q, q.days <= 2)`, Then: routing.Action{Choose: "fastest", By: "2026-12-24", WithinDays: &five, WithinDaysOfFastest: &day, WithinPercentOfCheapest: &half, Only: target}, Otherwise: "refuse"},
		{Name: "d", Disabled: true, Then: routing.Action{Split: []routing.Share{{Target: target[0], Percent: 60}, {Target: target[1], Percent: 40}}}, Guard: routing.Guard{None: true}},
		{Name: "e", When: `order.insuredValue >= 500`, Then: routing.Action{Require: &routing.Requirement{Signature: "adult"}}},
		{Name: "f", When: `order.signature == "adult" && destination.company != ""`, Then: routing.Action{Forbid: target}},
	} {
		f := ruleFormOf(r)
		got, wrong := f.rule()
		if len(wrong) > 0 {
			t.Errorf("%s: %+v", r.Name, wrong)
		}
		if d := routing.Compare(routing.Book{Rules: []routing.Rule{r}}, routing.Book{Rules: []routing.Rule{got}}); len(d) > 0 {
			t.Errorf("%s became %+v", r.Name, d)
		}
		if _, ok := routing.ReadSimple(r.When); ok != f.Builder {
			t.Errorf("%s: in the builder %v", r.Name, f.Builder)
		}
	}
}

func TestEveryVariableAndTestHasWords(t *testing.T) {
	t.Parallel()
	for _, v := range routing.Variables() {
		if variableWords[v.Name] == "" && len(v.Tests()) > 0 {
			t.Errorf("%s has no words", v.Name)
		}
		for _, test := range v.Tests() {
			if testWord(v, test) == "" {
				t.Errorf("%s: %s has no words", v.Name, test)
			}
		}
	}
}
