//go:build browser

package browser

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"
)

// provider is a small identity provider at which one person is signed in.
type provider struct {
	*httptest.Server
	key   *ecdsa.PrivateKey
	email string

	mu    sync.Mutex
	asked url.Values
}

var b64 = base64.RawURLEncoding

func newProvider(t *testing.T, email string) *provider {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p := &provider{key: key, email: email}
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
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // a reader that left is none
}

// authorize asks nothing: whoever comes is the person.
func (p *provider) authorize(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = r.URL.Query()
	back := url.Values{"state": {p.asked.Get("state")}, "code": {"code-for-" + p.asked.Get("nonce")}}
	http.Redirect(w, r, p.asked.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

// token trades a code, if it comes with the verifier.
func (p *provider) token(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	if r.FormValue("code") != "code-for-"+p.asked.Get("nonce") || b64.EncodeToString(sum[:]) != p.asked.Get("code_challenge") {
		w.WriteHeader(http.StatusBadRequest)
		answer(w, map[string]string{"error": "invalid_grant"})
		return
	}
	now := time.Now().Unix()
	body, _ := json.Marshal(map[string]any{
		"iss": p.URL, "aud": p.asked.Get("client_id"), "sub": "42", "email": p.email, "email_verified": true, "name": "Olga Ivanova",
		"iat": now, "exp": now + 300, "nonce": p.asked.Get("nonce"), "auth_time": now,
	})
	text := b64.EncodeToString([]byte(`{"alg":"ES256","kid":"1","typ":"JWT"}`)) + "." + b64.EncodeToString(body)
	digest := sha256.Sum256([]byte(text))
	x, y, err := ecdsa.Sign(rand.Reader, p.key, digest[:])
	if err != nil {
		panic(err)
	}
	var signature [64]byte
	x.FillBytes(signature[:32])
	y.FillBytes(signature[32:])
	answer(w, map[string]any{"access_token": "x", "token_type": "Bearer", "id_token": text + "." + b64.EncodeToString(signature[:])})
}
