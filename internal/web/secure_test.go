package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/web/site"
)

// cacheable are the routes of files that hold nothing of a person: style sheets
// and scripts, and the logo that recipients see.
var cacheable = map[string]bool{
	"GET /app/static/{hash}/{file}":                  true,
	"GET /app/{account}/{mode}/settings/logo/{hash}": true,
	"GET /track/{token}/logo/{hash}":                 true,
}

func TestEveryPageSetsTheSecurityHeaders(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	things := b.things(b.owner)
	identified := map[string]string{}
	for _, r := range rows {
		identified[r.route] = r.id
	}

	check := func(name string, w *httptest.ResponseRecorder, mayBeKept bool) {
		t.Helper()
		header := w.Header()
		if got := header.Values("X-Content-Type-Options"); len(got) != 1 || got[0] != "nosniff" {
			t.Errorf("%s answers %d with X-Content-Type-Options %q", name, w.Code, got)
		}
		if got := header.Get("Cache-Control"); got != "no-store" && !(mayBeKept && w.Code == http.StatusOK) {
			t.Errorf("%s answers %d with Cache-Control %q", name, w.Code, got)
		}
		if got := header.Get("Content-Security-Policy"); !strings.Contains(got, "default-src 'none'") || !strings.Contains(got, "frame-ancestors") {
			t.Errorf("%s answers %d with Content-Security-Policy %q", name, w.Code, got)
		}
		if got := header.Get("Referrer-Policy"); got == "" {
			t.Errorf("%s answers %d without a Referrer-Policy", name, w.Code)
		}
		if got := header.Get("Strict-Transport-Security"); got != "" {
			t.Errorf("%s over http answers with Strict-Transport-Security %q", name, got)
		}
	}

	var logout site.Route
	for _, rt := range table(b.web.Config) {
		name := rt.Method + " " + rt.Path
		if name == "POST /app/logout" {
			logout = rt // the last: it ends the session
			continue
		}
		b.walk(rt, identified[name], things, func(w *httptest.ResponseRecorder) { check(name, w, cacheable[name]) })
	}
	b.walk(logout, "", things, func(w *httptest.ResponseRecorder) { check("POST /app/logout", w, false) })

	check("nothing", b.send(member.Owner, "/app/nothing/at/all", nil), false)
	check("the stream to nobody", b.send("", b.home+"/live", nil), false)
	forged := b.send(member.Owner, b.home+"/keys", form("name", "k"), "Sec-Fetch-Site", "cross-site")
	if forged.Code != http.StatusForbidden {
		t.Errorf("a form of another site: %d", forged.Code)
	}
	check("a form of another site", forged, false)
}

// walk requests a route as nobody and as the owner.
func (b *bench) walk(rt site.Route, id string, things map[string]string, check func(*httptest.ResponseRecorder)) {
	b.Helper()
	path := row{route: rt.Method + " " + rt.Path, id: id}.path(b.owner.ID, things)
	path = strings.ReplaceAll(path, "{token}", "nothing")
	filled := form("do", "nothing")
	if rt.Method == http.MethodGet {
		filled = nil
	}
	for _, role := range []member.Role{"", member.Owner} {
		check(b.send(role, path, filled))
	}
}

func TestPagesOfAPublicAddressAskForTLS(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	config := b.web.Config
	config.BaseURL = "https://ship.example.com"
	pages := New(config)
	t.Cleanup(pages.Stop)

	w := httptest.NewRecorder()
	pages.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/app/login", nil))
	if got := w.Header().Get("Strict-Transport-Security"); got != "max-age=31536000" {
		t.Errorf("the sign-in page answers %d with Strict-Transport-Security %q", w.Code, got)
	}
}
