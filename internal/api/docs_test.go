package api

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// visit requests a page of the documentation.
func visit(handler http.Handler, address string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, address, nil)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

func TestPagesOfTheDocumentationCanBeCached(t *testing.T) {
	t.Parallel()
	handler := New(testConfig(t))
	for _, address := range []string{"/docs", "/docs/guides", "/docs/errors", "/docs/changelog", "/docs/recipes"} {
		plain := visit(handler, address)
		tag := plain.Header().Get("ETag")
		if plain.Code != http.StatusOK || tag == "" || plain.Header().Get("Cache-Control") != "public, max-age=300" || plain.Header().Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s: %d %v", address, plain.Code, plain.Header())
		}
		if w := visit(handler, address, "If-None-Match", tag); w.Code != http.StatusNotModified || w.Body.Len() > 0 || w.Header().Get("ETag") != tag {
			t.Errorf("%s with its tag: %d, %d bytes", address, w.Code, w.Body.Len())
		}

		small := visit(handler, address, "Accept-Encoding", "gzip, br")
		reader, err := gzip.NewReader(small.Body)
		if err != nil {
			t.Fatalf("%s: %v", address, err)
		}
		text, err := io.ReadAll(reader)
		if err != nil || string(text) != plain.Body.String() {
			t.Errorf("%s differs when it is compressed: %v", address, err)
		}
	}
	for _, address := range []string{"/docs/nothing", "/docs/reference", "/docs/files/0/docs.css", "/docs/files/docs.css", "/docs/../docs/guides", "/docs/docs.css"} {
		if w := visit(handler, address); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", address, w.Code)
		}
	}

	// Whoever follows an old link finds the other pages.
	w := visit(handler, "/docs/moving-from-easypst")
	if kind := w.Header().Get("Content-Type"); w.Code != http.StatusNotFound || kind != "text/html; charset=utf-8" || !strings.Contains(w.Body.String(), "<h1>Page not found</h1>") || !strings.Contains(w.Body.String(), `href="/docs/guides"`) {
		t.Errorf("a page that does not exist: %d %s\n%s", w.Code, kind, w.Body)
	}
}

func TestTheDocumentationIsSearchedWithoutAScript(t *testing.T) {
	t.Parallel()
	handler := New(testConfig(t))
	w := visit(handler, "/docs/search?q=idempotency_key_reused")
	page := w.Body.String()
	if w.Code != http.StatusOK || !strings.Contains(page, `<a href="/docs/errors#idempotency_key_reused">`) || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("%d %v\n%s", w.Code, w.Header(), page)
	}
	if page := visit(handler, "/docs/search?q=create+a+shipment").Body.String(); !strings.Contains(page, `<a href="/docs#createShipment">`) {
		t.Errorf("no operation is found:\n%s", page)
	}
	for _, query := range []string{"", "?q=", "?q=zzqqzz", "?q=%3Cscript%3Ealert(1)%3C/script%3E", "?q=%ff%fe", "?q=" + strings.Repeat("label+", 2000), "?x=1"} {
		w := visit(handler, "/docs/search"+query)
		if w.Code != http.StatusOK || strings.Contains(w.Body.String(), "<script>alert") || w.Body.Len() > 60<<10 {
			t.Errorf("%.30s: %d, %d bytes", query, w.Code, w.Body.Len())
		}
	}
}
