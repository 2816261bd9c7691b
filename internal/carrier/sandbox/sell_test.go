package sandbox_test

import (
	"bytes"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/sandbox"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/ship"
)

// Numbers are recognized as their carrier's, whatever the reference, service
// and piece.
func TestNumbersHaveValidCheckDigits(t *testing.T) {
	length := map[string]int{"ups": 18, "usps": 22, "fedex": 12, "dhl_express": 10}
	for _, spec := range sandbox.Specs() {
		c := open(t, spec.Name)
		rates, err := c.Rates(t.Context(), order())
		if err != nil {
			t.Fatal(err)
		}
		for i := range 10_000 {
			b := buyOrder(spec.Name)
			b.Reference = "S" + strconv.FormatInt(int64(i)*7919, 32)
			b.Service = rates[i%len(rates)].Service
			p, err := c.Buy(t.Context(), b)
			if err != nil {
				t.Fatal(err)
			}
			if len(p.TrackingNumber) != length[spec.Name] || !slices.Contains(ship.DetectCarriers(p.TrackingNumber), spec.Name) {
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
		b.Order.Parcels = append(b.Order.Parcels, b.Order.Parcels[0])
		for i := range 50_000 {
			b.Reference = "S" + strconv.Itoa(i)
			p, err := c.Buy(t.Context(), b)
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range p.Pieces {
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
	b.Order.Customs = &ship.Customs{ContentsType: "merchandise"}
	if p, err = open(t, "dhl_express").Buy(t.Context(), b); err != nil || len(p.Warnings) != 0 {
		t.Errorf("with customs: warnings %v, %v", p.Warnings, err)
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
