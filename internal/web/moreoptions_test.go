package web

import (
	"net/http"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
)

func TestMoreOptionsAreBoughtShownAndCopied(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sent := addressForm()
	for name, value := range map[string]string{
		"option.dryIce": "0.5", "option.batteries": "ion", "option.packed": "in_equipment",
		"option.cod": "80", "option.codCurrency": "USD", "option.codMethod": "any",
	} {
		sent.Set(name, value)
	}
	w := b.send(member.Shipper, b.home+"/shipments", sent)
	if w.Code != http.StatusSeeOther {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	sh := b.boughtBy(w.Header().Get("Location"))
	want := ship.Options{
		DryIce:           ship.DryIce{Weight: 0.5, WeightGrams: 227},
		LithiumBatteries: ship.LithiumBatteries{Type: "ion", Packed: "in_equipment"},
		COD:              ship.COD{Amount: ship.Money{Minor: 8000, Currency: "USD"}, Method: "any"},
	}
	if sh.Order.Options != want {
		t.Errorf("bought with %+v", sh.Order.Options)
	}

	page := b.send(member.Shipper, b.home+"/shipments/"+string(sh.ID), nil).Body.String()
	for _, text := range []string{"Dry ice in each parcel", "Lithium ion, inside the equipment", "$80.00, any way to pay"} {
		if !strings.Contains(page, text) {
			t.Errorf("the page does not have %q", text)
		}
	}
	again := formOn(t, b.send(member.Shipper, b.home+"/shipments/new?from="+string(sh.ID), nil).Body.String(), "new")
	for name := range sent {
		if strings.HasPrefix(name, "option.") && again.Get(name) == "" {
			t.Errorf("the copy has no %s", name)
		}
	}

	sent.Set("option.dryIce", "much")
	if w := b.send(member.Shipper, b.home+"/shipments", sent); w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), "More options") {
		t.Errorf("no number: %d", w.Code)
	}
}
