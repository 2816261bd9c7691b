package api

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// hook is a receiver on this machine.
type hook struct {
	url    string
	status int
	header http.Header
	body   []byte
}

func newHook(t testing.TB) *hook {
	t.Helper()
	h := &hook{status: http.StatusOK}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.body, _ = io.ReadAll(r.Body)
		h.header = r.Header
		w.WriteHeader(h.status)
		_, _ = w.Write([]byte("thanks"))
	}))
	t.Cleanup(server.Close)
	h.url = server.URL + "/hook"
	return h
}

func TestAWebhookIsMadeTriedChangedAndDeleted(t *testing.T) {
	t.Parallel()
	b, receiver := newBench(t), newHook(t)
	made, w := b.do(http.StatusCreated, "POST", "/v1/webhooks", `{"url":"`+receiver.url+`","events":["shipment.delivered"],"headers":{"authorization":"Bearer theirs"},"description":" mine "}`)
	id, secret := made["id"].(string), made["secret"].(string)
	path := "/v1/webhooks/" + id
	if w.Header().Get("Location") != path || !strings.HasPrefix(secret, "whsec_") || made["enabled"] != true || made["signature"] != "v1" || made["description"] != "mine" || fmt.Sprint(made["headerNames"]) != "[authorization]" {
		t.Errorf("made = %v", made)
	}
	for _, p := range []string{path, "/v1/webhooks"} {
		if _, w := b.do(http.StatusOK, "GET", p, ""); !strings.Contains(w.Body.String(), id) || strings.Contains(w.Body.String(), "whsec_") || strings.Contains(w.Body.String(), "theirs") {
			t.Errorf("%s shows %s", p, w.Body)
		}
	}
	tried, _ := b.do(http.StatusOK, "POST", path+"/test", `{"type":"shipment.exception"}`)
	var event struct {
		Type string
		Test bool
		Data struct {
			Event struct{ Status, Reason string }
		}
	}
	if err := json.Unmarshal(receiver.body, &event); err != nil || !event.Test || event.Type != "shipment.exception" || event.Data.Event.Status != "exception" || event.Data.Event.Reason == "" {
		t.Errorf("%v in %s", err, receiver.body)
	}
	verifier, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	if err := verifier.Verify(receiver.body, receiver.header); err != nil || receiver.header.Get("Authorization") != "Bearer theirs" {
		t.Errorf("%v, header %v", err, receiver.header)
	}
	if tried["outcome"] != "delivered" || tried["status"] != 200.0 || tried["trigger"] != "test" || tried["response"].(map[string]any)["body"] != "thanks" {
		t.Errorf("tried = %v", tried)
	}
	b.do(http.StatusTooManyRequests, "POST", path+"/test", "")
	if got, _ := b.do(http.StatusOK, "GET", path, ""); got["verified"] != true || got["lastSuccessAt"] == nil {
		t.Errorf("after a 2xx: %v", got)
	}
	changed, _ := b.do(http.StatusOK, "PATCH", path, `{"enabled":false,"events":["*"],"headers":{},"signature":"both"}`)
	if changed["enabled"] != false || changed["disabledReason"] != "client" || fmt.Sprint(changed["events"]) != "[*]" || len(changed["headerNames"].([]any)) != 0 ||
		!strings.HasPrefix(changed["publicKey"].(string), "whpk_") || changed["secret"] != nil || changed["url"] != receiver.url {
		t.Errorf("changed = %v", changed)
	}
	rotated, _ := b.do(http.StatusOK, "POST", path+"/rotate-secret", "")
	if rotated["secret"] == secret || rotated["publicKey"] == changed["publicKey"] || rotated["previousSecretExpiresAt"] == nil {
		t.Errorf("rotated = %v", rotated)
	}
	time.Sleep(time.Second)
	receiver.status = http.StatusGone
	if tried, _ := b.do(http.StatusOK, "POST", path+"/test", ""); tried["outcome"] != "failed" || tried["status"] != 410.0 {
		t.Errorf("tried = %v", tried)
	}
	for _, s := range []string{secret, rotated["secret"].(string)} {
		verifier, _ := standardwebhooks.NewWebhook(s)
		if err := verifier.Verify(receiver.body, receiver.header); err != nil {
			t.Errorf("during the rotation: %v", err)
		}
	}
	first, _ := b.do(http.StatusOK, "GET", path+"/deliveries?limit=1", "")
	second, _ := b.do(http.StatusOK, "GET", path+"/deliveries?limit=1&cursor="+first["nextCursor"].(string), "")
	if newest, older := first["data"].([]any)[0].(map[string]any), second["data"].([]any)[0].(map[string]any); newest["status"] != 410.0 || older["id"] != tried["id"] || second["nextCursor"] != nil {
		t.Errorf("deliveries = %v, then %v", first, second)
	}
	b.do(http.StatusNoContent, "DELETE", path, "")
	b.do(http.StatusNotFound, "DELETE", path, "")
	b.do(http.StatusNotFound, "GET", path+"/deliveries", "")
}

// Whoever may change the URL must not be able to read the headers, whose values
// are never shown, at an address of their own.
func TestANewAddressDoesNotReceiveTheStoredHeaders(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	theirs := newHook(t)
	attacker := newHook(t)
	made, _ := b.do(http.StatusCreated, "POST", "/v1/webhooks", `{"url":"`+theirs.url+`","headers":{"Authorization":"Bearer theirs"}}`)
	path := "/v1/webhooks/" + made["id"].(string)

	for _, body := range []string{
		`{"url":"` + attacker.url + `"}`,
		`{"url":"` + attacker.url + `","headers":null}`,
		`{"url":"` + theirs.url + `/other"}`,
	} {
		if _, w := b.do(http.StatusUnprocessableEntity, "PATCH", path, body); !strings.Contains(w.Body.String(), `"/headers"`) {
			t.Errorf("%s: %s", body, w.Body)
		}
	}
	b.do(http.StatusOK, "POST", path+"/test", "")
	if attacker.header != nil || theirs.header.Get("Authorization") != "Bearer theirs" {
		t.Errorf("the attacker received %v, the owner %v", attacker.header, theirs.header)
	}

	// The same address keeps them, and so does a change of anything else.
	b.do(http.StatusOK, "PATCH", path, `{"url":"`+theirs.url+`","description":"new"}`)
	if got, _ := b.do(http.StatusOK, "GET", path, ""); fmt.Sprint(got["headerNames"]) != "[Authorization]" {
		t.Errorf("after a change of the description: %v", got)
	}
	b.do(http.StatusOK, "PATCH", path, `{"url":"`+attacker.url+`","headers":{}}`)
	time.Sleep(time.Second) // one test a second
	b.do(http.StatusOK, "POST", path+"/test", "")
	if attacker.header == nil || attacker.header.Get("Authorization") != "" {
		t.Errorf("without headers, the new address received %v", attacker.header)
	}
}

func TestASecretIsKeptSealedAndRepeatedUnderItsKey(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	body := `{"url":"https://example.com/hook","headers":{"X-Token":"hunter2"}}`
	made, w := b.do(http.StatusCreated, "POST", "/v1/webhooks", body, "Idempotency-Key: w1")
	_, again := b.do(http.StatusCreated, "POST", "/v1/webhooks", body, "Idempotency-Key: w1")
	if again.Body.String() != w.Body.String() || again.Header().Get("Idempotent-Replayed") != "true" {
		t.Errorf("the repeat differs:\n%s\n%s", w.Body, again.Body)
	}
	if list, _ := b.do(http.StatusOK, "GET", "/v1/webhooks", ""); len(list["data"].([]any)) != 1 {
		t.Errorf("list = %v", list)
	}
	secret := strings.TrimPrefix(made["secret"].(string), "whsec_")
	for _, table := range []string{"idempotency_keys", "webhook_endpoints"} {
		rows, err := b.store.System().Query(t.Context(), "SELECT x::text FROM "+table+" x")
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for ; rows.Next(); n++ {
			var text string
			if err := rows.Scan(&text); err != nil {
				t.Fatal(err)
			}
			for _, s := range []string{secret, "hunter2"} {
				if strings.Contains(text, s) || strings.Contains(text, fmt.Sprintf("%x", s)) {
					t.Errorf("%s holds a secret in clear: %s", table, text)
				}
			}
		}
		if n != 1 || rows.Err() != nil {
			t.Errorf("%s has %d rows, %v", table, n, rows.Err())
		}
	}
}

func TestWebhooksAreRefusedInTheSameWay(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	made, _ := b.do(http.StatusCreated, "POST", "/v1/webhooks", `{"url":"https://example.com/"}`)
	path := "/v1/webhooks/" + made["id"].(string)
	for _, tc := range []struct {
		method, path, body string
		status             int
		code, pointer      string
	}{
		{"POST", "/v1/webhooks", `{}`, 422, "validation_failed", "/url"},
		{"POST", "/v1/webhooks", `{"url":""}`, 422, "validation_failed", "/url"},
		{"POST", "/v1/webhooks", `{"url":"https://169.254.169.254/latest"}`, 422, "validation_failed", "/url"},
		{"POST", "/v1/webhooks", `{"url":"https://a:b@example.com/"}`, 422, "validation_failed", "/url"},
		{"POST", "/v1/webhooks", `{"url":"https://example.com/","events":["shipment.lost"]}`, 422, "validation_failed", "/events/0"},
		{"POST", "/v1/webhooks", `{"url":"https://example.com/","events":[]}`, 422, "validation_failed", "/events"},
		{"POST", "/v1/webhooks", `{"url":"https://example.com/","signature":"v2"}`, 422, "validation_failed", "/signature"},
		{"POST", "/v1/webhooks", `{"url":"https://example.com/","headers":{"Host":"x"}}`, 422, "validation_failed", "/headers/Host"},
		{"POST", "/v1/webhooks", `{"url":"https://example.com/","headers":{"webhook-id":"x"}}`, 422, "validation_failed", "/headers/webhook-id"},
		{"POST", "/v1/webhooks", `{"url":"https://example.com/","headers":{"content-length":"9"}}`, 422, "validation_failed", "/headers/content-length"},
		{"POST", "/v1/webhooks", `{"url":"https://example.com/","headers":{"X-A":"b\r\nc: d"}}`, 422, "validation_failed", "/headers/X-A"},
		{"POST", "/v1/webhooks", `{"url":"https://example.com/","headers":{"a b":"c"}}`, 422, "validation_failed", "/headers/a b"},
		{"POST", "/v1/webhooks", `{"url":"https://example.com/","secret":"mine"}`, 422, "validation_failed", "/secret"},
		{"PATCH", path, `{"url":"ftp://example.com/"}`, 422, "validation_failed", "/url"},
		{"PATCH", path, ``, 400, "malformed_json", ""},
		{"PATCH", path, `{"events":["*"],"events":[]}`, 400, "malformed_json", ""},
		{"PATCH", "/v1/webhooks/whe_x", `{}`, 404, "webhook_not_found", ""},
		{"PATCH", "/v1/webhooks/whe_7ZZZZZZZZZZZZZZZZZZZZZZZZZ", `{}`, 404, "webhook_not_found", ""},
		{"POST", path + "/test", `{"type":"*"}`, 422, "validation_failed", "/type"},
		{"GET", path + "/deliveries?cursor=x", "", 422, "invalid_cursor", ""},
		{"PUT", path, `{}`, 405, "method_not_allowed", ""},
	} {
		p, w := b.do(tc.status, tc.method, tc.path, tc.body)
		if p["code"] != tc.code {
			t.Errorf("%s %s: %v", tc.method, tc.path, p)
		}
		if list, ok := p["errors"].([]any); tc.pointer != "" && (!ok || list[0].(map[string]any)["pointer"] != tc.pointer) {
			t.Errorf("%s %s %s: %s", tc.method, tc.path, tc.body, w.Body)
		}
	}
	b.do(http.StatusOK, "PATCH", path, `{}`)
	reader, live := b.newKey(false, "events"), b.newKey(true)
	for key, status := range map[string]int{reader: http.StatusForbidden, live: http.StatusNotFound} {
		for _, suffix := range []string{"/test", "/rotate-secret"} {
			if w := send(b.handler, "POST", path+suffix, key, ""); w.Code != status {
				t.Errorf("%s: %d, want %d", suffix, w.Code, status)
			}
		}
	}
	for range 19 {
		b.do(http.StatusCreated, "POST", "/v1/webhooks", `{"url":"https://example.com/"}`)
	}
	if p, _ := b.do(http.StatusConflict, "POST", "/v1/webhooks", `{"url":"https://example.com/"}`); p["code"] != "webhook_limit" {
		t.Errorf("the 21st: %v", p)
	}
	if w := send(b.handler, "POST", "/v1/webhooks", live, `{"url":"https://example.com/"}`); w.Code != http.StatusCreated {
		t.Errorf("the first of live mode: %d %s", w.Code, w.Body)
	}
}

func TestWebhookAnswersFitTheDocument(t *testing.T) {
	t.Parallel()
	b, receiver := newBench(t), newHook(t)
	made, w := b.do(http.StatusCreated, "POST", "/v1/webhooks", `{"url":"`+receiver.url+`","signature":"v1a"}`)
	path := "/v1/webhooks/" + made["id"].(string)
	answers := map[string]*httptest.ResponseRecorder{"POST /v1/webhooks": w}
	for pattern, call := range map[string][3]string{
		"POST /v1/webhooks/{id}/test":          {"POST", path + "/test"},
		"GET /v1/webhooks":                     {"GET", "/v1/webhooks"},
		"PATCH /v1/webhooks/{id}":              {"PATCH", path, `{"enabled":false}`},
		"POST /v1/webhooks/{id}/rotate-secret": {"POST", path + "/rotate-secret"},
		"GET /v1/webhooks/{id}/deliveries":     {"GET", path + "/deliveries"},
	} {
		_, answers[pattern] = b.do(http.StatusOK, call[0], call[1], call[2])
	}
	s := newServer(Config{BaseURL: testBase})
	reg := s.api.OpenAPI().Components.Schemas
	for pattern, w := range answers {
		var v any
		if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		res := &huma.ValidateResult{}
		schema := s.operationOf(s.routes[pattern]).Responses[fmt.Sprint(w.Code)].Content["application/json"].Schema
		huma.Validate(reg, schema, huma.NewPathBuffer(nil, 0), huma.ModeReadFromServer, v, res)
		for _, err := range res.Errors {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}
