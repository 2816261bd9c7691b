package api

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// bookUsing is a book whose only rule uses a carrier.
func bookUsing(name, carrier string) string {
	return `{"rules":[{"name":"` + name + `","then":{"use":[{"carrier":"` + carrier + `"}]}}]}`
}

// publish saves a book as the draft and publishes it.
func (b *bench) publish(book string) int {
	b.Helper()
	b.do(http.StatusOK, "PUT", "/v1/routing/draft", book)
	v, _ := b.do(http.StatusCreated, "POST", "/v1/routing/publish", "")
	return int(v["version"].(float64))
}

func TestContractRulesGoFromADraftToPurchasesAndBack(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	if got, w := c.do(http.StatusOK, "GET", "/v1/routing", ""); got["versions"] != 0.0 || got["published"] != nil || got["draft"] != nil {
		t.Errorf("at first: %s", w.Body)
	}
	bought := func(carrier string, version any, rule any) {
		t.Helper()
		sh, _ := c.do(http.StatusCreated, "POST", "/v1/shipments", to("Ada"))
		if sh["carrier"] != carrier || at(sh, "routing", "version") != version || at(sh, "routing", "rule") != rule {
			t.Errorf("bought %v: %v", sh["carrier"], sh["routing"])
		}
	}
	bought("usps", nil, nil)
	draft, _ := c.do(http.StatusOK, "PUT", "/v1/routing/draft", bookUsing("Always FedEx", "fedex"))
	if draft["basedOn"] != 0.0 || at(draft, "book", "rules", "then", "use", "carrier") != "fedex" || len(draft["warnings"].([]any)) != 0 || draft["savedAt"] == "" {
		t.Errorf("draft %v", draft)
	}
	bought("usps", nil, nil)
	if sim, _ := c.do(http.StatusOK, "POST", "/v1/routing/simulate", ""); sim["compared"] != 2.0 || sim["changed"] != 2.0 || at(sim, "rules", "rule") != "Always FedEx" {
		t.Errorf("simulation %v", sim)
	}
	v, w := c.do(http.StatusCreated, "POST", "/v1/routing/publish", `{"note":"FedEx is cheaper now","version":0}`)
	if v["version"] != 1.0 || v["note"] != "FedEx is cheaper now" || w.Header().Get("Location") != "/v1/routing/versions/1" {
		t.Errorf("published %v %v", v, w.Header())
	}
	bought("fedex", 1.0, "Always FedEx")
	if state, _ := c.do(http.StatusOK, "GET", "/v1/routing", ""); state["draft"] != nil || at(state, "published", "version") != 1.0 || state["versions"] != 1.0 {
		t.Errorf("state %v", state)
	}
	c.publish(bookUsing("Always UPS", "ups"))
	bought("ups", 2.0, "Always UPS")
	v, w = c.do(http.StatusCreated, "POST", "/v1/routing/rollback", `{"version":1,"note":"UPS was slow"}`)
	if v["version"] != 3.0 || v["restoredFrom"] != 1.0 || at(v, "book", "rules", "name") != "Always FedEx" || w.Header().Get("Location") != "/v1/routing/versions/3" {
		t.Errorf("rolled back to %v", v)
	}
	bought("fedex", 3.0, "Always FedEx")
	if old, _ := c.do(http.StatusOK, "GET", "/v1/routing/versions/2", ""); at(old, "book", "rules", "name") != "Always UPS" || old["publishedAt"] == "" {
		t.Errorf("version 2 is %v", old)
	}
	var seen []float64
	for cursor := ""; ; {
		list, _ := c.do(http.StatusOK, "GET", "/v1/routing/versions?limit=2"+cursor, "")
		for _, one := range list["data"].([]any) {
			seen = append(seen, at(one, "version").(float64))
			if at(one, "ruleCount") != 1.0 || at(one, "book") != nil {
				t.Errorf("listed %v", one)
			}
		}
		if list["nextCursor"] == nil {
			break
		}
		cursor = "&cursor=" + list["nextCursor"].(string)
	}
	if !slices.Equal(seen, []float64{3, 2, 1}) {
		t.Errorf("versions %v", seen)
	}
}

func TestContractAShipmentExplainsItsRouting(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	c.publish(`{"rules":[
		{"name":"Adults","when":"order.reference == \"wine\"","then":{"require":{"signature":"adult"}}},
		{"name":"No USPS","then":{"forbid":[{"carrier":"usps"}]}},
		{"name":"Ground","when":"parcel.weightLb > 1","then":{"use":[{"carrier":"ups","service":"ground"},{"carrier":"fedex","service":"ground"}]}}
	]}`)
	sh, _ := c.do(http.StatusCreated, "POST", "/v1/shipments", to("Ada", `"reference":"wine"`))
	r := sh["routing"].(map[string]any)
	if r["strategy"] != "rule" || r["rule"] != "Ground" || r["version"] != 1.0 || r["why"] == "" || at(r, "raised", "to") != "adult" {
		t.Errorf("routing %v", r)
	}
	if also := r["also"].([]any); !slices.Contains(also, any("Adults")) || !slices.Contains(also, any("No USPS")) {
		t.Errorf("also %v", also)
	}
	if at(r, "runnerUp", "carrier") != "fedex" || at(r, "runnerUp", "service") != "ground" || at(r, "runnerUp", "source") != "carrier" {
		t.Errorf("runner-up %v", r["runnerUp"])
	}
	offers, before := r["offers"].([]any), 0.0
	for _, o := range offers {
		amount, err := strconv.ParseFloat(at(o, "amount").(string), 64)
		if err != nil || amount < before || at(o, "currency") != "USD" || at(o, "transitDays") == nil || at(o, "source") != "carrier" || at(o, "service") == "" {
			t.Errorf("offer %v after %v", o, before)
		}
		before = amount
	}
	why := map[any]any{}
	for _, d := range r["dropped"].([]any) {
		why[at(d, "carrier")] = at(d, "why")
		if at(d, "carrier") == "usps" && at(d, "rule") != "No USPS" {
			t.Errorf("dropped %v", d)
		}
	}
	if float64(len(offers)) != r["considered"] || why["usps"] != "forbidden" || why["dhl_express"] != "not_in_rule" {
		t.Errorf("%d offers of %v, dropped %v", len(offers), r["considered"], why)
	}
	read, _ := c.do(http.StatusOK, "GET", "/v1/shipments/"+sh["id"].(string), "")
	if at(read, "routing", "rule") != "Ground" || len(at(read, "routing", "offers").([]any)) != len(offers) {
		t.Errorf("later %v", read["routing"])
	}
	notified := at(c.log(2)[1], "data", "shipment", "routing").(map[string]any)
	if notified["strategy"] != "rule" || notified["considered"] != r["considered"] || notified["offers"] != nil || notified["dropped"] != nil || notified["rule"] != nil || at(notified, "runnerUp", "source") != nil {
		t.Errorf("an event tells %v", notified)
	}
}

func TestContractPublishingIsOneAtATime(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	publish := func(body string) (int, any) {
		p, w := c.any("POST", "/v1/routing/publish", body)
		return w.Code, p["code"]
	}
	if status, code := publish(""); status != http.StatusNotFound || code != "draft_not_found" {
		t.Errorf("without a draft: %d %v", status, code)
	}
	c.do(http.StatusOK, "PUT", "/v1/routing/draft", bookUsing("one", "ups"))
	if status, code := publish(`{"version":1}`); status != http.StatusConflict || code != "rules_changed" {
		t.Errorf("over a version that is not there: %d %v", status, code)
	}
	statuses := make([]int, 6)
	var wg sync.WaitGroup
	for i := range statuses {
		wg.Go(func() { statuses[i], _ = publish(`{"version":0}`) })
	}
	wg.Wait()
	slices.Sort(statuses)
	if statuses[0] != http.StatusCreated || statuses[1] == http.StatusCreated || statuses[5] > http.StatusConflict {
		t.Errorf("six at once: %v", statuses)
	}
	c.do(http.StatusOK, "PUT", "/v1/routing/draft", bookUsing("two", "fedex"))
	c.do(http.StatusCreated, "POST", "/v1/routing/rollback", `{"version":1}`)
	if status, code := publish(""); status != http.StatusConflict || code != "rules_changed" {
		t.Errorf("after another's: %d %v", status, code)
	}
	if state, _ := c.do(http.StatusOK, "GET", "/v1/routing", ""); at(state, "published", "version") != 2.0 || at(state, "draft", "basedOn") != 1.0 {
		t.Errorf("state %v", state)
	}
	c.do(http.StatusOK, "PUT", "/v1/routing/draft", bookUsing("two", "fedex"))
	if status, _ := publish(`{"version":2}`); status != http.StatusCreated {
		t.Errorf("saved again: %d", status)
	}
	for range 2 {
		c.do(http.StatusNoContent, "DELETE", "/v1/routing/draft", "")
	}
	if p, _ := c.do(http.StatusNotFound, "POST", "/v1/routing/rollback", `{"version":9}`); p["code"] != "version_not_found" {
		t.Errorf("rollback to nothing: %v", p)
	}
	for _, version := range []string{"0", "9", "-1", "01", "x", "99999999999"} {
		if p, _ := c.do(http.StatusNotFound, "GET", "/v1/routing/versions/"+version, ""); p["code"] != "version_not_found" {
			t.Errorf("version %s: %v", version, p)
		}
	}
	for _, cursor := range []string{"0", "x", "-3"} {
		if p, _ := c.do(http.StatusUnprocessableEntity, "GET", "/v1/routing/versions?cursor="+cursor, ""); p["code"] != "invalid_cursor" {
			t.Errorf("cursor %s: %v", cursor, p)
		}
	}
}

func TestContractAKeyPublishesOnce(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	c.do(http.StatusOK, "PUT", "/v1/routing/draft", bookUsing("one", "ups"))
	_, first := c.do(http.StatusCreated, "POST", "/v1/routing/publish", `{"note":"a"}`, "Idempotency-Key: p")
	c.do(http.StatusOK, "PUT", "/v1/routing/draft", bookUsing("two", "ups"))
	_, again := c.do(http.StatusCreated, "POST", "/v1/routing/publish", `{"note":"a"}`, "Idempotency-Key: p")
	if again.Body.String() != first.Body.String() || again.Header().Get("Idempotent-Replayed") != "true" {
		t.Errorf("the repeat differs:\n%s\n%s", first.Body, again.Body)
	}
	if p, _ := c.do(http.StatusUnprocessableEntity, "POST", "/v1/routing/publish", `{"note":"b"}`, "Idempotency-Key: p"); p["code"] != "idempotency_key_reused" {
		t.Errorf("another body: %v", p)
	}
	if state, _ := c.do(http.StatusOK, "GET", "/v1/routing", ""); state["versions"] != 1.0 || state["draft"] == nil {
		t.Errorf("state %v", state)
	}
}

func TestContractRulesBelongToOneAccountAndMode(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	c.publish(bookUsing("mine", "fedex"))
	c.do(http.StatusOK, "PUT", "/v1/routing/draft", bookUsing("next", "ups"))
	c.do(http.StatusCreated, "PUT", "/v1/rate-sheets/mine", sheetBody("ups", sheetExample))
	mine, live := c.key, c.newKey(true)
	c.opened()
	for name, key := range map[string]string{"another account": c.key, "live mode": live} {
		b := c.as(key)
		if state, w := b.do(http.StatusOK, "GET", "/v1/routing", ""); state["versions"] != 0.0 || strings.Contains(w.Body.String(), "mine") || state["draft"] != nil {
			t.Errorf("%s sees %s", name, w.Body)
		}
		for path, want := range map[string]string{"GET /v1/routing/versions": `{"data":[],"nextCursor":null}`, "GET /v1/rate-sheets": `{"data":[],"nextCursor":null}`} {
			method, path, _ := strings.Cut(path, " ")
			if _, w := b.do(http.StatusOK, method, path, ""); w.Body.String() != want {
				t.Errorf("%s: %s is %s", name, path, w.Body)
			}
		}
		b.do(http.StatusNotFound, "GET", "/v1/routing/versions/1", "")
		b.do(http.StatusNotFound, "POST", "/v1/routing/rollback", `{"version":1}`)
		b.do(http.StatusNotFound, "POST", "/v1/routing/publish", "")
		b.do(http.StatusNotFound, "POST", "/v1/routing/simulate", `{"version":1}`)
		b.do(http.StatusNotFound, "GET", "/v1/rate-sheets/mine", "")
		b.do(http.StatusNotFound, "DELETE", "/v1/rate-sheets/mine", "")
		b.do(http.StatusNoContent, "DELETE", "/v1/routing/draft", "")
	}
	if sh, _ := c.do(http.StatusCreated, "POST", "/v1/shipments", to("Ada")); at(sh, "routing", "strategy") != "cheapest" {
		t.Errorf("another account's purchase: %v", sh["routing"])
	}
	c.key = mine
	if state, _ := c.do(http.StatusOK, "GET", "/v1/routing", ""); state["versions"] != 1.0 || state["draft"] == nil {
		t.Errorf("afterwards mine are %v", state)
	}
	c.do(http.StatusOK, "GET", "/v1/rate-sheets/mine", "")
	for _, path := range []string{"/v1/routing", "/v1/routing/versions", "/v1/routing/variables", "/v1/rate-sheets"} {
		if p, _ := c.as(c.newKey(false, "rates", "shipments:write")).do(http.StatusForbidden, "GET", path, ""); p["code"] != "insufficient_scope" {
			t.Errorf("%s without the scope: %v", path, p)
		}
		c.as(c.newKey(false, "routing")).do(http.StatusOK, "GET", path, "")
	}
}
