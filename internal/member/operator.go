package member

import (
	"context"
	"maps"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// resetLifetime is how long a link to set a password works.
const resetLifetime = 24 * time.Hour

// AddMemberInput is a person whom the operator makes a member of an account.
type AddMemberInput struct {
	Email, Name string
	Role        Role
}

// AddMember makes somebody a member without an invitation. Only the operator
// may. The link, with which the person sets a password and proves the address, is
// empty if they have proved it. Whoever used the address before without having
// proved it can no longer sign in: they would gain this account.
func (s *Service) AddMember(ctx context.Context, a Actor, in AddMemberInput) (link string, err error) {
	if !a.operator {
		return "", notAllowed()
	}

	now := s.clock()
	person := store.Person{
		ID:        ship.NewPersonID(now),
		Email:     normalizeEmail(in.Email),
		Name:      strings.TrimSpace(in.Name),
		CreatedAt: now,
	}
	if person.Name == "" {
		person.Name, _, _ = strings.Cut(person.Email, "@")
	}
	if err := ship.InvalidFields(append(checkPerson(person.Email, person.Name), checkRole(in.Role)...)); err != nil {
		return "", err
	}

	err = s.store.InSystemTx(ctx, func(tx *store.Store) error {
		if _, err := tx.LockAccount(ctx, a.Account); err != nil {
			return err
		}

		known, err := tx.PersonByEmail(ctx, person.Email)
		switch {
		case err == nil:
			if person, err = tx.LockPerson(ctx, known.ID); err != nil {
				return err
			}
		case isKind(err, ship.NotFound):
			if err := tx.AddPerson(ctx, person); err != nil {
				return err
			}
		default:
			return err
		}

		if person.EmailVerifiedAt.IsZero() {
			if err := tx.DropWaysIn(ctx, person.ID); err != nil {
				return err
			}
			if link, err = s.addReset(ctx, tx, person.ID); err != nil {
				return err
			}
			if err := s.auditLink(ctx, tx, a, person, nil); err != nil {
				return err
			}
		}

		if err := tx.AddMember(ctx, a.Account, person.ID, string(in.Role), now); err != nil {
			return err
		}
		return s.audit(ctx, tx, a, Entry{
			Action: "member.joined",
			Target: string(person.ID),
			Details: map[string]string{
				"email":      person.Email,
				"role":       string(in.Role),
				"invited_by": operatorName,
			},
		})
	})
	if err != nil {
		return "", err
	}
	return link, nil
}

// addReset stores a reset in place of those before it, and returns its link.
func (s *Service) addReset(ctx context.Context, tx *store.Store, p ship.PersonID) (link string, err error) {
	token, hash := newToken()
	if err := tx.DropCeremonies(ctx, kindReset, p); err != nil {
		return "", err
	}
	err = tx.AddCeremony(ctx, store.Ceremony{
		Hash:      hash,
		Kind:      kindReset,
		Person:    p,
		ExpiresAt: s.clock().Add(resetLifetime),
	})
	return s.base + resetPath + token, err
}

// ResetURL creates a link with which somebody sets a password and proves the
// address, once. Only the operator may: whoever has the link becomes that person.
// If they have lost their authenticator too, it can be dropped at once.
func (s *Service) ResetURL(ctx context.Context, a Actor, email string, dropSecondFactors bool) (link string, err error) {
	if !a.operator {
		return "", notAllowed()
	}
	person, err := s.store.PersonByEmail(ctx, normalizeEmail(email))
	if err != nil {
		return "", err
	}

	err = s.store.InSystemTx(ctx, func(tx *store.Store) error {
		if link, err = s.addReset(ctx, tx, person.ID); err != nil {
			return err
		}
		var details map[string]string
		if dropSecondFactors {
			details = map[string]string{"second_factors": "dropped"}
			if err := tx.DropSecondFactors(ctx, person.ID); err != nil {
				return err
			}
		}
		return s.auditLink(ctx, tx, a, person, details)
	})
	if err != nil {
		return "", err
	}
	return link, nil
}

// auditLink writes that the operator has a link of the person, in all of the
// person's accounts.
func (s *Service) auditLink(ctx context.Context, tx *store.Store, a Actor, person store.Person, details map[string]string) error {
	a.Person = personOf(person)
	entry := Entry{
		Action:  "password.link_made",
		Target:  string(person.ID),
		Details: map[string]string{"email": person.Email},
	}
	maps.Copy(entry.Details, details)
	return s.auditAll(ctx, tx, a, entry)
}

// ResetOf returns the person whose password a link sets; ship.Gone if it can no
// longer be used.
func (s *Service) ResetOf(ctx context.Context, token string) (Person, error) {
	ceremony, err := s.store.Ceremony(ctx, hashOf(token), kindReset, s.clock())
	if err != nil {
		return Person{}, err
	}
	person, err := s.store.Person(ctx, ceremony.Person)
	return personOf(person), err
}

// ResetInput is a new password, set with a link.
type ResetInput struct {
	Token    string
	Password string
	From     Origin
}

// Reset sets the password and removes every other way to sign in as the person:
// passkeys, identities and sessions. They sign in with it next, and with a code
// if they have an authenticator. The link came by mail or from the operator, so
// it also proves the address; the authenticator of somebody who had not proved it
// is removed too.
func (s *Service) Reset(ctx context.Context, in ResetInput) error {
	person, err := s.ResetOf(ctx, in.Token)
	if err != nil {
		return err
	}
	names, err := s.accountNames(ctx, person.ID)
	if err != nil {
		return err
	}
	if err := ship.InvalidFields(checkPassword(in.Password, append(names, person.Email, person.Name)...)); err != nil {
		return err
	}

	// Hashing is slow on purpose, so it is done before the transaction.
	hash, err := s.passwords.hash(ctx, in.Password)
	if err != nil {
		return err
	}

	a := Actor{Person: person, From: in.From}
	return s.changeSelf(ctx, a, Entry{Action: "password.reset"}, func(tx *store.Store, locked store.Person) error {
		if _, err := tx.TakeCeremony(ctx, hashOf(in.Token), kindReset, s.clock()); err != nil {
			return err
		}

		drop := func() error { return tx.DropWaysIn(ctx, person.ID) }
		if locked.EmailVerifiedAt.IsZero() {
			drop = func() error { return s.claimEmail(ctx, tx, a) }
		}
		if err := drop(); err != nil {
			return err
		}

		if err := tx.SetPasswordHash(ctx, person.ID, hash, ""); err != nil {
			return err
		}
		return tx.ClearThrottle(ctx, throttleKey("person", person.Email))
	})
}
