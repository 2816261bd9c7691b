package member

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"
)

// provider is an identity provider, with faults to make it a bad one.
type provider struct {
	*httptest.Server
	key *ecdsa.PrivateKey

	mu    sync.Mutex
	asked url.Values     // of the last authorization
	user  map[string]any // claims of whoever is signed in there
	twist func(claims map[string]any)
	raw   func(w http.ResponseWriter) // answers instead of a token
	signs *ecdsa.PrivateKey           // another key than the published one
}

const (
	testClient = "waybill-client"
	testSecret = "client secret"
)

func newProvider(t *testing.T) *provider {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p := &provider{key: key, signs: key}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{
			"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys",
			"id_token_signing_alg_values_supported": []string{"ES256"}, "response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
		})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		point, err := p.key.PublicKey.Bytes()
		if err != nil {
			t.Error(err)
		}
		answer(w, map[string]any{"keys": []any{map[string]any{
			"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": "1", "x": b64.EncodeToString(point[1:33]), "y": b64.EncodeToString(point[33:]),
		}}})
	})
	mux.HandleFunc("POST /token", p.token)
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

func (p *provider) settings() OIDC {
	return OIDC{Issuer: p.URL, ClientID: testClient, ClientSecret: testSecret, Transport: p.Client().Transport}
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// authorize is what the browser does at the provider: it returns the state and
// the code that come back.
func (p *provider) authorize(t *testing.T, address string, user map[string]any) (state, code string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked, p.user = u.Query(), user
	q := p.asked
	if q.Get("response_type") != "code" || q.Get("client_id") != testClient || q.Get("redirect_uri") != testBase+"/app/oidc" || q.Get("code_challenge_method") != "S256" ||
		len(q.Get("code_challenge")) != 43 || len(q.Get("nonce")) != 43 || len(q.Get("state")) != 43 {
		t.Errorf("the provider is asked %v", q)
	}
	return q.Get("state"), "code-for-" + q.Get("nonce")
}

// token trades a code, if it comes with the secret and the verifier.
func (p *provider) token(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.raw != nil {
		p.raw(w)
		return
	}
	id, secret, _ := r.BasicAuth()
	sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	if id != testClient || secret != url.QueryEscape(testSecret) || r.FormValue("code") != "code-for-"+p.asked.Get("nonce") || b64.EncodeToString(sum[:]) != p.asked.Get("code_challenge") {
		w.WriteHeader(http.StatusBadRequest)
		answer(w, map[string]string{"error": "invalid_grant"})
		return
	}
	now := time.Now().Unix()
	claims := map[string]any{"iss": p.URL, "aud": testClient, "iat": now, "exp": now + 300, "nonce": p.asked.Get("nonce"), "auth_time": now}
	for k, v := range p.user {
		claims[k] = v
	}
	if p.twist != nil {
		p.twist(claims)
	}
	answer(w, map[string]any{"access_token": "x", "token_type": "Bearer", "id_token": p.sign(claims)})
}

// sign makes a token of claims.
func (p *provider) sign(claims map[string]any) string {
	body, err := json.Marshal(claims)
	if err != nil {
		panic(err)
	}
	text := b64.EncodeToString([]byte(`{"alg":"ES256","kid":"1","typ":"JWT"}`)) + "." + b64.EncodeToString(body)
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, p.signs, sum[:])
	if err != nil {
		panic(err)
	}
	var signature [64]byte
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return text + "." + b64.EncodeToString(signature[:])
}
