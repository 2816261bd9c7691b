package routing

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// A change makes the usual shipment another one.
type change func(*Input, *[]ship.Rate)

// An example is a rule as a shipping manager writes it, a shipment that it
// matches, one that it does not, and what the first of these goes by.
type example struct {
	name, when, then string
	matches, misses  change
	goes             string // carrier and service; the signature for require
}

// usual is two kilos from Reno to a company in Austin, on a Wednesday
// afternoon in March.
func usual() (Input, []ship.Rate) {
	in := Input{
		Account: "acct_1", Currency: "USD", Now: time.Date(2026, 3, 4, 15, 0, 0, 0, time.UTC),
		Order: ship.Order{
			OrderID: "A-1001", Reference: "PO 77", ShipDate: "2026-03-04",
			Origin:      ship.Address{City: "Reno", State: "NV", Zip: "89502", Country: "US"},
			Destination: ship.Address{Company: "Acme", City: "Austin", State: "TX", Zip: "78701", Country: "US"},
			Parcels:     []ship.Parcel{box(2, 30, 20, 10)},
		},
	}
	return in, []ship.Rate{
		rate("usps", "ground_advantage", 840, 5), rate("ups", "ground", 1020, 4), rate("fedex", "home", 1110, 3),
		rate("usps", "priority", 1160, 3), rate("fedex", "2day", 2150, 2), rate("ups", "next_day", 4800, 1), rate("dhl_express", "worldwide", 5500, 2),
	}
}

func rate(carrier, service string, cents int64, days int) ship.Rate {
	return ship.Rate{
		Carrier: carrier, Service: service, Connection: ship.ConnectionID("con_" + carrier), TransitDays: days, Guaranteed: days == 1,
		Price: ship.Money{Minor: cents, Currency: "USD"}, DeliveryAt: time.Date(2026, 3, 4+days, 20, 0, 0, 0, time.UTC),
	}
}

func box(kg, length, width, height float64) ship.Parcel {
	return ship.Parcel{WeightGrams: int64(kg * 1000), Dimensions: &ship.Dimensions{
		LengthMM: int64(length * 10), WidthMM: int64(width * 10), HeightMM: int64(height * 10),
	}}
}

func order(edit func(*ship.Order)) change { return func(in *Input, _ *[]ship.Rate) { edit(&in.Order) } }

var asUsual change = func(*Input, *[]ship.Rate) {}

func both(changes ...change) change {
	return func(in *Input, rates *[]ship.Rate) {
		for _, c := range changes {
			c(in, rates)
		}
	}
}

func to(country, state, city, zip string) change {
	return order(func(o *ship.Order) {
		o.Destination.Country, o.Destination.State, o.Destination.City, o.Destination.Zip = country, state, city, zip
	})
}

func from(country, state, city, zip string) change {
	return order(func(o *ship.Order) {
		o.Origin.Country, o.Origin.State, o.Origin.City, o.Origin.Zip = country, state, city, zip
	})
}

func fromLocation(name string) change {
	return order(func(o *ship.Order) { o.Location.Name = name })
}

func parcels(list ...ship.Parcel) change {
	return order(func(o *ship.Order) { o.Parcels = list })
}

func with(key, value string) change {
	return order(func(o *ship.Order) { o.Metadata = map[string]string{key: value} })
}

func now(s string) change {
	return func(in *Input, _ *[]ship.Rate) { in.Now, _ = time.Parse("2006-01-02 15:04", s) }
}

func shipped(day ship.Date) change { return order(func(o *ship.Order) { o.ShipDate = day }) }
func dueBy(day ship.Date) change   { return order(func(o *ship.Order) { o.DeliverBy = day }) }
func signed(how string) change     { return order(func(o *ship.Order) { o.Options.Signature = how }) }
func id(s string) change           { return order(func(o *ship.Order) { o.OrderID = s }) }
func refers(s string) change       { return order(func(o *ship.Order) { o.Reference = s }) }
func company(s string) change      { return order(func(o *ship.Order) { o.Destination.Company = s }) }

func packed(in string) change { return order(func(o *ship.Order) { o.Parcels[0].Packaging = in }) }

func billed(whom string) change {
	return order(func(o *ship.Order) { o.Billing = &ship.Billing{Type: whom} })
}

func residential(yes bool) change {
	return order(func(o *ship.Order) { o.Destination.Residential = &yes })
}
func returned(o *Input, _ *[]ship.Rate) { o.Order.IsReturn = true }
func saturday(o *Input, _ *[]ship.Rate) { o.Order.Options.SaturdayDelivery = true }

func insured(minor int64, currency string) change {
	return order(func(o *ship.Order) { o.Options.InsuredValue = ship.Money{Minor: minor, Currency: currency} })
}

func declared(contents string, cents int64) change {
	return order(func(o *ship.Order) {
		o.Customs = &ship.Customs{ContentsType: contents, Items: []ship.CustomsItem{{Quantity: 2, Value: ship.Money{Minor: cents / 2, Currency: "USD"}}}}
	})
}

func offered(list ...ship.Rate) change {
	return func(_ *Input, rates *[]ship.Rate) { *rates = list }
}

func TestSixtyRulesOfShippingManagers(t *testing.T) {
	t.Parallel()
	examples := slices.Concat(placeExamples, parcelExamples, orderExamples, offerExamples)
	if len(examples) < 60 {
		t.Errorf("%d examples, under 60", len(examples))
	}
	seen := map[string]bool{}
	for _, e := range examples {
		if seen[e.name] || seen[e.when+e.then] {
			t.Errorf("%s is there twice", e.name)
		}
		seen[e.name], seen[e.when+e.then] = true, true
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			book := bookOf(t, `{"rules": [{"name": "`+e.name+`", "when": `+jsonText(e.when)+`, "then": `+e.then+`}]}`)
			in, rates := usual()
			e.matches(&in, &rates)
			if got := e.outcome(book, in, rates); got != e.goes {
				t.Errorf("the shipment that matches goes by %q, want %q", got, e.goes)
			}
			in, rates = usual()
			e.misses(&in, &rates)
			if got := e.outcome(book, in, rates); got != "" {
				t.Errorf("the shipment that does not match goes by %q by the rule", got)
			}
		})
	}
	everyVariable(t, examples)
}

// outcome is what the rule makes of the shipment: "" if it does not match.
func (e example) outcome(c *Compiled, in Input, rates []ship.Rate) string {
	in = c.Prepare(in)
	if slices.Contains(in.Required, e.name) {
		return in.Order.Options.Signature
	}
	d := c.Decide(in, rates)
	if d.Routing.Rule != e.name && !slices.Contains(d.Routing.Also, e.name) {
		return ""
	}
	if d.Refused != "" {
		return d.Refused
	}
	return d.Offers[0].Carrier + " " + d.Offers[0].Service
}

// everyVariable checks that the examples show every variable and action.
func everyVariable(t *testing.T, examples []example) {
	t.Helper()
	var all strings.Builder
	for _, e := range examples {
		all.WriteString(e.when + " " + e.then + "\n")
	}
	var names []string
	for _, v := range Variables() {
		names = append(names, v.Name)
	}
	for _, f := range OfferFields() {
		names = append(names, "q."+f.Name)
	}
	names = append(names, functions...)
	names = append(names, `"use"`, `"choose"`, `"prefer"`, `"split"`, `"forbid"`, `"require"`, `"by"`, `"withinDays"`, `"withinDaysOfFastest"`, `"withinPercentOfCheapest"`, `"only"`)
	for _, name := range names {
		if !strings.Contains(all.String(), name) {
			t.Errorf("no example shows %s", name)
		}
	}
}

func TestTheExamplesOfVariablesCompile(t *testing.T) {
	t.Parallel()
	for _, v := range slices.Concat(Variables(), OfferFields()) {
		if _, wrong := compileCondition(v.Example); wrong != nil {
			t.Errorf("%s: %s: %s", v.Name, v.Example, wrong)
		}
		if !strings.Contains(v.Example, v.Name) || v.Doc == "" || !strings.HasSuffix(v.Doc, ".") {
			t.Errorf("%s: the example %q or the doc %q is wrong", v.Name, v.Example, v.Doc)
		}
	}
}
