package api

import (
	"net/http"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// objections are what carriers refuse an order for, as drivers report it.
var objections = map[string][]ship.FieldError{
	"ups":         {{Pointer: "/destination/name", Code: "invalid_text", Detail: "has characters that the carrier cannot print"}},
	"usps":        {{Pointer: "/parcels/0/weight", Code: "too_large", Detail: "must be at most 70 lb"}},
	"fedex":       {{Pointer: "/customs", Code: "required", Detail: "is required"}},
	"dhl_express": {{Pointer: "/origin/phone", Code: "required", Detail: "is required"}, {Pointer: "/destination/phone", Code: "required", Detail: "is required"}},
}

// refusing has carriers refuse with their objections.
func refusing(at carrier.Operation, only ...string) *hands {
	return &hands{refuse: func(name string, op carrier.Operation) error {
		if op != at || len(only) > 0 && !strings.Contains(strings.Join(only, " "), name) {
			return nil
		}
		return ship.InvalidFields(objections[name])
	}}
}

// expectObjections checks that every carrier's fields are there, and that the
// words name carrier and field.
func expectObjections(t *testing.T, p map[string]any) {
	t.Helper()
	got := map[string]string{}
	for _, e := range p["errors"].([]any) {
		pointer, _ := at(e, "pointer").(string)
		got[at(e, "carrier").(string)+" "+pointer] = at(e, "code").(string)
	}
	for _, want := range []string{"ups /destination/name", "usps /parcel/weight", "fedex /customs", "dhl_express /origin/phone", "dhl_express /destination/phone"} {
		if got[want] == "" {
			t.Errorf("%s is missing in %v", want, got)
		}
	}
	detail := p["detail"].(string)
	for _, words := range []string{"DHL Express needs the sender's phone number", "FedEx needs customs", "UPS does not accept the recipient's name", "70 lb"} {
		if !strings.Contains(detail, words) {
			t.Errorf("%q is missing in %q", words, detail)
		}
	}
	if strings.Contains(detail, "invalid fields") || p["code"] != "carrier_rejected" {
		t.Errorf("%v: %s", p["code"], detail)
	}
}

// TestContractEveryCarriersObjectionsReachTheClient: for a quote, for a purchase
// that nobody quotes, and for one that nobody sells.
func TestContractEveryCarriersObjectionsReachTheClient(t *testing.T) {
	t.Parallel()
	c := newContract(t, func(w *wiring) { w.hands = refusing(carrier.OpRates) }).opened()
	p, _ := c.do(http.StatusUnprocessableEntity, "POST", "/v1/rates", quoteTo("Ada"))
	expectObjections(t, p)
	p, _ = c.do(http.StatusUnprocessableEntity, "POST", "/v1/shipments", specBody)
	expectObjections(t, p)

	c = newContract(t, func(w *wiring) { w.hands = refusing(carrier.OpBuy) }).opened()
	p, first := c.do(http.StatusUnprocessableEntity, "POST", "/v1/shipments", specBody, "Idempotency-Key: k")
	expectObjections(t, p)
	if _, again := c.do(http.StatusUnprocessableEntity, "POST", "/v1/shipments", specBody, "Idempotency-Key: k"); again.Body.String() != first.Body.String() {
		t.Errorf("first %s\nthen  %s", first.Body, again.Body)
	}
	p, _ = c.do(http.StatusUnprocessableEntity, "POST", "/v1/shipments", to("FAULT REFUSE UPS")) // as a live purchase
	expectObjections(t, p)
}

// TestContractObjectionsToQuotesAndSalesAreListedTogether: two carriers do not
// quote and the other two do not sell, in a plain sandbox purchase and
// in one that is made like a live one.
func TestContractObjectionsToQuotesAndSalesAreListedTogether(t *testing.T) {
	t.Parallel()
	quoting, selling := refusing(carrier.OpRates, "fedex", "dhl_express"), refusing(carrier.OpBuy, "ups", "usps")
	both := &hands{refuse: func(name string, op carrier.Operation) error {
		if err := quoting.refuse(name, op); err != nil {
			return err
		}
		return selling.refuse(name, op)
	}}
	c := newContract(t, func(w *wiring) { w.hands = both }).opened()

	for _, body := range []string{specBody, to("FAULT REFUSE UPS")} {
		p, _ := c.do(http.StatusUnprocessableEntity, "POST", "/v1/shipments", body)
		expectObjections(t, p)
	}
}

// TestContractACarrierThatDoesNotQuoteSaysWhy: the others' rates are there, and
// its entry in errors has pointers.
func TestContractACarrierThatDoesNotQuoteSaysWhy(t *testing.T) {
	t.Parallel()
	c := newContract(t, func(w *wiring) { w.hands = refusing(carrier.OpRates, "dhl_express") }).opened()
	quotes, _ := c.do(http.StatusOK, "POST", "/v1/rates", quoteTo("Ada"))
	e := quotes["errors"].([]any)[0].(map[string]any)
	if e["carrier"] != "dhl_express" || e["code"] != "carrier_rejected" || !strings.Contains(e["message"].(string), "DHL Express needs the sender's phone number") || e["retryable"] != false {
		t.Errorf("error %v", e)
	}
	if got := wrongAt(e); got["/origin/phone"] != "required" || got["/destination/phone"] != "required" {
		t.Errorf("errors %v", e["errors"])
	}
}

// TestContractAllErrorsComeInOneAnswer: those of the shape and those of the
// addresses.
func TestContractAllErrorsComeInOneAnswer(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	body := `{"orderId":"1","carier":"ups","destination":{"name":"Ada","address1":"1 Road","city":"Austin","state":"CA","zip":"78701","country":"US","phone":"x"},` +
		`"origin":{"name":"Shop","address1":"1 Road","city":"Reno","state":"NV","zip":"8950","country":"US"},"parcel":{"weight":-1},"shipDate":"2020-01-01","labelFormat":"gif"}`
	p, _ := c.do(http.StatusUnprocessableEntity, "POST", "/v1/shipments", body)
	want := map[string]string{
		"/carier": "unknown_field", "/destination/state": "state_mismatch", "/destination/phone": "invalid_phone", "/origin/zip": "invalid_zip",
		"/parcel/weight": "too_small", "/shipDate": "invalid", "/labelFormat": "not_allowed",
	}
	got := wrongAt(p)
	for pointer, code := range want {
		if got[pointer] != code {
			t.Errorf("%s is %q, want %q", pointer, got[pointer], code)
		}
	}
	if len(got) != len(want) {
		t.Errorf("errors %v", p["errors"])
	}
	quote := `{"destination":{"name":"Ada","address1":"1 Road","city":"Austin","state":"CA","zip":"78701","country":"US"},"parcel":{"weight":"heavy"}}`
	p, _ = c.do(http.StatusUnprocessableEntity, "POST", "/v1/rates", quote)
	if got := wrongAt(p); got["/destination/state"] != "state_mismatch" || got["/parcel/weight"] != "wrong_type" {
		t.Errorf("errors of rates %v", got)
	}
}

// TestContractMessagesSayWhatIsExpected: bounds, allowed values, the client's own
// units, and what was probably meant.
func TestContractMessagesSayWhatIsExpected(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	customs := func(item string) string {
		return to("Ada", `"customs":{"contentsType":"merchandise","items":[{"description":"Shirt","quantity":1,"value":{"amount":"1.00","currency":"USD"},`+item+`}]}`)
	}
	named := func(from, to string) string { return strings.Replace(specBody, from, to, 1) }
	for _, tc := range []struct{ method, path, body, place, words, suggestion string }{
		{"POST", "/v1/shipments", customs(`"hsCode":"61.09"`), "/customs/items/0/hsCode", "must be 6 to 10 digits, such as 610910", ""},
		{"POST", "/v1/shipments", to("Ada", `"maxAmount":{"amount":"5","currency":"dollars"}`), "/maxAmount/currency", "such as USD", ""},
		{"POST", "/v1/shipments", to("Ada", `"maxAmount":{"amount":"5","currency":"eur"}`), "/maxAmount/currency", "such as USD", "EUR"},
		{"POST", "/v1/shipments", to("Ada", `"maxAmount":{"amount":"5","currency":"XYZ"}`), "/maxAmount/currency", "is not a currency", ""},
		{"POST", "/v1/shipments", to("Ada", `"maxAmount":{"amount":"5.001","currency":"EUR"}`), "/maxAmount/amount", "more decimal places", ""},
		{"POST", "/v1/shipments", to("Ada", `"labelFormat":"zlp"`), "/labelFormat", "pdf, zpl, png", "zpl"},
		{"POST", "/v1/shipments", to("Ada", `"carrier":"ups","service":"grond"`), "/service", "did you mean ground?", "ground"},
		{"POST", "/v1/rates", quoteTo("Ada", `"services":["grond"]`), "/services/0", "three_day_select", "ground"},
		{"POST", "/v1/shipments", named(`"zip"`, `"postalCode"`), "/destination/postalCode", "use zip", "zip"},
		{"POST", "/v1/shipments", named(`"address1"`, `"street1"`), "/destination/street1", "use address1", "address1"},
		{"POST", "/v1/shipments", named(`"state"`, `"province"`), "/destination/province", "use state", "state"},
		{"POST", "/v1/shipments", named(`"TX"`, `"CA"`), "/destination/state", "Texas (TX)", "TX"},
		{"GET", "/v1/shipments?limit=1000", "", "?limit", "from 1 to 100", ""},
		{"GET", "/v1/shipments?limit=many", "", "?limit", "whole number, from 1 to 100", ""},
		{"GET", "/v1/events?types=shipment.created,shipment.delivred", "", "?types", "shipment.created, label.generated", "shipment.delivered"},
		{"GET", "/v1/shipments?status=delivred", "", "?status", "out_for_delivery, delivered", "delivered"},
	} {
		p, _ := c.do(http.StatusUnprocessableEntity, tc.method, tc.path, tc.body)
		found := false
		for _, e := range p["errors"].([]any) {
			place, _ := at(e, "pointer").(string)
			if name, ok := at(e, "parameter").(string); ok {
				place = "?" + name
			}
			suggestion, _ := at(e, "suggestion").(string)
			found = found || place == tc.place && strings.Contains(at(e, "detail").(string), tc.words) && suggestion == tc.suggestion
		}
		if !found {
			t.Errorf("%s %s: %v, want %q with %q", tc.path, tc.place, p["errors"], tc.words, tc.suggestion)
		}
	}

	// One mistake is one error: what an amount means is not known without its currency.
	p, _ := c.do(http.StatusUnprocessableEntity, "POST", "/v1/shipments", to("Ada", `"maxAmount":{"amount":"5","currency":"eur"}`))
	if list := p["errors"].([]any); len(list) != 1 {
		t.Errorf("a currency in small letters: %v", list)
	}

	heavy := strings.Replace(to("Ada", `"carrier":"usps"`), `"weight":4.2`, `"weight":40,"weightUnit":"kg"`, 1)
	p, _ = c.do(http.StatusUnprocessableEntity, "POST", "/v1/shipments", heavy)
	if detail := p["detail"].(string); !strings.Contains(detail, "at most ") || !strings.Contains(detail, " kg") {
		t.Errorf("a limit in another unit: %q", detail)
	}
	sh, _ := c.do(http.StatusCreated, "POST", "/v1/shipments", to("FAULT VOID REFUSED"))
	p, _ = c.do(http.StatusConflict, "POST", "/v1/shipments/"+sh["id"].(string)+"/void", "")
	if detail := p["detail"].(string); p["code"] != "void_refused" || !strings.Contains(detail, "stays valid") {
		t.Errorf("a refused void: %q", detail)
	}
}

// TestEveryPatternIsExplained: a text that does not match is answered with an
// example, not with a regular expression.
func TestEveryPatternIsExplained(t *testing.T) {
	t.Parallel()
	var walk func(*shape)
	walk = func(s *shape) {
		if s == nil {
			return
		}
		if s.pattern != nil && strings.HasPrefix(s.patternDetail, "must match") {
			t.Errorf("the pattern %s is not in patternDetails", s.pattern)
		}
		for _, f := range s.fields {
			walk(f.shape)
		}
		walk(s.items)
		walk(s.others)
	}
	for _, rt := range newServer(testConfig(t)).order {
		walk(rt.body)
	}
}
