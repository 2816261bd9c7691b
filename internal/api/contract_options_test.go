package api

import (
	"net/http"
	"strings"
	"testing"
)

// TestContractAParcelGoesToAServicePoint quotes, buys and reads a shipment to a
// point of UPS: other carriers and services that cannot say so.
func TestContractAParcelGoesToAServicePoint(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	found, _ := c.do(http.StatusOK, "GET", "/v1/service-points?country=US&zip=78701&carrier=ups&limit=1", "")
	point := at(found, "points", "id").(string)
	toPoint := func(body string) string {
		return strings.Replace(body, `"destination":{`, `"destination":{"servicePoint":"`+point+`",`, 1)
	}

	quotes, _ := c.do(http.StatusOK, "POST", "/v1/rates", toPoint(quoteTo("Ada")))
	for _, r := range quotes["rates"].([]any) {
		if at(r, "carrier") != "ups" {
			t.Errorf("%v delivers to a point of UPS", at(r, "carrier"))
		}
	}
	if errors := quotes["errors"].([]any); len(errors) != 3 || at(errors[0], "errors", "pointer") != "/destination/servicePoint" {
		t.Errorf("errors %v", errors)
	}

	sh, _ := c.do(http.StatusCreated, "POST", "/v1/shipments", toPoint(to("Ada", `"rateId":"`+at(quotes, "rates", "id").(string)+`"`)))
	whole, _ := c.do(http.StatusOK, "GET", "/v1/shipments/"+sh["id"].(string), "")
	if at(whole, "destination", "servicePoint") != point || whole["options"] != nil || whole["carrier"] != "ups" {
		t.Errorf("shipped to %v with %v by %v", at(whole, "destination"), whole["options"], whole["carrier"])
	}
	c.do(http.StatusUnprocessableEntity, "POST", "/v1/shipments", to("Ada", `"rateId":"`+at(quotes, "rates", "id").(string)+`"`)) // to the address, at the price of the point
}

func TestContractServicesThatCannotDoAnOptionAreRemoved(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	ice := `"options":{"dryIce":{"weight":1},"lithiumBatteries":{"type":"ion","packed":"in_equipment"}}`
	quotes, _ := c.do(http.StatusOK, "POST", "/v1/rates", quoteTo("Ada", ice, `"carriers":["ups","fedex"]`))
	offered, removed := map[any]bool{}, map[any]bool{}
	for _, r := range quotes["rates"].([]any) {
		offered[at(r, "service")] = true
	}
	for _, r := range quotes["removed"].([]any) {
		removed[at(r, "service")] = true
		if at(r, "carrier") != "fedex" || at(r, "pointer") != "/options/dryIce" || !strings.HasSuffix(at(r, "message").(string), "does not offer dry ice") {
			t.Errorf("removed %v", r)
		}
	}
	if !offered["two_day"] || offered["ground"] || !removed["ground"] {
		t.Errorf("offered %v, removed %v", offered, removed)
	}
	if at(quotes, "errors", "carrier") != "ups" || at(quotes, "errors", "errors", "pointer") != "/options/lithiumBatteries" {
		t.Errorf("errors %v", quotes["errors"])
	}

	sh, _ := c.do(http.StatusCreated, "POST", "/v1/shipments", to("Ada", ice, `"carrier":"fedex"`))
	if at(sh, "options", "dryIce", "weight") != 1.0 || at(sh, "options", "lithiumBatteries", "packed") != "in_equipment" || at(sh, "routing", "dropped", "why") != "unsupported" {
		t.Errorf("options %v, routing %v", sh["options"], sh["routing"])
	}
	refused, _ := c.do(http.StatusUnprocessableEntity, "POST", "/v1/shipments", to("Ada", ice, `"carrier":"fedex"`, `"service":"ground"`))
	if refused["code"] != "carrier_rejected" || at(refused, "errors", "pointer") != "/options/dryIce" {
		t.Errorf("refused with %v", refused)
	}
	refused, _ = c.do(http.StatusUnprocessableEntity, "POST", "/v1/shipments", to("Ada", `"options":{"returnServiceRequested":true,"alcohol":true}`))
	if refused["code"] != "carrier_rejected" {
		t.Errorf("refused with %v", refused)
	}
}
