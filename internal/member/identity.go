package member

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// signInWithIdentity signs in the person whom the identity provider names:
// whoever is connected with the identity; an invited person, who joins with it;
// or somebody with the verified e-mail who has no other way to sign in, or has
// not proved the address, which the provider now does. Nobody else is connected
// without asking: they do that themselves once they are signed in.
func (s *Service) signInWithIdentity(ctx context.Context, identity claims, from Origin, finish func(*store.Store) error) (SignedIn, error) {
	start := sessionStart{method: "oidc", from: from, finish: finish}

	// The provider may have asked them long ago: that is no proof for a step-up.
	if identity.AuthTime > 0 {
		start.provedAt = time.Unix(identity.AuthTime, 0).UTC()
	}

	// An e-mail that the provider has not verified could be anybody's.
	email := normalizeEmail(identity.Email)
	provesEmail := bool(identity.EmailVerified) && checkEmail(email) == nil

	person, err := s.store.PersonByIdentity(ctx, identity.issuer, identity.Subject)
	if err == nil {
		if provesEmail && person.Email == email && person.EmailVerifiedAt.IsZero() {
			return s.linkByEmail(ctx, person, identity, start)
		}
		start.prepare = func(tx *store.Store) error { return recheckIdentity(ctx, tx, person.ID, identity) }
		return s.startSession(ctx, person, start)
	}
	if !isKind(err, ship.NotFound) {
		return SignedIn{}, err
	}

	if !provesEmail {
		return SignedIn{}, notAMember()
	}
	person, err = s.store.PersonByEmail(ctx, email)
	switch {
	case err == nil:
		return s.linkByEmail(ctx, person, identity, start)
	case isKind(err, ship.NotFound):
		return s.joinWithIdentity(ctx, email, identity, start)
	}
	return SignedIn{}, err
}

// recheckIdentity checks under a lock that the identity is still the person's.
func recheckIdentity(ctx context.Context, tx *store.Store, id ship.PersonID, identity claims) error {
	if err := lockPerson(ctx, tx, id); err != nil {
		return err
	}
	person, err := tx.PersonByIdentity(ctx, identity.issuer, identity.Subject)
	if err != nil && !isKind(err, ship.NotFound) {
		return err
	}
	if person.ID != id {
		return notAMember()
	}
	return nil
}

// linkByEmail connects and signs in somebody whose address the provider has
// verified, if they have no way to sign in yet. The ways in of somebody who has
// not proved the address do not count, and are dropped.
func (s *Service) linkByEmail(ctx context.Context, person store.Person, identity claims, start sessionStart) (SignedIn, error) {
	start.prepare = func(tx *store.Store) error {
		locked, err := tx.LockPerson(ctx, person.ID)
		if err != nil {
			return err
		}
		actor := Actor{Person: personOf(locked), From: start.from}
		if locked.EmailVerifiedAt.IsZero() {
			if err := s.claimEmail(ctx, tx, actor); err != nil {
				return err
			}
			return s.addIdentity(ctx, tx, actor, identity)
		}

		ways, err := tx.WaysIn(ctx, person.ID)
		if err != nil {
			return err
		}

		// Otherwise whoever controls the e-mail at the provider would take over
		// an account that was never connected with it.
		if locked.PasswordHash != "" || ways.Passkeys > 0 || ways.Identities > 0 {
			return ship.Coded(ship.Forbidden, "oidc_not_linked", "sign in the way you did before, then connect the identity provider on your profile page")
		}
		return s.addIdentity(ctx, tx, actor, identity)
	}
	return s.startSession(ctx, person, start)
}

// joinWithIdentity creates a person who accepts all open invitations of the
// e-mail, and signs them in.
func (s *Service) joinWithIdentity(ctx context.Context, email string, identity claims, start sessionStart) (SignedIn, error) {
	now := s.clock()
	person := store.Person{
		ID:        ship.NewPersonID(now),
		Email:     email,
		Name:      strings.TrimSpace(identity.Name),
		CreatedAt: now,

		EmailVerifiedAt: now, // by the provider
	}
	if checkName("/name", person.Name) != nil {
		person.Name, _, _ = strings.Cut(email, "@")
	}

	actor := Actor{Person: personOf(person), From: start.from}
	start.prepare = func(tx *store.Store) error {
		if err := tx.AddPerson(ctx, person); err != nil {
			return err
		}
		if _, err := s.acceptAll(ctx, tx, actor); err != nil {
			return err
		}
		return s.addIdentity(ctx, tx, actor, identity)
	}
	return s.startSession(ctx, person, start)
}

func (s *Service) addIdentity(ctx context.Context, tx *store.Store, a Actor, identity claims) error {
	if err := tx.AddIdentity(ctx, a.Person.ID, identity.issuer, identity.Subject, s.clock()); err != nil {
		return err
	}
	return s.auditAll(ctx, tx, a, Entry{
		Action:  "identity.linked",
		Target:  string(a.Person.ID),
		Details: map[string]string{"issuer": identity.issuer},
	})
}

// ceremonyActor returns the actor who began a ceremony, if the session is still
// the same.
func (s *Service) ceremonyActor(ctx context.Context, ceremony sealedToken, from Origin) (Actor, error) {
	a, err := s.Authenticate(ctx, from.Token, from)
	if err != nil {
		return Actor{}, err
	}
	if a.Person.ID != ceremony.Person || a.Session != ceremony.Session {
		return Actor{}, expired()
	}
	return a, nil
}

// linkIdentity connects the actor with the identity.
func (s *Service) linkIdentity(ctx context.Context, a Actor, identity claims, finish func(*store.Store) error) error {
	if err := a.Allow(ManageOwnSecrets); err != nil {
		return err
	}

	return s.store.InSystemTx(ctx, func(tx *store.Store) error {
		if _, err := s.lockActor(ctx, tx, a); err != nil {
			return err
		}
		if err := finish(tx); err != nil {
			return err
		}
		if err := requireOwnIdentity(ctx, tx, a, identity); err != nil {
			return err
		}

		person, err := tx.PersonByIdentity(ctx, identity.issuer, identity.Subject)
		switch {
		case err == nil && person.ID == a.Person.ID:
			return nil
		case err == nil:
			return ship.Coded(ship.Conflict, "identity_taken", "this identity is already connected to another user")
		case !isKind(err, ship.NotFound):
			return err
		}
		return s.addIdentity(ctx, tx, a, identity)
	})
}

// requireOwnIdentity keeps somebody who knows the password of a person from
// connecting an identity of their own: with single sign-on required, that would be
// the way into the account.
func requireOwnIdentity(ctx context.Context, tx *store.Store, a Actor, identity claims) error {
	required, err := tx.Requirements(ctx, a.Person.ID)
	if err != nil || !required.SSO {
		return err
	}
	if !identity.EmailVerified || normalizeEmail(identity.Email) != a.Person.Email {
		return ship.Coded(ship.Forbidden, "identity_of_another", "an account of yours requires single sign-on: the identity provider must report your e-mail address %s as verified", a.Person.Email)
	}
	return nil
}

// stepUpWithIdentity makes the actor's session fresh, if the identity is theirs
// and the provider has asked them since this began.
func (s *Service) stepUpWithIdentity(ctx context.Context, a Actor, identity claims, exchange oidcExchange, finish func(*store.Store) error) (SignedIn, error) {
	person, err := s.store.PersonByIdentity(ctx, identity.issuer, identity.Subject)
	if err != nil && !isKind(err, ship.NotFound) {
		return SignedIn{}, err
	}
	if err != nil || person.ID != a.Person.ID {
		s.noteRefused(store.Person{ID: a.Person.ID, Email: a.Person.Email, Name: a.Person.Name}, a.From, "identity provider")
		return SignedIn{}, oidcRefused(errors.New("a different person signed in"))
	}

	// The provider's clock may be behind ours. One that does not say when it
	// asked has an auth_time of zero, and is refused.
	began := time.Unix(exchange.Began, 0)
	if time.Unix(identity.AuthTime, 0).Before(began.Add(-oidcSkew)) {
		return SignedIn{}, oidcRefused(errors.New("the identity provider did not ask the user to sign in again"))
	}
	return s.renewSession(ctx, a, "oidc", finish)
}
