package httpkit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// exchange sends a request through Wrap to next, and returns the answer and
// the log.
func exchange(t *testing.T, r *http.Request, next http.HandlerFunc) (*httptest.ResponseRecorder, string) {
	t.Helper()
	var log bytes.Buffer
	w := httptest.NewRecorder()
	Wrap(next, Options{BaseURL: "https://ship.example.com", Timeout: time.Minute, Log: slog.New(slog.NewJSONHandler(&log, nil))}).ServeHTTP(w, r)
	return w, log.String()
}

func problem(t *testing.T, w *httptest.ResponseRecorder) map[string]any {
	t.Helper()
	var p map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Fatalf("%v in %q", err, w.Body)
	}
	if got := w.Header().Get("Content-Type"); got != ProblemType {
		t.Errorf("Content-Type %q, want %q", got, ProblemType)
	}
	return p
}

func TestErrorsAreProblemsThatRepeatNoValue(t *testing.T) {
	err := &ship.Error{
		Kind: ship.Invalid, Code: "price_changed", Message: "the carrier charged more than agreed", Carrier: "ups",
		Refusal: ship.Refusal{Code: "X1", Message: "no"}, Details: map[string]any{"quoted": "1.00", "charged": "2.00"},
		Fields: []ship.FieldError{{Pointer: "/destination/zip", Code: "required", Detail: "is required"}, {Pointer: "?limit", Code: "too_large", Detail: "is too large"}},
	}
	w, _ := exchange(t, httptest.NewRequest("POST", "/v1/shipments?secret=1", nil), func(w http.ResponseWriter, r *http.Request) { Fail(w, r, err) })
	p := problem(t, w)
	for name, want := range map[string]any{
		"type": "https://ship.example.com/docs/errors#price_changed", "title": "Price changed", "status": 422.0, "code": "price_changed",
		"instance": "/v1/shipments", "source": "carrier", "carrier": "ups", "carrierCode": "X1", "carrierMessage": "no", "retryable": false,
		"quoted": "1.00", "charged": "2.00", "requestId": w.Header().Get("Request-Id"),
	} {
		if p[name] != want {
			t.Errorf("%s = %v, want %v", name, p[name], want)
		}
	}
	fields := p["errors"].([]any)
	if fields[0].(map[string]any)["pointer"] != "/destination/zip" || fields[1].(map[string]any)["parameter"] != "limit" {
		t.Errorf("errors = %v", fields)
	}
}

func TestKindsAndCodesBecomeStatuses(t *testing.T) {
	for _, tc := range []struct {
		err    error
		status int
		code   string
		after  string
	}{
		{ship.Coded(ship.Forbidden, "invalid_api_key", "x"), 401, "invalid_api_key", ""},
		{ship.Coded(ship.Forbidden, "insufficient_scope", "x"), 403, "insufficient_scope", ""},
		{ship.Errorf(ship.NotFound, "x"), 404, "not_found", ""},
		{ship.Coded(ship.Unsupported, "format_unavailable", "x"), 409, "format_unavailable", ""},
		{ship.Coded(ship.Gone, "label_voided", "x"), 410, "label_voided", ""},
		{ship.InvalidFields([]ship.FieldError{{}}), 422, "validation_failed", ""},
		{&ship.Error{Kind: ship.Limited, RetryAfter: 1500 * time.Millisecond}, 429, "rate_limited", "2"},
		{ship.Coded(ship.Unavailable, "carrier_unavailable", "x"), 503, "carrier_unavailable", "5"},
		{ship.Errorf(ship.Uncertain, "x"), 503, "outcome_unknown", "5"},
		{ship.Coded(ship.Conflict, "not_in_the_table", "x"), 409, "not_in_the_table", ""},
		{errors.New("secret detail"), 500, "internal_error", ""},
		{ship.Errorf(ship.Internal, "secret detail"), 500, "internal_error", ""},
		{context.DeadlineExceeded, 503, "timeout", "5"},
	} {
		w, _ := exchange(t, httptest.NewRequest("GET", "/x", nil), func(w http.ResponseWriter, r *http.Request) { Fail(w, r, tc.err) })
		p := problem(t, w)
		if w.Code != tc.status || p["code"] != tc.code || w.Header().Get("Retry-After") != tc.after {
			t.Errorf("%v: %d %v, Retry-After %q", tc.err, w.Code, p["code"], w.Header().Get("Retry-After"))
		}
		if strings.Contains(w.Body.String(), "secret") {
			t.Errorf("an internal error is shown: %s", w.Body)
		}
		if (w.Code == 401) != (w.Header().Get("WWW-Authenticate") == "Bearer") {
			t.Errorf("%d with WWW-Authenticate %q", w.Code, w.Header().Get("WWW-Authenticate"))
		}
	}
}

func TestPanicIsAnsweredAndLogged(t *testing.T) {
	w, log := exchange(t, httptest.NewRequest("GET", "/x", nil), func(http.ResponseWriter, *http.Request) { panic("boom") })
	if w.Code != 500 || problem(t, w)["code"] != "internal_error" || strings.Contains(w.Body.String(), "boom") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if !strings.Contains(log, "boom") || !strings.Contains(log, w.Header().Get("Request-Id")) {
		t.Errorf("log = %s", log)
	}
}

func TestLogHasRoutesAndIdsAlone(t *testing.T) {
	r := httptest.NewRequest("GET", "/v1/labels/shp_1.pdf?token=tok123", nil)
	r.RemoteAddr = "203.0.113.9:1234"
	r.Header.Set("Authorization", "Bearer sk_live_abc")
	r.Header.Set("Request-Id", "mine")
	w, log := exchange(t, r, func(w http.ResponseWriter, r *http.Request) {
		From(r.Context()).Route = "/v1/labels/{file}"
		w.WriteHeader(http.StatusNoContent)
	})
	for _, secret := range []string{"tok123", "sk_live", "203.0.113", "shp_1", "mine"} {
		if strings.Contains(log, secret) {
			t.Errorf("the log has %s: %s", secret, log)
		}
	}
	if !strings.Contains(log, "/v1/labels/{file}") || !strings.HasPrefix(w.Header().Get("Request-Id"), "req_") {
		t.Errorf("log = %s", log)
	}
}

func TestLogSaysHowLongAndWhyAndWhatTheClientCallsIt(t *testing.T) {
	fail := func(w http.ResponseWriter, r *http.Request) {
		From(r.Context()).Problem(ship.Errorf(ship.NotFound, "no such label")).Write(w)
	}
	for sent, isLogged := range map[string]bool{
		"6f1c-22.b_9":           true,
		"Ada Lovelace":          false,
		strings.Repeat("a", 65): false,
		"":                      false,
	} {
		r := httptest.NewRequest("GET", "/x", nil)
		r.Header.Set("X-Request-Id", sent)
		_, log := exchange(t, r, fail)
		if !strings.Contains(log, "took_ms") || !strings.Contains(log, "not_found") {
			t.Errorf("log = %s", log)
		}
		if strings.Contains(log, "client_request") != isLogged || isLogged && !strings.Contains(log, sent) {
			t.Errorf("for X-Request-Id %q the log is %s", sent, log)
		}
	}
}

func TestClientAddrBelievesOnlyTrustedProxies(t *testing.T) {
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for _, tc := range []struct{ peer, forwarded, want string }{
		{"198.51.100.7:1", "", "198.51.100.7"},
		{"198.51.100.7:1", "203.0.113.9", "198.51.100.7"},
		{"10.1.1.1:1", "203.0.113.9", "203.0.113.9"},
		{"10.1.1.1:1", "1.2.3.4, 203.0.113.9, 10.2.2.2", "203.0.113.9"},
		{"10.1.1.1:1", "203.0.113.9, junk, 10.2.2.2", "10.2.2.2"},
		{"10.1.1.1:1", "", "10.1.1.1"},
		{"[fd00::1]:1", "2001:db8::5", "2001:db8::5"},
		{"[::ffff:10.1.1.1]:1", "203.0.113.9", "203.0.113.9"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = tc.peer
		if tc.forwarded != "" {
			r.Header.Set("X-Forwarded-For", tc.forwarded)
		}
		if got := ClientAddr(r, trusted).String(); got != tc.want {
			t.Errorf("from %s for %q: %s, want %s", tc.peer, tc.forwarded, got, tc.want)
		}
	}
}

func TestLimiterAllowsABurstAndThenTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(100, 200)
		h := http.Header{}
		for i := range 200 {
			if err := l.Admit(h, "a"); err != nil {
				t.Fatalf("request %d of the burst: %v", i+1, err)
			}
		}
		err := l.Admit(h, "a")
		e, _ := errors.AsType[*ship.Error](err)
		if e == nil || e.Kind != ship.Limited || e.RetryAfter != 10*time.Millisecond {
			t.Fatalf("after the burst: %v", err)
		}
		if h.Get("RateLimit") != `"default";r=0;t=1` || h.Get("RateLimit-Policy") != `"default";q=200;w=2` {
			t.Errorf("headers %v", h)
		}
		if err := l.Admit(h, "b"); err != nil {
			t.Errorf("another key: %v", err)
		}
		time.Sleep(10 * time.Millisecond)
		if err := l.Admit(h, "a"); err != nil {
			t.Errorf("after the wait: %v", err)
		}
		if err := l.Admit(h, "a"); err == nil {
			t.Error("a second request in the same 10 ms was allowed")
		}
		time.Sleep(time.Minute)
		if err := l.Admit(h, "c"); err != nil || len(l.due) != 1 {
			t.Errorf("%d buckets after a minute, want 1", len(l.due))
		}
	})
}

func TestReadJSONChecksSizeTypeAndText(t *testing.T) {
	for _, tc := range []struct{ name, contentType, body, code string }{
		{"good", "application/json", `{"a":1}`, ""},
		{"good with charset", `application/json; charset="UTF-8"`, `{"a":1}`, ""},
		{"empty", "", ``, ""},
		{"form", "application/x-www-form-urlencoded", `a=1`, "unsupported_media_type"},
		{"no type", "", `{}`, "unsupported_media_type"},
		{"other charset", "application/json; charset=latin1", `{}`, "unsupported_media_type"},
		{"too large", "application/json", `{"a":"` + strings.Repeat("x", 100) + `"}`, "body_too_large"},
		{"too large and told so late", "chunked", `{"a":"` + strings.Repeat("x", 100) + `"}`, "body_too_large"},
		{"malformed", "application/json", `{"a":1,"a":2}`, "malformed_json"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := httptest.NewRequest("POST", "/", strings.NewReader(tc.body))
			if tc.contentType == "chunked" {
				r.ContentLength, tc.contentType = -1, "application/json"
			}
			r.Header.Set("Content-Type", tc.contentType)
			ex := &Exchange{}
			done, err := ex.ReadJSON(httptest.NewRecorder(), r, 64)
			if ship.CodeOf(err) != tc.code {
				t.Fatalf("err = %v, want %q", err, tc.code)
			}
			if err == nil {
				if again, _ := io.ReadAll(r.Body); string(again) != tc.body {
					t.Errorf("the body reads as %q afterwards", again)
				}
			}
			done()
		})
	}
}
