package member

import (
	"context"
	"encoding/base64"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// A Profile is what a person sees of themselves.
type Profile struct {
	Person
	HasPassword       bool
	HasTOTP           bool
	RecoveryCodesLeft int
	Passkeys          []Passkey
	Identities        int // with the identity provider
}

// A Passkey is a key that a browser, phone or security key holds.
type Passkey struct {
	ID         string // base64url
	Name       string
	CreatedAt  time.Time
	LastUsedAt time.Time
}

func passkeyOf(row store.Passkey) Passkey {
	return Passkey{
		ID:         base64.RawURLEncoding.EncodeToString(row.ID),
		Name:       row.Name,
		CreatedAt:  row.CreatedAt,
		LastUsedAt: row.UsedAt,
	}
}

// Profile returns the actor's own profile.
func (s *Service) Profile(ctx context.Context, a Actor) (Profile, error) {
	person, err := s.store.Person(ctx, a.Person.ID)
	if err != nil {
		return Profile{}, err
	}
	ways, err := s.store.WaysIn(ctx, person.ID)
	if err != nil {
		return Profile{}, err
	}
	keys, err := s.store.Passkeys(ctx, person.ID)

	out := Profile{
		Person:            personOf(person),
		HasPassword:       person.PasswordHash != "",
		HasTOTP:           person.TOTPSeed != nil,
		RecoveryCodesLeft: ways.RecoveryCodes,
		Identities:        ways.Identities,
	}
	for _, key := range keys {
		out.Passkeys = append(out.Passkeys, passkeyOf(key))
	}
	return out, err
}

// Rename changes the actor's name.
func (s *Service) Rename(ctx context.Context, a Actor, name string) error {
	name = strings.TrimSpace(name)
	if err := ship.InvalidFields(checkName("/name", name)); err != nil {
		return err
	}
	return s.changeSelf(ctx, a, Entry{Action: "person.renamed", Details: map[string]string{"name": name}}, func(tx *store.Store, _ store.Person) error {
		return tx.RenamePerson(ctx, a.Person.ID, name)
	})
}

// SetPassword changes the actor's password, or gives them one. All other
// sessions end, and this one goes on under another token.
func (s *Service) SetPassword(ctx context.Context, a Actor, password string) (SignedIn, error) {
	if err := a.Allow(ManageOwnSecrets); err != nil {
		return SignedIn{}, err
	}
	names, err := s.accountNames(ctx, a.Person.ID)
	if err != nil {
		return SignedIn{}, err
	}
	if err := ship.InvalidFields(checkPassword(password, append(names, a.Person.Email, a.Person.Name)...)); err != nil {
		return SignedIn{}, err
	}

	// Hashing is slow on purpose, so it is done before the transaction.
	hash, err := s.passwords.hash(ctx, password)
	if err != nil {
		return SignedIn{}, err
	}

	token, tokenHash := newToken()
	out := SignedIn{Token: token, Account: a.Account}
	err = s.changeSelf(ctx, a, Entry{Action: "password.changed"}, func(tx *store.Store, _ store.Person) (err error) {
		if err := tx.SetPasswordHash(ctx, a.Person.ID, hash, ""); err != nil {
			return err
		}

		// Whoever knew the old password, or has a reset link, must not get in
		// with it any more.
		if err := tx.DropCeremonies(ctx, kindReset, a.Person.ID); err != nil {
			return err
		}
		if _, err := tx.EndSessions(ctx, a.Person.ID, a.Session); err != nil {
			return err
		}
		out.Expires, err = tx.RenewSession(ctx, a.Person.ID, a.Session, tokenHash, s.clock(), false)
		return err
	})
	if err != nil {
		return SignedIn{}, err
	}
	return out, nil
}
