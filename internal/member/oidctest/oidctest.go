// Package oidctest is an identity provider for tests, with faults to make it a
// bad one.
package oidctest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"
)

// The client that the provider knows.
const (
	ClientID     = "waybill-client"
	ClientSecret = "client secret"
)

// A Provider is an identity provider at which one person is signed in. Its
// fields are changed between requests only.
type Provider struct {
	*httptest.Server
	Key   *ecdsa.PrivateKey // that is published
	Asked url.Values        // by the last authorization
	User  map[string]any    // claims of whoever is signed in there

	// Faults.
	Twist func(claims map[string]any)
	Raw   func(w http.ResponseWriter) // answers instead of a token
	Signs *ecdsa.PrivateKey           // another key than the published one

	mu sync.Mutex // guards Asked and User
}

// New starts a provider that ends with the test.
func New(t testing.TB) *Provider {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	point, err := key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}

	p := &Provider{Key: key, Signs: key}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		Answer(w, map[string]any{
			"issuer":                                p.URL,
			"authorization_endpoint":                p.URL + "/authorize",
			"token_endpoint":                        p.URL + "/token",
			"jwks_uri":                              p.URL + "/keys",
			"id_token_signing_alg_values_supported": []string{"ES256"},
			"response_types_supported":              []string{"code"},
			"subject_types_supported":               []string{"public"},
		})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		Answer(w, map[string]any{"keys": []any{map[string]any{
			"kty": "EC",
			"crv": "P-256",
			"alg": "ES256",
			"use": "sig",
			"kid": "1",
			"x":   b64.EncodeToString(point[1:33]),
			"y":   b64.EncodeToString(point[33:]),
		}}})
	})
	mux.HandleFunc("GET /authorize", p.redirect)
	mux.HandleFunc("POST /token", p.token)

	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

var b64 = base64.RawURLEncoding

// Answer writes a value as JSON.
func Answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // a reader that left is none
}

// Authorize signs the user in, as the page at the provider would, and returns
// the code that the browser brings back.
func (p *Provider) Authorize(asked url.Values, user map[string]any) (code string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Asked = asked
	p.User = user
	return codeFor(asked)
}

func codeFor(asked url.Values) string { return "code-for-" + asked.Get("nonce") }

// redirect asks a browser nothing: whoever comes is the user.
func (p *Provider) redirect(w http.ResponseWriter, r *http.Request) {
	asked := r.URL.Query()
	p.mu.Lock()
	p.Asked = asked
	p.mu.Unlock()

	back := url.Values{"state": {asked.Get("state")}, "code": {codeFor(asked)}}
	http.Redirect(w, r, asked.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

// token trades a code, if it comes with the secret and the verifier.
func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.Raw != nil {
		p.Raw(w)
		return
	}

	id, secret, _ := r.BasicAuth()
	verifier := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	isClient := id == ClientID && secret == url.QueryEscape(ClientSecret)
	if !isClient || r.FormValue("code") != codeFor(p.Asked) || b64.EncodeToString(verifier[:]) != p.Asked.Get("code_challenge") {
		w.WriteHeader(http.StatusBadRequest)
		Answer(w, map[string]string{"error": "invalid_grant"})
		return
	}

	now := time.Now().Unix()
	claims := map[string]any{
		"iss":       p.URL,
		"aud":       ClientID,
		"iat":       now,
		"exp":       now + 300,
		"nonce":     p.Asked.Get("nonce"),
		"auth_time": now,
	}
	maps.Copy(claims, p.User)
	if p.Twist != nil {
		p.Twist(claims)
	}
	Answer(w, map[string]any{"access_token": "x", "token_type": "Bearer", "id_token": p.sign(claims)})
}

// sign makes a token of claims.
func (p *Provider) sign(claims map[string]any) string {
	body, err := json.Marshal(claims)
	if err != nil {
		panic(err)
	}
	text := b64.EncodeToString([]byte(`{"alg":"ES256","kid":"1","typ":"JWT"}`)) + "." + b64.EncodeToString(body)
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, p.Signs, sum[:])
	if err != nil {
		panic(err)
	}

	var signature [64]byte
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return text + "." + b64.EncodeToString(signature[:])
}
