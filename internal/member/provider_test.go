package member

import (
	"net/url"
	"testing"

	"github.com/waybillhq/waybill/internal/member/oidctest"
)

// settingsOf returns how the service signs people in with the provider.
func settingsOf(p *oidctest.Provider) OIDC {
	return OIDC{
		Issuer:       p.URL,
		ClientID:     oidctest.ClientID,
		ClientSecret: oidctest.ClientSecret,
		Transport:    p.Client().Transport,
	}
}

// authorize is what the browser does at the provider: it returns the state and
// the code that come back.
func authorize(t *testing.T, p *oidctest.Provider, address string, user map[string]any) (state, code string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}

	q := u.Query()
	if q.Get("response_type") != "code" || q.Get("client_id") != oidctest.ClientID || q.Get("redirect_uri") != testBase+"/app/oidc" || q.Get("code_challenge_method") != "S256" ||
		len(q.Get("code_challenge")) != 43 || len(q.Get("nonce")) != 43 || len(q.Get("state")) != 43 {
		t.Errorf("the provider is asked %v", q)
	}
	return q.Get("state"), p.Authorize(q, user)
}
