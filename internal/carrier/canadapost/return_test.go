package canadapost_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/ship"
)

// returnOrder brings the domestic order back.
func returnOrder() carrier.BuyOrder {
	b := domesticOrder()
	b.Order.Origin, b.Order.Destination = b.Order.Destination, b.Order.Origin
	b.Order.IsReturn = true
	return b
}

func TestReturnLabels(t *testing.T) {
	t.Parallel()
	server := newStandIn(t)
	post := openWith(t, credentials, newSchemas(t).Checked(carriertest.Server(t, server)))
	rates, err := post.Rates(t.Context(), returnOrder().Order)
	if err != nil {
		t.Fatal(err)
	}
	if len(rates) != 4 || slices.ContainsFunc(rates, func(r ship.Rate) bool { return r.Service == "xpresspost_certified" }) {
		t.Errorf("the rates are %+v", rates)
	}

	for format, want := range map[string]string{"": "pdf", "zpl": "zpl"} {
		order := returnOrder()
		order.Order.LabelFormat = format
		bought, err := post.Buy(t.Context(), order)
		if err != nil {
			t.Fatal(err)
		}
		if bought.Label.Format != want || !bought.Price.IsZero() || bought.CarrierRef != "authorizedreturn/"+bought.TrackingNumber {
			t.Errorf("bought %+v", bought)
		}
		updates, err := post.Track(t.Context(), []string{bought.TrackingNumber})
		if err != nil || len(updates) == 0 {
			t.Errorf("%+v, %v", updates, err)
		}

		_, err = post.Void(t.Context(), ship.Purchase{CarrierRef: bought.CarrierRef, TrackingNumber: bought.TrackingNumber})
		if ship.KindOf(err) != ship.Invalid || !strings.Contains(err.Error(), "not charged") {
			t.Errorf("a void: %v", err)
		}
	}
}

// TestALostReturnLabelIsForAPerson: Canada Post has no list of them.
func TestALostReturnLabelIsForAPerson(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"reset", "500", "truncate"} {
		server := newStandIn(t)
		if err := server.Turn(emulator.Faults{Buy: map[string]float64{fault: 1}}); err != nil {
			t.Fatal(err)
		}
		post := openWith(t, credentials, carriertest.Server(t, server))
		if _, err := post.Buy(t.Context(), returnOrder()); ship.KindOf(err) != ship.Uncertain {
			t.Errorf("%s: %v, want uncertain", fault, err)
		}
		if _, err := post.Find(t.Context(), returnOrder()); ship.KindOf(err) != ship.Unavailable {
			t.Errorf("%s: a look-up: %v, want unavailable", fault, err)
		}
	}
}

func TestReturnsThatCanadaPostDoesNotTake(t *testing.T) {
	t.Parallel()
	post := openWith(t, credentials, carriertest.Server(t, newStandIn(t)))
	for pointer, change := range map[string]func(*carrier.BuyOrder){
		"/service":                func(b *carrier.BuyOrder) { b.Service = "xpresspost_certified" },
		"/options/signature":      func(b *carrier.BuyOrder) { b.Order.Options.Signature = "standard" },
		"/options/insuredValue":   func(b *carrier.BuyOrder) { b.Order.Options.InsuredValue = ship.Money{Minor: 100, Currency: "CAD"} },
		"/options/holdAtLocation": func(b *carrier.BuyOrder) { b.Order.Options.HoldAtLocation = true },
		"/destination/address1":   func(b *carrier.BuyOrder) { b.Order.Destination.Address1 = "" },
	} {
		order := returnOrder()
		change(&order)
		_, err := post.Buy(t.Context(), order)
		if !slices.ContainsFunc(ship.ErrorOf(err).Fields, func(f ship.FieldError) bool { return f.Pointer == pointer }) {
			t.Errorf("%s: %v %+v", pointer, err, ship.ErrorOf(err).Fields)
		}
	}
}
