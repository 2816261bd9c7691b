package dhlexpress

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/ship"
)

func TestEstimatesAreWrittenAsTheGoldenFiles(t *testing.T) {
	consumer := shirts()
	consumer.Order.Destination.Type = "consumer"
	consumer.Order.Customs.Incoterm = "DDP"
	consumer.Order.Customs.Items[0].HSCode = "6205.2000.90"
	consumer.Order.Customs.Items[0].SKU = "SHIRT-M"
	consumer.Order.Options.InsuredValue = ship.Money{Minor: 10000, Currency: "EUR"}

	for name, order := range map[string]ship.Order{"goods": shirts().Order, "consumer": consumer.Order} {
		draft, err := driver{account: "123456789"}.newQuoteDraft(order, monday)
		if err != nil {
			t.Fatal(name, err)
		}
		golden(t, name+".landed.json", draft.landedRequest(order))
	}
}

// describeCharges writes charges as the tests compare them.
func describeCharges(charges []ship.LandedCharge) string {
	var list []string
	for _, charge := range charges {
		list = append(list, fmt.Sprintf("%s %s %d %s %s", charge.Type, charge.Name, charge.Item, charge.Amount.Amount(), charge.Amount.Currency))
	}
	return strings.Join(list, "; ")
}

func TestEstimatesAreRead(t *testing.T) {
	const total = `{"name":"TOTAL DUTIES","typeCode":"DUTY","price":10.00,"priceCurrency":"EUR"}`
	for name, tc := range map[string]struct {
		rows, items, want string
		kind              ship.Kind
	}{
		"totals alone": {total, ``, "duty TOTAL DUTIES -1 10.00 EUR", ""},
		"items that add up": {
			total, `{"number":1,"breakdown":[{"name":"DUTY","typeCode":"DUTY","price":6.005,"priceCurrency":"EUR"}]},
				{"number":2,"breakdown":[{"name":"DUTY","typeCode":"DUTY","price":4,"priceCurrency":"EUR"}]}`,
			"duty DUTY 0 6.01 EUR; duty DUTY 1 4.00 EUR", "",
		},
		"items that do not add up": {
			total, `{"number":1,"breakdown":[{"name":"DUTY","typeCode":"DUTY","price":6,"priceCurrency":"EUR"},{"name":"VAT","typeCode":"TAX","price":2,"priceCurrency":"EUR"}]}`,
			"tax VAT 0 2.00 EUR; duty TOTAL DUTIES -1 10.00 EUR", "",
		},
		"several currencies": {
			total + `,{"name":"Duty Tax Paid","serviceCode":"DD","price":15,"priceCurrency":"EUR"}`,
			`{"number":1,"breakdown":[{"name":"DUTY","typeCode":"DUTY","price":11,"priceCurrency":"USD"}]}`,
			"duty DUTY 0 11.00 USD", "",
		},
		"a fee for the shipment": {
			`{"name":"TOTAL FEES","typeCode":"FEE","price":50,"priceCurrency":"AUD"},{"name":"IDCA","typeCode":"FEE","price":50}`, ``,
			"fee IDCA -1 50.00 AUD", "",
		},
		"nothing to pay":        {`{"name":"TOTAL DUTIES","typeCode":"DUTY","price":0}`, ``, "duty TOTAL DUTIES -1 0.00 AUD", ""},
		"no charge at all":      {`{"name":"SCUSV","price":5000,"priceCurrency":"AUD"}`, ``, "", ship.Unavailable},
		"an item of nobody's":   {``, `{"number":3,"breakdown":[{"name":"DUTY","typeCode":"DUTY","price":11,"priceCurrency":"USD"}]}`, "", ship.Unavailable},
		"an amount of no money": {`{"name":"TOTAL DUTIES","typeCode":"DUTY","priceCurrency":"AUD"}`, ``, "", ship.Unavailable},
	} {
		body := `{"products":[{"detailedPriceBreakdown":[{"priceCurrency":"AUD","breakdown":[` + tc.rows + `]}],"items":[` + tc.items + `]}]}`
		var answer landedAnswer
		if err := json.Unmarshal([]byte(body), &answer); err != nil {
			t.Fatal(name, err)
		}
		cost, err := answer.cost(2)
		if got := describeCharges(cost.Charges); got != tc.want || ship.KindOf(err) != tc.kind {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}

	_, err := landedAnswer{Warnings: []string{"200203: #/items/number:1/ The HS code is not valid."}}.cost(1)
	if !strings.Contains(err.Error(), "The HS code is not valid.") {
		t.Errorf("without products: %v", err)
	}
}

// DHL's own example has four currencies.
func TestTheCarriersExampleOfAnEstimateIsRead(t *testing.T) {
	dir := os.Getenv("CARRIER_SPECS")
	if dir == "" {
		t.Skip("CARRIER_SPECS is not set")
	}
	body, err := os.ReadFile(filepath.Join(dir, "dhl-express", "examples", "post_landed-cost", "response-200-sampleresponse1.json"))
	if err != nil {
		t.Fatal(err)
	}
	var answer landedAnswer
	if err := json.Unmarshal(body, &answer); err != nil {
		t.Fatal(err)
	}

	cost, err := answer.cost(1)
	const want = "duty ADDITIONAL_DUTY 0 0.00 AUD; duty DUTY 0 0.00 AUD; tax GST 0 534.92 AUD; " +
		"fee IMPORT_PROCESSING_CHARGE -1 50.00 AUD; fee IDCA -1 38.00 AUD"
	if got := describeCharges(cost.Charges); err != nil || got != want || len(cost.Messages) != 1 || cost.Guaranteed {
		t.Errorf("%s, %q, %v", got, cost.Messages, err)
	}
}

func TestDutiesNeedADeclarationAndABorder(t *testing.T) {
	order := shirts().Order
	order.Customs = nil
	_, err := driver{account: "1"}.EstimateDuties(t.Context(), order)
	refused, ok := errors.AsType[*ship.Error](err)
	if !ok || refused.Kind != ship.Invalid || refused.Fields[0].Pointer != "/customs/items" {
		t.Errorf("without a declaration: %v", err)
	}

	order = shirts().Order
	order.Destination.Country, order.Destination.State, order.Destination.Zip = "FR", "", "75001"
	cost, err := driver{account: "1"}.EstimateDuties(t.Context(), order)
	if err != nil || len(cost.Charges) != 0 || len(cost.Messages) != 1 {
		t.Errorf("inside the union: %+v, %v", cost, err)
	}
}

func TestRefusedEstimatesPointIntoOurRequest(t *testing.T) {
	order := shirts().Order
	for text, want := range map[string]string{
		"#/items/1/commodityCode: expected maxLength: 18, actual: 19": "/customs/items/1/hsCode",
		"#/items/0/unitPrice: is not a multiple of 0.00001":           "/customs/items/0/value",
		"#/items: expected minimum item count: 1, found: 0":           "/customs/items",
		"#/packages/0/weight: 5000 is not less or equal to 999":       "/parcel/weight",
	} {
		if got := pointerOf(text, order, nil); got != want {
			t.Errorf("%s points to %q, want %q", text, got, want)
		}
	}
}
