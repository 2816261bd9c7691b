package web

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
)

// A browser keeps the cookies of the dashboard between its requests.
type browser struct {
	*bench
	cookies map[string]string
}

func (b *bench) browser() *browser { return &browser{bench: b, cookies: map[string]string{}} }

// open requests a page; with a form the request is a POST.
func (b *browser) open(path string, form url.Values) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, testBase+path, nil)
	if form != nil {
		r = httptest.NewRequest(http.MethodPost, testBase+path, strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	for name, value := range b.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}

	w := httptest.NewRecorder()
	b.web.ServeHTTP(w, r)
	for _, cookie := range w.Result().Cookies() {
		if cookie.MaxAge < 0 {
			delete(b.cookies, cookie.Name)
		} else {
			b.cookies[cookie.Name] = cookie.Value
		}
	}
	return w
}

// signIn signs in with a password, and reports whether the dashboard let them
// in.
func (b *browser) signIn(email, password string) bool {
	w := b.open("/app/login", form("email", email, "password", password))
	return w.Code == http.StatusSeeOther && w.Header().Get("Location") == "/app"
}

// another returns a browser with the same cookies: somebody has copied them.
func (b *browser) another() *browser {
	return &browser{bench: b.bench, cookies: maps.Clone(b.cookies)}
}
