package api

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

func TestTheWorkflowOfTheSpecification(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	quotes, _ := b.do(http.StatusOK, "POST", "/v1/rates", `{`+specBody[strings.Index(specBody, `"destination"`):])
	if rates := quotes["rates"].([]any); len(rates) == 0 || rates[0].(map[string]any)["id"] == "" {
		t.Fatalf("rates = %v", quotes)
	}
	sh, w := b.do(http.StatusCreated, "POST", "/v1/shipments", specBody, "Idempotency-Key: k1")
	id := sh["id"].(string)
	if sh["status"] != "created" || sh["labelUrl"] != testBase+"/v1/labels/"+id+".pdf" || sh["trackingNumber"] == nil || sh["carrier"] == "" {
		t.Errorf("shipment = %v", sh)
	}
	if w.Header().Get("Location") != "/v1/shipments/"+id || !strings.HasPrefix(w.Header().Get("Request-Id"), "req_") {
		t.Errorf("headers = %v", w.Header())
	}
	again, w2 := b.do(http.StatusCreated, "POST", "/v1/shipments", specBody, "Idempotency-Key: k1")
	if !bytes.Equal(w.Body.Bytes(), w2.Body.Bytes()) || w2.Header().Get("Idempotent-Replayed") != "true" || again["id"] != id {
		t.Errorf("the repeat differs:\n%s\n%s", w.Body, w2.Body)
	}
	for ext, kind := range map[string]string{"pdf": "application/pdf", "zpl": "application/zpl", "png": "image/png"} {
		_, w := b.do(http.StatusOK, "GET", "/v1/labels/"+id+"."+ext, "")
		if w.Header().Get("Content-Type") != kind || w.Body.Len() == 0 || w.Header().Get("Cache-Control") != "no-store" ||
			w.Header().Get("Content-Disposition") != `inline; filename="`+id+"."+ext+`"` {
			t.Errorf("%s: %v", ext, w.Header())
		}
		b.do(http.StatusNotModified, "GET", "/v1/labels/"+id+"."+ext, "", "If-None-Match: "+w.Header().Get("ETag"))
		b.do(http.StatusOK, "HEAD", "/v1/labels/"+id+"."+ext, "")
	}
	for _, number := range []string{id, sh["trackingNumber"].(string), strings.ToLower(sh["trackingNumber"].(string))} {
		tr, w := b.do(http.StatusOK, "GET", "/v1/tracking/"+number, "")
		events := tr["events"].([]any)
		if tr["trackingNumber"] != sh["trackingNumber"] || tr["status"] != "label_generated" || len(events) != 2 ||
			events[0].(map[string]any)["status"] != "label_generated" || events[0].(map[string]any)["location"] != nil || tr["estimatedDeliveryDate"] == nil {
			t.Errorf("tracking = %v", tr)
		}
		b.do(http.StatusNotModified, "GET", "/v1/tracking/"+number, "", "If-None-Match: "+w.Header().Get("ETag"))
	}
	tr, _ := b.do(http.StatusOK, "POST", "/v1/sandbox/shipments/"+id+"/advance", `{"status":"in_transit"}`)
	if tr["status"] != "in_transit" {
		t.Errorf("after the step: %v", tr["status"])
	}
	want := "shipment.created label.generated shipment.in_transit"
	for range 100 {
		if b.kinds() == want {
			return
		}
		time.Sleep(50 * time.Millisecond) // the log waits for the oldest writer, of any test
	}
	t.Errorf("events = %s, want %s", b.kinds(), want)
}

// kinds lists the kinds of all events.
func (b *bench) kinds() string {
	b.Helper()
	log, _ := b.do(http.StatusOK, "GET", "/v1/events?limit=100", "")
	var kinds []string
	for _, e := range log["data"].([]any) {
		kinds = append(kinds, e.(map[string]any)["type"].(string))
	}
	return strings.Join(kinds, " ")
}

func TestListsGoOnWithTheirCursor(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	want := make(map[string]bool)
	for range 5 {
		want[b.ship()] = true
	}
	path := "/v1/shipments?limit=2&orderId=ORD-1001"
	for pages := 1; ; pages++ {
		list, _ := b.do(http.StatusOK, "GET", path, "")
		for _, sh := range list["data"].([]any) {
			delete(want, sh.(map[string]any)["id"].(string))
		}
		if list["nextCursor"] == nil {
			if pages != 3 || len(want) != 0 {
				t.Errorf("after %d pages %v were not listed", pages, want)
			}
			break
		}
		path = "/v1/shipments?limit=2&orderId=ORD-1001&cursor=" + list["nextCursor"].(string)
	}
	b.do(http.StatusUnprocessableEntity, "GET", "/v1/shipments?cursor=nonsense", "")
}

func TestVoidEndsTheLabelAndItsLinks(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.ship()
	link, _ := b.do(http.StatusOK, "POST", "/v1/shipments/"+id+"/label-link", `{"format":"zpl"}`)
	path := strings.TrimPrefix(link["url"].(string), testBase)
	if w := send(b.handler, "GET", path, "", ""); w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/zpl" {
		t.Fatalf("the link: %d %s", w.Code, w.Body)
	}
	if w := send(b.handler, "GET", strings.Replace(path, ".zpl", ".pdf", 1), "", ""); w.Code != http.StatusForbidden {
		t.Errorf("the link with another format: %d", w.Code)
	}
	made, _ := b.do(http.StatusOK, "POST", "/v1/shipments/"+id+"/label", `{"format":"png","dpi":300}`)
	b.do(http.StatusOK, "GET", strings.TrimPrefix(made["url"].(string), testBase), "")
	b.do(http.StatusConflict, "POST", "/v1/shipments/"+id+"/label", `{"format":"zpl","size":"a4"}`)
	void, w := b.do(http.StatusOK, "POST", "/v1/shipments/"+id+"/void", "", "Idempotency-Key: v1")
	if void["labelStatus"] != "voided" || void["status"] != "label_generated" {
		t.Errorf("void = %v", void)
	}
	_, w2 := b.do(http.StatusOK, "POST", "/v1/shipments/"+id+"/void", "{}", "Idempotency-Key: v2")
	_, w3 := b.do(http.StatusOK, "POST", "/v1/shipments/"+id+"/void", "", "Idempotency-Key: v1")
	if w3.Body.String() != w.Body.String() || w3.Header().Get("Idempotent-Replayed") != "true" || w2.Header().Get("Idempotent-Replayed") != "" {
		t.Error("the void is not repeated under its key alone")
	}
	b.do(http.StatusGone, "GET", "/v1/labels/"+id+".pdf", "")
	if w := send(b.handler, "GET", path, "", ""); w.Code != http.StatusGone {
		t.Errorf("the link after the void: %d", w.Code)
	}
}

func TestFollowedParcels(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tr, w := b.do(http.StatusCreated, "POST", "/v1/trackers", `{"trackingNumber":"1z 999 aa1 01 2345 6784"}`)
	if tr["carrier"] != "ups" || !strings.HasPrefix(tr["id"].(string), "trk_") || w.Header().Get("Location") != "/v1/tracking/"+tr["id"].(string) {
		t.Errorf("tracker = %v", tr)
	}
	b.do(http.StatusOK, "POST", "/v1/trackers", `{"trackingNumber":"1Z999AA10123456784","carrier":"ups"}`)
	list, _ := b.do(http.StatusOK, "GET", "/v1/trackers", "")
	if len(list["data"].([]any)) != 1 || list["nextCursor"] != nil {
		t.Errorf("list = %v", list)
	}
	b.do(http.StatusNoContent, "DELETE", "/v1/trackers/"+tr["id"].(string), "")
	b.do(http.StatusNotFound, "DELETE", "/v1/trackers/"+tr["id"].(string), "")
	b.do(http.StatusOK, "GET", "/v1/carriers", "")
}

func TestRefusalsAreToldInTheSameWay(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.ship()
	for _, tc := range []struct {
		method, path, body string
		status             int
		code               string
	}{
		{"POST", "/v1/shipments", `{"orderId":`, 400, "malformed_json"},
		{"POST", "/v1/shipments", ``, 400, "malformed_json"},
		{"POST", "/v1/shipments", `{"orderId":"a","orderId":"b"}`, 400, "malformed_json"},
		{"POST", "/v1/shipments", `{"orderId":"a"}`, 422, "validation_failed"},
		{"POST", "/v1/shipments", strings.Replace(specBody, `"TX"`, `"Texaz"`, 1), 422, "validation_failed"},
		{"POST", "/v1/shipments", strings.Replace(specBody, `"US"`, `"USA"`, 1), 422, "validation_failed"},
		{"POST", "/v1/shipments", strings.Replace(specBody, `{"orderId"`, `{"maxAmount":{"amount":"1.234","currency":"USD"},"orderId"`, 1), 422, "validation_failed"},
		{"POST", "/v1/shipments/" + id + "/void", `{"x":1}`, 422, "validation_failed"},
		{"GET", "/v1/shipments?limit=0", "", 422, "validation_failed"},
		{"GET", "/v1/shipments?limit=x", "", 422, "validation_failed"},
		{"GET", "/v1/shipments?limit=", "", 422, "validation_failed"},
		{"GET", "/v1/shipments?limit=1&limit=2", "", 422, "validation_failed"},
		{"GET", "/v1/shipments?stauts=created", "", 422, "validation_failed"},
		{"GET", "/v1/shipments?createdAfter=yesterday", "", 422, "validation_failed"},
		{"GET", "/v1/shipments?orderId=%zz", "", 422, "validation_failed"},
		{"GET", "/v1/shipments/shp_x", "", 404, "shipment_not_found"},
		{"GET", "/v1/shipments/shp_7ZZZZZZZZZZZZZZZZZZZZZZZZZ", "", 404, "shipment_not_found"},
		{"GET", "/v1/tracking/nothing", "", 404, "tracking_not_found"},
		{"GET", "/v1/labels/" + id + ".gif", "", 404, "not_found"},
		{"GET", "/v1/labels/" + id, "", 404, "not_found"},
		{"GET", "/v1/labels/" + id + ".pdf?dpi=100", "", 422, "validation_failed"},
		{"GET", "/v1/events?after=nonsense", "", 422, "invalid_cursor"},
		{"GET", "/v1/events?types=shipment.lost", "", 422, "validation_failed"},
		{"GET", "/v1/nothing", "", 404, "not_found"},
		{"GET", "/v1/shipments/", "", 404, "not_found"},
		{"GET", "/v1//shipments", "", 404, "not_found"},
		{"GET", "/v1/tracking/..", "", 404, "not_found"},
		{"GET", "/v1/tracking/%2e", "", 404, "tracking_not_found"},
		{"GET", "/v1/tracking/a%2Fb", "", 404, "tracking_not_found"},
		{"DELETE", "/v1/shipments", "", 405, "method_not_allowed"},
		{"POST", "/v1/labels/" + id + ".pdf", "", 405, "method_not_allowed"},
	} {
		p, w := b.do(tc.status, tc.method, tc.path, tc.body)
		if p["code"] != tc.code || p["requestId"] != w.Header().Get("Request-Id") || w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s %s: %v", tc.method, tc.path, p)
		}
		if strings.Contains(w.Body.String(), "Texaz") || strings.Contains(w.Body.String(), "yesterday") {
			t.Errorf("%s %s repeats a value: %s", tc.method, tc.path, w.Body)
		}
	}
	if w := send(b.handler, "PUT", "/v1/shipments", b.key, ""); w.Header().Get("Allow") != "GET, HEAD, POST" {
		t.Errorf("Allow: %q", w.Header().Get("Allow"))
	}
	if _, w := b.do(http.StatusUnsupportedMediaType, "POST", "/v1/shipments", specBody, "Content-Type: text/plain"); w == nil {
		t.Error("text was read as JSON")
	}
	p, _ := b.do(http.StatusUnprocessableEntity, "GET", "/v1/shipments?stauts=created", "")
	if f := p["errors"].([]any)[0].(map[string]any); f["parameter"] != "stauts" || f["suggestion"] != "status" {
		t.Errorf("errors = %v", p["errors"])
	}
}

func TestKeysReachOnlyWhatTheirScopeAndModeAllow(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.ship()
	reader, live := b.newKey(false, "shipments:read"), b.newKey(true)
	for _, tc := range []struct {
		key, method, path string
		status            int
	}{
		{reader, "GET", "/v1/shipments/" + id, 200},
		{reader, "POST", "/v1/shipments/" + id + "/void", 403},
		{reader, "GET", "/v1/labels/" + id + ".pdf", 403},
		{reader, "POST", "/v1/sandbox/shipments/" + id + "/advance", 200},
		{live, "GET", "/v1/shipments/" + id, 404},
		{live, "GET", "/v1/tracking/" + id, 404},
		{live, "POST", "/v1/sandbox/shipments/" + id + "/advance", 403},
		{b.key + "x", "GET", "/v1/shipments", 401},
		{"", "GET", "/v1/labels/" + id + ".pdf?token=x", 403},
	} {
		if w := send(b.handler, tc.method, tc.path, tc.key, ""); w.Code != tc.status {
			t.Errorf("%s %s: %d, want %d: %s", tc.method, tc.path, w.Code, tc.status, w.Body)
		}
	}
}

func TestAnswersFitTheDocument(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.publish(bookUsing("a", "ups"))
	b.do(http.StatusOK, "PUT", "/v1/routing/draft", bookExample)
	b.do(http.StatusCreated, "PUT", "/v1/rate-sheets/a", sheetBody("ups", sheetExample))
	id := b.ship()
	s := newServer(Config{BaseURL: testBase})
	reg := s.api.OpenAPI().Components.Schemas
	for pattern, path := range map[string]string{
		"GET /v1/shipments/{id}": "/v1/shipments/" + id, "GET /v1/shipments": "/v1/shipments", "GET /v1/tracking/{trackingNumber}": "/v1/tracking/" + id,
		"GET /v1/routing": "/v1/routing", "GET /v1/routing/versions": "/v1/routing/versions", "GET /v1/routing/versions/{version}": "/v1/routing/versions/1",
		"GET /v1/routing/variables": "/v1/routing/variables", "GET /v1/rate-sheets": "/v1/rate-sheets", "GET /v1/rate-sheets/{name}": "/v1/rate-sheets/a",
		"GET /v1/events": "/v1/events", "GET /v1/carriers": "/v1/carriers", "GET /v1/trackers": "/v1/trackers",
	} {
		_, w := b.do(http.StatusOK, "GET", path, "")
		var v any
		if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		res := &huma.ValidateResult{}
		schema := s.operationOf(s.routes[pattern]).Responses["200"].Content["application/json"].Schema
		huma.Validate(reg, schema, huma.NewPathBuffer(nil, 0), huma.ModeReadFromServer, v, res)
		for _, err := range res.Errors {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestOpenPagesNeedNoKey(t *testing.T) {
	h := New(testConfig(t))
	for path, kind := range map[string]string{
		"/healthz": "application/json", "/readyz": "application/json", "/openapi.yaml": "application/yaml",
		"/docs": "text/html; charset=utf-8", "/docs/errors": "text/html; charset=utf-8",
	} {
		if w := send(h, "GET", path, "", ""); w.Code != http.StatusOK || w.Header().Get("Content-Type") != kind || w.Body.Len() == 0 {
			t.Errorf("%s: %d %s", path, w.Code, w.Header().Get("Content-Type"))
		}
	}
}

func TestRefusalUnderAKeyIsRepeatedByteForByte(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	body := strings.Replace(specBody, "Ada Lovelace", "FAULT REFUSE", 1)
	p, w := b.do(http.StatusUnprocessableEntity, "POST", "/v1/shipments", body, "Idempotency-Key: r1")
	if p["code"] != "carrier_rejected" || p["source"] != "carrier" || p["carrier"] == nil || p["carrierCode"] == nil {
		t.Fatalf("refusal = %v", p)
	}
	_, again := b.do(http.StatusUnprocessableEntity, "POST", "/v1/shipments", body, "Idempotency-Key: r1")
	if again.Body.String() != w.Body.String() || again.Header().Get("Idempotent-Replayed") != "true" {
		t.Errorf("the repeat differs:\n%s\n%s", w.Body, again.Body)
	}
	other, _ := b.do(http.StatusUnprocessableEntity, "POST", "/v1/shipments", specBody, "Idempotency-Key: r1")
	if other["code"] != "idempotency_key_reused" {
		t.Errorf("another body: %v", other)
	}
	list, _ := b.do(http.StatusOK, "GET", "/v1/shipments", "")
	if n := len(list["data"].([]any)); n != 0 {
		t.Errorf("%d shipments are visible after a refusal", n)
	}
}

func TestCarriersOutOfReachAreWorthARetry(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	body := strings.Replace(specBody, "Ada Lovelace", "FAULT UNAVAILABLE", 1)
	p, w := b.do(http.StatusServiceUnavailable, "POST", "/v1/shipments", body, "Idempotency-Key: u1")
	if p["code"] != "carrier_unavailable" || p["retryable"] != true || w.Header().Get("Retry-After") == "" {
		t.Errorf("%v %v", p, w.Header())
	}
}
