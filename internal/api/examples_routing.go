package api

import (
	"encoding/json"
	"maps"
	"time"

	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/rulebook"
	"github.com/waybillhq/waybill/internal/sheet"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/wire"
)

// bookExample is a book with one rule of several kinds.
const bookExample = `{
	"rules": [
		{"name": "Adult signature for orders over $500", "when": "order.insuredValue >= 500", "then": {"require": {"signature": "adult"}}},
		{"name": "No DHL inside the country", "when": "!order.international", "then": {"forbid": [{"carrier": "dhl_express"}]}},
		{"name": "Alaska and Hawaii by USPS", "when": "destination.state in [\"AK\", \"HI\"]", "then": {"prefer": [{"carrier": "usps"}], "tolerancePercent": 15}},
		{"name": "Heavy parcels by UPS", "when": "parcel.weightKg > 20", "then": {"use": [{"carrier": "ups", "service": "ground"}, {"carrier": "fedex"}]}, "guard": {"extraPercent": 25}, "otherwise": "refuse"}
	],
	"default": {"choose": "cheapest", "withinDays": 5}
}`

// sheetExample is a small rate sheet.
const sheetExample = "[sheet]\nname,UPS contract 2026\ncurrency,USD\nweight unit,lb\n\n" +
	"[services]\nservice,name\nground,UPS Ground\n\n" +
	"[zones]\nzone,country,zip\n2,US,000-499\n3,US,500-999\n\n" +
	"[rates]\nservice,up to,zone 2,zone 3\nground,1,6.10,6.40\nground,10,7.90,8.80\nground,70,18.20,24.60\n"

// routingRequests are the request bodies that the document shows for the routes
// of rules and rate sheets.
func routingRequests() map[string]any {
	importBody, err := wire.Marshal(map[string]string{"carrier": "ups", "csv": sheetExample})
	if err != nil {
		panic("api: the example sheet: " + err.Error())
	}

	return map[string]any{
		"saveRoutingDraft": json.RawMessage(bookExample),
		"publishRouting":   json.RawMessage(`{"note": "Heavy parcels by UPS", "version": 2}`),
		"rollBackRouting":  json.RawMessage(`{"version": 1, "note": "The new rules cost more"}`),
		"tryRouting": json.RawMessage(`{
			"rules": "draft",
			"destination": {"name": "Ada Lovelace", "address1": "500 Main St", "city": "Austin", "state": "TX", "zip": "78701", "country": "US"},
			"parcel": {"weight": 50, "dimensions": {"length": 12, "width": 9, "height": 4}}
		}`),
		"simulateRouting": json.RawMessage(`{"rules": "draft", "last": 10000, "since": "2026-01-01T00:00:00Z"}`),
		"importRateSheet": json.RawMessage(importBody),
	}
}

// withRouting adds the examples of the rules and rate sheets.
func withRouting(examples map[string]any) map[string]any {
	maps.Copy(examples, routingRequests())
	return examples
}

// routingExample is the example of an answer about rules and rate sheets, nil
// if there is none.
func routingExample(id string) any {
	publishedAt := exampleShipment.Raw().Time()
	version, draft := versionExample(publishedAt)

	switch id {
	case "getRouting":
		return rulesState{Published: &version, Draft: &draft, Versions: 3}
	case "saveRoutingDraft":
		return draft
	case "publishRouting", "getRoutingVersion":
		return version
	case "rollBackRouting":
		version.Version = 4
		version.RestoredFrom = 1
		version.Note = "The new rules cost more"
		return version
	case "listRoutingVersions":
		return pageOf([]ruleSummary{{
			Version:     3,
			RuleCount:   4,
			Note:        version.Note,
			PublishedAt: version.PublishedAt,
		}}, true, "3")

	case "tryRouting":
		return triedExample()
	case "simulateRouting":
		return simulationExample()
	case "listRoutingVariables":
		return ruleVariables{
			Variables:   variablesOf(routing.Variables()[:2]),
			OfferFields: variablesOf(routing.OfferFields()[:1]),
		}

	case "importRateSheet", "getRateSheet":
		return sheetShownExample(publishedAt, id == "getRateSheet")
	case "listRateSheets":
		return pageOf([]sheetShown{sheetShownExample(publishedAt, false)}, false, "")
	}
	return nil
}

func versionExample(publishedAt time.Time) (ruleVersion, ruleDraft) {
	book, err := routing.ParseBook([]byte(bookExample))
	if err != nil {
		panic("api: the example rules: " + err.Error())
	}

	version, err := versionOf(rulebook.Version{
		RuleBook: store.RuleBook{Version: 3, Note: "Heavy parcels by UPS", WrittenAt: publishedAt},
		Rules:    book,
	})
	if err != nil {
		panic("api: the example version: " + err.Error())
	}

	draft := ruleDraft{
		BasedOn:  3,
		Book:     version.Book,
		SavedAt:  wire.Time(publishedAt.Add(time.Hour)),
		Warnings: []string{},
	}
	return version, draft
}

func triedExample() tried {
	usd := func(minor int64) ship.Money { return ship.Money{Minor: minor, Currency: "USD"} }
	ups := ship.Rate{Carrier: "ups", Service: "ground", Price: usd(3120), TransitDays: 3}
	fedex := ship.Rate{Carrier: "fedex", Service: "ground", Price: usd(2985), TransitDays: 3}
	dhl := ship.Rate{Carrier: "dhl_express", Service: "express_domestic", Price: usd(5410), TransitDays: 1}
	offers := wire.OffersOf([]ship.Rate{ups, fedex})

	return tried{
		Choice:   &offers[0],
		Offers:   offers,
		Warnings: []string{},
		Routing: wire.RoutingOf(ship.Routing{
			Strategy:   "rule",
			Rule:       "Heavy parcels by UPS",
			Also:       []string{"No DHL inside the country"},
			Why:        "ups ground comes first in the rule",
			Considered: 3,
			RunnerUp:   &fedex,
			Seen:       ship.Seen{fedex, ups, dhl},
			Dropped: []ship.Dropped{{
				Carrier: "dhl_express",
				Service: "express_domestic",
				Why:     "forbidden",
				Rule:    "No DHL inside the country",
			}},
		}),
	}
}

func simulationExample() Simulation {
	usd := func(minor int64) ship.Money { return ship.Money{Minor: minor, Currency: "USD"} }
	was := rulebook.Sum{Shipments: 960, Minor: 1_184_230, Days: 2790, Timed: 960}
	is := rulebook.Sum{Shipments: 960, Minor: 1_089_540, Days: 2880, Timed: 960}

	return SimulationOf(rulebook.Simulation{
		Shipments: 1000,
		Named:     40,
		Compared:  960,
		Changed:   1,
		Currency:  "USD",
		Was:       was,
		Is:        is,
		Carriers:  []rulebook.Part{{Name: "ups", Was: was, Is: is}},
		Zones:     []rulebook.Part{{Name: "US-TX", Was: was, Is: is}},
		Rules:     []rulebook.RuleCount{{Rule: "", Shipments: 900}, {Rule: "Heavy parcels by UPS", Shipments: 60}},
		Changes: []rulebook.Change{{
			Shipment: exampleShipment,
			OrderID:  "ORD-1001",
			Rule:     "Heavy parcels by UPS",
			Was:      ship.Rate{Carrier: "fedex", Service: "ground", Price: usd(3240), TransitDays: 3},
			Is:       ship.Rate{Carrier: "ups", Service: "ground", Price: usd(3120), TransitDays: 3},
		}},
	})
}

func sheetShownExample(importedAt time.Time, withText bool) sheetShown {
	parsed, err := sheet.Parse([]byte(sheetExample))
	if err != nil {
		panic("api: the example sheet: " + err.Error())
	}

	out := sheetOf(rulebook.Sheet{
		RateSheet: store.RateSheet{Name: "ups-2026", Version: 2, Carrier: "ups", AddedAt: importedAt},
		Parsed:    parsed,
	})
	if withText {
		out.CSV = sheetExample
	}
	return out
}
