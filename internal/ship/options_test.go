package ship

import (
	"slices"
	"testing"
	"time"
)

func TestExtrasAreWhatOrdinaryServicesMayNotDo(t *testing.T) {
	for _, ordinary := range []Options{
		{},
		{Signature: "standard", SaturdayDelivery: true},
		{Signature: "adult", InsuredValue: Money{Minor: 1, Currency: "USD"}},
	} {
		if got := ordinary.Extras(); got != nil {
			t.Errorf("%+v asks for %v", ordinary, got)
		}
	}

	all := Options{
		Signature:              "direct",
		ServicePoint:           "U12345678",
		HoldAtLocation:         true,
		ReturnServiceRequested: true,
		DryIce:                 DryIce{Weight: 1},
		Alcohol:                true,
		LithiumBatteries:       LithiumBatteries{Type: "ion", Packed: "alone"},
		COD:                    COD{Amount: Money{Minor: 1, Currency: "USD"}},
		CarbonNeutral:          true,
	}
	got := all.Extras()
	all.Signature = "indirect"
	got = append(got, all.Extras()...)
	for _, extra := range AllExtras() {
		if !slices.Contains(got, extra) {
			t.Errorf("no option asks for %s", extra)
		}
		if extra.Pointer() == "" || extra.String() == string(extra) {
			t.Errorf("%s has no pointer or no words", extra)
		}
	}
}

func TestOptionsAreCheckedAndWeighed(t *testing.T) {
	normalize := func(change func(*Order)) (Order, error) {
		order := Order{
			OrderID:     "1",
			Destination: Address{Name: "Ada", Address1: "500 Main St", City: "Austin", State: "TX", Zip: "78701", Country: "US"},
			Parcels:     []Parcel{{Weight: 3, WeightUnit: Kilogram}},
		}
		change(&order)
		return order.Normalize(Normalizing{Account: Account{Units: DefaultUnits}, Now: time.Now()})
	}

	order, err := normalize(func(o *Order) {
		o.Options = Options{
			DryIce: DryIce{Weight: 1.5},
			COD:    COD{Amount: Money{Minor: 100, Currency: "USD"}},
		}
	})
	if err != nil || order.Options.DryIce.WeightGrams != 1500 || order.Options.COD.Method != "any" {
		t.Errorf("%+v, %v", order.Options, err)
	}

	for pointer, change := range map[string]func(*Order){
		"/options/signature":               func(o *Order) { o.Options.Signature = "child" },
		"/destination/servicePoint":        func(o *Order) { o.Options.ServicePoint = string(make([]byte, 60)) },
		"/options/dryIce/weight":           func(o *Order) { o.Options.DryIce.Weight = 4 },
		"/options/lithiumBatteries/type":   func(o *Order) { o.Options.LithiumBatteries = LithiumBatteries{Type: "acid", Packed: "alone"} },
		"/options/lithiumBatteries/packed": func(o *Order) { o.Options.LithiumBatteries = LithiumBatteries{Type: "ion"} },
		"/options/cod/method":              func(o *Order) { o.Options.COD = COD{Amount: Money{Minor: 1, Currency: "USD"}, Method: "barter"} },
		"/options/cod/amount":              func(o *Order) { o.Options.COD = COD{Method: "cash"} },
	} {
		_, err := normalize(change)
		fields := ErrorOf(err).Fields
		if len(fields) != 1 || fields[0].Pointer != pointer {
			t.Errorf("%s: %+v", pointer, fields)
		}
	}
}
