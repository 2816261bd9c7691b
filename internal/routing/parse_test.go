package routing

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/ship"
)

const fullBook = `{
  "rules": [
    {"name": "Alaska and Hawaii by USPS", "when": "destination.state in ['AK', 'HI']", "then": {"prefer": [{"carrier": "usps"}], "tolerancePercent": 15, "toleranceAmount": "1.50"}},
    {"name": "No DHL inside the country", "when": "!order.international", "then": {"forbid": [{"carrier": "dhl_express"}]}},
    {"name": "Valuable goods need an adult", "when": "order.insuredValue >= 500", "then": {"require": {"signature": "adult"}}},
    {"name": "Heavy", "when": "parcel.weightKg > 20", "then": {"use": [{"carrier": "ups", "service": "ground"}, {"carrier": "fedex", "connectionId": "con_1"}]}, "guard": {"extraPercent": 25, "extraAmount": "5.00", "extraDays": 1}, "otherwise": "refuse"},
    {"name": "Shared", "then": {"split": [{"carrier": "ups", "percent": 70}, {"carrier": "fedex", "service": "ground", "percent": 30}]}, "guard": {"none": true}, "disabled": true},
    {"name": "Fast", "then": {"choose": "fastest", "by": "2026-12-24", "withinDays": 0, "withinDaysOfFastest": 1, "withinPercentOfCheapest": 12.5, "only": [{"carrier": "ups"}]}, "otherwise": "next"}
  ],
  "default": {"choose": "cheapest"}
}`

func TestABookReadsTheSameAfterItWasWritten(t *testing.T) {
	t.Parallel()
	b, err := ParseBook([]byte(fullBook))
	if err != nil {
		t.Fatal(fieldsIn(err))
	}
	if _, err := Compile(b); err != nil {
		t.Fatal(fieldsIn(err))
	}
	written, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseBook(written)
	if err != nil || !reflect.DeepEqual(b, again) {
		t.Errorf("%v\n%+v\n%+v", err, b, again)
	}
	var first, second any
	if json.Unmarshal([]byte(fullBook), &first) != nil || json.Unmarshal(written, &second) != nil || !reflect.DeepEqual(first, second) {
		t.Errorf("the book is written as %s", written)
	}
}

func TestTargetsSayWhereTheyAreNamed(t *testing.T) {
	t.Parallel()
	b, err := ParseBook([]byte(fullBook))
	if err != nil {
		t.Fatal(err)
	}
	want := []NamedTarget{
		{Target{Carrier: "usps"}, "/rules/0/then/prefer/0"},
		{Target{Carrier: "dhl_express"}, "/rules/1/then/forbid/0"},
		{Target{Carrier: "ups", Service: "ground"}, "/rules/3/then/use/0"},
		{Target{Carrier: "fedex", ConnectionID: "con_1"}, "/rules/3/then/use/1"},
		{Target{Carrier: "ups"}, "/rules/4/then/split/0"},
		{Target{Carrier: "fedex", Service: "ground"}, "/rules/4/then/split/1"},
		{Target{Carrier: "ups"}, "/rules/5/then/only/0"},
	}
	if got := b.Targets(); !reflect.DeepEqual(got, want) {
		t.Errorf("targets = %+v", got)
	}
}

func TestABookIsReadStrictly(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ book, pointer, code, suggestion string }{
		{`{"rule": []}`, "/rule", "unknown_field", "rules"},
		{`{"rules": [{"nmae": "x"}]}`, "/rules/0/nmae", "unknown_field", "name"},
		{`{"rules": [{"name": "x", "Name": "y"}]}`, "/rules/0/Name", "unknown_field", "name"},
		{`{"rules": [{"name": "x", "then": {"chose": "cheapest"}}]}`, "/rules/0/then/chose", "unknown_field", "choose"},
		{`{"rules": [{"name": "x", "then": {"use": [{"carier": "ups"}]}}]}`, "/rules/0/then/use/0/carier", "unknown_field", "carrier"},
		{`{"rules": [{"name": "x", "then": {"split": [{"carrier": "ups", "percents": 70}]}}]}`, "/rules/0/then/split/0/percents", "unknown_field", "percent"},
		{`{"rules": [{"name": "x", "guard": {"extraPercents": 70}}]}`, "/rules/0/guard/extraPercents", "unknown_field", "extraPercent"},
		{`{"rules": [], "a/b~": 1}`, "/a~1b~0", "unknown_field", ""},
		{`{"rules": [{"name": "x", "name": "y"}]}`, "/rules/0/name", "duplicate", ""},
		{`{"rules": [{"name": 5}]}`, "/rules/0/name", "invalid", ""},
		{`{"rules": [{"when": null}]}`, "/rules/0/when", "invalid", ""},
		{`{"rules": [{"then": {"withinDays": 1.5}}]}`, "/rules/0/then/withinDays", "invalid", ""},
		{`{"rules": {}}`, "/rules", "invalid", ""},
		{`{"rules": [[]]}`, "/rules/0", "invalid", ""},
		{`[]`, "", "invalid", ""},
		{`{"rules": [}`, "", "invalid", ""},
		{``, "", "invalid", ""},
		{`{"rules": []} {}`, "", "invalid", ""},
		{`{"rules": ["` + strings.Repeat("x", MaxBook) + `"]}`, "", "too_long", ""},
	} {
		_, err := ParseBook([]byte(tc.book))
		fields := fieldsIn(err)
		if ship.KindOf(err) != ship.Invalid || len(fields) != 1 || fields[0].Pointer != tc.pointer || fields[0].Code != tc.code || fields[0].Suggestion != tc.suggestion || fields[0].Detail == "" {
			t.Errorf("%.80s: %+v", tc.book, fields)
		}
	}
}

func TestWrongBooksAreRefusedWithPointers(t *testing.T) {
	t.Parallel()
	rule := func(rest string) string { return `{"rules": [{"name": "x", ` + rest + `}]}` }
	for _, tc := range []struct{ book, pointer, code, suggestion string }{
		{`{"rules": [{"then": {"choose": "cheapest"}}]}`, "/rules/0/name", "required", ""},
		{`{"rules": [{"name": "` + strings.Repeat("ü", 101) + `", "then": {"choose": "cheapest"}}]}`, "/rules/0/name", "too_long", ""},
		{`{"rules": [{"name": "a\u0007", "then": {"choose": "cheapest"}}]}`, "/rules/0/name", "invalid", ""},
		{`{"rules": [{"name": "a", "then": {"choose": "cheapest"}}, {"name": "a", "then": {"choose": "fastest"}}]}`, "/rules/1/name", "duplicate", ""},
		{rule(`"when": "parcel.wieghtKg > 5", "then": {"choose": "cheapest"}`), "/rules/0/when", "invalid_condition", "parcel.weightKg"},
		{rule(`"then": {}`), "/rules/0/then", "invalid", ""},
		{rule(`"when": "true"`), "/rules/0/then", "invalid", ""},
		{rule(`"then": {"choose": "cheapest", "use": [{"carrier": "ups"}]}`), "/rules/0/then", "invalid", ""},
		{rule(`"then": {"choose": "cheepest"}`), "/rules/0/then/choose", "not_allowed", "cheapest"},
		{rule(`"then": {"choose": "cheapest", "by": "24.12.2026"}`), "/rules/0/then/by", "invalid", ""},
		{rule(`"then": {"choose": "cheapest", "withinDays": -1}`), "/rules/0/then/withinDays", "invalid", ""},
		{rule(`"then": {"choose": "cheapest", "tolerancePercent": 5}`), "/rules/0/then/tolerancePercent", "not_allowed", ""},
		{rule(`"then": {"use": [{"carrier": "ups"}], "withinDays": 3}`), "/rules/0/then/withinDays", "not_allowed", ""},
		{rule(`"then": {"use": []}`), "/rules/0/then/use", "required", ""},
		{rule(`"then": {"use": [{"service": "ground"}]}`), "/rules/0/then/use/0/carrier", "required", ""},
		{rule(`"then": {"use": [` + strings.Repeat(`{"carrier": "ups"},`, 50) + `{"carrier": "ups"}]}`), "/rules/0/then/use", "too_long", ""},
		{rule(`"then": {"prefer": [{"carrier": "ups"}]}`), "/rules/0/then", "required", "tolerancePercent"},
		{rule(`"then": {"prefer": [{"carrier": "ups"}], "toleranceAmount": "$1"}`), "/rules/0/then/toleranceAmount", "invalid", ""},
		{rule(`"then": {"prefer": [{"carrier": "ups"}], "tolerancePercent": 12.345}`), "/rules/0/then/tolerancePercent", "invalid", "12.35"},
		{rule(`"then": {"split": [{"carrier": "ups", "percent": 70}, {"carrier": "fedex", "percent": 20}]}`), "/rules/0/then/split", "invalid", ""},
		{rule(`"then": {"split": [{"carrier": "ups", "percent": 100}, {"carrier": "fedex", "percent": 0}]}`), "/rules/0/then/split/1/percent", "invalid", ""},
		{rule(`"then": {"require": {"signature": "adutl"}}`), "/rules/0/then/require/signature", "not_allowed", "adult"},
		{rule(`"then": {"require": {"signature": ""}}`), "/rules/0/then/require/signature", "not_allowed", ""},
		{rule(`"when": "cheapest.amount > 50", "then": {"require": {"signature": "adult"}}`), "/rules/0/when", "invalid_condition", ""},
		{rule(`"then": {"forbid": [{"carrier": "ups"}]}, "otherwise": "refuse"`), "/rules/0/otherwise", "not_allowed", ""},
		{rule(`"then": {"forbid": [{"carrier": "ups"}]}, "guard": {"none": true}`), "/rules/0/guard", "not_allowed", ""},
		{rule(`"then": {"choose": "cheapest"}, "guard": {"none": true, "extraDays": 1}`), "/rules/0/guard/none", "not_allowed", ""},
		{rule(`"then": {"choose": "cheapest"}, "guard": {"extraPercent": -5}`), "/rules/0/guard/extraPercent", "invalid", ""},
		{rule(`"then": {"choose": "cheapest"}, "otherwise": "refuze"`), "/rules/0/otherwise", "not_allowed", "refuse"},
		{rule(`"then": {"choose": "cheepest"}, "disabled": true`), "/rules/0/then/choose", "not_allowed", "cheapest"},
		{`{"rules": [], "default": {"forbid": [{"carrier": "ups"}]}}`, "/default", "invalid", ""},
		{`{"rules": [], "default": {"withinDays": 3}}`, "/default", "invalid", ""},
		{`{"rules": [` + strings.Repeat(`{"name":"x"},`, 500) + `{"name":"x"}]}`, "/rules", "too_long", ""},
	} {
		b, err := ParseBook([]byte(tc.book))
		if err != nil {
			t.Errorf("%.80s cannot be read: %+v", tc.book, fieldsIn(err))
			continue
		}
		_, err = Compile(b)
		fields := fieldsIn(err)
		if ship.CodeOf(err) != "validation_failed" || len(fields) != 1 || fields[0].Pointer != tc.pointer || fields[0].Code != tc.code || fields[0].Suggestion != tc.suggestion || fields[0].Detail == "" {
			t.Errorf("%.120s: %+v", tc.book, fields)
		}
	}
}

func TestAllThatIsWrongWithABookIsToldAtOnce(t *testing.T) {
	t.Parallel()
	b := Book{Rules: make([]Rule, 100)}
	_, err := Compile(b)
	if n := len(fieldsIn(err)); n != maxErrors {
		t.Errorf("%d errors, want %d", n, maxErrors)
	}
	b = Book{Rules: []Rule{{Name: "a", When: "1 ==", Then: Action{Choose: "x"}, Otherwise: "y"}}}
	_, err = Compile(b)
	if n := len(fieldsIn(err)); n != 3 {
		t.Errorf("%+v", fieldsIn(err))
	}
}
