package ups

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/waybillhq/waybill/internal/ship"
)

func TestEstimatesAreWrittenAsTheGoldenFiles(t *testing.T) {
	order := foreign().Order
	order.Customs.Items[1].WeightGrams = 250
	body, err := newLandedRequest(order)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "duties", body)
}

func TestEstimatesThatUPSDoesNotMakeAreNotSent(t *testing.T) {
	for _, tc := range []struct {
		name    string
		change  func(*ship.Order)
		pointer string
	}{
		{"no customs", func(o *ship.Order) { o.Customs = nil }, "/customs/items"},
		{"no goods", func(o *ship.Order) { o.Customs.Items = nil }, "/customs/items"},
		{"too many goods", func(o *ship.Order) { o.Customs.Items = slices.Repeat(o.Customs.Items, 50) }, "/customs/items"},
		{"goods of two currencies", func(o *ship.Order) { o.Customs.Items[1].Value.Currency = "EUR" }, "/customs/items/1/value"},
		{"goods without a value", func(o *ship.Order) { o.Customs.Items[0].Value.Minor = 0 }, "/customs/items/0/value"},
		{"one country", func(o *ship.Order) { o.Destination.Country = "US" }, "/destination/country"},
	} {
		order := foreign().Order
		tc.change(&order)
		_, err := newLandedRequest(order)
		failure, ok := errors.AsType[*ship.Error](err)
		if !ok || failure.Kind != ship.Invalid || len(failure.Fields) != 1 || failure.Fields[0].Pointer != tc.pointer {
			t.Errorf("%s: %+v, want invalid %s", tc.name, err, tc.pointer)
		}
	}
}

// UPS's own sample, which spells some members in another way than the
// specification.
func TestEstimatesAreRead(t *testing.T) {
	const sample = `{"shipment":{"currencyCode":"GBP","id":"ShipmentID83",
		"brokerageFeeItems":[{"chargeName":"DisbursementFee","chargeAmount":19.05},{"chargeName":"EntryPreparationFee","chargeAmount":5.6}],
		"totalBrokerageFees":24.65,"totalDuties":60,"totalShipmentLevelTaxesAndFees":0,"totalVAT":702,"totalDutyandTax":762,"grandTotal":786.65,
		"shipmentItems":[{"commodityId":"1","commodityDuty":60,"totalCommodityTaxesAndFees":1.5,"commodityVAT":612,"isCalculable":true},
			{"commodityId":"2","commodityDuty":0,"totalCommodityTaxesAndFees":0,"commodityVAT":90,"isCalculable":true}]},
		"alversion":0,"dpversion":null,"transID":"325467165","error":null}`
	pounds := func(minor int64) ship.Money { return ship.Money{Minor: minor, Currency: "GBP"} }
	want := []ship.LandedCharge{
		{Type: "duty", Name: "Duty", Item: 0, Amount: pounds(6000)},
		{Type: "tax", Name: "VAT", Item: 0, Amount: pounds(61200)},
		{Type: "tax", Name: "Taxes and fees", Item: 0, Amount: pounds(150)},
		{Type: "duty", Name: "Duty", Item: 1, Amount: pounds(0)},
		{Type: "tax", Name: "VAT", Item: 1, Amount: pounds(9000)},
		{Type: "fee", Name: "DisbursementFee", Item: -1, Amount: pounds(1905)},
		{Type: "fee", Name: "EntryPreparationFee", Item: -1, Amount: pounds(560)},
	}
	read := func(body string) (ship.LandedCost, error) {
		var answer landedAnswer
		if err := json.Unmarshal([]byte(body), &answer); err != nil {
			t.Fatal(err)
		}
		return answer.cost(2)
	}

	cost, err := read(sample)
	if err != nil || !slices.Equal(cost.Charges, want) || len(cost.Messages) != 0 {
		t.Errorf("the sample: %+v, %v", cost, err)
	}

	cost, err = read(`{"shipment":{"currencyCode":"USD","totalBrokerageFees":3,"shipmentItems":[{"commodityID":"2","isCalculable":false,"commodityDuty":0}],"errors":{"code":"1","message":"Check the HS code."}}}`)
	if err != nil || len(cost.Charges) != 1 || len(cost.Messages) != 2 {
		t.Errorf("an item that cannot be calculated: %+v, %v", cost, err)
	}

	for body, kind := range map[string]ship.Kind{
		`{}`: ship.Unavailable,
		`{"errors":[{"code":"9","description":"HS code is not valid"}]}`:                                  ship.Invalid,
		`{"shipment":{"currencyCode":"USD","shipmentItems":[]}}`:                                          ship.Unavailable,
		`{"shipment":{"currencyCode":"USD","shipmentItems":[{"commodityID":"3","commodityDuty":1}]}}`:     ship.Unavailable,
		`{"shipment":{"currencyCode":"USD","shipmentItems":[{"commodityID":"1","commodityDuty":-1}]}}`:    ship.Unavailable,
		`{"shipment":{"currencyCode":"dollars","shipmentItems":[{"commodityID":"1","commodityDuty":1}]}}`: ship.Unavailable,
	} {
		if cost, err := read(body); ship.KindOf(err) != kind {
			t.Errorf("%s: %+v, %v; want kind %q", body, cost, err, kind)
		}
	}
}
