package sandbox_test

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier/all"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/sandbox"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/ship"
)

// Numbers are recognized as their carrier's, whatever the reference, service
// and piece.
func TestNumbersHaveValidCheckDigits(t *testing.T) {
	length := map[string]int{"ups": 18, "usps": 22, "fedex": 12, "dhl_express": 10, "royal_mail": 13, "postnl": 15, "canada_post": 16, "dhl_parcel_de": 20, "gls": 12, "amazon_shipping": 15}
	for _, spec := range sandbox.Specs() {
		c := open(t, spec.Name)
		rates, err := c.Rates(t.Context(), orderFor(spec))
		if err != nil {
			t.Fatal(err)
		}
		for i := range 10_000 {
			b := buyOrder(spec.Name)
			b.Order = orderFor(spec)
			b.Reference = "S" + strconv.FormatInt(int64(i)*7919, 32)
			b.Service = rates[i%len(rates)].Service
			p, err := c.Buy(t.Context(), b)
			if err != nil {
				t.Fatal(err)
			}
			if len(p.TrackingNumber) != length[spec.Name] || !slices.Contains(carrier.Detect(all.Specs, p.TrackingNumber), spec.Name) {
				t.Fatalf("%s: %s is not a number of this carrier", spec.Name, p.TrackingNumber)
			}
		}
	}
}

// The formats with room enough give no number twice in a hundred thousand.
func TestNumbersDifferBetweenReferences(t *testing.T) {
	for _, name := range []string{"ups", "usps"} {
		c := open(t, name)
		seen := map[string]bool{}
		b := buyOrder(name)
		count := 100_000
		if name == "ups" { // USPS sells only single parcels
			b.Order.Parcels = append(b.Order.Parcels, b.Order.Parcels[0])
			count /= 2
		}
		for i := range count {
			b.Reference = "S" + strconv.Itoa(i)
			p, err := c.Buy(t.Context(), b)
			if err != nil {
				t.Fatal(err)
			}
			numbers := p.Pieces
			if len(numbers) == 0 {
				numbers = []string{p.TrackingNumber}
			}
			for _, n := range numbers {
				if seen[n] {
					t.Fatalf("%s: %s twice", name, n)
				}
				seen[n] = true
			}
		}
	}
}

func TestAPurchaseIsAFunctionOfItsOrder(t *testing.T) {
	for _, name := range sandbox.Names {
		c := open(t, name)
		b := buyOrder(name)
		b.Order.ShipDate = ""
		b.Shipment = ship.NewShipmentID(7, time.Now().AddDate(0, 0, -30))
		first, err := c.Buy(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		found, err := c.Find(t.Context(), b)
		if err != nil || !reflect.DeepEqual(first, found) {
			t.Errorf("%s: found %+v (%v), bought %+v", name, found, err, first)
		}
		if first.DeliveryAt.After(time.Now()) {
			t.Errorf("%s: delivery %v does not count from the shipment's own day", name, first.DeliveryAt)
		}
		rates, err := c.Rates(t.Context(), order())
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(rates, func(r ship.Rate) bool { return r.Service == b.Service })
		if rates[i].Price != first.Price {
			t.Errorf("%s: quoted %v, charged %v", name, rates[i].Price, first.Price)
		}
	}
}

func TestEachPieceHasItsNumberAndPage(t *testing.T) {
	b := buyOrder("ups")
	b.Order.Parcels = append(b.Order.Parcels, b.Order.Parcels[0], ship.Parcel{Weight: 1, WeightUnit: ship.Kilogram, WeightGrams: 1000})
	p, err := open(t, "ups").Buy(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := label.Parse(p.Label.Data)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Pieces) != 3 || p.TrackingNumber != p.Pieces[0] || len(doc.Pages) != 3 || !doc.Sample || p.Label.Format != "scene" {
		t.Fatalf("purchase %+v, label %+v", p, doc)
	}
	for i, page := range doc.Pages {
		if page.Tracking != p.Pieces[i] || page.Piece != i+1 || page.Pieces != 3 {
			t.Errorf("page %d: %+v", i, page)
		}
	}
	if got := doc.Pages[2].Weight; got != "1 kg" {
		t.Errorf("weight = %q", got)
	}
	if p, err = open(t, "ups").Buy(t.Context(), buyOrder("ups")); err != nil || p.Pieces != nil {
		t.Errorf("one parcel has pieces %v, %v", p.Pieces, err)
	}
}

func TestALabelCanBePrinted(t *testing.T) {
	for _, name := range sandbox.Names {
		p, err := open(t, name).Buy(t.Context(), buyOrder(name))
		if err != nil {
			t.Fatal(err)
		}
		doc, err := label.Parse(p.Label.Data)
		if err != nil {
			t.Fatal(err)
		}
		if page := doc.Pages[0]; page.To[0] != "Ada Lovelace" || page.To[len(page.To)-1] != "New York, NY 10118" || page.ShipDate != "2026-11-16" {
			t.Errorf("%s: page %+v", name, page)
		}
		if !bytes.Contains(p.Label.Data, []byte(p.TrackingNumber)) {
			t.Errorf("%s: the label lacks the number", name)
		}
	}
}

func TestAParcelAbroadWithoutCustomsIsSoldWithAWarning(t *testing.T) {
	b := buyOrder("dhl_express")
	b.Service = "express_worldwide"
	b.Order.Destination.Country, b.Order.Destination.State, b.Order.Destination.Zip = "GB", "", "SW1A 1AA"
	p, err := open(t, "dhl_express").Buy(t.Context(), b)
	if err != nil || len(p.Warnings) != 1 {
		t.Errorf("warnings %v, %v", p.Warnings, err)
	}
	if len(p.Documents) > 0 {
		t.Errorf("papers without customs: %v", p.Documents)
	}
	b.Order.Customs = &ship.Customs{ContentsType: "merchandise"}
	if p, err = open(t, "dhl_express").Buy(t.Context(), b); err != nil || len(p.Warnings) != 0 {
		t.Errorf("with customs: warnings %v, %v", p.Warnings, err)
	}
}

// TestCustomsBordersAreNotThoseOfCountries: the European Union has none inside,
// and some countries do.
func TestCustomsBordersAreNotThoseOfCountries(t *testing.T) {
	berlin := ship.Address{Name: "Ada Lovelace", Address1: "Lindenstr. 9", City: "Berlin", Zip: "10969", Country: "DE"}
	madrid := ship.Address{Name: "Ada Lovelace", Address1: "Calle Mayor 1", City: "Madrid", Zip: "28013", Country: "ES"}
	canaries := ship.Address{Name: "Ada Lovelace", Address1: "Calle Triana 1", City: "Las Palmas", Zip: "35002", Country: "ES"}

	for name, test := range map[string]struct {
		from, to ship.Address
		service  string
		declared bool
	}{
		"inside the European Union": {berlin, madrid, "express_worldwide", false},
		"to the Canary Islands":     {madrid, canaries, "express_domestic", true},
	} {
		b := buyOrder("dhl_express")
		b.Service = test.service
		b.Order.Origin = test.from
		b.Order.Destination = test.to
		sold, err := open(t, "dhl_express").Buy(t.Context(), b)
		if err != nil || (len(sold.Warnings) == 1) != test.declared {
			t.Errorf("%s, without customs: warnings %v, %v", name, sold.Warnings, err)
		}

		b.Order.Customs = &ship.Customs{ContentsType: "merchandise"}
		sold, err = open(t, "dhl_express").Buy(t.Context(), b)
		if err != nil || (len(sold.Documents) == 1) != test.declared {
			t.Errorf("%s, with customs: %d documents, %v", name, len(sold.Documents), err)
		}
	}
}

// everywhere is the pointer of a refusal of all four carriers.
func everywhere(pointer string) map[string]string {
	return map[string]string{"ups": pointer, "usps": pointer, "fedex": pointer, "dhl_express": pointer}
}

// TestTheSandboxRefusesWhatItsLiveCarrierRefuses compares with the limits that
// the live drivers have, field by field.
func TestTheSandboxRefusesWhatItsLiveCarrierRefuses(t *testing.T) {
	day := func(days int) ship.Date { return ship.DateOf(time.Now().AddDate(0, 0, days)) }
	to := func(country string) func(*ship.Order) {
		return func(o *ship.Order) {
			o.Destination.Country, o.Destination.State, o.Destination.Zip = country, "", ""
		}
	}
	for _, tc := range []struct {
		name    string
		change  func(*ship.Order)
		refused map[string]string // carrier to pointer
	}{
		{"two parcels", func(o *ship.Order) { o.Parcels = append(o.Parcels, o.Parcels[0]) }, map[string]string{"usps": "/parcels"}},
		{"in 2028", func(o *ship.Order) { o.ShipDate = "2028-01-10" }, map[string]string{"ups": "/shipDate", "usps": "/shipDate", "fedex": "/shipDate", "dhl_express": "/shipDate"}},
		{"in nine days", func(o *ship.Order) { o.ShipDate = day(9) }, map[string]string{"ups": "/shipDate"}},
		{"in forty days", func(o *ship.Order) { o.ShipDate = day(40) }, map[string]string{"ups": "/shipDate", "fedex": "/shipDate", "dhl_express": "/shipDate"}},
		{"to Iran", to("IR"), map[string]string{"ups": "/destination/country", "usps": "/destination/country", "fedex": "/destination/country", "dhl_express": "/destination/country"}},
		{"from Cuba", func(o *ship.Order) { o.Origin.Country, o.Origin.State = "CU", "" }, map[string]string{"ups": "/origin/country", "usps": "/origin/country", "fedex": "/origin/country", "dhl_express": "/origin/country"}},
		{"prepaid duties", func(o *ship.Order) { o.Customs = &ship.Customs{Incoterm: "DDP"} }, map[string]string{"usps": "/customs/incoterm"}},
		{"a heavy parcel", func(o *ship.Order) { o.Parcels[0].WeightGrams = 90_718 }, everywhere("/parcels/0/weight")},
		{"a long parcel", func(o *ship.Order) {
			o.Parcels[0].Dimensions = &ship.Dimensions{LengthMM: 7620, WidthMM: 100, HeightMM: 100}
		}, everywhere("/parcels/0/dimensions")},
		{"a box of nobody", func(o *ship.Order) { o.Parcels[0].Packaging = "medium_box_of_nobody" }, everywhere("/parcels/0/packaging")},
		{"insured in euros", func(o *ship.Order) { o.Options.InsuredValue = ship.Money{Minor: 5000, Currency: "EUR"} }, everywhere("/options/insuredValue/currency")},
		{"today", func(o *ship.Order) { o.ShipDate = day(0) }, nil},
	} {
		for _, name := range sandbox.Names {
			o := order()
			tc.change(&o)
			_, err := open(t, name).Rates(t.Context(), o)
			want := tc.refused[name]
			if want == "" {
				if err != nil {
					t.Errorf("%s: %s refuses: %v", tc.name, name, err)
				}
				continue
			}
			e, ok := errors.AsType[*ship.Error](err)
			if !ok || e.Kind != ship.Invalid || len(e.Fields) != 1 || e.Fields[0].Pointer != want || e.Fields[0].Detail == "" || e.Refusal.Code == "" {
				t.Errorf("%s: %s says %+v, want a refusal that points to %s", tc.name, name, err, want)
			}
		}
	}
}

// TestALabelAbroadIsWrittenForItsCountry: states by name, countries in full.
func TestALabelAbroadIsWrittenForItsCountry(t *testing.T) {
	b := buyOrder("ups")
	b.Service = "worldwide_saver"
	b.Order.Destination = ship.Address{Name: "Taro Yamada", Address1: "1-1 Chiyoda", City: "Chiyoda-ku", State: "13", Zip: "100-0001", Country: "JP"}
	b.Order.Customs = &ship.Customs{ContentsType: "merchandise", Items: []ship.CustomsItem{{
		Description: "Cotton shirt", Quantity: 2, Value: ship.Money{Minor: 2000, Currency: "USD"}, HSCode: "610910", OriginCountry: "US",
	}}}
	p, err := open(t, "ups").Buy(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := label.Parse(p.Label.Data)
	if err != nil {
		t.Fatal(err)
	}
	page := doc.Pages[0]
	if want := []string{"Taro Yamada", "1-1 Chiyoda", "Chiyoda-ku, Tokyo", "100-0001", "JAPAN"}; !slices.Equal(page.To, want) {
		t.Errorf("to %q, want %q", page.To, want)
	}
	if got := page.From[len(page.From)-1]; got != "UNITED STATES" || !strings.HasPrefix(page.Routing, "JP 100") {
		t.Errorf("from %q, routing %q", page.From, page.Routing)
	}
	if len(p.Documents) != 1 || p.Documents[0].Type != "commercial_invoice" {
		t.Fatalf("papers %+v", p.Documents)
	}
	invoice, err := label.ParseInvoice(p.Documents[0].Data)
	if err != nil || invoice.Total != "40.00 USD" || len(invoice.Items) != 1 || invoice.Number != b.Order.OrderID {
		t.Errorf("invoice %+v, %v", invoice, err)
	}
}

func BenchmarkQuoteAllFour(b *testing.B) {
	o := order()
	ctx := b.Context()
	var carriers []*carrier.Carrier
	for _, name := range sandbox.Names {
		carriers = append(carriers, open(b, name))
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, c := range carriers {
			if _, err := c.Rates(ctx, o); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkBuy(b *testing.B) {
	for _, name := range sandbox.Names {
		b.Run(name, func(b *testing.B) {
			c, in := open(b, name), buyOrder(name)
			ctx := b.Context()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Buy(ctx, in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
