package api

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// TestContractACheckoutGetsEstimates: country and postal code are enough; the
// rates have no id and say what was assumed. A carrier that needs more says so
// with pointers.
func TestContractACheckoutGetsEstimates(t *testing.T) {
	t.Parallel()
	c := newContract(t, func(w *wiring) {
		w.hands = &hands{refuse: func(name string, op carrier.Operation) error {
			if name != "dhl_express" || op != carrier.OpRates {
				return nil
			}
			return ship.InvalidFields([]ship.FieldError{{Pointer: "/destination/city", Code: "required", Detail: "is required"}})
		}}
	}).opened()
	quotes, _ := c.do(http.StatusOK, "POST", "/v1/rates", `{"destination":{"country":"us","zip":"78701"},"parcel":{"weight":4.2}}`)
	list := quotes["rates"].([]any)
	for _, r := range list {
		if at(r, "estimate") != true || at(r, "id") != nil {
			t.Errorf("rate %v", r)
		}
	}
	assumed := text(t, at(list[0], "assumptions"))
	if len(list) == 0 || !strings.Contains(assumed, "Texas (TX)") || !strings.Contains(assumed, "name and street") {
		t.Errorf("%d rates, assumptions %s", len(list), assumed)
	}
	e := quotes["errors"].([]any)[0].(map[string]any)
	if e["carrier"] != "dhl_express" || wrongAt(e)["/destination/city"] != "required" || !strings.Contains(e["message"].(string), "DHL Express needs the recipient's city") {
		t.Errorf("errors %v", quotes["errors"])
	}

	// The prices are those of the whole address.
	whole, _ := c.do(http.StatusOK, "POST", "/v1/rates", strings.Replace(quoteTo("Ada"), `,"dimensions":{"length":12,"width":9,"height":4}`, "", 1))
	if first := whole["rates"].([]any)[0]; at(first, "amount") != at(list[0], "amount") || at(first, "id") == nil || at(first, "estimate") != nil {
		t.Errorf("whole %v, estimate %v", first, list[0])
	}

	for body, pointer := range map[string]string{
		`{"destination":{"country":"US"},"parcel":{"weight":1}}`:                            "/destination/zip",
		`{"destination":{"zip":"78701"},"parcel":{"weight":1}}`:                             "/destination/country",
		`{"destination":{"country":"US","zip":"7870"},"parcel":{"weight":1}}`:               "/destination/zip",
		`{"destination":{"country":"US","zip":"78701","state":"CA"},"parcel":{"weight":1}}`: "/destination/state",
	} {
		if p, _ := c.do(http.StatusUnprocessableEntity, "POST", "/v1/rates", body); wrongAt(p)[pointer] == "" {
			t.Errorf("%s: %v", body, p["errors"])
		}
	}
	c.do(http.StatusOK, "POST", "/v1/rates", `{"destination":{"country":"HK"},"parcel":{"weight":1}}`) // has no postal codes
	c.do(http.StatusUnprocessableEntity, "POST", "/v1/shipments", `{"orderId":"1","destination":{"country":"US","zip":"78701"},"parcel":{"weight":1}}`)
}

// TestContractRatesSayWhatThePriceConsistsOf: list price, charges that add up,
// billable weight in the client's unit, days to the delivery.
func TestContractRatesSayWhatThePriceConsistsOf(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	quotes, _ := c.do(http.StatusOK, "POST", "/v1/rates", quoteTo("Ada", `"options":{"signature":"adult"}`))
	for _, r := range quotes["rates"].([]any) {
		amount, _ := strconv.ParseFloat(at(r, "amount").(string), 64)
		listed, _ := strconv.ParseFloat(at(r, "listAmount").(string), 64)
		sum := 0.0
		for _, part := range at(r, "charges").([]any) {
			cents, _ := strconv.ParseFloat(at(part, "amount").(string), 64)
			sum += cents
		}
		if d := sum - amount; d > 0.001 || d < -0.001 || listed <= amount {
			t.Errorf("amount %v, charges %v, list %v", amount, at(r, "charges"), listed)
		}
		if weight, _ := at(r, "billableWeight", "value").(float64); weight < 4.2 || at(r, "billableWeight", "unit") != "lb" {
			t.Errorf("billableWeight %v", at(r, "billableWeight"))
		}
		if days, _ := at(r, "deliveryDays").(float64); days < 1 {
			t.Errorf("deliveryDays %v", at(r, "deliveryDays"))
		}
	}
}
