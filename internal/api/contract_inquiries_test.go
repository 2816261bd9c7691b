package api

import (
	"net/http"
	"strings"
	"testing"
)

func TestContractAProofIsFetchedAfterTheDelivery(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	for carrier, status := range map[string]int{"ups": http.StatusOK, "usps": http.StatusNotFound} {
		shipment, _ := c.do(http.StatusCreated, "POST", "/v1/shipments", to("Ada", `"carrier":"`+carrier+`"`))
		path := "/v1/shipments/" + shipment["id"].(string)
		problem, _ := c.do(http.StatusNotFound, "GET", path+"/proof-of-delivery", "")
		if problem["code"] != "proof_not_available" || !strings.Contains(problem["detail"].(string), "not delivered") {
			t.Errorf("%s before the delivery: %v, %v", carrier, problem["code"], problem["detail"])
		}

		c.do(http.StatusOK, "POST", "/v1/sandbox/shipments/"+shipment["id"].(string)+"/advance", `{"status":"delivered"}`)
		_, w := c.do(status, "GET", path+"/proof-of-delivery", "")
		if status == http.StatusOK && (!strings.HasPrefix(w.Body.String(), "%PDF-") || w.Header().Get("Content-Type") != "application/pdf") {
			t.Errorf("%s: %s %.20q", carrier, w.Header().Get("Content-Type"), w.Body)
		}
		if status == http.StatusOK && w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("a proof may be cached: %q", w.Header().Get("Cache-Control"))
		}

		c.exec("UPDATE shipment_states SET erased_at = now()")
		problem, _ = c.do(http.StatusNotFound, "GET", path+"/proof-of-delivery", "")
		if problem["code"] != "proof_not_available" || !strings.Contains(problem["detail"].(string), "erased") {
			t.Errorf("%s after an erasure: %v", carrier, problem["detail"])
		}
	}
	c.do(http.StatusNotFound, "GET", "/v1/shipments/shp_01KJMBQDHV00G2N6V3T9RZKXB4/proof-of-delivery", "")
}

func TestContractServicePointsAreFound(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	found, w := c.do(http.StatusOK, "GET", "/v1/service-points?country=us&zip=78701", "")
	points := found["points"].([]any)
	carriers := map[any]bool{}
	last := 0.0
	for _, point := range points {
		distance := at(point, "distance", "value").(float64)
		if distance < last {
			t.Errorf("a point at %v comes after one at %v", distance, last)
		}
		last = distance
		carriers[at(point, "carrier")] = true
	}
	if len(carriers) != 4 || len(found["errors"].([]any)) != 0 || at(points[0], "address", "country") != "US" || at(points[0], "hours", "day") != "monday" {
		t.Errorf("of %v: %s", carriers, w.Body)
	}

	some, _ := c.do(http.StatusOK, "GET", "/v1/service-points?country=DE&city=Berlin&carrier=dhl_express&limit=2", "")
	if list := some["points"].([]any); len(list) != 2 || at(list[0], "carrier") != "dhl_express" {
		t.Errorf("two of one carrier: %v", list)
	}

	for query, parameter := range map[string]string{
		"zip=78701":                       "?country",
		"country=US":                      "?zip",
		"country=XX&zip=1":                "?country",
		"country=US&zip=1&carrier=nobody": "?carrier",
		"country=US&zip=1&limit=1000":     "?limit",
	} {
		problem, w := c.do(http.StatusUnprocessableEntity, "GET", "/v1/service-points?"+query, "")
		if wrongAt(problem)[parameter] == "" {
			t.Errorf("%s does not point to %s: %s", query, parameter, w.Body)
		}
	}
}

func TestContractDutiesAreEstimated(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	const body = `{"destination":{"zip":"10117","country":"DE"},"parcel":{"weight":2.1},"customs":{"contentsType":"merchandise","items":[
	 {"description":"Cotton shirt","quantity":2,"value":{"amount":"20.00","currency":"EUR"},"hsCode":"610910","originCountry":"PT"}]}}`
	got, w := c.do(http.StatusOK, "POST", "/v1/landed-cost", body)
	estimates := got["estimates"].([]any)
	if len(estimates) == 0 || len(got["errors"].([]any)) != 0 {
		t.Fatalf("%s", w.Body)
	}
	for _, estimate := range estimates {
		if at(estimate, "guaranteed") == nil || at(estimate, "carrier") == nil || at(estimate, "total") != nil {
			t.Errorf("an estimate is %v", estimate)
		}
		kinds := map[any]bool{}
		currencies := map[any]bool{}
		for _, charge := range at(estimate, "charges").([]any) {
			kinds[at(charge, "type")] = true
			currencies[at(charge, "amount", "currency")] = true
			if isWhole := at(charge, "item") == nil; isWhole != (at(charge, "type") == "fee") {
				t.Errorf("a charge is %v", charge)
			}
		}
		if !kinds["duty"] || !kinds["tax"] || !kinds["fee"] || !currencies["EUR"] || !currencies["USD"] {
			t.Errorf("the charges are %v in %v", kinds, currencies)
		}
	}

	// A shipment's body can be sent as it is.
	c.do(http.StatusOK, "POST", "/v1/landed-cost", wholeOf(tomorrow()))

	for body, pointer := range map[string]string{
		`{"destination":{"zip":"10117","country":"DE"},"parcel":{"weight":2.1}}`:                                                                                              "/customs",
		strings.Replace(body, `"zip":"10117","country":"DE"`, `"zip":"78701","country":"US"`, 1):                                                                              "/destination/country",
		strings.Replace(body, `"quantity":2`, `"quantity":0`, 1):                                                                                                              "/customs/items/0/quantity",
		strings.Replace(body, `{"destination"`, `{"carrier":"usps","destination"`, 1):                                                                                         "/carrier",
		`{"destination":{"zip":"10117","country":"DE"},"customs":{"contentsType":"gift","items":[{"description":"x","quantity":1,"value":{"amount":"1","currency":"EUR"}}]}}`: "/parcel",
	} {
		problem, w := c.do(http.StatusUnprocessableEntity, "POST", "/v1/landed-cost", body)
		if wrongAt(problem)[pointer] == "" {
			t.Errorf("%s does not point to %s: %s", body, pointer, w.Body)
		}
	}
}
