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

// identityProvider is the provider of the settings. Its discovery document is
// fetched when it is first needed, and kept.
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

// limitedTransport bounds the size of answers; the library reads them whole.
type limitedTransport struct{ next http.RoundTripper }

// RoundTrip sends the request and limits the body of its answer.
func (t limitedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(r)
	if err == nil {
		response.Body = http.MaxBytesReader(nil, response.Body, oidcMaxBody)
	}
	return response, err
}

// client returns ctx with the HTTP client for the provider. It follows no
// redirects: the client secret is sent to the addresses of the discovery
// document alone.
func (p *identityProvider) client(ctx context.Context) context.Context {
	client := *oauth2.NewClient(ctx, nil) // a copy of the default one
	client.Timeout = oidcTimeout
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if p.Transport != nil {
		client.Transport = limitedTransport{p.Transport}
	}
	return oidc.ClientContext(ctx, &client)
}

// open returns the provider and how to exchange codes with it. ctx must come
// from client.
func (p *identityProvider) open(ctx context.Context) (*oidc.Provider, *oauth2.Config, error) {
	provider := p.known.Load()
	if provider == nil {
		var err error
		if provider, err = oidc.NewProvider(ctx, p.Issuer); err != nil {
			return nil, nil, providerUnavailable(err)
		}
		p.known.Store(provider)
	}

	return provider, &oauth2.Config{
		ClientID:     p.ClientID,
		ClientSecret: p.ClientSecret,
		Endpoint:     provider.Endpoint(),
		RedirectURL:  p.redirect,
		Scopes:       []string{oidc.ScopeOpenID, "email", "profile"},
	}, nil
}

func providerUnavailable(cause error) error {
	e := ship.Coded(ship.Unavailable, "oidc_unavailable", "the identity provider is not responding; try again later")
	e.Err = cause
	return e
}

// claims are the parts of an ID token that are used.
type claims struct {
	Subject       string      `json:"sub"`
	Email         string      `json:"email"`
	EmailVerified lenientBool `json:"email_verified"`
	Name          string      `json:"name"`
	AuthTime      int64       `json:"auth_time"`
	AuthorizedBy  string      `json:"azp"`
	issuer        string
	audience      []string
}

// lenientBool is a boolean that some providers send as text.
type lenientBool bool

// UnmarshalJSON reads true and "true" as true, and all else as false.
func (b *lenientBool) UnmarshalJSON(text []byte) error {
	*b = strings.Trim(string(text), `"`) == "true"
	return nil
}

// exchange trades a code for the verified claims of the provider about the
// person.
func (p *identityProvider) exchange(ctx context.Context, code string, begun oidcExchange, now func() time.Time) (claims, error) {
	var identity claims
	ctx = p.client(ctx)
	provider, config, err := p.open(ctx)
	if err != nil {
		return identity, err
	}

	token, err := config.Exchange(ctx, code, oauth2.VerifierOption(begun.Verifier))
	if err != nil {
		if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok && refused.Response != nil && refused.Response.StatusCode < 500 {
			return identity, oidcRefused(err)
		}
		return identity, providerUnavailable(err)
	}

	raw, ok := token.Extra("id_token").(string)
	if !ok {
		return identity, oidcRefused(errors.New("the response has no ID token"))
	}
	id, err := provider.VerifierContext(ctx, &oidc.Config{ClientID: p.ClientID, Now: now}).Verify(ctx, raw)
	if err != nil {
		return identity, oidcRefused(err)
	}
	if err := id.Claims(&identity); err != nil {
		return identity, oidcRefused(err)
	}
	identity.issuer = id.Issuer
	identity.audience = id.Audience

	// The library checks the signature, the issuer, the audience and the times;
	// the rest is for the caller to check.
	switch {
	case subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(begun.Nonce)) != 1:
		return identity, oidcRefused(errors.New("the token is for another sign-in"))
	case identity.Subject == "" || len(identity.Subject) > 255:
		return identity, oidcRefused(errors.New("the token has no subject"))
	case len(identity.audience) > 1 && identity.AuthorizedBy != p.ClientID:
		return identity, oidcRefused(errors.New("the token was also issued for another client"))
	}
	return identity, nil
}

func oidcRefused(cause error) error {
	e := ship.Coded(ship.Forbidden, "oidc_refused", "the identity provider's response was not accepted: sign in again")
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

// oidcExchange is what is kept of an exchange with the identity provider until
// its answer comes.
type oidcExchange struct {
	For      string `json:"f"`
	State    string `json:"s"`
	Nonce    string `json:"n"`
	Verifier string `json:"v"`
	Return   string `json:"r"`
	Began    int64  `json:"b"`
}

// OIDCStart is where the browser is sent to begin with the identity provider.
type OIDCStart struct {
	URL   string // of the identity provider
	Token string // for a cookie of the browser; it comes back with FinishOIDC
}

// BeginOIDC begins to sign somebody in with the identity provider. returnTo
// comes back with the answer.
func (s *Service) BeginOIDC(ctx context.Context, returnTo string) (OIDCStart, error) {
	return s.beginOIDC(ctx, Actor{}, toSignIn, returnTo)
}

// BeginOIDCStepUp begins to prove the actor again. The identity provider has to
// ask them anew.
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

func (s *Service) beginOIDC(ctx context.Context, a Actor, purpose, returnTo string) (OIDCStart, error) {
	if s.oidc == nil {
		return OIDCStart{}, noOIDC()
	}
	_, config, err := s.oidc.open(s.oidc.client(ctx))
	if err != nil {
		return OIDCStart{}, err
	}

	exchange := oidcExchange{
		For:      purpose,
		Verifier: oauth2.GenerateVerifier(),
		Return:   returnTo,
		Began:    s.now().Unix(),
	}
	exchange.State, _ = newToken()
	exchange.Nonce, _ = newToken()
	token, err := s.sealCeremony(kindOIDC, a, exchange)
	if err != nil {
		return OIDCStart{}, err
	}

	// With any max_age the provider must tell when it asked the person.
	options := []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(exchange.Verifier), oidc.Nonce(exchange.Nonce)}
	if purpose == toStepUp {
		options = append(options, oauth2.SetAuthURLParam("prompt", "login"), oauth2.SetAuthURLParam("max_age", "0"))
	} else {
		options = append(options, oauth2.SetAuthURLParam("max_age", strconv.Itoa(int(sessionLifetime.Seconds()))))
	}
	return OIDCStart{URL: config.AuthCodeURL(exchange.State, options...), Token: token}, nil
}

func noOIDC() error {
	return ship.Coded(ship.Unsupported, "no_oidc", "no identity provider is configured on this installation")
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

	// The cookie and the query must belong to the same exchange, or a link could
	// sign somebody in as another person.
	var exchange oidcExchange
	ceremony, err := s.openCeremony(kindOIDC, in.Token, &exchange)
	if err != nil {
		return SignedIn{}, err
	}
	if subtle.ConstantTimeCompare([]byte(in.State), []byte(exchange.State)) != 1 {
		return SignedIn{}, oidcRefused(errors.New("the response belongs to another sign-in"))
	}
	identity, err := s.oidc.exchange(ctx, in.Code, exchange, s.now)
	if err != nil {
		return SignedIn{}, err
	}

	var out SignedIn
	finish := func(tx *store.Store) error { return spendCeremony(ctx, tx, in.Token, ceremony) }
	switch exchange.For {
	case toSignIn:
		out, err = s.signInWithIdentity(ctx, identity, in.From, finish)

	case toStepUp, toLink:
		var a Actor
		if a, err = s.ceremonyActor(ctx, ceremony, in.From); err != nil {
			return SignedIn{}, err
		}
		if exchange.For == toLink {
			err = s.linkIdentity(ctx, a, identity, finish)
		} else {
			out, err = s.stepUpWithIdentity(ctx, a, identity, exchange, finish)
		}
	}
	out.Return = exchange.Return
	return out, err
}
