package api

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/routing"
)

// any sends a request whose status may be any.
func (b *bench) any(method, path, body string, header ...string) (map[string]any, *httptest.ResponseRecorder) {
	b.Helper()
	w := send(b.handler, method, path, b.key, body, header...)
	var v map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		b.Fatalf("%s %s: %v in %s", method, path, err, w.Body)
	}
	return v, w
}

// ruled is a book with one rule, of the members that are given.
func ruled(members string) string { return `{"rules":[{"name":"a",` + members + `}]}` }

// wrongBooks are books that are refused, by where, how and what is suggested.
var wrongBooks = []struct{ book, pointer, code, suggestion string }{
	{ruled(`"when":"destination.contry == \"US\"","then":{"choose":"cheapest"}`), "/rules/0/when", "invalid_condition", "destination.country"},
	{ruled(`"when":"parcel.weightKg > ","then":{"choose":"cheapest"}`), "/rules/0/when", "invalid_condition", ""},
	{ruled(`"when":"parcel.weightKg","then":{"choose":"cheapest"}`), "/rules/0/when", "invalid_condition", ""},
	{ruled(`"when":"cheapest.amount > 9.0","then":{"require":{"signature":"adult"}}`), "/rules/0/when", "invalid_condition", ""},
	{ruled(`"when":"` + strings.Repeat("x", 2001) + `","then":{"choose":"cheapest"}`), "/rules/0/when", "too_long", ""},
	{ruled(`"then":{"chose":"cheapest"}`), "/rules/0/then/chose", "unknown_field", "choose"},
	{ruled(`"then":{"choose":"cheapst"}`), "/rules/0/then/choose", "not_allowed", "cheapest"},
	{ruled(`"then":{}`), "/rules/0/then", "invalid", ""},
	{ruled(`"then":{"choose":"cheapest","forbid":[{"carrier":"ups"}]}`), "/rules/0/then", "invalid", ""},
	{ruled(`"then":null`), "/rules/0/then", "wrong_type", ""},
	{ruled(`"when":"true"`), "/rules/0/then", "required", ""},
	{ruled(`"then":{"use":[]}`), "/rules/0/then/use", "too_few", ""},
	{ruled(`"then":{"use":[{"carrier":"upz"}]}`), "/rules/0/then/use/0/carrier", "unknown_carrier", "ups"},
	{ruled(`"then":{"use":[{"carrier":"ups","service":"grund"}]}`), "/rules/0/then/use/0/service", "unknown_service", "ground"},
	{ruled(`"then":{"use":[{"carrier":"ups","connectionId":"con_01KJMBQDHV00G2N6V3T9RZKXB4"}]}`), "/rules/0/then/use/0/connectionId", "unknown_connection", ""},
	{ruled(`"then":{"use":[{"carrier":"ups","connectionId":"con_x"}]}`), "/rules/0/then/use/0/connectionId", "invalid_format", ""},
	{ruled(`"then":{"split":[{"carrier":"ups","percent":70},{"carrier":"fedex","percent":20}]}`), "/rules/0/then/split", "invalid", ""},
	{ruled(`"then":{"split":[{"carrier":"ups","percent":70.5}]}`), "/rules/0/then/split/0/percent", "wrong_type", ""},
	{ruled(`"then":{"prefer":[{"carrier":"ups"}],"toleranceAmount":"a lot"}`), "/rules/0/then/toleranceAmount", "invalid_format", ""},
	{ruled(`"then":{"choose":"cheapest","by":"soon"}`), "/rules/0/then/by", "invalid_format", ""},
	{ruled(`"then":{"choose":"cheapest"},"otherwise":"refse"`), "/rules/0/otherwise", "not_allowed", "refuse"},
	{ruled(`"then":{"choose":"cheapest"},"guard":{"extraPercentage":5}`), "/rules/0/guard/extraPercentage", "unknown_field", "extraPercent"},
	{`{"rules":[{"name":"a","then":{"choose":"cheapest"}},{"name":"a","then":{"choose":"fastest"}}]}`, "/rules/1/name", "duplicate", ""},
	{`{"rules":[],"default":{"forbid":[{"carrier":"ups"}]}}`, "/default", "invalid", ""},
	{`{"rule":[]}`, "/rule", "unknown_field", "rules"},
	{`{}`, "/rules", "required", ""},
	{`{"rules":[` + strings.TrimSuffix(strings.Repeat(`{"name":"a","then":{"choose":"cheapest"}},`, 501), ",") + `]}`, "/rules", "too_many", ""},
}

// TestContractWrongRulesAreRefusedWithTheirPlace saves, tries and simulates
// what cannot work.
func TestContractWrongRulesAreRefusedWithTheirPlace(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	check := func(where, prefix, pointer, code, suggestion string, p map[string]any) {
		t.Helper()
		for _, e := range p["errors"].([]any) {
			if at(e, "pointer") == prefix+pointer && at(e, "code") == code && (suggestion == "" || at(e, "suggestion") == suggestion) && at(e, "detail") != "" {
				return
			}
		}
		t.Errorf("%s: %v; want %s at %s", where, p["errors"], code, prefix+pointer)
	}
	for _, tc := range wrongBooks {
		p, _ := c.do(http.StatusUnprocessableEntity, "PUT", "/v1/routing/draft", tc.book)
		check("draft", "", tc.pointer, tc.code, tc.suggestion, p)
		p, _ = c.do(http.StatusUnprocessableEntity, "POST", "/v1/routing/try", quoteTo("Ada", `"book":`+tc.book))
		check("try", "/book", tc.pointer, tc.code, tc.suggestion, p)
		p, _ = c.do(http.StatusUnprocessableEntity, "POST", "/v1/routing/simulate", `{"book":`+tc.book+`}`)
		check("simulate", "/book", tc.pointer, tc.code, tc.suggestion, p)
	}
	p, _ := c.do(http.StatusUnprocessableEntity, "PUT", "/v1/routing/draft", wrongBooks[0].book)
	if detail, _ := at(p, "errors", "detail").(string); !strings.Contains(detail, "column 1") {
		t.Errorf("the column is not told: %q", detail)
	}
	if state, _ := c.do(http.StatusOK, "GET", "/v1/routing", ""); state["draft"] != nil {
		t.Errorf("kept all the same: %v", state)
	}
}

func TestContractEveryPartOfARuleIsKept(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	book := `{"rules":[` +
		`{"name":"use","when":"parcel.count > 1 && \"a<b\" != \"\"","then":{"use":[{"carrier":"ups","service":"ground"},{"carrier":"fedex"}]},"guard":{"extraPercent":25.5,"extraAmount":"5.00","extraDays":0},"otherwise":"refuse"},` +
		`{"name":"choose","then":{"choose":"cheapest","by":"2026-12-24","withinDays":0,"withinDaysOfFastest":1,"withinPercentOfCheapest":0,"only":[{"carrier":"usps"}]},"disabled":true},` +
		`{"name":"prefer","then":{"prefer":[{"carrier":"usps"}],"tolerancePercent":0,"toleranceAmount":"1.50"},"guard":{"none":true}},` +
		`{"name":"split","then":{"split":[{"carrier":"ups","percent":70},{"carrier":"fedex","service":"ground","percent":30}]}},` +
		`{"name":"forbid","then":{"forbid":[{"carrier":"dhl_express"}]}},` +
		`{"name":"require","then":{"require":{"signature":"standard"}}}` +
		`],"default":{"choose":"fastest"}}`
	var want any
	if err := json.Unmarshal([]byte(book), &want); err != nil {
		t.Fatal(err)
	}
	text := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	draft, _ := c.do(http.StatusOK, "PUT", "/v1/routing/draft", book)
	version, _ := c.do(http.StatusCreated, "POST", "/v1/routing/publish", "")
	state, _ := c.do(http.StatusOK, "GET", "/v1/routing", "")
	for name, got := range map[string]any{"draft": draft["book"], "version": version["book"], "state": at(state, "published", "book")} {
		if text(got) != text(want) {
			t.Errorf("%s is\n%s\nwant\n%s", name, text(got), text(want))
		}
	}
	// Null stands for what is left out, and a whole number may have a point.
	loose := `{"rules":[{"name":"a","when":null,"then":{"use":null,"choose":"cheapest","withinDays":3.0},"guard":null,"otherwise":null}],"default":null}`
	draft, _ = c.do(http.StatusOK, "PUT", "/v1/routing/draft", loose)
	if got := text(draft["book"]); got != `{"rules":[{"name":"a","then":{"choose":"cheapest","withinDays":3}}]}` {
		t.Errorf("loose: %s", got)
	}
	c.do(http.StatusOK, "PUT", "/v1/routing/draft", `{"rules":[]}`)
}

func TestContractADraftWhoseCarrierIsGoneCanBeReadAndNotPublished(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	c.do(http.StatusOK, "PUT", "/v1/routing/draft", bookUsing("a", "ups"))
	c.rules.Carriers = func(bool) []carrier.Spec { return nil }
	state, _ := c.do(http.StatusOK, "GET", "/v1/routing", "")
	if warnings := at(state, "draft", "warnings").([]any); len(warnings) != 1 || warnings[0] != "/rules/0/then/use/0/carrier is not a known carrier" {
		t.Errorf("warnings %v", warnings)
	}
	if p, _ := c.do(http.StatusUnprocessableEntity, "POST", "/v1/routing/publish", ""); wrongAt(p)["/rules/0/then/use/0/carrier"] != "unknown_carrier" {
		t.Errorf("published: %v", p)
	}
}

func TestContractADraftIsTakenAsAPUT(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	book := bookUsing("a", "ups")
	for _, tc := range []struct {
		body   string
		status int
		code   any
		header string
	}{
		{"", http.StatusBadRequest, "malformed_json", ""},
		{"{", http.StatusBadRequest, "malformed_json", ""},
		{`{"rules":[],"rules":[]}`, http.StatusBadRequest, "malformed_json", ""},
		{book, http.StatusUnsupportedMediaType, "unsupported_media_type", "Content-Type: text/plain"},
		{strings.Repeat(" ", 256<<10) + book, http.StatusRequestEntityTooLarge, "body_too_large", ""},
		{`[]`, http.StatusUnprocessableEntity, "validation_failed", ""},
	} {
		header := []string{}
		if tc.header != "" {
			header = append(header, tc.header)
		}
		if p, _ := c.do(tc.status, "PUT", "/v1/routing/draft", tc.body, header...); p["code"] != tc.code {
			t.Errorf("%.40q: %v", tc.body, p)
		}
	}
	for path, allow := range map[string]string{"/v1/routing/draft": "PUT, DELETE", "/v1/routing": "GET, HEAD", "/v1/rate-sheets/a": "GET, HEAD, PUT, DELETE"} {
		if w := send(c.handler, "PATCH", path, c.key, "{}"); w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != allow {
			t.Errorf("PATCH %s: %d, Allow %q", path, w.Code, w.Header().Get("Allow"))
		}
	}
}

// TestContractEveryVariableIsListedWithAConditionThatWorks saves a rule for
// each of the examples.
func TestContractEveryVariableIsListedWithAConditionThatWorks(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	list, _ := c.do(http.StatusOK, "GET", "/v1/routing/variables", "")
	var book routing.Book
	for _, part := range []string{"variables", "offerFields"} {
		for _, v := range list[part].([]any) {
			name := part + " " + at(v, "name").(string)
			if at(v, "type") == "" || at(v, "doc") == "" {
				t.Errorf("%s: %v", name, v)
			}
			book.Rules = append(book.Rules, routing.Rule{Name: name, When: at(v, "example").(string), Then: routing.Action{Choose: "cheapest"}})
		}
	}
	if len(book.Rules) < 50 {
		t.Errorf("only %d variables", len(book.Rules))
	}
	text, err := json.Marshal(book)
	if err != nil {
		t.Fatal(err)
	}
	c.do(http.StatusOK, "PUT", "/v1/routing/draft", string(text))
}
