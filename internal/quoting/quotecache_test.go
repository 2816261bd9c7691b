package quoting_test

import (
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/quoting"
	"github.com/waybillhq/waybill/internal/ship"
)

func (b bench) quote(t *testing.T, change func(*ship.Order)) (quoting.Quotes, error) {
	t.Helper()
	order := b.order()
	if change != nil {
		change(&order)
	}
	return b.Quote(t.Context(), quoting.Input{Tenant: b.tenant, Account: b.account, Order: order, OneParcel: true})
}

func TestTheSameQuestionIsAnsweredFromMemoryIfTheOperatorAllowsIt(t *testing.T) {
	t.Parallel()
	b := newBench(t, quoting.Config{QuoteLife: time.Minute})
	first, err := b.quote(t, nil)
	if err != nil || first.Rates[0].Source != "" {
		t.Fatalf("quoted %+v, %v", first, err)
	}
	b.turn(t, emulator.Faults{Down: 1})
	for what, change := range map[string]func(*ship.Order){
		"the same":                      nil,
		"another street":                func(o *ship.Order) { o.Destination.Name, o.Destination.Address1 = "Grace", "30 Rockefeller Plaza" },
		"as heavy, as carriers see it":  func(o *ship.Order) { o.Parcels[0].Weight = 2.6 },
		"as large, as carriers see it ": func(o *ship.Order) { o.Parcels[0].Dimensions.Length = 9.9 },
	} {
		again, err := b.quote(t, change)
		if err != nil || again.Rates[0].Source != "cache" || again.Rates[0].Price != first.Rates[0].Price || again.Rates[0].Connection != b.carrier.Connection {
			t.Errorf("%s: %+v, %v", what, again.Rates, err)
		}
	}
	for what, change := range map[string]func(*ship.Order){
		"heavier":      func(o *ship.Order) { o.Parcels[0].Weight = 3.1 },
		"larger":       func(o *ship.Order) { o.Parcels[0].Dimensions.Height = 5 },
		"another city": func(o *ship.Order) { o.Destination.Zip = "10001" },
		"signed for":   func(o *ship.Order) { o.Options.Signature = "adult" },
	} {
		if _, err := b.quote(t, change); ship.KindOf(err) != ship.Unavailable {
			t.Errorf("%s: answered without asking: %v", what, err)
		}
	}
	if _, err := b.offers(t); ship.KindOf(err) != ship.Unavailable {
		t.Errorf("a purchase was decided from memory: %v", err)
	}
}

func TestWithoutASettingTheCarrierIsAskedEveryTime(t *testing.T) {
	t.Parallel()
	b := newBench(t, quoting.Config{})
	if _, err := b.quote(t, nil); err != nil {
		t.Fatal(err)
	}
	b.turn(t, emulator.Faults{Down: 1})
	if _, err := b.quote(t, nil); ship.KindOf(err) != ship.Unavailable {
		t.Errorf("answered without asking: %v", err)
	}
}

func TestAFormSharesTheQuotesOfTheLastMinutes(t *testing.T) {
	t.Parallel()
	b := newBench(t, quoting.Config{}) // the operator set no cache
	quote := quoting.Input{Tenant: b.tenant, Account: b.account, Order: b.order(), OneParcel: true, Recent: true}
	if _, err := b.Quote(t.Context(), quote); err != nil {
		t.Fatal(err)
	}

	b.turn(t, emulator.Faults{Down: 1})
	if got, err := b.Quote(t.Context(), quote); err != nil || got.Rates[0].Source != "cache" {
		t.Errorf("the same form: %+v, %v", got, err)
	}
	try := quoting.DryRunInput{Tenant: b.tenant, Account: b.account, Order: b.order(), OneParcel: true, Recent: true}
	if _, err := b.Offer(t.Context(), try); err != nil {
		t.Errorf("what the rules choose: %v", err)
	}

	quote.Recent, try.Recent = false, false
	if _, err := b.Quote(t.Context(), quote); ship.KindOf(err) != ship.Unavailable {
		t.Errorf("a program was answered from memory: %v", err)
	}
	if _, err := b.Offer(t.Context(), try); ship.KindOf(err) != ship.Unavailable {
		t.Errorf("a program's choice was made from memory: %v", err)
	}
	if _, err := b.offers(t); ship.KindOf(err) != ship.Unavailable {
		t.Errorf("a purchase was decided from memory: %v", err)
	}
}
