package api

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/ship"
)

func TestContractRatesShowEveryFieldCheapestFirst(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	quotes, w := c.do(http.StatusOK, "POST", "/v1/rates", quoteTo("Ada"))
	if got := members(t, w); !slices.Equal(got, []string{"rates", "errors", "partial", "expiresAt"}) {
		t.Errorf("members %v", got)
	}
	if len(quotes["errors"].([]any)) != 0 || quotes["partial"] != false {
		t.Errorf("errors %v, partial %v", quotes["errors"], quotes["partial"])
	}
	expires, err := time.Parse(time.RFC3339, quotes["expiresAt"].(string))
	if left := time.Until(expires); err != nil || left < 23*time.Hour || left > 24*time.Hour {
		t.Errorf("expires in %s, %v", left, err)
	}
	before := 0.0
	carriers := map[any]bool{}
	for _, r := range quotes["rates"].([]any) {
		amount, err := strconv.ParseFloat(at(r, "amount").(string), 64)
		if err != nil || amount < before {
			t.Errorf("%v after %v: %v", at(r, "amount"), before, err)
		}
		before = amount
		carriers[at(r, "carrier")] = true
		id := at(r, "id").(string)
		if !strings.HasPrefix(id, "rate_") || len(id) > 64 {
			t.Errorf("an id of %d characters: %.10s", len(id), id)
		}
		if at(r, "service") == "" || at(r, "serviceName") == "" || at(r, "currency") != "USD" || at(r, "transitDays").(float64) < 1 {
			t.Errorf("rate %v", r)
		}
		if _, there := at(r, "guaranteed").(bool); !there {
			t.Errorf("rate %v", r)
		}
		if _, err := time.Parse(time.RFC3339, at(r, "estimatedDeliveryDate").(string)); err != nil {
			t.Error(err)
		}
	}
	if len(carriers) != 4 {
		t.Errorf("carriers %v", carriers)
	}
}

// TestContractTheAccountsCurrencyComesFirst has one carrier quote in euros.
func TestContractTheAccountsCurrencyComesFirst(t *testing.T) {
	t.Parallel()
	c := newContract(t, func(w *wiring) {
		w.hands = &hands{rates: func(list []ship.Rate) []ship.Rate {
			for i := range list {
				if list[i].Carrier == "usps" || strings.HasPrefix(list[i].ServiceName, "USPS") {
					list[i].Price.Currency = "EUR"
				}
			}
			return list
		}}
	}).opened()
	first := func() any {
		quotes, _ := c.do(http.StatusOK, "POST", "/v1/rates", quoteTo("Ada"))
		return at(quotes["rates"].([]any)[0], "currency")
	}
	if got := first(); got != "USD" {
		t.Errorf("first is %v", got)
	}
	if _, err := c.account.Update(t.Context(), c.owner, account.Settings{Currency: new("EUR")}); err != nil {
		t.Fatal(err)
	}
	c.key = c.newKey(false)
	if got := first(); got != "EUR" {
		t.Errorf("after the change first is %v", got)
	}
}

func TestContractRatesAreNarrowedByTheRequest(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	list := func(more ...string) []any {
		t.Helper()
		quotes, _ := c.do(http.StatusOK, "POST", "/v1/rates", quoteTo("Ada", more...))
		return quotes["rates"].([]any)
	}
	all := list()
	for _, r := range list(`"carriers":["fedex"]`) {
		if at(r, "carrier") != "fedex" {
			t.Errorf("carriers: %v", r)
		}
	}
	for _, r := range list(`"services":["ground"]`) {
		if at(r, "service") != "ground" {
			t.Errorf("services: %v", r)
		}
	}
	soonest := ""
	for _, r := range all {
		if day := at(r, "estimatedDeliveryDate").(string)[:10]; soonest == "" || day < soonest {
			soonest = day
		}
	}
	in := list(`"deliverBy":"` + soonest + `"`)
	if len(in) == 0 || len(in) >= len(all) {
		t.Errorf("%d of %d rates arrive by %s", len(in), len(all), soonest)
	}
	for _, r := range in {
		if at(r, "estimatedDeliveryDate").(string)[:10] > soonest {
			t.Errorf("deliverBy %s: %v", soonest, r)
		}
	}
	plain, signed := at(all[0], "amount"), at(list(`"options":{"signature":"adult"}`)[0], "amount")
	later := string(ship.DateOf(time.Now().AddDate(0, 0, 5)))
	if plain == signed || at(list(`"shipDate":"` + later + `"`)[0], "estimatedDeliveryDate").(string)[:10] <= later {
		t.Errorf("options and shipDate do not count: %v, %v", plain, signed)
	}
	for member, want := range map[string][2]string{
		`"carriers":["ups","upz"]`:                        {"/carriers/1", "unknown_carrier"},
		`"connectionId":"con_01KJMBQDHV00G2N6V3T9RZKXB4"`: {"/connectionId", "unknown_connection"},
		`"timeoutMs":99`:                                  {"/timeoutMs", "too_small"},
		`"timeoutMs":8001`:                                {"/timeoutMs", "too_large"},
	} {
		if p, _ := c.do(http.StatusUnprocessableEntity, "POST", "/v1/rates", quoteTo("Ada", member)); wrongAt(p)[want[0]] != want[1] {
			t.Errorf("%s: %v", member, p["errors"])
		}
	}
	for _, member := range []string{`"services":["nothing"]`, `"deliverBy":"2020-01-01"`} {
		if p, _ := c.do(http.StatusUnprocessableEntity, "POST", "/v1/rates", quoteTo("Ada", member)); p["code"] != "no_rate" {
			t.Errorf("%s: %v", member, p)
		}
	}
}

func TestContractOneCarriersFailureLosesNoOthersQuote(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	quotes, _ := c.do(http.StatusOK, "POST", "/v1/rates", quoteTo("FAULT QUOTE USPS"))
	e := quotes["errors"].([]any)[0].(map[string]any)
	if e["carrier"] != "usps" || e["code"] != "carrier_unavailable" || e["message"] == "" || e["retryable"] != true || e["durationMs"] == nil || quotes["partial"] != false {
		t.Errorf("errors %v, partial %v", quotes["errors"], quotes["partial"])
	}
	if len(quotes["rates"].([]any)) == 0 {
		t.Error("the others' quotes are lost")
	}
	start := time.Now()
	quotes, _ = c.do(http.StatusOK, "POST", "/v1/rates", quoteTo("FAULT SLOW QUOTE", `"timeoutMs":200`))
	if quotes["partial"] != true || len(quotes["rates"].([]any)) == 0 || at(quotes, "errors", "carrier") != "fedex" || time.Since(start) > 4*time.Second {
		t.Errorf("after %s: partial %v, errors %v", time.Since(start), quotes["partial"], quotes["errors"])
	}
	p, w := c.do(http.StatusServiceUnavailable, "POST", "/v1/rates", quoteTo("FAULT QUOTE"))
	if p["code"] != "carrier_unavailable" || p["retryable"] != true || w.Header().Get("Retry-After") == "" {
		t.Errorf("all fail: %v", p)
	}
}

func TestContractARateIsBoundToWhatItWasQuotedFor(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	quotes, _ := c.do(http.StatusOK, "POST", "/v1/rates", quoteTo("Ada"))
	id := at(quotes["rates"].([]any)[0], "id").(string)
	rated := `"rateId":"` + id + `"`
	c.do(http.StatusCreated, "POST", "/v1/shipments", to("Ada", rated))
	origin := `"origin":{"name":"Shop","address1":"1 Road","city":"Reno","state":"NV","zip":"89501","country":"US"}`
	for what, body := range map[string]string{
		"parcel":      strings.Replace(to("Ada", rated), `4.2`, `4.3`, 1),
		"destination": strings.Replace(to("Ada", rated), `500 Main`, `501 Main`, 1),
		"origin":      to("Ada", rated, origin),
		"options":     to("Ada", rated, `"options":{"signature":"adult"}`),
	} {
		if p, _ := c.do(http.StatusUnprocessableEntity, "POST", "/v1/shipments", body); p["code"] != "rate_mismatch" {
			t.Errorf("another %s: %v", what, p)
		}
	}
	// Rate ids of earlier releases are accepted until they expire.
	offer := quotes["rates"].([]any)[0]
	aged := c.formerRate("rate", offer, time.Now().Add(-time.Minute))
	if p, _ := c.do(http.StatusUnprocessableEntity, "POST", "/v1/shipments", to("Ada", `"rateId":"`+aged+`"`)); p["code"] != "rate_expired" {
		t.Errorf("an old rate: %v", p)
	}
	former := c.formerRate("rate", offer, time.Now().Add(time.Minute))
	if p, _ := c.do(http.StatusUnprocessableEntity, "POST", "/v1/shipments", to("Ada", `"rateId":"`+former+`"`)); p["code"] != "rate_mismatch" {
		t.Errorf("a rate of another order: %v", p)
	}
	cheap := c.formerRate("label", offer, time.Now().Add(time.Minute))
	live := c.newKey(true)
	c.opened()
	for what, try := range map[string]struct{ key, rate string }{
		"another account": {c.key, id}, "live mode": {live, id}, "another signature": {c.key, cheap}, "a cut one": {c.key, id[:len(id)-1]},
	} {
		w := send(c.handler, "POST", "/v1/shipments", try.key, to("Ada", `"rateId":"`+try.rate+`"`, origin))
		if w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), "/rateId") {
			t.Errorf("%s: %d %s", what, w.Code, w.Body)
		}
	}
}

// TestContractARateBuysWithAnyDeclaration: rates are quoted without customs, so
// the rate must buy the shipment that has it.
func TestContractARateBuysWithAnyDeclaration(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	abroad := strings.NewReplacer(`"state":"TX",`, ``, "Austin", "Paris", "78701", "75001", `"country":"US"`, `"country":"FR","phone":"+33 1 23 45 67 89"`)
	quotes, _ := c.do(http.StatusOK, "POST", "/v1/rates", abroad.Replace(quoteTo("Ada", `"carriers":["dhl_express"]`)))
	rated := `"rateId":"` + at(quotes, "rates", "id").(string) + `"`

	for _, amount := range []string{"20.00", "90.00"} {
		customs := `"customs":{"contentsType":"merchandise","items":[{"description":"Cotton shirt","quantity":2,` +
			`"value":{"amount":"` + amount + `","currency":"USD"},"weight":0.5,"hsCode":"610910","originCountry":"US"}]}`
		sh, _ := c.do(http.StatusCreated, "POST", "/v1/shipments", abroad.Replace(to("Ada", customs, rated)))
		if got := at(sh, "customs", "items", "value", "amount"); got != amount {
			t.Errorf("the shipment declares %v, want %s", got, amount)
		}
	}
}

// TestContractQuotingWritesNothing quotes on a database that takes no writes.
func TestContractQuotingWritesNothing(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	reading := newContract(t, func(w *wiring) { w.url = withParameter(t, c.url, "default_transaction_read_only", "on") })
	reading.key = c.key
	quotes, _ := reading.do(http.StatusOK, "POST", "/v1/rates", quoteTo("Ada"))
	if w := send(reading.handler, "POST", "/v1/shipments", c.key, specBody); w.Code < 500 {
		t.Fatalf("the database takes writes: %d", w.Code)
	}
	c.do(http.StatusCreated, "POST", "/v1/shipments", to("Ada", `"rateId":"`+at(quotes["rates"].([]any)[0], "id").(string)+`"`))
}

func TestContractCarriersAreListedWithoutSecrets(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	list, w := c.do(http.StatusOK, "GET", "/v1/carriers", "")
	var names []string
	for _, one := range list["data"].([]any) {
		names = append(names, at(one, "carrier").(string))
		if len(names) > 4 {
			continue // a carrier of one country, which does not take these orders
		}
		if at(one, "name") == "" || at(one, "services", "code") == "" || at(one, "services", "name") == "" || at(one, "simulated") != true || len(at(one, "connections").([]any)) != 0 {
			t.Errorf("carrier %v", one)
		}
		if abilities := at(one, "abilities").([]any); !slices.Contains(abilities, any("void")) || !slices.Contains(abilities, any("rates")) || !slices.Contains(abilities, any("addresses")) {
			t.Errorf("abilities %v", abilities)
		}
		if streets := at(one, "addressChecks", "streets").([]any); !slices.Contains(streets, any("US")) || at(one, "addressChecks", "places") != true {
			t.Errorf("address checks %v", at(one, "addressChecks"))
		}
		for _, p := range at(one, "packagings").([]any) {
			body := strings.Replace(to("Ada", `"carrier":"`+at(one, "carrier").(string)+`"`), `"weight":4.2`, `"weight":0.4,"packaging":"`+at(p, "code").(string)+`"`, 1)
			if sh, _ := c.do(http.StatusCreated, "POST", "/v1/shipments", body); at(sh, "pieces", "parcel", "packaging") != at(p, "code") {
				t.Errorf("packaging %v: %v", at(p, "code"), sh["pieces"])
			}
		}
	}
	if !slices.Equal(names[:4], []string{"ups", "usps", "fedex", "dhl_express"}) || strings.Contains(w.Body.String(), "api_key") {
		t.Errorf("carriers %v in %s", names, w.Body)
	}
}

// withParameter adds a parameter to an address that may have some.
func withParameter(t *testing.T, address, name, value string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set(name, value)
	u.RawQuery = q.Encode()
	return u.String()
}
