package member

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// signInAs signs in whom the identity provider means: whoever is connected
// with it; an invited person, who joins by it; or somebody with the verified
// e-mail who has no other way to sign in. Nobody who has one is connected
// unasked: that is theirs to do once they are signed in.
func (s *Service) signInAs(ctx context.Context, c claims, from Origin, end func(*store.Store) error) (SignedIn, error) {
	o := opening{method: "oidc", from: from, end: end}
	if c.AuthTime > 0 {
		// It may know them from long ago: that is no proof for a step-up.
		o.proved = time.Unix(c.AuthTime, 0).UTC()
	}
	p, err := s.store.PersonByIdentity(ctx, c.issuer, c.Subject)
	if err == nil {
		return s.begin(ctx, p, o)
	}
	if !isKind(err, ship.NotFound) {
		return SignedIn{}, err
	}
	email := tidyEmail(c.Email)
	if !bool(c.EmailVerified) || checkEmail(email) != nil {
		return SignedIn{}, notAMember()
	}
	p, err = s.store.PersonByEmail(ctx, email)
	switch {
	case err == nil:
		return s.adopt(ctx, p, c, o)
	case isKind(err, ship.NotFound):
		return s.joinAs(ctx, email, c, o)
	}
	return SignedIn{}, err
}

// adopt connects somebody who has no way to sign in yet.
func (s *Service) adopt(ctx context.Context, p store.Person, c claims, o opening) (SignedIn, error) {
	o.also = func(tx *store.Store) error {
		p, err := tx.LockPerson(ctx, p.ID)
		if err != nil {
			return err
		}
		ways, err := tx.WaysIn(ctx, p.ID)
		if err != nil {
			return err
		}
		if p.PasswordHash != "" || ways.Passkeys > 0 || ways.Identities > 0 {
			return ship.Coded(ship.Forbidden, "oidc_not_linked", "sign in as you did before, and connect the identity provider on your own page")
		}
		return s.addIdentity(ctx, tx, Actor{Person: personOf(p), From: o.from}, c)
	}
	return s.begin(ctx, p, o)
}

// joinAs makes a new person of the open invitations of the e-mail.
func (s *Service) joinAs(ctx context.Context, email string, c claims, o opening) (SignedIn, error) {
	now := s.clock()
	p := store.Person{ID: ship.NewPersonID(now), Email: email, Name: strings.TrimSpace(c.Name), CreatedAt: now}
	if checkName("/name", p.Name) != nil {
		p.Name, _, _ = strings.Cut(email, "@")
	}
	a := Actor{Person: personOf(p), From: o.from}
	o.also = func(tx *store.Store) error {
		invited, err := tx.InvitationsByEmail(ctx, email, now)
		if err != nil {
			return err
		}
		if len(invited) == 0 {
			return notAMember()
		}
		if err := tx.AddPerson(ctx, p); err != nil {
			return err
		}
		for _, i := range invited {
			if err := s.join(ctx, tx, a, i); err != nil {
				return err
			}
		}
		return s.addIdentity(ctx, tx, a, c)
	}
	return s.begin(ctx, p, o)
}

func (s *Service) addIdentity(ctx context.Context, tx *store.Store, a Actor, c claims) error {
	if err := tx.AddIdentity(ctx, a.Person.ID, c.issuer, c.Subject, s.clock()); err != nil {
		return err
	}
	return s.tellAll(ctx, tx, a, Entry{Action: "identity.linked", Target: string(a.Person.ID), Details: map[string]string{"issuer": c.issuer}})
}

// actorOf is whoever began a ceremony in the session that is still theirs.
func (s *Service) actorOf(ctx context.Context, t sealedToken, from Origin) (Actor, error) {
	a, err := s.Authenticate(ctx, from.Token, from)
	if err != nil {
		return Actor{}, err
	}
	if a.Person.ID != t.Person || a.Session != t.Session {
		return Actor{}, expired()
	}
	return a, nil
}

// link connects the actor with whom the identity provider means.
func (s *Service) link(ctx context.Context, a Actor, c claims, end func(*store.Store) error) error {
	if err := a.Allow(ManageOwnSecrets); err != nil {
		return err
	}
	return s.store.InSystemTx(ctx, func(tx *store.Store) error {
		if err := end(tx); err != nil {
			return err
		}
		p, err := tx.PersonByIdentity(ctx, c.issuer, c.Subject)
		switch {
		case err == nil && p.ID == a.Person.ID:
			return nil
		case err == nil:
			return ship.Coded(ship.Conflict, "identity_taken", "somebody else here is connected with this identity")
		case !isKind(err, ship.NotFound):
			return err
		}
		return s.addIdentity(ctx, tx, a, c)
	})
}

// stepUpAs makes the actor's session fresh, if the identity provider means
// them and has asked them since this began.
func (s *Service) stepUpAs(ctx context.Context, a Actor, c claims, m oidcMemory, end func(*store.Store) error) (SignedIn, error) {
	p, err := s.store.PersonByIdentity(ctx, c.issuer, c.Subject)
	if err != nil && !isKind(err, ship.NotFound) {
		return SignedIn{}, err
	}
	if err != nil || p.ID != a.Person.ID {
		return SignedIn{}, oidcRefused(errors.New("another person signed in"))
	}
	if time.Unix(c.AuthTime, 0).Before(time.Unix(m.Began, 0).Add(-oidcSkew)) {
		return SignedIn{}, oidcRefused(errors.New("the identity provider did not ask anew"))
	}
	return s.renew(ctx, a, "oidc", end)
}
