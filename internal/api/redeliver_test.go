package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// firstEvent is the oldest event of the bench's log. Writers of other tests
// may hold the log up for a moment.
func (b *bench) firstEvent() string {
	b.Helper()
	for range 500 {
		log, _ := b.do(http.StatusOK, "GET", "/v1/events?limit=1", "")
		if list := log["data"].([]any); len(list) > 0 {
			return list[0].(map[string]any)["id"].(string)
		}
		time.Sleep(10 * time.Millisecond)
	}
	b.Fatal("the log stays empty")
	return ""
}

// due is how many deliveries wait on the schedule.
func (b *bench) due() (n int) {
	b.Helper()
	if err := b.store.System().QueryRow(b.Context(), "SELECT count(*) FROM webhook_retries WHERE next_attempt_at <= now()").Scan(&n); err != nil {
		b.Fatal(err)
	}
	return n
}

func ago(d time.Duration) string {
	return `{"since":"` + time.Now().Add(-d).UTC().Format(time.RFC3339) + `"}`
}

func TestAnEventIsSentAgainToThoseThatWantIt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.ship()
	event := "/v1/events/" + b.firstEvent() + "/redeliver"
	if p, _ := b.do(http.StatusNotFound, "POST", event, ""); p["code"] != "event_not_found" {
		t.Errorf("without a webhook: %v", p)
	}
	var ids []string
	for _, kinds := range []string{`["*"]`, `["shipment.created"]`, `["shipment.delivered"]`} {
		made, _ := b.do(http.StatusCreated, "POST", "/v1/webhooks", `{"url":"https://example.com/","events":`+kinds+`}`)
		ids = append(ids, made["id"].(string))
	}
	if got, _ := b.do(http.StatusAccepted, "POST", event, ""); got["deliveries"] != 2.0 || b.due() != 2 {
		t.Errorf("to all: %v, %d due", got, b.due())
	}
	if got, _ := b.do(http.StatusAccepted, "POST", event, `{"webhookId":"`+ids[2]+`"}`); got["deliveries"] != 1.0 || b.due() != 3 {
		t.Errorf("to one that does not ask for the kind: %v, %d due", got, b.due())
	}
	if b.do(http.StatusAccepted, "POST", event, ""); b.due() != 3 {
		t.Errorf("asked for again, %d are due, want 3", b.due())
	}
	for _, tc := range []struct{ path, body, code string }{
		{"/v1/events/evt_x/redeliver", "", "event_not_found"},
		{"/v1/events/evt_7ZZZZZZZZZZZZZZZZZZZZZZZZZ/redeliver", "", "event_not_found"},
		{event, `{"webhookId":"whe_x"}`, "webhook_not_found"},
	} {
		if p, _ := b.do(http.StatusNotFound, "POST", tc.path, tc.body); p["code"] != tc.code {
			t.Errorf("%s %s: %v", tc.path, tc.body, p)
		}
	}
	if p, _ := b.do(http.StatusUnprocessableEntity, "POST", event, `{"webhook":"x"}`); p["code"] != "validation_failed" {
		t.Errorf("an unknown field: %v", p)
	}
	for key, status := range map[string]int{b.newKey(false, "events"): http.StatusForbidden, b.newKey(true): http.StatusNotFound} {
		if w := send(b.handler, "POST", event, key, ""); w.Code != status {
			t.Errorf("%d, want %d: %s", w.Code, status, w.Body)
		}
	}
}

func TestAWebhookRecoversAndIsOnAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	made, _ := b.do(http.StatusCreated, "POST", "/v1/webhooks", `{"url":"https://example.com/","enabled":false}`)
	path := "/v1/webhooks/" + made["id"].(string)
	b.ship()
	got, _ := b.do(http.StatusAccepted, "POST", path+"/recover", ago(time.Hour))
	if got["enabled"] != true || got["disabledReason"] != nil || got["parked"] != false || got["secret"] != nil {
		t.Errorf("recovering: %v", got)
	}
	for body, pointer := range map[string]string{ago(31 * 24 * time.Hour): "/since", `{}`: "/since", `{"since":"yesterday"}`: "/since"} {
		p, w := b.do(http.StatusUnprocessableEntity, "POST", path+"/recover", body)
		if list, ok := p["errors"].([]any); !ok || list[0].(map[string]any)["pointer"] != pointer {
			t.Errorf("%s: %s", body, w.Body)
		}
	}
	b.do(http.StatusBadRequest, "POST", path+"/recover", "")
	if p, _ := b.do(http.StatusNotFound, "POST", "/v1/webhooks/whe_x/recover", ago(time.Hour)); p["code"] != "webhook_not_found" {
		t.Errorf("of nobody: %v", p)
	}
	for key, status := range map[string]int{b.newKey(false, "events"): http.StatusForbidden, b.newKey(true): http.StatusNotFound} {
		if w := send(b.handler, "POST", path+"/recover", key, ago(time.Hour)); w.Code != status {
			t.Errorf("%d, want %d: %s", w.Code, status, w.Body)
		}
	}
}

func TestRedeliveryAnswersFitTheDocument(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.ship()
	made, _ := b.do(http.StatusCreated, "POST", "/v1/webhooks", `{"url":"https://example.com/"}`)
	answers := map[string]*httptest.ResponseRecorder{}
	_, answers["POST /v1/events/{id}/redeliver"] = b.do(http.StatusAccepted, "POST", "/v1/events/"+b.firstEvent()+"/redeliver", "")
	_, answers["POST /v1/webhooks/{id}/recover"] = b.do(http.StatusAccepted, "POST", "/v1/webhooks/"+made["id"].(string)+"/recover", ago(time.Hour))
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
