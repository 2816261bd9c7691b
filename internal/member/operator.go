package member

import (
	"context"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// resetFor is how long a link to set a password works.
const resetFor = 24 * time.Hour

// AddMemberInput is a person whom the operator makes a member.
type AddMemberInput struct {
	Email, Name string
	Role        Role
}

// AddMember makes somebody a member without an invitation. Only the operator
// may. Somebody who is new gets a link to set a password; for others it is
// empty.
func (s *Service) AddMember(ctx context.Context, a Actor, in AddMemberInput) (link string, err error) {
	if !a.operator {
		return "", notAllowed()
	}
	now := s.clock()
	p := store.Person{ID: ship.NewPersonID(now), Email: tidyEmail(in.Email), Name: strings.TrimSpace(in.Name), CreatedAt: now}
	if p.Name == "" {
		p.Name, _, _ = strings.Cut(p.Email, "@")
	}
	if err := ship.InvalidFields(append(checkPerson(p.Email, p.Name), checkRole(in.Role)...)); err != nil {
		return "", err
	}
	err = s.store.InSystemTx(ctx, func(tx *store.Store) error {
		if _, err := tx.LockAccount(ctx, a.Account); err != nil {
			return err
		}
		known, err := tx.PersonByEmail(ctx, p.Email)
		switch {
		case err == nil:
			p = known
		case isKind(err, ship.NotFound):
			if err := tx.AddPerson(ctx, p); err != nil {
				return err
			}
			if link, err = s.addReset(ctx, tx, p.ID); err != nil {
				return err
			}
		default:
			return err
		}
		if err := tx.AddMember(ctx, a.Account, p.ID, string(in.Role), now); err != nil {
			return err
		}
		return s.tell(ctx, tx, a, Entry{Action: "member.joined", Target: string(p.ID), Details: map[string]string{"email": p.Email, "role": string(in.Role), "invited_by": operatorName}})
	})
	if err != nil {
		return "", err
	}
	return link, nil
}

func (s *Service) addReset(ctx context.Context, tx *store.Store, p ship.PersonID) (link string, err error) {
	token, hash := newToken()
	if err := tx.DropCeremonies(ctx, kindReset, p); err != nil {
		return "", err
	}
	err = tx.AddCeremony(ctx, store.Ceremony{Hash: hash, Kind: kindReset, Person: p, ExpiresAt: s.clock().Add(resetFor)})
	return s.base + resetPath + token, err
}

// ResetURL makes a link for somebody to set a password with, once. Only the
// operator may: whoever has the link becomes that person. If they have lost
// their authenticator or passkeys too, these can be dropped at once.
func (s *Service) ResetURL(ctx context.Context, a Actor, email string, dropSecondFactors bool) (link string, err error) {
	if !a.operator {
		return "", notAllowed()
	}
	p, err := s.store.PersonByEmail(ctx, tidyEmail(email))
	if err != nil {
		return "", err
	}
	err = s.store.InSystemTx(ctx, func(tx *store.Store) error {
		if link, err = s.addReset(ctx, tx, p.ID); err != nil {
			return err
		}
		details := map[string]string{"email": p.Email}
		if dropSecondFactors {
			details["second_factors"] = "dropped"
			if err := tx.DropSecondFactors(ctx, p.ID); err != nil {
				return err
			}
		}
		a.Person = personOf(p) // the entry is the operator's, in all of the person's accounts
		return s.tellAll(ctx, tx, a, Entry{Action: "password.link_made", Target: string(p.ID), Details: details})
	})
	if err != nil {
		return "", err
	}
	return link, nil
}

// ResetOf returns whose password a link sets; ship.Gone if it sets none any
// more.
func (s *Service) ResetOf(ctx context.Context, token string) (Person, error) {
	c, err := s.store.Ceremony(ctx, hashOf(token), kindReset, s.clock())
	if err != nil {
		return Person{}, err
	}
	p, err := s.store.Person(ctx, c.Person)
	return personOf(p), err
}

// ResetInput sets a password by link.
type ResetInput struct {
	Token    string
	Password string
	From     Origin
}

// Reset sets the password, and ends all sessions of the person. They sign in
// with it next, and with a code if they have an authenticator.
func (s *Service) Reset(ctx context.Context, in ResetInput) error {
	p, err := s.ResetOf(ctx, in.Token)
	if err != nil {
		return err
	}
	if err := ship.InvalidFields(checkPassword(in.Password, p.Email, p.Name)); err != nil {
		return err
	}
	hash, err := s.passwords.hash(ctx, in.Password)
	if err != nil {
		return err
	}
	a := Actor{Person: p, From: in.From}
	return s.changeSelf(ctx, a, Entry{Action: "password.reset"}, func(tx *store.Store, _ store.Person) error {
		if _, err := tx.TakeCeremony(ctx, hashOf(in.Token), kindReset, s.clock()); err != nil {
			return err
		}
		if err := tx.SetPasswordHash(ctx, p.ID, hash, ""); err != nil {
			return err
		}
		if err := tx.ClearThrottle(ctx, subject("person", p.Email)); err != nil {
			return err
		}
		_, err := tx.EndSessions(ctx, p.ID, "")
		return err
	})
}
