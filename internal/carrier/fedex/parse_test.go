package fedex

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

func TestMoneyIsReadAsItIsWritten(t *testing.T) {
	for _, c := range []struct {
		text, currency string
		want           ship.Money
		ok             bool
	}{
		{"38.54", "USD", ship.Money{Minor: 3854, Currency: "USD"}, true},
		{"0.1", "USD", ship.Money{Minor: 10, Currency: "USD"}, true},
		{"954.170", "USD", ship.Money{Minor: 95417, Currency: "USD"}, true},
		{"90071992547409.93", "USD", ship.Money{Minor: 9007199254740993, Currency: "USD"}, true}, // beyond a float
		{"12.345", "USD", ship.Money{Minor: 1235, Currency: "USD"}, true},
		{"12.344999", "USD", ship.Money{Minor: 1234, Currency: "USD"}, true},
		{"1250.0", "JYE", ship.Money{Minor: 1250, Currency: "JPY"}, true},
		{"1250.5", "JYE", ship.Money{Minor: 1251, Currency: "JPY"}, true},
		{"3.1415", "KUD", ship.Money{Minor: 3142, Currency: "KWD"}, true},
		{"1.2E2", "UKL", ship.Money{Minor: 12000, Currency: "GBP"}, true},
		{"17", "gbp ", ship.Money{Minor: 1700, Currency: "GBP"}, true},
		{"0", "USD", ship.Money{}, false},
		{"-3.50", "USD", ship.Money{}, false},
		{"", "USD", ship.Money{}, false},
		{"1e999999999", "USD", ship.Money{}, false},
		{"1/3", "", ship.Money{}, false},
		{"5", "", ship.Money{}, false},
	} {
		got, ok := ratedShipment{TotalNetCharge: json.Number(c.text), Currency: c.currency}.price()
		if ok != c.ok || ok && got != c.want {
			t.Errorf("%s %s = %v %v, want %v %v", c.text, c.currency, got, ok, c.want, c.ok)
		}
	}
}

func TestCurrenciesGoBothWays(t *testing.T) {
	for old, iso := range oldCurrencies {
		if got := fedexCurrency(iso); got != old {
			t.Errorf("%s is sent as %s, want %s", iso, got, old)
		}
		if got := isoCurrency(old); got != iso {
			t.Errorf("%s is read as %s, want %s", old, got, iso)
		}
		if got := isoCurrency(iso); got != iso {
			t.Errorf("%s is read as %s: FedEx sends new codes too", iso, got)
		}
	}
	if isoCurrency("EUR") != "EUR" || fedexCurrency("USD") != "USD" {
		t.Error("a currency with one code keeps it")
	}
}

func TestTimesWithoutAZoneAreKeptAsTheyAre(t *testing.T) {
	for text, want := range map[string]string{
		"2024-07-25T23:59:00":       "2024-07-25T23:59:00Z",
		"2024-07-25T10:30":          "2024-07-25T10:30:00Z",
		"2024-07-25":                "2024-07-25T23:59:00Z",
		"2024-04-24T16:05:00-07:00": "2024-04-24T16:05:00-07:00",
	} {
		if got, ok := parseTime(text); !ok || got.Format(time.RFC3339) != want {
			t.Errorf("%s = %v, want %s", text, got, want)
		}
	}
	for _, text := range []string{"", "THU", "10:30", "0000-00-00"} {
		if got, ok := parseTime(text); ok {
			t.Errorf("%q = %v, want none", text, got)
		}
	}
}

func TestWeightsAreRoundedUpOnceAlone(t *testing.T) {
	pounds, kilos := measure{"LB", "IN"}, measure{"KG", "CM"}
	for _, c := range []struct {
		weight float64
		unit   ship.WeightUnit
		m      measure
		want   string
	}{
		{2.5, ship.Pound, pounds, "2.50"},
		{5, ship.Pound, pounds, "5.00"}, // 2268 g would be 5.01 lb
		{4, ship.Ounce, pounds, "0.25"},
		{1, ship.Kilogram, pounds, "2.21"},
		{0.001, ship.Pound, pounds, "0.01"},
		{1.005, ship.Kilogram, kilos, "1.01"},
		{0.1, ship.Kilogram, kilos, "0.10"},
		{250, ship.Gram, kilos, "0.25"},
		{2.5, ship.Pound, kilos, "1.14"},
	} {
		p := ship.Parcel{Weight: c.weight, WeightUnit: c.unit, WeightGrams: c.unit.Grams(c.weight)}
		if got := c.m.weigh(hundredths(&p, c.m)); string(got.Value) != c.want || got.Units != c.m.weight {
			t.Errorf("%v %s = %v, want %s %s", c.weight, c.unit, got, c.want, c.m.weight)
		}
	}
	sides := &ship.Dimensions{Length: 10, Width: 8, Height: 4.2, Unit: ship.Inch, LengthMM: 254, WidthMM: 204, HeightMM: 107}
	if got := *pounds.size(sides); got != (dimensions{10, 8, 5, "IN"}) {
		t.Errorf("sides in inches = %+v", got)
	}
	if got := *kilos.size(sides); got != (dimensions{26, 21, 11, "CM"}) {
		t.Errorf("sides in centimetres = %+v", got)
	}
}

func TestDeclaredValueIsPartedToTheLastCent(t *testing.T) {
	o := ship.Order{Parcels: make([]ship.Parcel, 3), Options: ship.Options{InsuredValue: ship.Money{Minor: 10000, Currency: "GBP"}}}
	var bad problems
	list := declaredValues(&o, &bad)
	if len(bad) > 0 {
		t.Fatal(bad)
	}
	for i, want := range []json.Number{"33.34", "33.33", "33.33"} {
		if list[i].Amount != want || list[i].Currency != "UKL" {
			t.Errorf("parcel %d has %+v, want %s UKL", i, *list[i], want)
		}
	}
	o.Options.InsuredValue.Minor = 300_000_00
	if declaredValues(&o, &bad); ship.KindOf(bad.err()) != ship.Invalid {
		t.Errorf("six digits for a parcel: %v, want invalid", bad)
	}
}

func TestTooManyCallsWaitForTheWindow(t *testing.T) {
	now := time.Date(2026, 11, 16, 23, 59, 43, 0, time.UTC)
	limited := func(said string, after time.Duration) error {
		return withRetryAfter(&ship.Error{Kind: ship.Limited, RetryAfter: after, Refusal: ship.Refusal{Message: said}}, now)
	}
	for _, c := range []struct {
		err  error
		want time.Duration
	}{
		{limited("", 0), 7 * time.Second},
		{limited("your daily quota is exceeded", 0), 17 * time.Second},
		{limited("", 3*time.Second), 3 * time.Second},
	} {
		if got := c.err.(*ship.Error).RetryAfter; got != c.want {
			t.Errorf("wait %v, want %v", got, c.want)
		}
	}
	if withRetryAfter(nil, now) != nil {
		t.Error("no error became one")
	}
}

// TestLookUpCoversEveryDayUntilTodayAtTheSender: FedEx refuses a window that ends
// in the future or spans more than 30 days, and one that leaves a day out hides a
// purchase, which is then bought again.
func TestLookUpCoversEveryDayUntilTodayAtTheSender(t *testing.T) {
	now := time.Date(2026, 11, 16, 23, 0, 0, 0, time.UTC)
	from := func(country, state string) ship.Order {
		return ship.Order{Origin: ship.Address{Country: country, State: state}}
	}
	sentOn := func(order ship.Order, day ship.Date) ship.Order {
		order.ShipDate = day
		return order
	}
	late := ship.NewShipmentID(0, now.AddDate(0, 0, -5))
	for name, c := range map[string]struct {
		b    carrier.BuyOrder
		want window
	}{
		"nothing known":                  {carrier.BuyOrder{Order: from("US", "CA")}, window{"2026-11-13", "2026-11-16"}},
		"the shipment's time":            {carrier.BuyOrder{Order: from("US", "CA"), Shipment: late}, window{"2026-11-10", "2026-11-16"}},
		"already tomorrow in Tokyo":      {carrier.BuyOrder{Order: from("JP", ""), Shipment: late}, window{"2026-11-11", "2026-11-17"}},
		"sent today in Tokyo":            {carrier.BuyOrder{Order: sentOn(from("JP", ""), "2026-11-17")}, window{"2026-11-16", "2026-11-17"}},
		"the same day, later in the USA": {carrier.BuyOrder{Order: sentOn(from("US", "CA"), "2026-11-17")}, window{}},
		"a day gone by":                  {carrier.BuyOrder{Order: sentOn(from("DE", ""), "2026-11-14")}, window{"2026-11-13", "2026-11-17"}},
		"a day long gone by":             {carrier.BuyOrder{Order: sentOn(from("DE", ""), "2026-08-01")}, window{"2026-10-19", "2026-11-17"}},
	} {
		if got := searchWindow(&c.b, now); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestProofsAreAskedForOnDaysThatHaveBegunEverywhere(t *testing.T) {
	bought := time.Date(2026, 11, 1, 20, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		bought, now time.Time
		want        window
	}{
		"not known":          {time.Time{}, bought, window{}},
		"on the same day":    {bought, bought.Add(3 * time.Hour), window{}},
		"the next evening":   {bought, bought.Add(27 * time.Hour), window{"2026-10-30", "2026-11-02"}},
		"a quarter later":    {bought, bought.AddDate(0, 3, 0), window{"2026-10-30", "2026-11-15"}},
		"a purchase to come": {bought, bought.AddDate(0, -1, 0), window{}},
	} {
		if got := proofWindow(c.bought, c.now); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestCustomsLinesWithoutAWeightShareTheRest(t *testing.T) {
	o := ship.Order{
		Parcels: []ship.Parcel{{WeightGrams: 1000}},
		Customs: &ship.Customs{Items: []ship.CustomsItem{
			{Quantity: 2, WeightGrams: 200, Value: ship.Money{Minor: 1, Currency: "USD"}},
			{Quantity: 1, Value: ship.Money{Minor: 1, Currency: "USD"}},
			{Quantity: 9, Value: ship.Money{Minor: 1, Currency: "USD"}},
		}},
	}
	var bad problems
	list, total := commodities(&o, measure{"KG", "CM"}, &bad)
	if len(bad) > 0 || total.Minor != 12 {
		t.Fatal(total, bad)
	}
	for i, want := range []json.Number{"0.40", "0.30", "0.30"} {
		if list[i].Weight.Value != want {
			t.Errorf("line %d weighs %s, want %s", i, list[i].Weight.Value, want)
		}
	}
	o.Customs.Items[0].Quantity, o.Customs.Items[0].Value.Minor = 1_000_000, 1e13
	if commodities(&o, measure{"KG", "CM"}, &bad); ship.KindOf(bad.err()) != ship.Invalid {
		t.Errorf("a value that overflows: %v, want invalid", bad)
	}
}
