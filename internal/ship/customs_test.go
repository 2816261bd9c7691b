package ship

import (
	"errors"
	"slices"
	"testing"
	"time"
)

// declaredOrder is a valid order with one declared item.
func declaredOrder() Order {
	return Order{
		OrderID:     "1001",
		Origin:      sampleOrigin,
		Destination: Address{Name: "Jan Jansen", Address1: "Damrak 1", City: "Amsterdam", Zip: "1012 LG", Country: "NL", Type: "consumer"},
		Parcels:     []Parcel{{Weight: 1, WeightUnit: "lb"}},
		Customs: &Customs{
			ContentsType: "merchandise",
			Items: []CustomsItem{{
				Description: "Cotton shirt",
				Quantity:    1,
				Value:       Money{Minor: 2000, Currency: "USD"},
				SKU:         " SHIRT-M ",
				ProductIdentifiers: []ProductIdentifier{
					{Type: "gtin", Number: "4006381333931"},
				},
			}},
			TaxIdentifiers: []TaxIdentifier{{Type: "ioss", Number: " IM2760000742", Country: "nl"}},
			TaxIDs:         []string{"12-3456789"},
			Paperless:      "auto",
		},
	}
}

func TestTaxAndProductIdentifiersAreNormalized(t *testing.T) {
	t.Parallel()
	order, err := declaredOrder().Normalize(Normalizing{Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}

	want := []TaxIdentifier{
		{Type: "ioss", Number: "IM2760000742", Country: "NL", Party: "sender"},
		{Type: "other", Number: "12-3456789", Party: "sender"},
	}
	if got := order.Customs.TaxNumbers(); !slices.Equal(got, want) {
		t.Errorf("TaxNumbers = %+v, want %+v", got, want)
	}
	if got := order.Customs.Items[0].SKU; got != "SHIRT-M" {
		t.Errorf("SKU = %q, want it trimmed", got)
	}
	if none := (*Customs)(nil).TaxNumbers(); none != nil {
		t.Errorf("no declaration has tax numbers %v", none)
	}
}

func TestWrongIdentifiersAreNamedByTheirPointers(t *testing.T) {
	t.Parallel()
	order := declaredOrder()
	order.Destination.Type = "person"
	order.Customs.Paperless = "yes"
	order.Customs.TaxIdentifiers = []TaxIdentifier{
		{Type: "eorii", Number: "X"},
		{Type: "vat", Number: "", Country: "ZZ", Party: "buyer"},
	}
	order.Customs.Items[0].ProductIdentifiers = []ProductIdentifier{
		{Type: "gtin"},
		{Type: "none", Number: "1"},
		{Type: "barcode", Number: "1"},
	}

	_, err := order.Normalize(Normalizing{Now: time.Now()})
	invalid, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("err = %v, want an Error with fields", err)
	}

	var pointers []string
	for _, f := range invalid.Fields {
		pointers = append(pointers, f.Pointer)
	}
	for _, want := range []string{
		"/destination/type",
		"/customs/paperless",
		"/customs/taxIdentifiers/0/type",
		"/customs/taxIdentifiers/1/number",
		"/customs/taxIdentifiers/1/country",
		"/customs/taxIdentifiers/1/party",
		"/customs/items/0/productIdentifiers/0/number",
		"/customs/items/0/productIdentifiers/1/number",
		"/customs/items/0/productIdentifiers/2/type",
	} {
		if !slices.Contains(pointers, want) {
			t.Errorf("no error at %s; there are %v", want, pointers)
		}
	}
}

func TestWeightInConvertsOnlyFromAnotherUnit(t *testing.T) {
	t.Parallel()
	item := CustomsItem{Weight: 0.333, WeightGrams: Pound.Grams(0.333)}
	if got := item.WeightIn(Pound); got != 0.333 {
		t.Errorf("in pounds %v, want 0.333", got)
	}
	if got := item.WeightIn(Gram); got != 152 {
		t.Errorf("in grams %v, want 152", got)
	}
	if got := (CustomsItem{}).WeightIn(Kilogram); got != 0 {
		t.Errorf("no weight is %v kg", got)
	}
}
