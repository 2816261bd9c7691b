package api

import (
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// counted is a contract that counts how often a carrier is asked to sell.
func counted(t *testing.T, h hands) (*contract, *atomic.Int64) {
	t.Helper()
	sales := new(atomic.Int64)
	h.buy = func(carrier.BuyOrder) { sales.Add(1) }
	return newContract(t, func(w *wiring) { w.hands = &h }).opened(), sales
}

// TestContractARateThatTheRequestContradictsIsNotBought sends a rate together
// with each field that can contradict it: 422 with a pointer, and no carrier is
// asked to sell.
func TestContractARateThatTheRequestContradictsIsNotBought(t *testing.T) {
	t.Parallel()
	c, sales := counted(t, hands{})
	quotes, _ := c.do(http.StatusOK, "POST", "/v1/rates", quoteTo("Ada", `"carriers":["ups"],"services":["ground"]`))
	rate := quotes["rates"].([]any)[0].(map[string]any)
	rated := `"rateId":"` + rate["id"].(string) + `"`
	arrives := rate["estimatedDeliveryDate"].(string)[:10]

	for _, tc := range []struct{ member, pointer, code string }{
		{`"maxAmount":{"amount":"1.00","currency":"USD"}`, "/maxAmount", "rate_mismatch"},
		{`"carrier":"fedex"`, "/carrier", "rate_mismatch"},
		{`"service":"next_day_air"`, "/service", "rate_mismatch"},
		{`"connectionId":"con_01KJMBQDHV00G2N6V3T9RZKXB4"`, "/connectionId", "rate_mismatch"},
		{`"deliverBy":"` + string(ship.DateOf(ship.Date(arrives).Time().AddDate(0, 0, -1))) + `"`, "/deliverBy", "rate_mismatch"},
		{`"maxAmount":{"amount":"900.00","currency":"EUR"}`, "/maxAmount/currency", "currency_mismatch"},
	} {
		p, _ := c.do(http.StatusUnprocessableEntity, "POST", "/v1/shipments", to("Ada", rated, tc.member))
		if p["code"] != tc.code || wrongAt(p)[tc.pointer] != tc.code {
			t.Errorf("%s: %v %v", tc.member, p["code"], p["errors"])
		}
	}

	p, _ := c.do(http.StatusUnprocessableEntity, "POST", "/v1/shipments", to("Ada", rated, `"carrier":"usps"`, `"service":"priority_mail"`))
	if want := map[string]string{"/carrier": "rate_mismatch", "/service": "rate_mismatch"}; !maps.Equal(wrongAt(p), want) {
		t.Errorf("two contradictions: %v", p["errors"])
	}
	if n := sales.Load(); n != 0 {
		t.Fatalf("%d labels were bought", n)
	}

	// What agrees with the rate is no contradiction.
	agreeing := []string{
		rated, `"carrier":"ups"`, `"service":"ground"`, `"deliverBy":"` + arrives + `"`,
		`"maxAmount":{"amount":"` + rate["amount"].(string) + `","currency":"USD"}`,
	}
	sh, _ := c.do(http.StatusCreated, "POST", "/v1/shipments", to("Ada", agreeing...))
	if at(sh, "rate", "amount") != rate["amount"] || sales.Load() != 1 {
		t.Errorf("%v for a rate of %v, %d sales", sh["rate"], rate["amount"], sales.Load())
	}
}

// TestContractALimitNamesWhatWouldMeetIt: without a rate, a limit that no offer
// meets is answered with the cheapest price or the earliest day, and a limit in
// another currency is an error of its own.
func TestContractALimitNamesWhatWouldMeetIt(t *testing.T) {
	t.Parallel()
	c, sales := counted(t, hands{})
	quotes, _ := c.do(http.StatusOK, "POST", "/v1/rates", quoteTo("Ada"))
	cheapest := at(quotes["rates"].([]any)[0], "amount").(string)

	for _, tc := range []struct{ name, more, code, pointer, detail string }{
		{"rules, too little", `"maxAmount":{"amount":"1.00","currency":"USD"}`, "no_rate", "/maxAmount", cheapest + " USD"},
		{"named, too little", `"carrier":"ups","maxAmount":{"amount":"1.00","currency":"USD"}`, "no_rate", "/maxAmount", "USD"},
		{"rules, other currency", `"maxAmount":{"amount":"500.00","currency":"EUR"}`, "currency_mismatch", "/maxAmount/currency", "USD"},
		{"named, other currency", `"carrier":"ups","maxAmount":{"amount":"500.00","currency":"EUR"}`, "currency_mismatch", "/maxAmount/currency", "USD"},
		{"too early", `"deliverBy":"2020-01-01"`, "no_rate", "/deliverBy", "earliest delivery"},
	} {
		p, _ := c.do(http.StatusUnprocessableEntity, "POST", "/v1/shipments", to("Ada", tc.more))
		detail, _ := at(p, "errors", "detail").(string)
		if p["code"] != tc.code || wrongAt(p)[tc.pointer] == "" || !strings.Contains(detail, tc.detail) {
			t.Errorf("%s: %v %v", tc.name, p["code"], p["errors"])
		}
	}
	if n := sales.Load(); n != 0 {
		t.Errorf("%d labels were bought", n)
	}
}

// TestContractTheLimitBindsOnARetry: the first attempt finds no carrier, and
// when it is repeated under its key the prices have risen above the limit.
func TestContractTheLimitBindsOnARetry(t *testing.T) {
	t.Parallel()
	var risen atomic.Bool
	c, _ := counted(t, hands{rates: func(list []ship.Rate) []ship.Rate {
		for i := range list {
			if risen.Load() {
				list[i].Price.Minor += 100_00
			}
		}
		return list
	}})
	quotes, _ := c.do(http.StatusOK, "POST", "/v1/rates", quoteTo("Ada"))
	limit := `"maxAmount":{"amount":"` + at(quotes["rates"].([]any)[0], "amount").(string) + `","currency":"USD"}`

	body := to("FAULT UNAVAILABLE", limit)
	c.do(http.StatusServiceUnavailable, "POST", "/v1/shipments", body, "Idempotency-Key: limit-1")
	risen.Store(true)
	p, _ := c.do(http.StatusUnprocessableEntity, "POST", "/v1/shipments", body, "Idempotency-Key: limit-1")
	if p["code"] != "no_rate" || wrongAt(p)["/maxAmount"] != "too_small" {
		t.Errorf("the retry: %v %v", p["code"], p["errors"])
	}
}
