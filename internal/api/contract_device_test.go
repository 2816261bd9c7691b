package api

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/account"
)

// postForm sends a form without a key, as a terminal does.
func postForm(h http.Handler, path string, pairs ...string) (int, map[string]any) {
	values := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		values.Set(pairs[i], pairs[i+1])
	}
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(values.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var body map[string]any
	_ = json.Unmarshal(w.Body.Bytes(), &body)
	return w.Code, body
}

// TestContractATerminalSignsInAsRFC8628Says holds the shape of the answers. The flow as
// a whole, with the page in between, is in package cli.
func TestContractATerminalSignsInAsRFC8628Says(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const grant = "urn:ietf:params:oauth:grant-type:device_code"

	status, begun := postForm(b.handler, "/oauth/device", "client_id", "x", "client_name", "waybill on laptop")
	code, _ := begun["device_code"].(string)
	user, _ := begun["user_code"].(string)
	page, _ := begun["verification_uri"].(string)
	if status != 200 || code == "" || len(user) != 9 || !strings.HasSuffix(page, "/app/test/device") || begun["verification_uri_complete"] != page+"?code="+user || begun["interval"] != 2.0 || begun["expires_in"] != 600.0 {
		t.Fatalf("%d %v", status, begun)
	}
	if _, live := postForm(b.handler, "/oauth/device", "client_name", "x", "scope", "live"); !strings.HasSuffix(live["verification_uri"].(string), "/app/live/device") {
		t.Errorf("live mode: %v", live)
	}
	const account = "acct_01KJMBQDHV00G2N6V3T9RZKXB4"
	if _, chosen := postForm(b.handler, "/oauth/device?account="+account, "client_name", "x"); !strings.HasSuffix(chosen["verification_uri"].(string), "/app/"+account+"/test/device") {
		t.Errorf("an account: %v", chosen)
	}

	for _, c := range []struct {
		path, want string
		pairs      []string
	}{
		{"/oauth/token", "authorization_pending", []string{"grant_type", grant, "device_code", code}},
		{"/oauth/token", "slow_down", []string{"grant_type", grant, "device_code", code}},
		{"/oauth/token", "invalid_grant", []string{"grant_type", grant, "device_code", "x"}},
		{"/oauth/token", "unsupported_grant_type", []string{"grant_type", "password"}},
		{"/oauth/token", "invalid_request", nil},
		{"/oauth/device", "invalid_request", []string{"client_name", "a\x07b"}},
		{"/oauth/device?account=../..", "invalid_request", []string{"client_name", "x"}},
		{"/oauth/device", "invalid_request", []string{"client_name", strings.Repeat("x", 20<<10)}},
	} {
		if status, body := postForm(b.handler, c.path, c.pairs...); status != 400 || body["error"] != c.want {
			t.Errorf("%s %.60v: %d %v, want %s", c.path, c.pairs, status, body, c.want)
		}
	}

	for range deviceBurst {
		status, _ = postForm(b.handler, "/oauth/device", "client_name", "x")
	}
	if status != http.StatusTooManyRequests {
		t.Errorf("after %d terminals of one network: %d", deviceBurst+2, status)
	}
}

func TestContractAKeyCanEndItself(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	near, _, err := b.account.NewKey(t.Context(), account.NewKeyInput{
		Account: b.owner, Name: "office", Scopes: []string{"rates"}, Networks: []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if status, body := postForm(b.handler, "/oauth/revoke", "token", string(near)); status != http.StatusForbidden || body["error"] != "access_denied" {
		t.Errorf("a key that goes on working is said to be revoked: %d %v", status, body)
	}

	for _, token := range []string{"sk_test_wrong", b.key, b.key} {
		if status, body := postForm(b.handler, "/oauth/revoke", "token", token); status != 200 || body != nil {
			t.Errorf("%.10s: %d %v", token, status, body)
		}
	}
	keys, err := b.account.Keys(t.Context(), b.owner)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		if isNear := key.Name == "office"; isNear != key.RevokedAt.IsZero() {
			t.Errorf("the key %s was revoked at %s", key.Name, key.RevokedAt)
		}
	}
}
