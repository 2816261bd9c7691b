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
// nowhere else. An address without a name, or one in the clear that is not this
// machine's, has none: browsers refuse.
func newPasskeys(base string) (*webauthn.WebAuthn, error) {
	u, err := url.Parse(base)
	if err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Hostname() != "localhost" {
		return nil, nil
	}
	if _, err := netip.ParseAddr(u.Hostname()); err == nil {
		return nil, nil
	}
	resident := true
	return webauthn.New(&webauthn.Config{
		RPID: strings.ToLower(u.Hostname()), RPDisplayName: appName, RPOrigins: []string{u.Scheme + "://" + u.Host},
		AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			RequireResidentKey: &resident, ResidentKey: protocol.ResidentKeyRequirementRequired, UserVerification: protocol.VerificationRequired,
		},
	})
}

// PasskeysPossible reports whether browsers allow passkeys at the dashboard's
// address: one with a name, over https or on localhost.
func (s *Service) PasskeysPossible() bool { return s.passkeys != nil }

// holder is a person as the library wants one.
type holder struct {
	person store.Person
	keys   []webauthn.Credential
}

func (h holder) WebAuthnID() []byte                         { id := h.person.ID.Raw(); return id[:] }
func (h holder) WebAuthnName() string                       { return h.person.Email }
func (h holder) WebAuthnDisplayName() string                { return h.person.Name }
func (h holder) WebAuthnCredentials() []webauthn.Credential { return h.keys }

func (s *Service) holder(ctx context.Context, id ship.PersonID) (holder, error) {
	if s.passkeys == nil {
		return holder{}, noPasskeys()
	}
	p, err := s.store.Person(ctx, id)
	if err != nil {
		return holder{}, err
	}
	rows, err := s.store.Passkeys(ctx, id)
	h := holder{person: p}
	for _, r := range rows {
		var c webauthn.Credential
		if err := json.Unmarshal(r.Credential, &c); err != nil {
			return h, fmt.Errorf("passkey of %s: %w", id, err)
		}
		h.keys = append(h.keys, c)
	}
	return h, err
}

func noPasskeys() error {
	return ship.Coded(ship.Unsupported, "no_passkeys", "passkeys need an address with a name, over https")
}

// A Ceremony is an exchange with the browser that has begun: it ends once, and
// soon.
type Ceremony struct {
	Token   string          // give it back with the answer
	Options json.RawMessage // for navigator.credentials.create or get: {"publicKey":{...}}
}

// ceremony begins one with the library's options and memory.
func (s *Service) ceremony(kind string, a Actor, options any, memory *webauthn.SessionData) (Ceremony, error) {
	text, err := json.Marshal(options)
	if err != nil {
		return Ceremony{}, fmt.Errorf("options of a passkey: %w", err)
	}
	token, err := s.sealCeremony(kind, a, memory)
	return Ceremony{Token: token, Options: text}, err
}

// spend ends a sealed ceremony, in the transaction of what it leads to.
func spend(ctx context.Context, tx *store.Store, token string, t sealedToken) error {
	return tx.SpendCeremony(ctx, store.Ceremony{Hash: hashOf(token), Kind: kindSpent, ExpiresAt: time.Unix(t.Expires, 0)})
}

// BeginPasskeySignIn begins to sign in whoever has a passkey of this address.
// Nothing needs to be typed.
func (s *Service) BeginPasskeySignIn(context.Context) (Ceremony, error) {
	if s.passkeys == nil {
		return Ceremony{}, noPasskeys()
	}
	options, memory, err := s.passkeys.BeginDiscoverableLogin(webauthn.WithUserVerification(protocol.VerificationRequired))
	if err != nil {
		return Ceremony{}, fmt.Errorf("begin with a passkey: %w", err)
	}
	return s.ceremony(kindPasskey, Actor{}, options, memory)
}

// PasskeyAnswer is what the browser made of a Ceremony.
type PasskeyAnswer struct {
	Token    string
	Response []byte // the credential as JSON (PublicKeyCredential.toJSON)
	From     Origin // FinishPasskeyStepUp takes the actor's
}

// FinishPasskeySignIn signs the passkey's holder in. The authenticator has
// verified them, so no code follows.
func (s *Service) FinishPasskeySignIn(ctx context.Context, in PasskeyAnswer) (SignedIn, error) {
	var memory webauthn.SessionData
	t, err := s.openCeremony(kindPasskey, in.Token, &memory)
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
	var h holder
	var broken error
	_, used, err := s.passkeys.ValidatePasskeyLogin(func(_, handle []byte) (webauthn.User, error) {
		var raw ship.RawID
		if copy(raw[:], handle) != len(raw) || len(handle) != len(raw) {
			return nil, ship.Errorf(ship.NotFound, "no such person")
		}
		h, broken = s.holder(ctx, ship.PersonIDOf(raw))
		return h, broken
	}, memory, answer)
	if broken != nil && !isKind(broken, ship.NotFound) {
		return SignedIn{}, broken
	}
	if err != nil {
		return SignedIn{}, passkeyRefused(err)
	}
	return s.begin(ctx, h.person, opening{method: "passkey", from: in.From, end: func(tx *store.Store) error {
		if err := spend(ctx, tx, in.Token, t); err != nil {
			return err
		}
		return s.usePasskey(ctx, tx, h.person.ID, used)
	}})
}

// usePasskey writes down the passkey's new count. One that does not count on
// is a copy, and refused.
func (s *Service) usePasskey(ctx context.Context, tx *store.Store, p ship.PersonID, used *webauthn.Credential) error {
	if used.Authenticator.CloneWarning {
		return passkeyRefused(fmt.Errorf("passkey of %s: its count went back", p))
	}
	text, err := json.Marshal(used)
	if err != nil {
		return fmt.Errorf("passkey of %s: %w", p, err)
	}
	return tx.UsePasskey(ctx, store.Passkey{ID: used.ID, Person: p, Credential: text, UsedAt: s.clock()}, used.Authenticator.SignCount)
}

func passkeyRefused(cause error) error {
	e := ship.Coded(ship.Forbidden, "passkey_refused", "this passkey is not accepted")
	e.Err = cause
	return e
}

// BeginPasskeyStepUp begins to prove the actor again, by one of their
// passkeys.
func (s *Service) BeginPasskeyStepUp(ctx context.Context, a Actor) (Ceremony, error) {
	h, err := s.holder(ctx, a.Person.ID)
	if err != nil {
		return Ceremony{}, err
	}
	if len(h.keys) == 0 {
		return Ceremony{}, ship.Coded(ship.Conflict, "no_passkeys", "you have no passkey")
	}
	options, memory, err := s.passkeys.BeginLogin(h, webauthn.WithUserVerification(protocol.VerificationRequired))
	if err != nil {
		return Ceremony{}, fmt.Errorf("begin with a passkey: %w", err)
	}
	return s.ceremony(kindPasskeyStepUp, a, options, memory)
}

// FinishPasskeyStepUp makes the actor's session fresh, under another token.
func (s *Service) FinishPasskeyStepUp(ctx context.Context, a Actor, in PasskeyAnswer) (SignedIn, error) {
	var memory webauthn.SessionData
	t, err := s.openCeremony(kindPasskeyStepUp, in.Token, &memory)
	if err != nil {
		return SignedIn{}, err
	}
	if t.Person != a.Person.ID || t.Session != a.Session {
		return SignedIn{}, expired()
	}
	h, err := s.holder(ctx, a.Person.ID)
	if err != nil {
		return SignedIn{}, err
	}
	answer, err := protocol.ParseCredentialRequestResponseBytes(in.Response)
	if err != nil {
		return SignedIn{}, passkeyRefused(err)
	}
	used, err := s.passkeys.ValidateLogin(h, memory, answer)
	if err != nil {
		return SignedIn{}, passkeyRefused(err)
	}
	return s.renew(ctx, a, "passkey", func(tx *store.Store) error {
		if err := spend(ctx, tx, in.Token, t); err != nil {
			return err
		}
		return s.usePasskey(ctx, tx, a.Person.ID, used)
	})
}
