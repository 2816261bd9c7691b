package member

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// newPasskeys binds passkeys to the address of the dashboard: they are offered
// nowhere else. It returns nil for an address where browsers refuse passkeys:
// one without a host name, or one without https that is not localhost.
func newPasskeys(base string) (*webauthn.WebAuthn, error) {
	address, err := url.Parse(base)
	if err != nil || address.Hostname() == "" || address.Scheme != "https" && address.Hostname() != "localhost" {
		return nil, nil
	}
	if _, err := netip.ParseAddr(address.Hostname()); err == nil {
		return nil, nil
	}

	// Nobody types an e-mail to sign in with a passkey, so the authenticator
	// must store it; and no code follows, so it must verify its user.
	resident := true
	return webauthn.New(&webauthn.Config{
		RPID:                  strings.ToLower(address.Hostname()),
		RPDisplayName:         appName,
		RPOrigins:             []string{address.Scheme + "://" + address.Host},
		AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			RequireResidentKey: &resident,
			ResidentKey:        protocol.ResidentKeyRequirementRequired,
			UserVerification:   protocol.VerificationRequired,
		},
	})
}

// PasskeysPossible reports whether browsers allow passkeys at the dashboard's
// address: one with a name, over https or on localhost.
func (s *Service) PasskeysPossible() bool { return s.passkeys != nil }

// passkeyUser is a person in the form that the library asks for.
type passkeyUser struct {
	person store.Person
	keys   []webauthn.Credential
}

func (u passkeyUser) WebAuthnID() []byte                         { id := u.person.ID.Raw(); return id[:] }
func (u passkeyUser) WebAuthnName() string                       { return u.person.Email }
func (u passkeyUser) WebAuthnDisplayName() string                { return u.person.Name }
func (u passkeyUser) WebAuthnCredentials() []webauthn.Credential { return u.keys }

// passkeyUser returns a person with their passkeys.
func (s *Service) passkeyUser(ctx context.Context, id ship.PersonID) (passkeyUser, error) {
	if s.passkeys == nil {
		return passkeyUser{}, noPasskeys()
	}
	person, err := s.store.Person(ctx, id)
	if err != nil {
		return passkeyUser{}, err
	}

	rows, err := s.store.Passkeys(ctx, id)
	user := passkeyUser{person: person}
	for _, row := range rows {
		var credential webauthn.Credential
		if err := json.Unmarshal(row.Credential, &credential); err != nil {
			return user, fmt.Errorf("passkey of %s: %w", id, err)
		}
		user.keys = append(user.keys, credential)
	}
	return user, err
}

func noPasskeys() error {
	return ship.Coded(ship.Unsupported, "no_passkeys", "passkeys require a domain name and HTTPS")
}

// A Ceremony is an exchange with the browser that has begun. It can be finished
// once, and expires soon.
type Ceremony struct {
	Token   string          // give it back with the answer
	Options json.RawMessage // for navigator.credentials.create or get: {"publicKey":{...}}
}

// beginCeremony begins a ceremony with the library's options and session data.
func (s *Service) beginCeremony(kind string, a Actor, options any, session *webauthn.SessionData) (Ceremony, error) {
	text, err := json.Marshal(options)
	if err != nil {
		return Ceremony{}, fmt.Errorf("options of a passkey: %w", err)
	}
	token, err := s.sealCeremony(kind, a, session)
	return Ceremony{Token: token, Options: text}, err
}

// spendCeremony ends a sealed ceremony, in the transaction of what it leads to.
// It fails if the ceremony was finished before.
func spendCeremony(ctx context.Context, tx *store.Store, token string, ceremony sealedToken) error {
	return tx.SpendCeremony(ctx, store.Ceremony{
		Hash:      hashOf(token),
		Kind:      kindSpent,
		ExpiresAt: time.Unix(ceremony.Expires, 0),
	})
}

// BeginPasskeySignIn begins to sign in whoever has a passkey of this address.
// Nothing needs to be typed.
func (s *Service) BeginPasskeySignIn(context.Context) (Ceremony, error) {
	if s.passkeys == nil {
		return Ceremony{}, noPasskeys()
	}

	options, session, err := s.passkeys.BeginDiscoverableLogin(webauthn.WithUserVerification(protocol.VerificationRequired))
	if err != nil {
		return Ceremony{}, fmt.Errorf("begin with a passkey: %w", err)
	}
	return s.beginCeremony(kindPasskey, Actor{}, options, session)
}

// PasskeyAnswer is the browser's answer to a Ceremony.
type PasskeyAnswer struct {
	Token    string
	Response []byte // the credential as JSON (PublicKeyCredential.toJSON)
	From     Origin // FinishPasskeyStepUp takes the actor's
}

// FinishPasskeySignIn signs in the person who holds the passkey. The
// authenticator has verified them, so no code follows.
func (s *Service) FinishPasskeySignIn(ctx context.Context, in PasskeyAnswer) (SignedIn, error) {
	var session webauthn.SessionData
	ceremony, err := s.openCeremony(kindPasskey, in.Token, &session)
	if err != nil {
		return SignedIn{}, err
	}
	if s.passkeys == nil {
		return SignedIn{}, noPasskeys()
	}
	answer, err := protocol.ParseCredentialRequestResponseBytes(in.Response)
	if err != nil {
		return SignedIn{}, passkeyRefused(err)
	}

	// The error of the lookup is kept aside: a fault of the database is not a
	// refusal.
	var user passkeyUser
	var lookupErr error
	_, used, err := s.passkeys.ValidatePasskeyLogin(func(_, handle []byte) (webauthn.User, error) {
		var raw ship.RawID
		if copy(raw[:], handle) != len(raw) || len(handle) != len(raw) {
			return nil, ship.Errorf(ship.NotFound, "no such person")
		}
		user, lookupErr = s.passkeyUser(ctx, ship.PersonIDOf(raw))
		return user, lookupErr
	}, session, answer)
	if lookupErr != nil && !isKind(lookupErr, ship.NotFound) {
		return SignedIn{}, lookupErr
	}
	if err != nil {
		s.noteRefused(user.person, in.From, "passkey")
		return SignedIn{}, passkeyRefused(err)
	}

	return s.startSession(ctx, user.person, sessionStart{
		method:  "passkey",
		from:    in.From,
		prepare: func(tx *store.Store) error { return lockPerson(ctx, tx, user.person.ID) },
		finish: func(tx *store.Store) error {
			if err := spendCeremony(ctx, tx, in.Token, ceremony); err != nil {
				return err
			}
			return s.usePasskey(ctx, tx, user.person.ID, used)
		},
	})
}

// usePasskey stores the passkey's new signature count. A passkey whose count
// does not go up is a copy, and is refused.
func (s *Service) usePasskey(ctx context.Context, tx *store.Store, p ship.PersonID, used *webauthn.Credential) error {
	if used.Authenticator.CloneWarning {
		return passkeyRefused(fmt.Errorf("passkey of %s: its signature counter went back", p))
	}

	text, err := json.Marshal(used)
	if err != nil {
		return fmt.Errorf("passkey of %s: %w", p, err)
	}
	row := store.Passkey{
		ID:         used.ID,
		Person:     p,
		Credential: text,
		UsedAt:     s.clock(),
	}
	return tx.UsePasskey(ctx, row, used.Authenticator.SignCount)
}

func passkeyRefused(cause error) error {
	e := ship.Coded(ship.Forbidden, "passkey_refused", "this passkey was not accepted")
	e.Err = cause
	return e
}

// BeginPasskeyStepUp begins to prove the actor again, with one of their
// passkeys.
func (s *Service) BeginPasskeyStepUp(ctx context.Context, a Actor) (Ceremony, error) {
	user, err := s.passkeyUser(ctx, a.Person.ID)
	if err != nil {
		return Ceremony{}, err
	}
	if len(user.keys) == 0 {
		return Ceremony{}, ship.Coded(ship.Conflict, "no_passkeys", "you have no passkey")
	}

	options, session, err := s.passkeys.BeginLogin(user, webauthn.WithUserVerification(protocol.VerificationRequired))
	if err != nil {
		return Ceremony{}, fmt.Errorf("begin with a passkey: %w", err)
	}
	return s.beginCeremony(kindPasskeyStepUp, a, options, session)
}

// FinishPasskeyStepUp makes the actor's session fresh, under another token.
func (s *Service) FinishPasskeyStepUp(ctx context.Context, a Actor, in PasskeyAnswer) (SignedIn, error) {
	var session webauthn.SessionData
	ceremony, err := s.openCeremony(kindPasskeyStepUp, in.Token, &session)
	if err != nil {
		return SignedIn{}, err
	}
	if ceremony.Person != a.Person.ID || ceremony.Session != a.Session {
		return SignedIn{}, expired()
	}

	user, err := s.passkeyUser(ctx, a.Person.ID)
	if err != nil {
		return SignedIn{}, err
	}
	answer, err := protocol.ParseCredentialRequestResponseBytes(in.Response)
	if err != nil {
		return SignedIn{}, passkeyRefused(err)
	}
	used, err := s.passkeys.ValidateLogin(user, session, answer)
	if err != nil {
		s.noteRefused(user.person, a.From, "passkey")
		return SignedIn{}, passkeyRefused(err)
	}

	return s.renewSession(ctx, a, "passkey", func(tx *store.Store) error {
		if err := spendCeremony(ctx, tx, in.Token, ceremony); err != nil {
			return err
		}
		return s.usePasskey(ctx, tx, a.Person.ID, used)
	})
}
