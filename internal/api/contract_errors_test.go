package api

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/httpkit"
)

func TestContractOfManyUnknownFieldsTheFirstAreReported(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()

	var fields []string
	for i := range 300 {
		fields = append(fields, fmt.Sprintf(`"unknown%d":0`, i))
	}
	p, _ := c.do(http.StatusUnprocessableEntity, "POST", "/v1/shipments", to("Ada", strings.Join(fields, ",")))

	reported := p["errors"].([]any)
	if len(reported) != 20 || at(reported[0], "pointer") != "/unknown0" || at(reported[19], "pointer") != "/unknown19" {
		t.Errorf("%d errors: %v", len(reported), reported)
	}
}

func TestContractAProblemHasTheMembersOfTheStandardAndOurs(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	body := strings.Replace(to("Ada", `"onDuplicatOrder":"allow"`), `"TX"`, `"Texs"`, 1)
	p, w := c.do(http.StatusUnprocessableEntity, "POST", "/v1/shipments", body)
	for name, want := range map[string]any{
		"type": testBase + "/docs/errors#validation_failed", "status": 422.0, "instance": "/v1/shipments", "code": "validation_failed",
		"requestId": w.Header().Get("Request-Id"), "source": "client", "retryable": false,
	} {
		if p[name] != want {
			t.Errorf("%s is %v, want %v", name, p[name], want)
		}
	}
	if p["title"] == "" || p["detail"] == "" || w.Header().Get("Content-Type") != "application/problem+json" {
		t.Errorf("problem %v", p)
	}
	e := p["errors"].([]any)[0]
	if at(e, "pointer") != "/onDuplicatOrder" || at(e, "code") != "unknown_field" || at(e, "suggestion") != "onDuplicateOrder" || at(e, "detail") == "" {
		t.Errorf("errors %v", p["errors"])
	}
	p, _ = c.do(http.StatusUnprocessableEntity, "POST", "/v1/shipments", to("FAULT REFUSE", `"carrier":"ups"`))
	if p["source"] != "carrier" || p["carrier"] != "ups" || p["carrierCode"] == nil || p["carrierMessage"] == nil {
		t.Errorf("a carrier's refusal: %v", p)
	}
	_, page := c.do(http.StatusOK, "GET", "/docs/errors", "")
	for _, code := range httpkit.Codes {
		if !strings.Contains(page.Body.String(), `id="`+code.Name+`"`) {
			t.Errorf("%s is not documented", code.Name)
		}
	}
}

// TestContractNoAnswerAndNoLogRepeatsAValue puts a mark into each value of a
// request that is refused for that value.
func TestContractNoAnswerAndNoLogRepeatsAValue(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	c := newContract(t, func(w *wiring) {
		w.api.Log = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}).opened()
	const mark = "Zyzzyva"
	for _, body := range []string{
		strings.Replace(specBody, `"TX"`, `"`+mark+`"`, 1),
		strings.Replace(specBody, `"78701"`, `"`+mark+`"`, 1),
		strings.Replace(specBody, `"US"`, `"`+mark+`"`, 1),
		strings.Replace(specBody, `"500 Main St"`, `"`+mark+`\u0007"`, 1),
		strings.Replace(specBody, `4.2`, `"`+mark+`"`, 1),
		to("Ada", `"labelFormat":"`+mark+`"`), to("Ada", `"carrier":"`+mark+`"`), to("Ada", `"rateId":"`+mark+`"`), to("Ada", `"shipDate":"`+mark+`"`),
		to("Ada", `"connectionId":"`+mark+`"`), to("Ada", `"maxAmount":{"amount":"`+mark+`","currency":"USD"}`),
		strings.Replace(specBody, `"country":"US"`, `"country":"US","email":"`+mark+`"`, 1), strings.Replace(specBody, `"country":"US"`, `"country":"US","phone":"`+mark+`"`, 1),
		to(mark+" FAULT", `"x":`), `{"orderId":"` + mark + `","orderId":"b"}`, strings.Replace(to("FAULT REFUSE"), "500 Main St", mark, 1),
		strings.Replace(to("FAULT UNAVAILABLE"), "500 Main St", mark, 1),
	} {
		w := send(c.handler, "POST", "/v1/shipments", c.key, body)
		if w.Code < 400 || strings.Contains(w.Body.String(), mark) {
			t.Errorf("%s\nis answered %d %s", body, w.Code, w.Body)
		}
	}
	for _, query := range []string{"status=", "limit=", "createdAfter=", "cursor="} {
		if w := send(c.handler, "GET", "/v1/shipments?"+query+mark, c.key, ""); w.Code != http.StatusUnprocessableEntity || strings.Contains(w.Body.String(), mark) {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
	}
	c.do(http.StatusCreated, "POST", "/v1/shipments", to(mark))
	if strings.Contains(log.String(), mark) || strings.Contains(log.String(), c.key) || !strings.Contains(log.String(), "/v1/shipments") {
		t.Errorf("the log has it:\n%s", log.String())
	}
}

func TestContractEveryAnswerHasItsRequestId(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	id := c.ship()
	seen := map[string]bool{}
	for _, tc := range []struct {
		method, path, key, body string
		status                  int
	}{
		{"GET", "/v1/shipments/" + id, c.key, "", 200},
		{"POST", "/v1/shipments", c.key, specBody, 201},
		{"GET", "/v1/labels/" + id + ".pdf", c.key, "", 200},
		{"HEAD", "/v1/labels/" + id + ".pdf", c.key, "", 200},
		{"POST", "/v1/shipments", c.key, "{", 400},
		{"GET", "/v1/shipments", "", "", 401},
		{"GET", "/v1/nothing", "", "", 404},
		{"DELETE", "/v1/shipments", c.key, "", 405},
		{"GET", "/healthz", "", "", 200},
		{"GET", "/readyz", "", "", 200},
		{"GET", "/docs", "", "", 200},
		{"GET", "/openapi.yaml", "", "", 200},
		{"POST", "/v1/shipments", c.key, strings.Repeat(" ", 300<<10), 413},
	} {
		w := send(c.handler, tc.method, tc.path, tc.key, tc.body, "Request-Id: mine")
		got := w.Header().Get("Request-Id")
		if w.Code != tc.status || !strings.HasPrefix(got, "req_") || seen[got] {
			t.Errorf("%s %s: %d with Request-Id %q", tc.method, tc.path, w.Code, got)
		}
		seen[got] = true
	}
}

func TestContractWhatIsTooMuchIsRefused(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	item := `{"description":"x","quantity":1,"value":{"amount":"1.00","currency":"USD"}}`
	customs := func(n int) string {
		return `"customs":{"contentsType":"gift","items":[` + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + `]}`
	}
	parcels := func(n int) string {
		head, _, _ := strings.Cut(specBody, `"parcel"`)
		return head + `"parcels":[` + strings.TrimSuffix(strings.Repeat(`{"weight":1},`, n), ",") + `]}`
	}
	for _, tc := range []struct {
		what, body string
		status     int
		code       string
	}{
		{"256 KiB and a byte", strings.Repeat(" ", 256<<10-len(specBody)+1) + specBody, 413, "body_too_large"},
		{"256 KiB", strings.Repeat(" ", 256<<10-len(specBody)) + specBody, 201, ""},
		{"33 levels", strings.Repeat(`{"a":`, 33) + "1" + strings.Repeat("}", 33), 400, "malformed_json"},
		{"50 parcels", parcels(50), 201, ""},
		{"51 parcels", parcels(51), 422, "validation_failed"},
		{"100 items", to("Ada", customs(100)), 201, ""},
		{"101 items", to("Ada", customs(101)), 422, "validation_failed"},
	} {
		p, _ := c.do(tc.status, "POST", "/v1/shipments", tc.body)
		if code, _ := p["code"].(string); code != tc.code {
			t.Errorf("%s: %v", tc.what, p)
		}
	}
	// 32 levels are read, and refused for their name alone.
	if p, _ := c.do(422, "POST", "/v1/shipments", strings.Repeat(`{"a":`, 32)+"1"+strings.Repeat("}", 32)); p["code"] != "validation_failed" {
		t.Errorf("32 levels: %v", p)
	}
	for range 19 {
		c.ship()
	}
	for query, want := range map[string]int{"": 20, "?limit=1": 1, "?limit=100": 22} {
		if list, _ := c.do(http.StatusOK, "GET", "/v1/shipments"+query, ""); len(list["data"].([]any)) != want {
			t.Errorf("%q lists %d, want %d", query, len(list["data"].([]any)), want)
		}
	}
	for _, query := range []string{"?limit=0", "?limit=101", "?limit=-1"} {
		for _, path := range []string{"/v1/shipments", "/v1/trackers", "/v1/events"} {
			if p, _ := c.do(http.StatusUnprocessableEntity, "GET", path+query, ""); wrongAt(p)["?limit"] == "" {
				t.Errorf("%s%s: %v", path, query, p)
			}
		}
	}
}

func TestContractAKeyThatAsksTooOftenIsToldToWait(t *testing.T) {
	t.Parallel()
	c := newContract(t, func(w *wiring) { w.api.Limits = Limits{RequestsPerSec: 1, Burst: 3} }).opened()
	for i := range 3 {
		_, w := c.do(http.StatusOK, "GET", "/v1/carriers", "")
		if w.Header().Get("RateLimit") == "" || w.Header().Get("RateLimit-Policy") != `"default";q=3;w=3` {
			t.Errorf("request %d: %v", i+1, w.Header())
		}
	}
	p, w := c.do(http.StatusTooManyRequests, "GET", "/v1/carriers", "")
	if p["code"] != "rate_limited" || p["retryable"] != true || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Header().Get("RateLimit"), "r=0") {
		t.Errorf("one too many: %v %v", p, w.Header())
	}
	c.as(c.newKey(false)).do(http.StatusOK, "GET", "/v1/carriers", "")
}

// TestContractErrorsUseTheStatusesOfTheContract holds the list of codes to the
// contract's list of statuses.
func TestContractErrorsUseTheStatusesOfTheContract(t *testing.T) {
	t.Parallel()
	allowed := []int{400, 401, 403, 404, 405, 409, 410, 413, 415, 422, 429, 500, 503}
	for _, code := range httpkit.Codes {
		if !slices.Contains(allowed, code.Status) || code.Help == "" || code.Title == "" || code.Name != strings.ToLower(code.Name) {
			t.Errorf("code %+v", code)
		}
	}
}

// TestContractARequestEndsInTime has a carrier that takes longer than a request
// may.
func TestContractARequestEndsInTime(t *testing.T) {
	t.Parallel()
	slow := true
	c := newContract(t, func(w *wiring) {
		w.api.Limits.Timeout = time.Second // a busy machine needs some of it
		w.hands = &hands{buy: func(carrier.BuyOrder) {
			if slow {
				time.Sleep(1200 * time.Millisecond)
			}
		}}
	}).opened()
	p, w := c.do(http.StatusServiceUnavailable, "POST", "/v1/shipments", specBody, "Idempotency-Key: k")
	if p["code"] != "timeout" || p["retryable"] != true || w.Header().Get("Retry-After") == "" {
		t.Errorf("too late: %v", p)
	}
	slow = false
	if list, _ := c.do(http.StatusOK, "GET", "/v1/shipments", ""); len(list["data"].([]any)) != 0 {
		t.Errorf("bought all the same: %v", list)
	}
	for range 20 { // a busy machine may be too slow for so short a time
		if w := send(c.handler, "POST", "/v1/shipments", c.key, specBody, "Idempotency-Key: k"); w.Code == http.StatusCreated {
			return
		}
	}
	t.Error("the same key never succeeds")
}
