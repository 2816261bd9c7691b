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

// BeginPasskey begins to make a passkey for the actor.
func (s *Service) BeginPasskey(ctx context.Context, a Actor) (Ceremony, error) {
	if err := a.Allow(ManageOwnSecrets); err != nil {
		return Ceremony{}, err
	}
	h, err := s.holder(ctx, a.Person.ID)
	if err != nil {
		return Ceremony{}, err
	}
	if len(h.keys) >= maxPasskeys {
		return Ceremony{}, ship.Coded(ship.Conflict, "too_many_passkeys", "you have %d passkeys: remove one first", len(h.keys))
	}
	options, memory, err := s.passkeys.BeginRegistration(h, webauthn.WithExclusions(webauthn.Credentials(h.keys).CredentialDescriptors()))
	if err != nil {
		return Ceremony{}, fmt.Errorf("begin to make a passkey: %w", err)
	}
	return s.ceremony(kindNewPasskey, a, options, memory)
}

// AddPasskeyInput is a new passkey.
type AddPasskeyInput struct {
	Token    string
	Response []byte
	Name     string // as the person calls it
}

// AddPasskey stores the passkey that the browser has made.
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
	made, t, err := s.newPasskey(ctx, a, in)
	if err != nil {
		return Passkey{}, err
	}
	text, err := json.Marshal(made)
	if err != nil {
		return Passkey{}, fmt.Errorf("passkey of %s: %w", a.Person.ID, err)
	}
	row := store.Passkey{ID: made.ID, Person: a.Person.ID, Name: name, Credential: text, CreatedAt: s.clock()}
	err = s.changeSelf(ctx, a, Entry{Action: "passkey.added", Details: map[string]string{"name": name}}, func(tx *store.Store, _ store.Person) error {
		if err := spend(ctx, tx, in.Token, t); err != nil {
			return err
		}
		return tx.AddPasskey(ctx, row)
	})
	return passkeyOf(row), err
}

// newPasskey checks the browser's answer.
func (s *Service) newPasskey(ctx context.Context, a Actor, in AddPasskeyInput) (*webauthn.Credential, sealedToken, error) {
	var memory webauthn.SessionData
	t, err := s.openCeremony(kindNewPasskey, in.Token, &memory)
	if err != nil {
		return nil, t, err
	}
	if t.Person != a.Person.ID || t.Session != a.Session {
		return nil, t, expired()
	}
	h, err := s.holder(ctx, a.Person.ID)
	if err != nil {
		return nil, t, err
	}
	answer, err := protocol.ParseCredentialCreationResponseBytes(in.Response)
	if err != nil {
		return nil, t, passkeyRefused(err)
	}
	made, err := s.passkeys.CreateCredential(h, memory, answer)
	if err != nil {
		return nil, t, passkeyRefused(err)
	}
	made.Attestation = webauthn.CredentialAttestation{} // asked for none, kept none
	return made, t, nil
}

// RemovePasskey removes one of the actor's passkeys; ship.NotFound if it is
// none. The last way to sign in stays.
func (s *Service) RemovePasskey(ctx context.Context, a Actor, id string) error {
	if err := a.Allow(ManageOwnSecrets); err != nil {
		return err
	}
	raw, err := base64.RawURLEncoding.DecodeString(id)
	if err != nil {
		return ship.Errorf(ship.NotFound, "no such passkey")
	}
	return s.changeSelf(ctx, a, Entry{Action: "passkey.removed", Details: map[string]string{"passkey": id}}, func(tx *store.Store, p store.Person) error {
		if err := tx.RemovePasskey(ctx, a.Person.ID, raw); err != nil {
			return err
		}
		ways, err := tx.WaysIn(ctx, a.Person.ID)
		if err == nil && p.PasswordHash == "" && ways.Passkeys == 0 && ways.Identities == 0 {
			err = ship.Coded(ship.Conflict, "last_way_in", "this is your only way to sign in: set a password first")
		}
		return err
	})
}
