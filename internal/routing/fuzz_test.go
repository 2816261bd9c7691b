package routing

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// shipments are inputs that differ in all that conditions read.
func shipments() []func() (Input, []ship.Rate) {
	edited := func(c change) func() (Input, []ship.Rate) {
		return func() (Input, []ship.Rate) {
			in, rates := usual()
			c(&in, &rates)
			return in, rates
		}
	}
	return []func() (Input, []ship.Rate){
		usual,
		func() (Input, []ship.Rate) { return Input{}, []ship.Rate{{}} },
		edited(both(to("GB", "", "London", "SW1A 1AA"), insured(70000, "EUR"), dueBy("2026-03-07"), with("tier", "gold"), declared("merchandise", 90000), returned)),
		edited(both(to("US", "AK", "Ünalaska", "99685"), parcels(box(25, 130, 50, 50), box(1, 10, 10, 10)), residential(true), company(""), now("2026-12-26 23:59"), shipped("2026-12-25"),
			offered(abroad(rate("canpar", "ground", 900, 0), "JPY"), rate("ups", "ground", 0, 1)))),
		edited(both(order(func(o *ship.Order) { o.Parcels = nil }), with("units", "12"), billed("recipient"), signed("adult"), saturday)),
	}
}

// failsOnlyByValues evaluates a condition for all shipments. It may fail only by
// one of their values, and is not met then.
func failsOnlyByValues(t *testing.T, when string, c *condition) {
	t.Helper()
	for i, shipment := range shipments() {
		in, rates := shipment()
		met, err := evaluate(c, in, rates)
		if err == nil {
			continue
		}
		if met {
			t.Errorf("%s: shipment %d: fails and is met", when, i)
		}
		for _, bad := range []string{"internal error", "no such overload", "no such attribute", "undeclared", "unexpected"} {
			if strings.Contains(err.Error(), bad) {
				t.Errorf("%s: shipment %d: %v", when, i, err)
			}
		}
	}
}

func FuzzCompile(f *testing.F) {
	for _, e := range slices.Concat(placeExamples, parcelExamples, orderExamples, offerExamples) {
		f.Add(e.when)
	}
	for _, when := range dear {
		f.Add(when)
	}
	for i, v := range Variables() {
		f.Add(fmt.Sprintf("%s || order.id == %q", v.Example, strings.Repeat("x", i)))
	}
	f.Fuzz(func(t *testing.T, when string) {
		start := time.Now()
		c, wrong := compileCondition(when)
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%q takes %v to compile", when, took)
		}
		if wrong != nil && (wrong.detail == "" || len(wrong.String()) > 600) {
			t.Errorf("%q: %q", when, wrong)
		}
		if c == nil {
			return
		}
		if c.cost > maxCost {
			t.Errorf("%q costs %d", when, c.cost)
		}
		start = time.Now()
		failsOnlyByValues(t, when, c)
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%q takes %v to test", when, took)
		}
	})
}

func FuzzParseBook(f *testing.F) {
	f.Add([]byte(fullBook))
	f.Add([]byte(`{"rules": [{"name": "x", "then": {"choose": "cheapest"}}]}`))
	f.Add([]byte(`{"rules":[[{"":null}]],"default":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := ParseBook(data)
		if err != nil {
			if ship.KindOf(err) != ship.Invalid || len(fieldsIn(err)) == 0 {
				t.Errorf("%q: %v", data, err)
			}
			return
		}
		c, err := Compile(b)
		if err != nil {
			return
		}
		in, rates := usual()
		if d := c.Decide(c.Prepare(in), rates); (d.Refused == "") == (len(d.Offers) == 0) {
			t.Errorf("%q: %+v", data, d)
		}
	})
}
