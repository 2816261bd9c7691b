package api

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// TestContractTryingRulesWritesNothing tries rules on a database that takes no
// writes.
func TestContractTryingRulesWritesNothing(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	c.publish(bookUsing("published", "fedex"))
	c.do(http.StatusOK, "PUT", "/v1/routing/draft", bookUsing("draft", "ups"))
	reading := newContract(t, func(w *wiring) { w.url = withParameter(t, c.url, "default_transaction_read_only", "on") })
	reading.key = c.key
	for body, want := range map[string][2]string{
		quoteTo("Ada"):                                               {"fedex", "published"},
		quoteTo("Ada", `"rules":"draft"`):                            {"ups", "draft"},
		quoteTo("Ada", `"rules":"published"`):                        {"fedex", "published"},
		quoteTo("Ada", `"book":`+bookUsing("inline", "dhl_express")): {"dhl_express", "inline"},
	} {
		got, _ := reading.do(http.StatusOK, "POST", "/v1/routing/try", body)
		if at(got, "choice", "carrier") != want[0] || at(got, "routing", "rule") != want[1] || at(got, "offers", "carrier") != want[0] || got["refused"] != nil {
			t.Errorf("%s: %v", want[1], got)
		}
		if len(at(got, "routing", "offers").([]any)) < 5 || len(got["warnings"].([]any)) != 0 || at(got, "choice", "amount") == "" {
			t.Errorf("%s: %v", want[1], got)
		}
	}
	if list, _ := c.do(http.StatusOK, "GET", "/v1/shipments", ""); len(list["data"].([]any)) != 0 {
		t.Errorf("bought %v", list)
	}
}

// TestContractATryReadsTheWholeOrder has a rule for each part of the request.
func TestContractATryReadsTheWholeOrder(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	later := string(ship.DateOf(time.Now().AddDate(0, 0, 3)))
	for member, when := range map[string]string{
		`"orderId":"A-7"`:                     `order.id == "A-7"`,
		`"metadata":{"channel":"shop"}`:       `metadata["channel"] == "shop"`,
		`"reference":"wine"`:                  `order.reference == "wine"`,
		`"isReturn":true`:                     `order.isReturn`,
		`"shipDate":"` + later + `"`:          `order.shipDate == "` + later + `"`,
		`"options":{"saturdayDelivery":true}`: `order.saturdayDelivery`,
		`"options":{"signature":"adult"}`:     `order.signature == "adult"`,
		`"options":{"insuredValue":{"amount":"700.50","currency":"USD"}}`:                                      `order.insuredValue > 700.0`,
		`"origin":{"name":"Shop","address1":"1 Road","city":"Reno","state":"NV","zip":"89501","country":"US"}`: `origin.city == "Reno"`,
	} {
		book := `"book":{"rules":[{"name":"it","when":` + strconv.Quote(when) + `,"then":{"use":[{"carrier":"fedex"}]}}]}`
		if got, _ := c.do(http.StatusOK, "POST", "/v1/routing/try", quoteTo("Ada", member, book)); at(got, "routing", "rule") != "it" {
			t.Errorf("%s does not read %s: %v", when, member, got["routing"])
		}
		if got, _ := c.do(http.StatusOK, "POST", "/v1/routing/try", quoteTo("Ada", book)); at(got, "routing", "rule") == "it" {
			t.Errorf("%s always holds", when)
		}
	}
}

func TestContractATrySaysWhatIsRefused(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	strict := `"book":{"rules":[{"name":"DHL or nothing","then":{"use":[{"carrier":"dhl_express","service":"worldwide"}]},"otherwise":"refuse"}]}`
	strict = strings.Replace(strict, "worldwide", c.serviceAbroad(), 1)
	got, _ := c.do(http.StatusOK, "POST", "/v1/routing/try", quoteTo("Ada", strict))
	if got["refused"] == nil || got["choice"] != nil || len(got["offers"].([]any)) != 0 || len(at(got, "routing", "offers").([]any)) == 0 {
		t.Errorf("refused: %v", got)
	}
	if got, _ = c.do(http.StatusOK, "POST", "/v1/routing/try", quoteTo("Ada", `"maxAmount":{"amount":"0.01","currency":"USD"}`)); got["refused"] == nil {
		t.Errorf("maxAmount: %v", got)
	}
	for member, want := range map[string][2]string{
		`"rules":"draft","book":{"rules":[]}`:             {"/rules", "exclusive"},
		`"rules":"drafts"`:                                {"/rules", "not_allowed"},
		`"carrier":"ups"`:                                 {"/carrier", "unknown_field"},
		`"maxAmount":{"amount":"1.234","currency":"USD"}`: {"/maxAmount/amount", "invalid"},
		`"deliverBy":"soon"`:                              {"/deliverBy", "invalid_format"},
		`"parcels":[{"weight":1}]`:                        {"/parcels", "exclusive"},
	} {
		if p, _ := c.do(http.StatusUnprocessableEntity, "POST", "/v1/routing/try", quoteTo("Ada", member)); wrongAt(p)[want[0]] != want[1] {
			t.Errorf("%s: %v", member, p["errors"])
		}
	}
	if p, _ := c.do(http.StatusNotFound, "POST", "/v1/routing/try", quoteTo("Ada", `"rules":"draft"`)); p["code"] != "draft_not_found" {
		t.Errorf("no draft: %v", p)
	}
	if p, _ := c.do(http.StatusServiceUnavailable, "POST", "/v1/routing/try", quoteTo("FAULT QUOTE")); p["code"] != "carrier_unavailable" {
		t.Errorf("no carrier answers: %v", p)
	}
}

// serviceAbroad is a service of DHL that carries nothing inside the country.
func (c *contract) serviceAbroad() string {
	c.Helper()
	list, _ := c.do(http.StatusOK, "GET", "/v1/carriers", "")
	for _, one := range list["data"].([]any) {
		if at(one, "carrier") != "dhl_express" {
			continue
		}
		quotes, _ := c.do(http.StatusOK, "POST", "/v1/rates", quoteTo("Ada"))
		for _, s := range at(one, "services").([]any) {
			offered := false
			for _, r := range quotes["rates"].([]any) {
				offered = offered || at(r, "carrier") == "dhl_express" && at(r, "service") == at(s, "code")
			}
			if !offered {
				return at(s, "code").(string)
			}
		}
	}
	c.Fatal("DHL offers everything")
	return ""
}

// TestContractASimulationCountsToTheCent compares it with what each shipment's
// own offers say.
func TestContractASimulationCountsToTheCent(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	var was, is int64
	for i := range 4 {
		sh, _ := c.do(http.StatusCreated, "POST", "/v1/shipments", strings.Replace(to("Ada"), "4.2", fmt.Sprintf("%d.5", 3*i+1), 1))
		was += minor(t, at(sh, "rate", "amount"))
		for _, o := range at(sh, "routing", "offers").([]any) {
			if at(o, "carrier") == "fedex" { // the cheapest comes first
				is += minor(t, at(o, "amount"))
				break
			}
		}
	}
	c.do(http.StatusCreated, "POST", "/v1/shipments", to("Ada", `"carrier":"ups"`))
	body := `{"book":` + bookUsing("FedEx", "fedex") + `}`
	sim, _ := c.do(http.StatusOK, "POST", "/v1/routing/simulate", body)
	for name, want := range map[string]any{"shipments": 5.0, "compared": 4.0, "changed": 4.0, "named": 1.0, "unknown": 0.0, "foreign": 0.0, "refused": 0.0, "currency": "USD"} {
		if sim[name] != want {
			t.Errorf("%s is %v, want %v", name, sim[name], want)
		}
	}
	for name, want := range map[string]int64{"was": was, "is": is, "saved": was - is} {
		if got := minor(t, at(sim, name, "amount")); got != want {
			t.Errorf("%s is %d, want %d", name, got, want)
		}
	}
	var carriers, changes int64
	for _, p := range sim["carriers"].([]any) {
		carriers += minor(t, at(p, "was", "amount")) - minor(t, at(p, "is", "amount"))
	}
	for _, ch := range sim["changes"].([]any) {
		changes += minor(t, at(ch, "saved"))
		if !strings.HasPrefix(at(ch, "shipmentId").(string), "shp_") || at(ch, "is", "carrier") != "fedex" || at(ch, "orderId") != "ORD-1001" || at(ch, "rule") != "FedEx" {
			t.Errorf("change %v", ch)
		}
	}
	zone := sim["zones"].([]any)[0]
	if carriers != was-is || changes != was-is || at(zone, "zone") == "" || minor(t, at(zone, "saved", "amount")) != was-is {
		t.Errorf("carriers %d, changes %d, zone %v; want %d", carriers, changes, zone, was-is)
	}
	if at(sim, "rules", "rule") != "FedEx" || at(sim, "rules", "shipments") != 4.0 || at(sim, "was", "averageDays") == nil || at(sim, "saved", "days") == nil {
		t.Errorf("rules %v, was %v, saved %v", sim["rules"], sim["was"], sim["saved"])
	}
	notes := sim["notes"].([]any)
	if len(notes) != 1 || !strings.Contains(notes[0].(string), "named the carrier or the rate") || !strings.HasSuffix(notes[0].(string), ": 1 shipment.") {
		t.Errorf("notes %v", notes)
	}
	if list, _ := c.do(http.StatusOK, "GET", "/v1/shipments", ""); len(list["data"].([]any)) != 5 {
		t.Errorf("it bought something: %v", list)
	}
}

// TestContractOneSimulationRunsAtATime holds one up while it asks the simulated
// carriers again.
func TestContractOneSimulationRunsAtATime(t *testing.T) {
	t.Parallel()
	var hold atomic.Bool
	begun, goOn := make(chan struct{}), make(chan struct{})
	c := newContract(t, func(w *wiring) {
		w.hands = &hands{rates: func(list []ship.Rate) []ship.Rate {
			if hold.CompareAndSwap(true, false) {
				close(begun)
				<-goOn
			}
			return list
		}}
	}).opened()
	c.ship()
	body := `{"book":{"rules":[{"name":"a","then":{"require":{"signature":"adult"}}}]}}`
	hold.Store(true)
	first := make(chan int)
	go func() { first <- send(c.handler, "POST", "/v1/routing/simulate", c.key, body).Code }()
	<-begun
	p, w := c.do(http.StatusTooManyRequests, "POST", "/v1/routing/simulate", body)
	if p["code"] != "rate_limited" || p["retryable"] != true || w.Header().Get("Retry-After") == "" {
		t.Errorf("a second: %v", p)
	}
	close(goOn)
	if status := <-first; status != http.StatusOK {
		t.Errorf("the first: %d", status)
	}
	sim, _ := c.do(http.StatusOK, "POST", "/v1/routing/simulate", body)
	if notes := fmt.Sprint(sim["notes"]); sim["requoted"] != 1.0 || !strings.Contains(notes, "Quoted again") {
		t.Errorf("afterwards: %v, %s", sim["requoted"], notes)
	}
}

// minor is a decimal amount of two places in cents.
func minor(t *testing.T, amount any) int64 {
	t.Helper()
	m, ok := ship.ParseMoney(strings.TrimPrefix(amount.(string), "-"), "USD")
	if !ok {
		t.Fatalf("%v is no amount", amount)
	}
	if strings.HasPrefix(amount.(string), "-") {
		return -m.Minor
	}
	return m.Minor
}

func TestContractASimulationLooksWhereItIsTold(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	for range 3 {
		c.ship()
	}
	if p, _ := c.do(http.StatusNotFound, "POST", "/v1/routing/simulate", ""); p["code"] != "draft_not_found" {
		t.Errorf("no draft: %v", p)
	}
	c.publish(bookUsing("one", "fedex"))
	c.publish(bookUsing("two", "ups"))
	c.do(http.StatusOK, "PUT", "/v1/routing/draft", bookUsing("three", "dhl_express"))
	future := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	for body, want := range map[string][2]any{
		"":                           {3.0, "three"},
		`{}`:                         {3.0, "three"},
		`{"rules":null,"last":2}`:    {2.0, "three"},
		`{"rules":"published"}`:      {3.0, "two"},
		`{"version":1,"last":1}`:     {1.0, "one"},
		`{"since":"` + future + `"}`: {0.0, nil},
		`{"since":"2020-01-01T00:00:00Z","last":100000}`: {3.0, "three"},
	} {
		sim, _ := c.do(http.StatusOK, "POST", "/v1/routing/simulate", body)
		var rule any
		if list := sim["rules"].([]any); len(list) > 0 {
			rule = at(list, "rule")
		}
		if sim["shipments"] != want[0] || rule != want[1] {
			t.Errorf("%s: %v shipments by %v", body, sim["shipments"], rule)
		}
	}
	for body, want := range map[string][2]string{
		`{"last":0}`:                            {"/last", "too_small"},
		`{"last":100001}`:                       {"/last", "too_large"},
		`{"version":0}`:                         {"/version", "too_small"},
		`{"version":1,"rules":"draft"}`:         {"/version", "exclusive"},
		`{"book":{"rules":[]},"version":1}`:     {"/version", "exclusive"},
		`{"book":{"rules":[]},"rules":"draft"}`: {"/rules", "exclusive"},
		`{"since":"yesterday"}`:                 {"/since", "invalid_format"},
		`{"lst":1}`:                             {"/lst", "unknown_field"},
	} {
		if p, _ := c.do(http.StatusUnprocessableEntity, "POST", "/v1/routing/simulate", body); wrongAt(p)[want[0]] != want[1] {
			t.Errorf("%s: %v", body, p)
		}
	}
	if p, _ := c.do(http.StatusNotFound, "POST", "/v1/routing/simulate", `{"version":9}`); p["code"] != "version_not_found" {
		t.Errorf("version 9: %v", p)
	}
}
