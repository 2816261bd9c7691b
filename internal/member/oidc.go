package member

import (
	"context"
	"crypto/subtle"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// identityProvider is the provider of the settings. What it tells of itself is
// asked for when it is first needed, and kept.
type identityProvider struct {
	OIDC
	redirect string
	known    atomic.Pointer[oidc.Provider]
}

const (
	oidcTimeout = 10 * time.Second
	oidcMaxBody = 1 << 20
	oidcSkew    = time.Minute // between its clock and ours
)

func newIdentityProvider(o OIDC, redirect string) *identityProvider {
	return &identityProvider{OIDC: o, redirect: redirect}
}

// bounded keeps answers small; the library reads them whole.
type bounded struct{ via http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.via.RoundTrip(r)
	if err == nil {
		resp.Body = http.MaxBytesReader(nil, resp.Body, oidcMaxBody)
	}
	return resp, err
}

// client is ctx with the way to the provider. It follows no redirects: the
// client's secret goes to the addresses of the discovery document alone.
func (p *identityProvider) client(ctx context.Context) context.Context {
	c := *oauth2.NewClient(ctx, nil) // a copy of the usual one
	c.Timeout = oidcTimeout
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if p.Transport != nil {
		c.Transport = bounded{p.Transport}
	}
	return oidc.ClientContext(ctx, &c)
}

// open returns the provider and how to exchange codes with it. ctx must come
// from client.
func (p *identityProvider) open(ctx context.Context) (*oidc.Provider, *oauth2.Config, error) {
	known := p.known.Load()
	if known == nil {
		var err error
		if known, err = oidc.NewProvider(ctx, p.Issuer); err != nil {
			return nil, nil, providerSilent(err)
		}
		p.known.Store(known)
	}
	return known, &oauth2.Config{
		ClientID: p.ClientID, ClientSecret: p.ClientSecret, Endpoint: known.Endpoint(), RedirectURL: p.redirect, Scopes: []string{oidc.ScopeOpenID, "email", "profile"},
	}, nil
}

func providerSilent(cause error) error {
	e := ship.Coded(ship.Unavailable, "oidc_unavailable", "the identity provider does not answer")
	e.Err = cause
	return e
}

// claims are what is read of a token.
type claims struct {
	Subject       string `json:"sub"`
	Email         string `json:"email"`
	EmailVerified truth  `json:"email_verified"`
	Name          string `json:"name"`
	AuthTime      int64  `json:"auth_time"`
	AuthorizedBy  string `json:"azp"`
	issuer        string
	audience      []string
}

// truth is a boolean that some providers send as text.
type truth bool

func (t *truth) UnmarshalJSON(b []byte) error {
	*t = strings.Trim(string(b), `"`) == "true"
	return nil
}

// exchange trades a code for what the provider says of the person, verified.
func (p *identityProvider) exchange(ctx context.Context, code string, m oidcMemory, now func() time.Time) (claims, error) {
	var c claims
	ctx = p.client(ctx)
	provider, config, err := p.open(ctx)
	if err != nil {
		return c, err
	}
	token, err := config.Exchange(ctx, code, oauth2.VerifierOption(m.Verifier))
	if err != nil {
		if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok && refused.Response != nil && refused.Response.StatusCode < 500 {
			return c, oidcRefused(err)
		}
		return c, providerSilent(err)
	}
	raw, ok := token.Extra("id_token").(string)
	if !ok {
		return c, oidcRefused(errors.New("the answer has no id token"))
	}
	id, err := provider.VerifierContext(ctx, &oidc.Config{ClientID: p.ClientID, Now: now}).Verify(ctx, raw)
	if err != nil {
		return c, oidcRefused(err)
	}
	if err := id.Claims(&c); err != nil {
		return c, oidcRefused(err)
	}
	c.issuer, c.audience = id.Issuer, id.Audience
	switch {
	case subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(m.Nonce)) != 1:
		return c, oidcRefused(errors.New("the token is for another sign-in"))
	case c.Subject == "" || len(c.Subject) > 255:
		return c, oidcRefused(errors.New("the token names nobody"))
	case len(c.audience) > 1 && c.AuthorizedBy != p.ClientID:
		return c, oidcRefused(errors.New("the token is for another client too"))
	}
	return c, nil
}

func oidcRefused(cause error) error {
	e := ship.Coded(ship.Forbidden, "oidc_refused", "the identity provider's answer is not accepted: begin again")
	e.Err = cause
	return e
}

// OIDCPossible reports whether there is an identity provider.
func (s *Service) OIDCPossible() bool { return s.oidc != nil }

// What an exchange with the identity provider is for.
const (
	toSignIn = "sign_in"
	toStepUp = "step_up"
	toLink   = "link"
)

// oidcMemory is what is kept of an exchange until its answer comes.
type oidcMemory struct {
	For      string `json:"f"`
	State    string `json:"s"`
	Nonce    string `json:"n"`
	Verifier string `json:"v"`
	Return   string `json:"r"`
	Began    int64  `json:"b"`
}

// OIDCStart sends the browser to the identity provider.
type OIDCStart struct {
	URL   string // where to
	Token string // belongs in a cookie of the browser, and comes back with FinishOIDC
}

// BeginOIDC begins to sign somebody in with the identity provider. returnTo
// comes back with the answer.
func (s *Service) BeginOIDC(ctx context.Context, returnTo string) (OIDCStart, error) {
	return s.beginOIDC(ctx, Actor{}, toSignIn, returnTo)
}

// BeginOIDCStepUp begins to prove the actor again. The identity provider is
// told to ask them anew.
func (s *Service) BeginOIDCStepUp(ctx context.Context, a Actor, returnTo string) (OIDCStart, error) {
	return s.beginOIDC(ctx, a, toStepUp, returnTo)
}

// BeginOIDCLink begins to connect the actor with the identity provider, so
// that they can sign in with it.
func (s *Service) BeginOIDCLink(ctx context.Context, a Actor, returnTo string) (OIDCStart, error) {
	if err := a.Allow(ManageOwnSecrets); err != nil {
		return OIDCStart{}, err
	}
	return s.beginOIDC(ctx, a, toLink, returnTo)
}

func (s *Service) beginOIDC(ctx context.Context, a Actor, end, returnTo string) (OIDCStart, error) {
	if s.oidc == nil {
		return OIDCStart{}, noOIDC()
	}
	_, config, err := s.oidc.open(s.oidc.client(ctx))
	if err != nil {
		return OIDCStart{}, err
	}
	m := oidcMemory{For: end, Verifier: oauth2.GenerateVerifier(), Return: returnTo, Began: s.now().Unix()}
	m.State, _ = newToken()
	m.Nonce, _ = newToken()
	token, err := s.sealCeremony(kindOIDC, a, m)
	if err != nil {
		return OIDCStart{}, err
	}
	options := []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(m.Verifier), oidc.Nonce(m.Nonce)}
	if end == toStepUp {
		options = append(options, oauth2.SetAuthURLParam("prompt", "login"), oauth2.SetAuthURLParam("max_age", "0"))
	} else { // any age has it tell when it asked them
		options = append(options, oauth2.SetAuthURLParam("max_age", strconv.Itoa(int(lastFor.Seconds()))))
	}
	return OIDCStart{URL: config.AuthCodeURL(m.State, options...), Token: token}, nil
}

func noOIDC() error {
	return ship.Coded(ship.Unsupported, "no_oidc", "there is no identity provider here")
}

// FinishOIDCInput is what the identity provider sent back.
type FinishOIDCInput struct {
	Token string // of the cookie
	State string // of the query
	Code  string // of the query
	From  Origin
}

// FinishOIDC ends what BeginOIDC, BeginOIDCStepUp or BeginOIDCLink began. After
// the last the answer has no token: the session stays as it is.
func (s *Service) FinishOIDC(ctx context.Context, in FinishOIDCInput) (SignedIn, error) {
	if s.oidc == nil {
		return SignedIn{}, noOIDC()
	}
	var m oidcMemory
	t, err := s.openCeremony(kindOIDC, in.Token, &m)
	if err != nil {
		return SignedIn{}, err
	}
	if subtle.ConstantTimeCompare([]byte(in.State), []byte(m.State)) != 1 {
		return SignedIn{}, oidcRefused(errors.New("the answer is to another question"))
	}
	c, err := s.oidc.exchange(ctx, in.Code, m, s.now)
	if err != nil {
		return SignedIn{}, err
	}
	var out SignedIn
	end := func(tx *store.Store) error { return spend(ctx, tx, in.Token, t) }
	switch m.For {
	case toSignIn:
		out, err = s.signInAs(ctx, c, in.From, end)
	case toStepUp, toLink:
		var a Actor
		if a, err = s.actorOf(ctx, t, in.From); err != nil {
			return SignedIn{}, err
		}
		if m.For == toLink {
			err = s.link(ctx, a, c, end)
		} else {
			out, err = s.stepUpAs(ctx, a, c, m, end)
		}
	}
	out.Return = m.Return
	return out, err
}
