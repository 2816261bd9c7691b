package member

import (
	"context"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// StepUpInput is what a person types to prove themselves again.
type StepUpInput struct {
	Password string
	Code     string // if the person has an authenticator
}

// StepUp proves the actor again, by password and, if they have an
// authenticator, a code of it. The session goes on under another token.
func (s *Service) StepUp(ctx context.Context, a Actor, in StepUpInput) (SignedIn, error) {
	person, err := s.store.Person(ctx, a.Person.ID)
	if err != nil {
		return SignedIn{}, err
	}

	// Wrong passwords count together with those of sign-ins.
	key := throttleKey("person", person.Email)
	if _, err := s.countAttempt(ctx, key, a.From.Addr); err != nil {
		return SignedIn{}, err
	}
	ok, err := s.passwords.matches(ctx, in.Password, person.PasswordHash)
	if err != nil {
		return SignedIn{}, err
	}
	if !ok {
		s.noteRefused(person, a.From, "password")
		return SignedIn{}, ship.Coded(ship.Forbidden, "sign_in_failed", "the password is incorrect")
	}
	if err := s.clearAttempt(ctx, key, a.From.Addr); err != nil {
		return SignedIn{}, err
	}

	method := "password"
	if person.TOTPSeed != nil {
		if method, err = s.proveCode(ctx, person, in.Code, a.From); err != nil {
			return SignedIn{}, err
		}
	}
	return s.renewSession(ctx, a, method, nil)
}

// renewSession gives the actor's session another token and makes it fresh.
// finish, which may be nil, ends the ceremony that led here, in the same
// transaction.
func (s *Service) renewSession(ctx context.Context, a Actor, method string, finish func(*store.Store) error) (SignedIn, error) {
	token, hash := newToken()
	out := SignedIn{Token: token, Account: a.Account}
	err := s.store.InSystemTx(ctx, func(tx *store.Store) (err error) {
		if finish != nil {
			if err := finish(tx); err != nil {
				return err
			}
		}

		if out.Expires, err = tx.RenewSession(ctx, a.Person.ID, a.Session, hash, s.clock(), isSecondFactor(method)); err != nil {
			return err
		}
		return s.auditAll(ctx, tx, a, Entry{
			Action:  "session.renewed",
			Target:  string(a.Session),
			Details: map[string]string{"method": method},
		})
	})
	if err != nil {
		return SignedIn{}, err
	}
	return out, nil
}
