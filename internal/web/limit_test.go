package web

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/member"
)

// flood sends requests as a browser with the session would, and returns the
// first answer that is over the limit and how many came before it; nil if none
// was.
func flood(pages http.Handler, token, path, from string, most int) (limited *httptest.ResponseRecorder, before int) {
	for i := range most {
		r := httptest.NewRequest(http.MethodGet, testBase+path, nil)
		r.RemoteAddr = from
		if token != "" {
			r.AddCookie(&http.Cookie{Name: sessionCookie, Value: token})
		}
		w := httptest.NewRecorder()
		pages.ServeHTTP(w, r)
		if w.Code == http.StatusTooManyRequests {
			return w, i
		}
	}
	return nil, most
}

func TestSessionsAndAddressesHaveALimit(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	config := b.web.Config
	config.RateLimit = 1
	config.RateBurst = 5
	pages := New(config)
	t.Cleanup(pages.Stop)
	address := func(n int) string { return fmt.Sprintf("198.51.100.%d:4000", n) }

	limited, before := flood(pages, b.tokens[member.Owner], b.home+"/boxes", address(1), 15)
	if limited == nil || before < 5 || before > 9 {
		t.Fatalf("a session is limited after %d requests", before)
	}
	if after, err := strconv.Atoi(limited.Header().Get("Retry-After")); err != nil || after < 1 {
		t.Errorf("Retry-After is %q", limited.Header().Get("Retry-After"))
	}
	if body := limited.Body.String(); !strings.Contains(body, "too many requests") || strings.Contains(body, "key") && strings.Contains(body, "the key has exceeded") {
		t.Errorf("the page says\n%s", body)
	}

	// The session is limited wherever it is used, and nobody else is.
	if limited, before := flood(pages, b.tokens[member.Owner], b.home+"/boxes", address(2), 5); limited == nil {
		t.Errorf("the session gets %d more requests from another address", before)
	}
	if limited, before := flood(pages, b.tokens[member.Shipper], b.home+"/boxes", address(3), 5); limited != nil {
		t.Errorf("another session is limited after %d requests", before)
	}

	// Without a session the address is counted, whichever page is asked for.
	if limited, before := flood(pages, "", "/app/login", address(4), 60); limited == nil || before < 20 || before > 40 {
		t.Errorf("an address is limited after %d requests", before)
	}
	for _, path := range []string{"/app/login", "/app/setup", b.home, "/app/nothing"} {
		if limited, _ := flood(pages, "", path, address(4), 3); limited == nil {
			t.Errorf("%s is not limited", path)
		}
	}
	if limited, _ := flood(pages, "wrong", b.home, address(4), 3); limited == nil {
		t.Error("a wrong session escapes the limit of its address")
	}
	if limited, before := flood(pages, "", "/app/login", address(5), 5); limited != nil {
		t.Errorf("another address is limited after %d requests", before)
	}

	// One subscriber has a whole network of IPv6 addresses.
	total := 0
	for i := range 60 {
		limited, n := flood(pages, "", "/app/login", fmt.Sprintf("[2001:db8::%x]:4000", i+1), 1)
		total += n
		if limited != nil {
			break
		}
	}
	if total > 40 {
		t.Errorf("a network of IPv6 addresses gets %d requests", total)
	}
}

func TestAFormOverTheLimitIsKept(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	config := b.web.Config
	config.RateLimit = 1
	config.RateBurst = 1
	pages := New(config)
	t.Cleanup(pages.Stop)

	for range 5 {
		r := httptest.NewRequest(http.MethodPost, testBase+b.home+"/shipments", strings.NewReader(form("order", "typed-by-hand").Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		r.AddCookie(&http.Cookie{Name: sessionCookie, Value: b.tokens[member.Owner]})
		w := httptest.NewRecorder()
		pages.ServeHTTP(w, r)
		if w.Code != http.StatusTooManyRequests {
			continue
		}
		if !strings.Contains(w.Body.String(), "typed-by-hand") || w.Header().Get("Retry-After") == "" {
			t.Errorf("the form is lost, Retry-After %q:\n%s", w.Header().Get("Retry-After"), w.Body)
		}
		return
	}
	t.Error("the form is never limited")
}

// Whoever guesses passwords has to wait, and the answer says for how long:
// browsers, scripts and proxies read it from the header.
func TestThrottledSignInSaysHowLongToWait(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for path, role := range map[string]member.Role{"/app/login": "", "/app/confirm": member.Owner} {
		var w *httptest.ResponseRecorder
		for range 12 {
			w = b.send(role, path, form("email", "dana@example.com", "password", "a wrong guess"))
			if w.Code != http.StatusUnprocessableEntity {
				break
			}
			if w.Header().Get("Retry-After") != "" {
				t.Errorf("%s: a wrong password has to wait %s seconds", path, w.Header().Get("Retry-After"))
			}
		}

		after, _ := strconv.Atoi(w.Header().Get("Retry-After"))
		if w.Code != http.StatusTooManyRequests || after < 1 || after > 300 {
			t.Errorf("%s: %d with Retry-After %q", path, w.Code, w.Header().Get("Retry-After"))
		}
		if !strings.Contains(w.Body.String(), "oo many attempts") {
			t.Errorf("%s does not say why:\n%s", path, w.Body)
		}
	}
}
