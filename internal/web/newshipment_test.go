package web

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/parts"
)

func addressForm() url.Values {
	return form("once", parts.NewPurchaseKey(), "country", "US", "name", "Ada Lovelace", "address1", "500 Main St", "city", "Austin", "state", "Texas", "zip", "78701",
		"weight", "2.5", "weightUnit", "lb", "lengthUnit", "in", "order", "1001")
}

func TestRatesComeFromEachCarrierByItself(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	list := b.send(member.Shipper, b.home+"/shipments/rates", addressForm(), "HX-Request", "true").Body.String()
	ask := regexp.MustCompile(`hx-post="([^"]*/test/shipments/rates\?[^"]*)"`).FindAllStringSubmatch(list, -1)
	if len(ask) < 4 || !strings.Contains(list, "Let the rules choose") {
		t.Fatalf("%d are asked: %s", len(ask), list)
	}
	offers := 0
	for _, a := range ask {
		path := strings.ReplaceAll(a[1], "&amp;", "&")
		w := b.send(member.Shipper, path, addressForm(), "HX-Request", "true")
		offers += strings.Count(w.Body.String(), `class="offer"`)
		if w.Code != http.StatusOK || strings.Contains(path, "rules=") != strings.Contains(w.Body.String(), "data-chosen=") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	if offers < 8 {
		t.Errorf("%d offers in all", offers)
	}
}

func TestTheRulesChooseWhereNoRateIsChosen(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	f := addressForm()
	f.Set("then", "print")
	w := b.send(member.Shipper, b.home+"/shipments", f)
	if w.Code != http.StatusSeeOther || !strings.HasSuffix(w.Header().Get("Location"), "/print?next=new") {
		t.Fatalf("%d %s", w.Code, w.Header().Get("Location"))
	}
	again := b.send(member.Shipper, b.home+"/shipments", f)
	if again.Header().Get("Location") != w.Header().Get("Location") {
		t.Error("a second click buys a second label")
	}
}

func TestTheCountryMakesTheFields(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	f := addressForm()
	for country, want := range map[string][]string{
		"US": {">\n\t\t\tState", "ZIP code", `id="customs" class="card" hidden`}, "DE": {"Postal code", `id="customs" class="card" hx-swap-oob`}, "GB": {"Town or city"}, "JP": {"Prefecture", "Tokyo"},
	} {
		f.Set("country", country)
		w := b.send(member.Shipper, b.home+"/shipments/fields?part=country", f, "HX-Request", "true")
		for _, text := range want {
			if !strings.Contains(w.Body.String(), strings.TrimLeft(text, ">\n\t")) {
				t.Errorf("%s: no %q in %s", country, text, w.Body)
			}
		}
		if w.Header().Get("HX-Trigger-After-Swap") != "filled" {
			t.Errorf("%s: the rates stay as they were", country)
		}
	}
}

func TestAParcelAbroadIsDeclared(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	f := addressForm()
	for name, value := range map[string]string{
		"country": "DE", "state": "", "zip": "10969", "city": "Berlin", "contents": "gift", "item.0.description": "Cotton shirt", "item.0.quantity": "2", "item.0.value": "12,50", "item.0.hsCode": "610910", "item.0.originCountry": "Portugal",
		"item.1.description": "", "item.1.quantity": "1",
	} {
		f.Set(name, value)
	}
	w := b.send(member.Shipper, b.home+"/shipments", f)
	at := w.Header().Get("Location")
	if w.Code != http.StatusSeeOther {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	id, _ := ship.ParseShipmentID(strings.TrimSuffix(at[strings.LastIndexByte(at, '/')+1:], "?done=created"))
	sh, err := b.web.Shipping.Shipment(t.Context(), ship.Tenant{Account: b.owner.ID}, id)
	b.must(err)
	c := sh.Order.Customs
	if c == nil || c.ContentsType != "gift" || len(c.Items) != 1 || c.Items[0].Value != (ship.Money{Minor: 1250, Currency: "USD"}) || c.Items[0].OriginCountry != "PT" || c.Items[0].Quantity != 2 {
		t.Errorf("declared: %+v", c)
	}
	f.Set("item.0.originCountry", "Nowhere")
	page := b.send(member.Shipper, b.home+"/shipments/rates", f, "HX-Request", "true").Body.String()
	if !strings.Contains(page, `data-wrong="item.0.originCountry"`) {
		t.Errorf("a country that is none: %s", page)
	}
}

// TestATerritoryIsDeclared: the United States has a customs border with some of
// their own territories.
func TestATerritoryIsDeclared(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	typed := addressForm()
	for name, value := range map[string]string{
		"state": "VI", "zip": "00802", "city": "Charlotte Amalie", "contents": "gift", "item.0.description": "Cotton shirt", "item.0.quantity": "2", "item.0.value": "12.50",
	} {
		typed.Set(name, value)
	}
	w := b.send(member.Shipper, b.home+"/shipments", typed)
	if w.Code != http.StatusSeeOther {
		t.Fatalf("%d %s", w.Code, w.Body)
	}

	address := w.Header().Get("Location")
	id, _ := ship.ParseShipmentID(strings.TrimSuffix(address[strings.LastIndexByte(address, '/')+1:], "?done=created"))
	shipment, err := b.web.Shipping.Shipment(t.Context(), ship.Tenant{Account: b.owner.ID}, id)
	b.must(err)
	if declared := shipment.Order.Customs; declared == nil || len(declared.Items) != 1 {
		t.Errorf("declared: %+v", declared)
	}
}

func TestABoxFillsTheSides(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if w := b.send(member.Shipper, b.home+"/boxes", form("name", "Shoe box", "length", "33", "width", "19.5", "height", "12", "unit", "cm")); w.Code != http.StatusSeeOther {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	list, err := b.web.Account.Boxes(t.Context(), ship.Tenant{Account: b.owner.ID})
	b.must(err)
	f := addressForm()
	f.Set("box", string(list[0].ID))
	part := b.send(member.Shipper, b.home+"/shipments/fields?part=box", f, "HX-Request", "true").Body.String()
	for _, want := range []string{`value="33"`, `value="19.5"`, `value="12"`, `value="cm" selected`, `value="2.5"`} {
		if !strings.Contains(part, want) {
			t.Errorf("no %s in %s", want, part)
		}
	}
	if w := b.send(member.Shipper, b.home+"/boxes", form("name", "x", "length", "0", "width", "1", "height", "1", "unit", "cm")); w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), "Must be greater than 0.") {
		t.Errorf("a flat box: %d", w.Code)
	}
}
