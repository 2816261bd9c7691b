package member

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// maxPasskeys is how many a person may have.
const maxPasskeys = 20

// BeginPasskey begins to create a passkey for the actor.
func (s *Service) BeginPasskey(ctx context.Context, a Actor) (Ceremony, error) {
	if err := a.Allow(ManageOwnSecrets); err != nil {
		return Ceremony{}, err
	}
	user, err := s.passkeyUser(ctx, a.Person.ID)
	if err != nil {
		return Ceremony{}, err
	}
	if len(user.keys) >= maxPasskeys {
		return Ceremony{}, ship.Coded(ship.Conflict, "too_many_passkeys", "you have %d passkeys: remove one first", len(user.keys))
	}

	// The same authenticator is not asked for a second passkey.
	exclusions := webauthn.Credentials(user.keys).CredentialDescriptors()
	options, session, err := s.passkeys.BeginRegistration(user, webauthn.WithExclusions(exclusions))
	if err != nil {
		return Ceremony{}, fmt.Errorf("begin to create a passkey: %w", err)
	}
	return s.beginCeremony(kindNewPasskey, a, options, session)
}

// AddPasskeyInput is a new passkey.
type AddPasskeyInput struct {
	Token    string
	Response []byte
	Name     string // as the person calls it
}

// AddPasskey stores the passkey that the browser has created.
func (s *Service) AddPasskey(ctx context.Context, a Actor, in AddPasskeyInput) (Passkey, error) {
	if err := a.Allow(ManageOwnSecrets); err != nil {
		return Passkey{}, err
	}
	name := strings.TrimSpace(in.Name)
	if name == "" {
		name = "Passkey"
	}
	if err := ship.InvalidFields(checkName("/name", name)); err != nil {
		return Passkey{}, err
	}

	credential, ceremony, err := s.verifyNewPasskey(ctx, a, in)
	if err != nil {
		return Passkey{}, err
	}
	text, err := json.Marshal(credential)
	if err != nil {
		return Passkey{}, fmt.Errorf("passkey of %s: %w", a.Person.ID, err)
	}
	row := store.Passkey{
		ID:         credential.ID,
		Person:     a.Person.ID,
		Name:       name,
		Credential: text,
		CreatedAt:  s.clock(),
	}

	err = s.changeSelf(ctx, a, Entry{Action: "passkey.added", Details: map[string]string{"name": name}}, func(tx *store.Store, _ store.Person) error {
		if err := spendCeremony(ctx, tx, in.Token, ceremony); err != nil {
			return err
		}
		if err := s.proveFirstFactor(ctx, tx, a); err != nil {
			return err
		}
		return tx.AddPasskey(ctx, row)
	})
	return passkeyOf(row), err
}

// verifyNewPasskey verifies the browser's answer and returns the passkey in it.
func (s *Service) verifyNewPasskey(ctx context.Context, a Actor, in AddPasskeyInput) (*webauthn.Credential, sealedToken, error) {
	var session webauthn.SessionData
	ceremony, err := s.openCeremony(kindNewPasskey, in.Token, &session)
	if err != nil {
		return nil, ceremony, err
	}
	if ceremony.Person != a.Person.ID || ceremony.Session != a.Session {
		return nil, ceremony, expired()
	}

	user, err := s.passkeyUser(ctx, a.Person.ID)
	if err != nil {
		return nil, ceremony, err
	}
	answer, err := protocol.ParseCredentialCreationResponseBytes(in.Response)
	if err != nil {
		return nil, ceremony, passkeyRefused(err)
	}
	credential, err := s.passkeys.CreateCredential(user, session, answer)
	if err != nil {
		return nil, ceremony, passkeyRefused(err)
	}

	// No attestation is asked for, so none is stored.
	credential.Attestation = webauthn.CredentialAttestation{}
	return credential, ceremony, nil
}

// RemovePasskey removes one of the actor's passkeys; ship.NotFound if it is not
// theirs. The last way to sign in cannot be removed.
func (s *Service) RemovePasskey(ctx context.Context, a Actor, id string) error {
	if err := a.Allow(ManageOwnSecrets); err != nil {
		return err
	}
	raw, err := base64.RawURLEncoding.DecodeString(id)
	if err != nil {
		return ship.Errorf(ship.NotFound, "no such passkey")
	}

	return s.changeSelf(ctx, a, Entry{Action: "passkey.removed", Details: map[string]string{"passkey": id}}, func(tx *store.Store, person store.Person) error {
		if err := tx.RemovePasskey(ctx, a.Person.ID, raw); err != nil {
			return err
		}

		// What is left is counted after the removal; an error undoes it.
		ways, err := tx.WaysIn(ctx, a.Person.ID)
		if err == nil && person.PasswordHash == "" && ways.Passkeys == 0 && ways.Identities == 0 {
			err = ship.Coded(ship.Conflict, "last_way_in", "this passkey is your only way to sign in: set a password first")
		}
		return err
	})
}
