package ship

import (
	"testing"
	"time"
)

func TestAReturnGoesBackWithTheSameGoods(t *testing.T) {
	t.Parallel()
	shop := Address{Name: "Shop", Address1: "1 Market Street", City: "San Francisco", State: "CA", Zip: "94105", Country: "US"}
	ada := Address{Name: "Ada", Address1: "Unter den Linden 1", City: "Berlin", Zip: "10117", Country: "DE", Email: "ada@example.com"}
	shipment := Shipment{
		ID: "shp_1",
		Order: Order{
			OrderID:     "ORD-1",
			Reference:   "REF",
			Origin:      shop,
			Destination: ada,
			Parcels:     []Parcel{{Weight: 2, WeightUnit: Pound, WeightGrams: 907}},
			ShipDate:    "2026-01-01",
			DeliverBy:   "2026-01-05",
			LabelFormat: "zpl",
			Options:     Options{Signature: "adult"},
			Billing:     &Billing{Type: "third_party", Account: "ABC123"},
			Metadata:    map[string]string{"shop": "7"},
			Customs: &Customs{
				ContentsType: "merchandise",
				Signer:       "Sam",
				TaxIDs:       []string{"123"},
				Items:        []CustomsItem{{Description: "Shirt", Quantity: 1, Weight: 2, WeightGrams: 907, Value: Money{Minor: 1000, Currency: "USD"}}},
				TaxIdentifiers: []TaxIdentifier{
					{Type: "ein", Number: "1"},
					{Type: "vat", Number: "2", Party: "recipient"},
					{Type: "ioss", Number: "3", Party: "sender"},
					{Type: "eori", Number: "4", Party: "importer"},
				},
			},
		},
	}

	back := shipment.ReturnOrder()
	if back.Origin != ada || back.Destination != shop {
		t.Errorf("the parcel goes from %+v to %+v", back.Origin, back.Destination)
	}
	if !back.IsReturn || back.ReturnOf != "shp_1" || back.OrderID != "ORD-1" || back.Reference != "REF" || back.LabelFormat != "zpl" || back.Metadata["shop"] != "7" {
		t.Errorf("the return is %+v", back)
	}
	if back.Billing != nil || back.Options != (Options{}) || back.ShipDate != "" || back.DeliverBy != "" {
		t.Errorf("what was agreed for the way there is still in %+v", back)
	}

	customs := back.Customs
	if customs.ContentsType != "returned_goods" || customs.Signer != "" || customs.TaxIDs != nil || customs.Items[0].Description != "Shirt" {
		t.Errorf("the declaration is %+v", customs)
	}
	want := []TaxIdentifier{{Type: "ein", Number: "1", Party: "recipient"}, {Type: "vat", Number: "2", Party: "sender"}}
	if len(customs.TaxIdentifiers) != 2 || customs.TaxIdentifiers[0] != want[0] || customs.TaxIdentifiers[1] != want[1] {
		t.Errorf("the tax identifiers are %+v, want %+v", customs.TaxIdentifiers, want)
	}

	// The declared weight stays the same in another unit, and the first order
	// is not touched.
	back.ReplaceParcels([]Parcel{{Weight: 1, WeightUnit: Kilogram}}, Units{Weight: Pound})
	if got := back.Customs.Items[0].Weight; Kilogram.Grams(got) != 907 {
		t.Errorf("an item of 907 g weighs %v kg", got)
	}
	if got := shipment.Order.Customs.Items[0].Weight; got != 2 {
		t.Errorf("the first shipment's item weighs %v now", got)
	}

	// It is an order like any other.
	account := Account{Units: Units{Weight: Pound, Length: Inch}}
	if _, err := back.Normalize(Normalizing{Account: account, OneParcel: true, Now: time.Now()}); err != nil {
		t.Error(err)
	}
}
