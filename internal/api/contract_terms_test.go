package api

import (
	"net/http"
	"testing"

	"github.com/waybillhq/waybill/internal/account"
)

// TestContractAKeyWithLimitsCannotChangeWhatTheyAreComparedWith: a rate sheet sets the
// price of a purchase, so an agent could buy anything for a cent.
func TestContractAKeyWithLimitsCannotChangeWhatTheyAreComparedWith(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	for name, limits := range map[string]account.KeyLimits{
		"daily":     {DailyLimit: "100"},
		"per label": {MaxPerPurchase: "10"},
		"approvals": {ApprovalAbove: "0"},
		"countries": {AllowedCountries: []string{"US"}},
	} {
		key, _ := c.keyOf(account.NewKeyInput{Name: name, Livemode: true, KeyLimits: limits})
		limited := c.as(key)
		for _, call := range [][3]string{
			{"PUT", "/v1/rate-sheets/ups-2026", sheetBody("ups", sheetExample)},
			{"DELETE", "/v1/rate-sheets/ups-2026", ""},
			{"POST", "/v1/routing/publish", `{}`},
			{"POST", "/v1/routing/rollback", `{"version":1}`},
			{"PUT", "/v1/return-rule", returnRuleBody},
		} {
			if problem, _ := limited.do(http.StatusForbidden, call[0], call[1], call[2]); problem["code"] != "insufficient_scope" {
				t.Errorf("%s: %s %s: %v", name, call[0], call[1], problem)
			}
		}
		limited.do(http.StatusOK, "GET", "/v1/rate-sheets", "")
	}

	free, _ := c.keyOf(account.NewKeyInput{Name: "free", Livemode: true})
	c.as(free).do(http.StatusCreated, "PUT", "/v1/rate-sheets/ups-2026", sheetBody("ups", sheetExample))
}
