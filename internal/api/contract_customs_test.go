package api

import (
	"net/http"
	"strings"
	"testing"
)

// TestContractADeclarationIsCheckedBeforeMoneyMoves: rates and shipments have
// warnings about what customs would object to, and nothing is prevented.
func TestContractADeclarationIsCheckedBeforeMoneyMoves(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	abroad := strings.NewReplacer(`"state":"TX",`, ``, "Austin", "Paris", "78701", "75001", `"country":"US"`,
		`"country":"FR","type":"consumer","phone":"+33 1 23 45 67 89"`)
	vague := `"customs":{"contentsType":"merchandise","incoterm":"DDP","items":[{"description":"Gift","quantity":1,` +
		`"value":{"amount":"20.00","currency":"USD"},"originCountry":"PT"}]}`
	pointers := []string{"/customs/items/0/hsCode", "/customs/items/0/description", "/customs/items/0/productIdentifiers"}

	quotes, _ := c.do(http.StatusOK, "POST", "/v1/rates", abroad.Replace(quoteTo("Ada", vague)))
	warnings := quotes["warnings"].([]any)
	if len(warnings) != len(pointers) {
		t.Fatalf("the rates warn of %v", warnings)
	}
	for i, pointer := range pointers {
		if at(warnings[i], "pointer") != pointer || at(warnings[i], "code") == "" || at(warnings[i], "detail") == "" {
			t.Errorf("warning %d is %v, want one about %s", i, warnings[i], pointer)
		}
	}

	bought, _ := c.do(http.StatusCreated, "POST", "/v1/shipments", abroad.Replace(to("Ada", vague)))
	texts := text(t, bought["warnings"])
	for _, pointer := range pointers {
		if !strings.Contains(texts, `"`+pointer+` is `) {
			t.Errorf("the shipment does not warn about %s: %s", pointer, texts)
		}
	}

	whole := `"customs":{"contentsType":"merchandise","incoterm":"DDP","items":[{"description":"Cotton shirt","quantity":1,` +
		`"value":{"amount":"20.00","currency":"USD"},"originCountry":"PT","hsCode":"610910","productIdentifiers":[{"type":"none"}]}]}`
	quotes, _ = c.do(http.StatusOK, "POST", "/v1/rates", abroad.Replace(quoteTo("Ada", whole)))
	if quotes["warnings"] != nil {
		t.Errorf("a complete declaration: %v", quotes["warnings"])
	}
}
