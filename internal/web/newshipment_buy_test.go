package web

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/web/parts"
)

// boughtBy reads the shipment that the response to a form redirects to.
func (b *bench) boughtBy(location string) ship.Shipment {
	b.Helper()
	path, _, _ := strings.Cut(location, "?")
	text := strings.TrimSuffix(path, "/print")
	id, ok := ship.ParseShipmentID(text[strings.LastIndexByte(text, '/')+1:])
	if !ok {
		b.Fatalf("%q leads to no shipment", location)
	}
	sh, err := b.web.Shipping.Shipment(b.Context(), ship.Tenant{Account: b.owner.ID}, id)
	b.must(err)
	return sh
}

// shipments counts the account's shipments of an order.
func (b *bench) shipments(order string) int {
	b.Helper()
	list, _, err := b.web.Shipping.Shipments(b.Context(), ship.Tenant{Account: b.owner.ID}, shipping.Filter{OrderID: order, Page: ship.Page{Limit: 100}})
	b.must(err)
	return len(list)
}

func TestAnOrderIsShippedAgainOnlyWhenThePersonSaysSo(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.send(member.Shipper, b.home+"/shipments", addressForm())
	if first.Code != http.StatusSeeOther {
		t.Fatalf("the first: %d %s", first.Code, first.Body)
	}
	earlier := b.boughtBy(first.Header().Get("Location"))

	again := addressForm()
	again.Set("address2", "Floor 7")
	w := b.send(member.Shipper, b.home+"/shipments", again)
	page := w.Body.String()
	if w.Code != http.StatusConflict || b.shipments("1001") != 1 {
		t.Fatalf("without a question: %d, %d shipments", w.Code, b.shipments("1001"))
	}
	for _, want := range []string{
		"was shipped", "by " + parts.CarrierTitle(earlier.Purchase.Carrier), earlier.Purchase.TrackingNumber, b.home + "/shipments/" + string(earlier.ID),
		`name="again"`, "Ship again", "Nothing was bought this time", `value="Floor 7"`, `value="2.5"`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the question does not have %q", want)
		}
	}

	confirmed := formOn(t, page, "new")
	confirmed.Set("again", string(earlier.ID))
	w = b.send(member.Shipper, b.home+"/shipments", confirmed)
	if w.Code != http.StatusSeeOther || b.shipments("1001") != 2 {
		t.Fatalf("confirmed: %d, %d shipments", w.Code, b.shipments("1001"))
	}

	// The question was about the first shipment; there is a second one now.
	confirmed.Set("once", parts.NewPurchaseKey())
	if w := b.send(member.Shipper, b.home+"/shipments", confirmed); w.Code != http.StatusConflict || b.shipments("1001") != 2 {
		t.Errorf("an old answer to a new question: %d, %d shipments", w.Code, b.shipments("1001"))
	}
}

func TestTwoPeopleWhoShipTheSameOrderBuyOneLabel(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	codes := make([]int, 6)
	var busy sync.WaitGroup
	for i := range codes {
		busy.Go(func() { codes[i] = b.send(member.Shipper, b.home+"/shipments", addressForm()).Code })
	}
	busy.Wait()
	if n := b.shipments("1001"); n != 1 {
		t.Errorf("%d labels for one order: %v", n, codes)
	}
}

func TestAVoidedOrFailedShipmentIsNoReasonToAsk(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.boughtBy(b.send(member.Shipper, b.home+"/shipments", addressForm()).Header().Get("Location"))
	if w := b.send(member.Shipper, b.home+"/shipments/"+string(first.ID)+"/void", url.Values{}); w.Code != http.StatusSeeOther {
		t.Fatalf("void: %d", w.Code)
	}
	if w := b.send(member.Shipper, b.home+"/shipments", addressForm()); w.Code != http.StatusSeeOther {
		t.Errorf("after a void: %d", w.Code)
	}
}

// abroadForm returns a shipment of two parcels to Germany with every field of
// the form filled in.
func abroadForm() url.Values {
	return form("once", parts.NewPurchaseKey(), "country", "DE", "name", "Konrad Zuse", "company", "Zuse KG", "address1", "Friedrichstr. 43", "city", "Berlin", "zip", "10969",
		"phone", "+49301234567", "email", "konrad@example.com", "recipientType", "consumer", "residential", "1",
		"weight", "2.5", "weightUnit", "kg", "length", "30", "width", "20", "height", "10", "lengthUnit", "cm",
		"parcel.1.weight", "4", "parcel.1.weightUnit", "lb", "parcel.1.length", "12", "parcel.1.width", "8", "parcel.1.height", "4", "parcel.1.lengthUnit", "in",
		"order", "2001", "reference", "PO 7", "signature", "adult", "insured", "120,50", "insuredCurrency", "USD",
		"contents", "merchandise", "incoterm", "DDP", "currency", "EUR", "invoice", "INV-1", "signer", "Dana",
		"item.0.description", "", "item.0.quantity", "1", "item.0.value", "", "item.0.hsCode", "", "item.0.originCountry", "",
		"item.1.description", "Cotton shirt", "item.1.quantity", "2", "item.1.value", "12,50", "item.1.weight", "0.4", "item.1.hsCode", "610910", "item.1.originCountry", "Portugal",
		"paperless", "off", "item.1.sku", "SH-1", "item.1.manufacturer", "Shirts Ltd", "item.1.product.0.type", "gtin", "item.1.product.0.number", "4006381333931",
		"item.2.product.0.type", "none", "item.2.product.0.number", "",
		"item.2.description", "Wooden toy", "item.2.quantity", "1", "item.2.value", "9", "item.2.hsCode", "950300", "item.2.originCountry", "US",
		"tax.0.type", "eori", "tax.0.number", "DE123456789012345", "tax.0.country", "Germany", "tax.0.party", "importer")
}

func TestAShipmentOfSeveralParcelsAbroadIsBoughtInTheDashboard(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.send(member.Shipper, b.home+"/shipments", abroadForm())
	if w.Code != http.StatusSeeOther {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	sh := b.boughtBy(w.Header().Get("Location"))

	o := sh.Order
	if len(o.Parcels) != 2 || o.Parcels[0].WeightGrams != 2500 || o.Parcels[1].WeightUnit != ship.Pound || o.Parcels[1].Dimensions.Length != 12 {
		t.Errorf("parcels: %+v", o.Parcels)
	}
	if o.Options.Signature != "adult" || o.Options.InsuredValue != (ship.Money{Minor: 12050, Currency: "USD"}) {
		t.Errorf("options: %+v", o.Options)
	}
	if o.Destination.Type != "consumer" || o.Destination.Residential == nil {
		t.Errorf("destination: %+v", o.Destination)
	}
	c := o.Customs
	if c == nil || c.Incoterm != "DDP" || c.InvoiceNumber != "INV-1" || len(c.Items) != 2 || c.Items[0].Value != (ship.Money{Minor: 1250, Currency: "EUR"}) ||
		c.Items[0].OriginCountry != "PT" || c.Items[0].HSCode != "610910" || c.Items[0].Weight != 0.4 {
		t.Fatalf("declared: %+v", c)
	}
	if len(c.TaxIdentifiers) != 1 || c.TaxIdentifiers[0] != (ship.TaxIdentifier{Type: "eori", Number: "DE123456789012345", Country: "DE", Party: "importer"}) {
		t.Errorf("tax identifiers: %+v", c.TaxIdentifiers)
	}
	if item := c.Items[0]; c.Paperless != "off" || item.SKU != "SH-1" || item.Manufacturer != "Shirts Ltd" ||
		!slices.Equal(item.ProductIdentifiers, []ship.ProductIdentifier{{Type: "gtin", Number: "4006381333931"}}) ||
		!slices.Equal(c.Items[1].ProductIdentifiers, []ship.ProductIdentifier{{Type: "none"}}) {
		t.Errorf("products: %+v", c)
	}
	if len(sh.Purchase.Pieces) != 2 {
		t.Fatalf("pieces: %v", sh.Purchase.Pieces)
	}

	page := b.send(member.Shipper, b.home+"/shipments/"+string(sh.ID), nil).Body.String()
	for _, want := range []string{
		"SKU SH-1", "GTIN (EAN, UPC) 4006381333931", "Declared goods", "Cotton shirt", "610910", "Portugal", "€34.00", "EORI", "DE123456789012345",
		`data-copy="` + sh.Purchase.Pieces[0] + `"`, `data-copy="` + sh.Purchase.Pieces[1] + `"`, "Adult signature", "$120.50",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the shipment's page does not show %q", want)
		}
	}
	if print := b.send(member.Shipper, b.home+"/shipments/"+string(sh.ID)+"/print", nil).Body.String(); strings.Count(print, `class="sheet"`) != 2 || strings.Contains(print, "<img") {
		t.Errorf("two parcels are not two sheets: %s", print)
	}

	// A copy keeps all of these fields.
	copied := formOn(t, b.send(member.Shipper, b.home+"/shipments/new?from="+string(sh.ID), nil).Body.String(), "new")
	for name, want := range map[string]string{
		"parcel.1.weight": "4", "parcel.1.weightUnit": "lb", "insured": "120.50", "insuredCurrency": "USD", "incoterm": "DDP", "currency": "EUR",
		"item.0.hsCode": "610910", "item.1.description": "Wooden toy", "tax.0.number": "DE123456789012345", "tax.0.party": "importer", "recipientType": "consumer",
		"paperless": "off", "item.0.sku": "SH-1", "item.0.manufacturer": "Shirts Ltd", "item.0.product.0.type": "gtin", "item.0.product.0.number": "4006381333931", "item.1.product.0.type": "none",
	} {
		if copied.Get(name) != want {
			t.Errorf("a copy has %s = %q, want %q", name, copied.Get(name), want)
		}
	}
}

func TestWhatIsWrongStandsAtItsFieldAndNothingTypedIsLost(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	f := abroadForm()
	f.Set("item.2.originCountry", "Nowhere")
	f.Set("parcel.1.weight", "0")
	f.Set("insured", "a lot")
	w := b.send(member.Shipper, b.home+"/shipments", f)
	page := w.Body.String()
	if w.Code != http.StatusUnprocessableEntity || !strings.Contains(page, "Nothing was bought.") {
		t.Fatalf("%d", w.Code)
	}
	if !strings.Contains(page, `id="f-insured-note"><span class="bad">Must be an amount such as 12.50.`) {
		t.Error("an amount that is none is not told at its field")
	}

	f.Set("insured", "120,50")
	f.Set("once", parts.NewPurchaseKey())
	page = b.send(member.Shipper, b.home+"/shipments", f).Body.String()
	for _, field := range []string{"f-item-2-originCountry-note", "f-parcel-1-weight-note"} {
		if !strings.Contains(strings.Join(strings.Fields(page), " "), `id="`+field+`"><span class="bad">`) && !strings.Contains(strings.Join(strings.Fields(page), " "), `id="`+field+`"> <span class="bad">`) {
			t.Errorf("nothing stands at %s", field)
		}
	}
	kept := formOn(t, page, "new")
	for name := range f {
		if name == "once" || name == "item.0.quantity" {
			continue
		}
		if kept.Get(name) != f.Get(name) {
			t.Errorf("%s was %q and is %q", name, f.Get(name), kept.Get(name))
		}
	}
	if b.shipments("2001") != 0 {
		t.Error("something was bought")
	}
}

func TestPartsOfTheFormGrowAndShrink(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	part := func(query string) string {
		return b.send(member.Shipper, b.home+"/shipments/fields?"+query, abroadForm(), "HX-Request", "true").Body.String()
	}
	for query, want := range map[string][2]string{
		"part=parcel":          {`name="parcel.2.weight"`, ""},
		"part=parcel&remove=0": {`value="4"`, `name="parcel.1.weight"`},
		"part=item":            {`name="item.3.description"`, ""},
		"part=item&remove=1":   {`value="Wooden toy"`, `value="Cotton shirt"`},
		"part=tax":             {`name="tax.1.number"`, ""},
		"part=tax&remove=0":    {"Add tax number", `name="tax.0.number"`},
	} {
		got := part(query)
		if !strings.Contains(got, want[0]) || want[1] != "" && strings.Contains(got, want[1]) {
			t.Errorf("%s: %s", query, got)
		}
	}
}

func TestPrintingLeadsToTheNextOrder(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	f := addressForm()
	f.Set("then", "print")
	at := b.send(member.Shipper, b.home+"/shipments", f).Header().Get("Location")
	sh := b.boughtBy(at)
	page := b.send(member.Shipper, at, nil).Body.String()
	next := b.home + "/shipments/new?last=" + string(sh.ID)
	if !strings.Contains(page, `data-next="`+next+`"`) || !strings.Contains(page, "Next order") {
		t.Fatalf("%s leads nowhere: %s", at, page)
	}
	form := b.send(member.Shipper, next, nil).Body.String()
	if !strings.Contains(form, "Label for order") || !strings.Contains(form, b.home+"/shipments/"+string(sh.ID)+`"`) || formOn(t, form, "new").Get("order") != "" {
		t.Error("the next form is not empty, or does not lead to the label")
	}
	if plain := b.send(member.Shipper, b.home+"/shipments/"+string(sh.ID)+"/print", nil).Body.String(); strings.Contains(plain, "data-next") {
		t.Error("a label that is printed again leads away")
	}
}

func TestAPDFMayBeShownInAFrame(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sh := b.buy(b.owner, "6001", people[0], 1)
	path := b.home + "/shipments/" + string(sh.ID) + "/label/label.pdf"
	w := b.send(member.Shipper, path, nil)
	if h := w.Header(); w.Code != http.StatusOK || h.Get("X-Frame-Options") != "SAMEORIGIN" || !strings.Contains(h.Get("Content-Security-Policy"), "frame-ancestors 'self'") {
		t.Errorf("a page of the dashboard may not show the file: %v", h)
	}
	if h := b.send(member.Shipper, b.home+"/shipments/"+string(sh.ID), nil).Header(); strings.Contains(h.Get("Content-Security-Policy"), "frame-src") {
		t.Error("a page without frames allows them")
	}
}
