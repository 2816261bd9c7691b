package member

import (
	"context"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// StepUpInput proves a person again.
type StepUpInput struct {
	Password string
	Code     string // if the person has an authenticator
}

// StepUp proves the actor again, by password and, if they have an
// authenticator, a code of it. The session goes on under another token.
func (s *Service) StepUp(ctx context.Context, a Actor, in StepUpInput) (SignedIn, error) {
	p, err := s.store.Person(ctx, a.Person.ID)
	if err != nil {
		return SignedIn{}, err
	}
	who := subject("person", p.Email)
	if _, err := s.attempt(ctx, who, a.From.Addr); err != nil {
		return SignedIn{}, err
	}
	ok, err := s.passwords.matches(ctx, in.Password, p.PasswordHash)
	if err != nil {
		return SignedIn{}, err
	}
	if !ok {
		return SignedIn{}, ship.Coded(ship.Forbidden, "sign_in_failed", "the password is not right")
	}
	if err := s.succeeded(ctx, who, a.From.Addr); err != nil {
		return SignedIn{}, err
	}
	method := "password"
	if p.TOTPSeed != nil {
		if method, err = s.proveCode(ctx, p, in.Code, a.From); err != nil {
			return SignedIn{}, err
		}
	}
	return s.renew(ctx, a, method, nil)
}

// renew gives the actor's session another token and makes it fresh. end, which
// may be nil, ends what led here in the same transaction.
func (s *Service) renew(ctx context.Context, a Actor, method string, end func(*store.Store) error) (SignedIn, error) {
	token, hash := newToken()
	out := SignedIn{Token: token, Account: a.Account}
	err := s.store.InSystemTx(ctx, func(tx *store.Store) (err error) {
		if end != nil {
			if err := end(tx); err != nil {
				return err
			}
		}
		if out.Expires, err = tx.RenewSession(ctx, a.Person.ID, a.Session, hash, s.clock()); err != nil {
			return err
		}
		return s.tellAll(ctx, tx, a, Entry{Action: "session.renewed", Target: string(a.Session), Details: map[string]string{"method": method}})
	})
	if err != nil {
		return SignedIn{}, err
	}
	return out, nil
}
