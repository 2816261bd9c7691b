// Package member knows the people who use the dashboard: how they sign in,
// what each may do in an account, and what they did. It decides and keeps the
// record; it draws no page, sets no cookie, and knows nothing of shipments.
//
// A person signs in once and may belong to several accounts, but to more than
// the one that invited them only after proving that the e-mail address is theirs.
// What a person may do is a table of roles and actions. Every change writes its
// entry of the audit log in its own transaction.
package member

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// A Person signs in. People belong to accounts through memberships.
type Person struct {
	ID            ship.PersonID
	Email         string // lower case
	EmailVerified bool   // they have proved that the address is theirs
	Name          string
	CreatedAt     time.Time
}

func personOf(row store.Person) Person {
	return Person{
		ID:            row.ID,
		Email:         row.Email,
		EmailVerified: !row.EmailVerifiedAt.IsZero(),
		Name:          row.Name,
		CreatedAt:     row.CreatedAt,
	}
}

// An Origin is where a request comes from.
type Origin struct {
	Addr  netip.Addr
	Agent string // the browser's own name for itself
	Token string // of the session that the browser has already, if any: a sign-in ends it
}

// OIDC is the identity provider that people may sign in with. Without an
// issuer there is none.
type OIDC struct {
	Issuer       string
	ClientID     string
	ClientSecret string
	Transport    http.RoundTripper // the way to it; nil means Go's own
}

// Config is what a Service is made of.
type Config struct {
	Store   *store.Store
	Box     *seal.Box // seals the seeds of authenticators; only operators' commands do without
	BaseURL string    // of the dashboard: in every link, and what passkeys are bound to
	OIDC    OIDC
	Log     *slog.Logger

	// Mail sends a text to addresses; nil if there is no mail server. With one,
	// invitations are mailed and their links are not shown to the inviter.
	Mail func(ctx context.Context, to []string, subject, text string) error

	CheapHashes bool // of passwords, easy to guess: for tests that are not about them
}

// Service knows people, their sessions and their memberships. It is safe for
// concurrent use.
type Service struct {
	store     *store.Store
	box       *seal.Box
	base      string
	log       *slog.Logger
	passwords *passwords
	passkeys  *webauthn.WebAuthn // nil if the address allows none
	oidc      *identityProvider  // nil without one
	mail      func(ctx context.Context, to []string, subject, text string) error
	now       func() time.Time
	notes     notes
}

// New returns a service. It makes no network request.
func New(c Config) (*Service, error) {
	s := &Service{
		store:     c.Store,
		box:       c.Box,
		base:      strings.TrimRight(c.BaseURL, "/"),
		log:       c.Log,
		passwords: newPasswords(c.cost()),
		mail:      c.Mail,
		now:       time.Now,
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}

	var err error
	if s.passkeys, err = newPasskeys(s.base); err != nil {
		return nil, fmt.Errorf("passkeys: %w", err)
	}
	if c.OIDC.Issuer != "" {
		s.oidc = newIdentityProvider(c.OIDC, s.base+oidcPath)
	}
	return s, nil
}

// The pages that links of this package lead to.
const (
	setupPath  = "/app/setup?token="
	invitePath = "/app/invite/"
	resetPath  = "/app/reset/"
	oidcPath   = "/app/oidc"
)

// clock returns the time as it is stored: UTC, in microseconds, which is what
// Postgres keeps.
func (s *Service) clock() time.Time { return s.now().UTC().Truncate(time.Microsecond) }

// SignedIn is the result of a step of signing in: a session, or the wait for a
// code.
type SignedIn struct {
	Token   string         // of the session, the value of the cookie; empty while Pending is not
	Pending string         // give it to SecondFactor together with a code
	Account ship.AccountID // used last; empty after a step-up
	Joined  bool           // they belonged to no account, and have accepted their invitations
	Return  string         // what BeginOIDC was given
	Expires time.Time      // of the token
}

// Sweep removes what has expired: sessions, links, and ceremonies that were
// begun and not finished.
func (s *Service) Sweep(ctx context.Context) error {
	now := s.clock()
	return s.store.SweepSignIns(ctx, now, now.Add(-idleTimeout), now.Add(-forgetAfter))
}

// isKind reports whether err is of the kind.
func isKind(err error, kind ship.Kind) bool { return err != nil && ship.KindOf(err) == kind }

// errNoBox means that the service has to seal something and has no box.
var errNoBox = errors.New("member: no encryption key is configured")
