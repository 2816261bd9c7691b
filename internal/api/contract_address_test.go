package api

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// addressed is an order to the street.
func addressed(order, street, validation string) string {
	return `{"orderId":"` + order + `","addressValidation":"` + validation + `","parcel":{"weight":2},"destination":{"name":"Ada",` +
		`"address1":"` + street + `","city":"Austin","state":"TX","zip":"78701","country":"US"}}`
}

func TestContractAnAddressIsValidated(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	validate := func(address string) map[string]any {
		t.Helper()
		check, _ := c.do(http.StatusOK, "POST", "/v1/addresses/validate", `{"address":`+address+`}`)
		return check
	}
	inAustin := func(street string) string {
		return `{"name":"Ada","address1":"` + street + `","city":"Austin","state":"TX","zip":"78701","country":"us"}`
	}

	valid := validate(inAustin("500 Main St"))
	if valid["verdict"] != "valid" || valid["checkedBy"] != "ups" || at(valid, "address", "name") != "Ada" || at(valid, "address", "country") != "US" {
		t.Errorf("valid: %v", valid)
	}
	corrected := validate(inAustin("Corrected Street"))
	if corrected["verdict"] != "corrected" || corrected["residential"] != true ||
		text(t, corrected["changes"]) != `[{"from":"Corrected Street","pointer":"/address1","to":"1 Corrected Street"}]` ||
		at(corrected, "address", "address1") != "1 Corrected Street" {
		t.Errorf("corrected: %v", corrected)
	}
	ambiguous := validate(inAustin("Ambiguous Street"))
	if candidates := ambiguous["candidates"].([]any); ambiguous["verdict"] != "ambiguous" || len(candidates) != 2 ||
		at(candidates[1], "address1") != "2 Ambiguous Street" || len(ambiguous["messages"].([]any)) == 0 {
		t.Errorf("ambiguous: %v", ambiguous)
	}
	if invalid := validate(inAustin("Invalid Street")); invalid["verdict"] != "invalid" || len(invalid["changes"].([]any)) != 0 {
		t.Errorf("invalid: %v", invalid)
	}

	// No carrier answers, so the rules do, and say why.
	unknown := validate(inAustin("Unreachable Street"))
	if unknown["verdict"] != "unknown" || unknown["checkedBy"] != "rules" || !strings.Contains(text(t, unknown["messages"]), "could not be reached") {
		t.Errorf("unknown: %v", unknown)
	}

	// A state that the postal code is not in is no address; the likely one is.
	elsewhere := validate(`{"address1":"500 Main St","city":"Austin","state":"CA","zip":"78701","country":"US"}`)
	if elsewhere["verdict"] != "invalid" || elsewhere["checkedBy"] != "rules" || at(elsewhere["candidates"].([]any)[0], "state") != "TX" {
		t.Errorf("another state: %v", elsewhere)
	}
}

func TestContractAnAddressThatCannotBeCheckedIsRefused(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	for body, pointer := range map[string]string{
		`{"address":{"address1":"1 A St","city":"Austin","country":"US"}}`:                              "/address/zip",
		`{"address":{"address1":"1 A St","city":"Austin","country":"XX"}}`:                              "/address/country",
		`{"address":{"address1":"1 A St","city":"Au\u0007stin","state":"TX","zip":"1","country":"US"}}`: "/address/city",
		`{"address":{"city":"Austin","country":"US"}}`:                                                  "/address/address1",
	} {
		if p, _ := c.do(http.StatusUnprocessableEntity, "POST", "/v1/addresses/validate", body); wrongAt(p)[pointer] == "" {
			t.Errorf("%s: %v", body, p)
		}
	}
	p, _ := c.do(http.StatusUnprocessableEntity, "POST", "/v1/addresses/validate",
		`{"carrier":"pigeon","address":{"address1":"1 A St","city":"Austin","state":"TX","zip":"78701","country":"US"}}`)
	if p["code"] != "unknown_carrier" {
		t.Errorf("unknown carrier: %v", p)
	}
}

func TestContractACreationValidatesItsDestination(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	tests := []struct {
		street, validation string
		warning, bought    string // part of the first warning, and the street of the label
	}{
		{"500 Main St", "warn", "", "500 Main St"},
		{"Corrected Street", "off", "", "Corrected Street"},
		{"Corrected Street", "warn", "UPS would correct address1 Corrected Street to 1 Corrected Street", "Corrected Street"},
		{"Corrected Street", "correct", "UPS corrected the destination", "1 Corrected Street"},
		{"Ambiguous Street", "correct", "ambiguous to UPS. The house number is missing.", "Ambiguous Street"},
		{"Invalid Street", "warn", "not known to UPS", "Invalid Street"},
		{"Unreachable Street", "correct", "was not checked: no carrier could check the address: UPS could not be reached", "Unreachable Street"},
		{"500 Main St", "require", "", "500 Main St"},
	}
	for _, test := range tests {
		t.Run(test.street+" "+test.validation, func(t *testing.T) {
			created, _ := c.do(http.StatusCreated, "POST", "/v1/shipments", addressed(test.street+test.validation, test.street, test.validation))
			warnings := text(t, created["warnings"])
			if test.warning == "" && warnings != "[]" || !strings.Contains(warnings, test.warning) {
				t.Errorf("warnings %s", warnings)
			}
			if got := at(created, "destination", "address1"); got != test.bought {
				t.Errorf("bought for %v", got)
			}
		})
	}
}

// TestContractAReusedKeyDoesNotNameACorrectedDestination repeats a request whose
// destination was corrected, with another parcel.
func TestContractAReusedKeyDoesNotNameACorrectedDestination(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	body := addressed("1", "Corrected Street", "correct")
	first, _ := c.do(http.StatusCreated, "POST", "/v1/shipments", body, "Idempotency-Key: k")
	if at(first, "destination", "address1") != "1 Corrected Street" {
		t.Fatalf("it is bought for %v", first["destination"])
	}

	heavier := strings.Replace(body, `"weight":2`, `"weight":3`, 1)
	for pointers, other := range map[string]string{
		"/parcel":                    heavier,
		"/destination /parcel":       strings.Replace(heavier, "Ada", "Bob", 1),
		"/parcel /addressValidation": strings.Replace(heavier, `"correct"`, `"warn"`, 1),
	} {
		refused, _ := c.do(http.StatusUnprocessableEntity, "POST", "/v1/shipments", other, "Idempotency-Key: k")
		var named []string
		for _, field := range refused["errors"].([]any) {
			named = append(named, field.(map[string]any)["pointer"].(string))
		}
		if refused["code"] != "idempotency_key_reused" || strings.Join(named, " ") != pointers {
			t.Errorf("%s: %v", pointers, refused)
		}
	}
}

func TestContractARequiredAddressIsRefusedUnlessValid(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()

	refused, _ := c.do(http.StatusUnprocessableEntity, "POST", "/v1/shipments", addressed("1", "Corrected Street", "require"))
	if refused["code"] != "address_invalid" || refused["verdict"] != "corrected" || wrongAt(refused)["/destination/address1"] == "" {
		t.Errorf("corrected: %v", refused)
	}
	refused, _ = c.do(http.StatusUnprocessableEntity, "POST", "/v1/shipments", addressed("2", "Ambiguous Street", "require"))
	if refused["code"] != "address_invalid" || len(refused["candidates"].([]any)) != 2 {
		t.Errorf("ambiguous: %v", refused)
	}
	c.do(http.StatusServiceUnavailable, "POST", "/v1/shipments", addressed("3", "Unreachable Street", "require"))

	if list, _ := c.do(http.StatusOK, "GET", "/v1/shipments", ""); len(list["data"].([]any)) != 0 {
		t.Errorf("something was bought: %v", list)
	}
}

// TestContractASlowCheckDelaysAPurchaseLittle: carriers take four seconds to check
// the street, and the purchase 300 ms.
func TestContractASlowCheckDelaysAPurchaseLittle(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	for _, validation := range []string{"warn", "correct"} {
		began := time.Now()
		created, _ := c.do(http.StatusCreated, "POST", "/v1/shipments", addressed(validation, "Slow Street", validation))
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("%s took %v", validation, took)
		}
		if validation == "correct" && !strings.Contains(text(t, created["warnings"]), "was not checked") {
			t.Errorf("warnings %v", created["warnings"])
		}
	}
}

// TestContractARateBuysForTheCorrectedAddress: the rate was quoted for the address
// as it was given.
func TestContractARateBuysForTheCorrectedAddress(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	order := addressed("1", "Corrected Street", "correct")
	quoted := strings.NewReplacer(`"orderId":"1",`, "", `"addressValidation":"correct",`, "").Replace(order)
	quotes, _ := c.do(http.StatusOK, "POST", "/v1/rates", quoted)
	rate := at(quotes["rates"].([]any)[0], "id").(string)

	created, _ := c.do(http.StatusCreated, "POST", "/v1/shipments", strings.Replace(order, "{", `{"rateId":"`+rate+`",`, 1))
	if at(created, "destination", "address1") != "1 Corrected Street" {
		t.Errorf("bought for %v", created["destination"])
	}
}
