package api

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

// cacheable are the routes whose answers hold nothing of a person. They say
// themselves how they may be kept.
var cacheable = map[string]bool{
	"GET /openapi.yaml": true,
	"GET /openapi.json": true,
	"GET /docs":         true,
	"GET /docs/{page}":  true,

	"GET /docs/files/{hash}/{file}": true,
}

// patterns returns every route of the API, and requests that no route answers.
func patterns(t *testing.T) []string {
	t.Helper()
	s := newServer(testConfig(t))
	list := append([]string{"GET /nothing", "DELETE /v1/carriers", "GET /v1//carriers"}, s.public...)
	for pattern := range s.routes {
		list = append(list, pattern)
	}
	return list
}

func TestEveryRouteSetsTheSecurityHeaders(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	shipment := b.ship()
	fill := strings.NewReplacer("{id}", shipment, "{file}", shipment+".pdf", "{number}", "1", "{version}", "1", "{page}", "errors")

	list := patterns(t)
	if len(list) < 40 {
		t.Fatalf("only %d routes are known", len(list))
	}
	for _, pattern := range list {
		method, path, _ := strings.Cut(fill.Replace(pattern), " ")
		for _, key := range []string{"", "sk_test_wrong", b.key} {
			for _, body := range []string{"", "{}", "{"} {
				w := send(b.handler, method, path, key, body)
				header := w.Header()
				if got := header.Values("X-Content-Type-Options"); len(got) != 1 || got[0] != "nosniff" {
					t.Errorf("%s answers %d with X-Content-Type-Options %q", pattern, w.Code, got)
				}
				if got := header.Get("Cache-Control"); got != "no-store" && (!cacheable[pattern] || w.Code != http.StatusOK) {
					t.Errorf("%s answers %d with Cache-Control %q", pattern, w.Code, got)
				}
				if got := header.Get("Content-Security-Policy"); !strings.Contains(got, "default-src 'none'") || !strings.Contains(got, "frame-ancestors 'none'") {
					t.Errorf("%s answers %d with Content-Security-Policy %q", pattern, w.Code, got)
				}
				if got := header.Get("Referrer-Policy"); got != "no-referrer" {
					t.Errorf("%s answers %d with Referrer-Policy %q", pattern, w.Code, got)
				}
				if got := header.Get("Strict-Transport-Security"); got != "max-age=31536000" {
					t.Errorf("%s answers %d with Strict-Transport-Security %q", pattern, w.Code, got)
				}
			}
		}
	}
}

func TestOnlyAnswersOverTLSAskForTLS(t *testing.T) {
	t.Parallel()
	local := testConfig(t)
	local.BaseURL = "http://127.0.0.1:8080"
	proxied := local
	proxied.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")} // of httptest's requests

	for _, try := range []struct {
		name    string
		handler http.Handler
		address string
		header  string
		want    bool
	}{
		{"plain", New(local), "http://ship.test/healthz", "", false},
		{"TLS", New(local), "https://ship.test/healthz", "", true},
		{"a forged header", New(local), "http://ship.test/healthz", "https", false},
		{"a trusted proxy over TLS", New(proxied), "http://ship.test/healthz", "https", true},
		{"a trusted proxy without", New(proxied), "http://ship.test/healthz", "http", false},
		{"a public address with TLS", New(testConfig(t)), "http://ship.test/healthz", "", true},
	} {
		r := httptest.NewRequest(http.MethodGet, try.address, nil)
		if try.header != "" {
			r.Header.Set("X-Forwarded-Proto", try.header)
		}
		w := httptest.NewRecorder()
		try.handler.ServeHTTP(w, r)
		if got := w.Header().Get("Strict-Transport-Security"); (got != "") != try.want || try.want && !strings.HasPrefix(got, "max-age=") {
			t.Errorf("%s: Strict-Transport-Security is %q", try.name, got)
		}
	}
}
