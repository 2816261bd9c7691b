package routing_test

import (
	"reflect"
	"testing"

	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/ship"
)

func TestStepsSayWhatBecameOfEachRule(t *testing.T) {
	t.Parallel()
	one := func(name, when string, then routing.Action) routing.Rule {
		return routing.Rule{Name: name, When: when, Then: then}
	}
	only := func(carrier string) []routing.Target { return []routing.Target{{Carrier: carrier}} }
	book, err := routing.Compile(routing.Book{Rules: []routing.Rule{
		one("sign", "order.isReturn", routing.Action{Require: &routing.Requirement{Signature: "adult"}}),
		one("sign again", "order.isReturn", routing.Action{Require: &routing.Requirement{Signature: "standard"}}),
		one("sign abroad", "order.international", routing.Action{Require: &routing.Requirement{Signature: "adult"}}),
		one("no fedex", "", routing.Action{Forbid: only("fedex")}),
		one("number", "int(destination.zip) > 5", routing.Action{Choose: "fastest"}),
		one("far", "destination.country == \"CA\"", routing.Action{Choose: "fastest"}),
		one("dhl", "", routing.Action{Use: only("dhl_express")}),
		one("ups", "", routing.Action{Use: only("ups")}),
		one("behind", "", routing.Action{Choose: "cheapest"}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	in := routing.Input{Currency: "USD", Order: ship.Order{IsReturn: true, ShipDate: "2026-11-16", Origin: ship.Address{Country: "US"}, Destination: ship.Address{Country: "US", Zip: "K1A 0B1"}}}
	rates := []ship.Rate{{Carrier: "ups", Service: "ground", Price: ship.Money{Minor: 900, Currency: "USD"}}, {Carrier: "fedex", Service: "ground", Price: ship.Money{Minor: 800, Currency: "USD"}}}
	in = book.Prepare(in)
	want := []routing.Step{
		{Rule: "sign", Outcome: routing.StepRequired},
		{Rule: "sign again", Outcome: routing.StepRequired},
		{Rule: "sign abroad", Outcome: routing.StepNotMet},
		{Rule: "no fedex", Outcome: routing.StepForbade},
		{Rule: "number", Outcome: routing.StepFailed},
		{Rule: "far", Outcome: routing.StepNotMet},
		{Rule: "dhl", Outcome: routing.StepMissed},
		{Rule: "ups", Outcome: routing.StepChose},
	}
	if got := book.Steps(in, rates); !reflect.DeepEqual(got, want) {
		t.Errorf("steps are %+v", got)
	}
	if d := book.Decide(in, rates); d.Routing.Rule != "ups" {
		t.Errorf("%s decides", d.Routing.Rule)
	}
}
