package customs_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/waybillhq/waybill/internal/customs"
	"github.com/waybillhq/waybill/internal/ship"
)

// declared returns an order that nobody objects to.
func declared() ship.Order {
	return ship.Order{
		ShipDate:    "2026-11-17",
		Origin:      ship.Address{Country: "US"},
		Destination: ship.Address{Country: "DE", Type: "consumer"},
		Parcels:     []ship.Parcel{{WeightGrams: 1000}},
		Customs: &ship.Customs{
			ContentsType: "merchandise",
			Incoterm:     "DDP",
			Items: []ship.CustomsItem{{
				Description:        "Men's cotton shirts",
				Quantity:           2,
				Value:              ship.Money{Minor: 2000, Currency: "USD"},
				WeightGrams:        400,
				HSCode:             "6105.10",
				OriginCountry:      "PT",
				ProductIdentifiers: []ship.ProductIdentifier{{Type: "none"}},
			}},
		},
	}
}

func TestEachMistakeIsFoundAtItsField(t *testing.T) {
	t.Parallel()
	item := func(change func(*ship.CustomsItem)) func(*ship.Order) {
		return func(o *ship.Order) { change(&o.Customs.Items[0]) }
	}
	for name, tc := range map[string]struct {
		change        func(*ship.Order)
		pointer, code string
	}{
		"no HS code":                   {item(func(i *ship.CustomsItem) { i.HSCode = "" }), "/customs/items/0/hsCode", "required"},
		"a short HS code":              {item(func(i *ship.CustomsItem) { i.HSCode = "6105" }), "/customs/items/0/hsCode", "invalid"},
		"a chapter that is not in use": {item(func(i *ship.CustomsItem) { i.HSCode = "771000" }), "/customs/items/0/hsCode", "invalid"},
		"an HS code with letters":      {item(func(i *ship.CustomsItem) { i.HSCode = "61O510" }), "/customs/items/0/hsCode", "invalid"},
		"a vague description":          {item(func(i *ship.CustomsItem) { i.Description = "Gift - personal items" }), "/customs/items/0/description", "vague"},
		"no country of origin":         {item(func(i *ship.CustomsItem) { i.OriginCountry = "" }), "/customs/items/0/originCountry", "required"},
		"wine":                         {item(func(i *ship.CustomsItem) { i.HSCode = "2204.21" }), "/customs/items/0/hsCode", "restricted"},
		"no value":                     {item(func(i *ship.CustomsItem) { i.Value.Minor = 0 }), "/customs/items/0/value", "invalid"},
		"no product identifier":        {item(func(i *ship.CustomsItem) { i.ProductIdentifiers = nil }), "/customs/items/0/productIdentifiers", "required"},
		"items heavier than parcels":   {item(func(i *ship.CustomsItem) { i.Quantity = 3 }), "/customs/items", "weight_mismatch"},
		"insured above the value": {
			func(o *ship.Order) { o.Options.InsuredValue = ship.Money{Minor: 4001, Currency: "USD"} }, "/options/insuredValue", "value_mismatch",
		},
		"two currencies": {func(o *ship.Order) {
			other := o.Customs.Items[0]
			other.Value.Currency = "EUR"
			other.WeightGrams = 0
			o.Customs.Items = append(o.Customs.Items, other)
		}, "/customs/items", "currency_mismatch"},
		"nobody pays the duties": {func(o *ship.Order) { o.Customs.Incoterm = "" }, "/customs/incoterm", "required"},
		"Brazil without a CPF":   {func(o *ship.Order) { o.Destination.Country = "BR" }, "/customs/taxIdentifiers", "required"},
	} {
		order := declared()
		tc.change(&order)
		found := customs.Check(order)
		if len(found) != 1 || found[0].Pointer != tc.pointer || found[0].Code != tc.code || found[0].Detail == "" {
			t.Errorf("%s: %+v, want %s at %s", name, found, tc.code, tc.pointer)
		}
	}
}

func TestNobodyObjectsToACompleteDeclaration(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*ship.Order){
		"as it is":                       func(*ship.Order) {},
		"no declaration":                 func(o *ship.Order) { o.Customs = nil },
		"documents":                      func(o *ship.Order) { o.Customs.ContentsType = "documents"; o.Customs.Items[0].HSCode = "" },
		"a business needs no identifier": func(o *ship.Order) { o.Destination.Type = "business"; o.Customs.Items[0].ProductIdentifiers = nil },
		"before the day of the rule":     func(o *ship.Order) { o.ShipDate = "2026-10-31"; o.Customs.Items[0].ProductIdentifiers = nil },
		"within the EU":                  func(o *ship.Order) { o.Origin.Country = "FR"; o.Customs.Items[0].ProductIdentifiers = nil },
		"free of duties at the time": func(o *ship.Order) {
			o.ShipDate = "2025-08-28"
			o.Destination.Country = "US"
			o.Origin.Country = "CA"
			o.Customs.Incoterm = ""
		},
		"Brazil with a CPF": func(o *ship.Order) {
			o.Destination.Country = "BR"
			o.Customs.TaxIdentifiers = []ship.TaxIdentifier{{Type: "cpf", Number: "1", Party: "recipient"}}
		},
	} {
		order := declared()
		change(&order)
		if found := customs.Check(order); len(found) > 0 {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

func TestDutiesAreDueFromTheDayOfTheRule(t *testing.T) {
	t.Parallel()
	order := declared()
	order.Origin.Country = "CA"
	order.Destination.Country = "US"
	order.Customs.Incoterm = ""
	for day, want := range map[ship.Date]int{"2025-08-28": 0, "2025-08-29": 1} {
		order.ShipDate = day
		if found := customs.Check(order); len(found) != want {
			t.Errorf("on %s: %+v, want %d findings", day, found, want)
		}
	}
}

// Whatever a client declares, the check ends, and names fields of the order.
func TestAnyDeclarationIsChecked(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		order := declared()
		n := rapid.IntRange(1, 5).Draw(t, "items")
		order.Customs.Items = slices.Repeat(order.Customs.Items, n)
		for i := range order.Customs.Items {
			item := &order.Customs.Items[i]
			item.Description = rapid.String().Draw(t, "description")
			item.HSCode = rapid.StringMatching(`[0-9. a-z]{0,12}`).Draw(t, "code")
			item.Quantity = rapid.IntRange(1, 1000).Draw(t, "quantity")
		}
		order.Destination.Country = rapid.SampledFrom([]string{"US", "DE", "BR", "KR", "CN", "GB"}).Draw(t, "country")
		for _, finding := range customs.Check(order) {
			if finding.Pointer == "" || finding.Code == "" || finding.Detail == "" {
				t.Fatalf("%+v is not whole", finding)
			}
		}
	})
}
