package member

import (
	"context"
	"fmt"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// appName is what authenticators and passkeys show.
const appName = "Waybill"

// TOTPSetup is an authenticator that is not yet confirmed.
type TOTPSetup struct {
	Token  string
	Secret string // base32, to type
	URI    string // otpauth://, to scan
}

// place is where a person's seed is sealed for.
func place(p ship.PersonID) []string { return []string{"person", string(p), "totp"} }

// BeginTOTP makes a seed for the actor's authenticator. It counts once
// ConfirmTOTP has seen a code of it.
func (s *Service) BeginTOTP(ctx context.Context, a Actor) (TOTPSetup, error) {
	if err := a.Allow(ManageOwnSecrets); err != nil {
		return TOTPSetup{}, err
	}
	if s.box == nil {
		return TOTPSetup{}, errNoBox
	}
	seed := newSeed()
	token, hash := newToken()
	err := s.store.AddCeremony(ctx, store.Ceremony{
		Hash: hash, Kind: kindTOTP, Person: a.Person.ID, Data: s.box.Seal(seed, place(a.Person.ID)...), ExpiresAt: s.clock().Add(ceremonyFor),
	})
	return TOTPSetup{Token: token, Secret: seedText.EncodeToString(seed), URI: otpauth(appName, a.Person.Email, seed)}, err
}

// ConfirmTOTP makes the authenticator count, and returns the recovery codes:
// they are shown this once.
func (s *Service) ConfirmTOTP(ctx context.Context, a Actor, token, code string) ([]string, error) {
	if err := a.Allow(ManageOwnSecrets); err != nil {
		return nil, err
	}
	hash := hashOf(token)
	c, err := s.store.TryCeremony(ctx, hash, kindTOTP, codeTries, s.clock())
	if err != nil {
		return nil, err
	}
	if c.Person != a.Person.ID {
		return nil, expired()
	}
	seed, err := s.box.Open(c.Data, place(a.Person.ID)...)
	if err != nil {
		return nil, fmt.Errorf("seed of %s: %w", a.Person.ID, err)
	}
	step, ok := stepOf(seed, tidyCode(code), s.now())
	if !ok {
		return nil, wrongCode()
	}
	codes, hashes := newRecoveryCodes(a.Person.ID)
	err = s.changeSelf(ctx, a, Entry{Action: "totp.added"}, func(tx *store.Store, _ store.Person) error {
		if _, err := tx.TakeCeremony(ctx, hash, kindTOTP, s.clock()); err != nil {
			return err
		}
		if err := tx.SetTOTP(ctx, a.Person.ID, c.Data, step); err != nil {
			return err
		}
		return tx.SetRecoveryCodes(ctx, a.Person.ID, hashes)
	})
	if err != nil {
		return nil, err
	}
	return codes, nil
}

// RemoveTOTP takes the actor's authenticator and recovery codes away.
func (s *Service) RemoveTOTP(ctx context.Context, a Actor) error {
	if err := a.Allow(ManageOwnSecrets); err != nil {
		return err
	}
	return s.changeSelf(ctx, a, Entry{Action: "totp.removed"}, func(tx *store.Store, _ store.Person) error {
		if err := tx.SetTOTP(ctx, a.Person.ID, nil, 0); err != nil {
			return err
		}
		return tx.SetRecoveryCodes(ctx, a.Person.ID, nil)
	})
}

// NewRecoveryCodes replaces the actor's recovery codes. They are shown this
// once. It is ship.Conflict without an authenticator.
func (s *Service) NewRecoveryCodes(ctx context.Context, a Actor) ([]string, error) {
	if err := a.Allow(ManageOwnSecrets); err != nil {
		return nil, err
	}
	codes, hashes := newRecoveryCodes(a.Person.ID)
	err := s.changeSelf(ctx, a, Entry{Action: "recovery_codes.made"}, func(tx *store.Store, p store.Person) error {
		if p.TOTPSeed == nil {
			return ship.Coded(ship.Conflict, "no_authenticator", "there is no authenticator to recover from")
		}
		return tx.SetRecoveryCodes(ctx, a.Person.ID, hashes)
	})
	if err != nil {
		return nil, err
	}
	return codes, nil
}

// changeSelf changes the actor's own ways to sign in under a lock, with the
// entry that tells of it.
func (s *Service) changeSelf(ctx context.Context, a Actor, e Entry, change func(*store.Store, store.Person) error) error {
	if e.Target == "" {
		e.Target = string(a.Person.ID)
	}
	return s.store.InSystemTx(ctx, func(tx *store.Store) error {
		p, err := tx.LockPerson(ctx, a.Person.ID)
		if err != nil {
			return err
		}
		if err := change(tx, p); err != nil {
			return err
		}
		return s.tellAll(ctx, tx, a, e)
	})
}

func tidyCode(s string) string { return strings.ReplaceAll(strings.TrimSpace(s), " ", "") }

func wrongCode() error {
	e := ship.Coded(ship.Forbidden, "wrong_code", "the code is not right, or was used already")
	e.Fields = []ship.FieldError{{Pointer: "/code", Code: "invalid", Detail: "is not right, or was used already"}}
	return e
}

// proveCode checks a code of the person's authenticator, or a recovery code,
// and uses it up. It reports which it was, as the method of a session.
func (s *Service) proveCode(ctx context.Context, p store.Person, code string, from Origin) (method string, err error) {
	who := subject("code", string(p.ID))
	if _, err := s.attempt(ctx, who, from.Addr); err != nil {
		return "", err
	}
	ok := false
	if code = tidyCode(code); len(code) == totpDigits {
		method = "totp"
		ok, err = s.takeCode(ctx, p, code)
	} else {
		method = "recovery_code"
		ok, err = s.takeRecoveryCode(ctx, p, code, from)
	}
	if err != nil {
		return "", err
	}
	if !ok {
		return "", wrongCode()
	}
	return method, s.succeeded(ctx, who, from.Addr)
}

// takeCode uses up a code of the authenticator: it and those before it are not
// taken again.
func (s *Service) takeCode(ctx context.Context, p store.Person, code string) (bool, error) {
	if s.box == nil || p.TOTPSeed == nil {
		return false, nil
	}
	seed, err := s.box.Open(p.TOTPSeed, place(p.ID)...)
	if err != nil {
		return false, fmt.Errorf("seed of %s: %w", p.ID, err)
	}
	step, ok := stepOf(seed, code, s.now())
	if !ok {
		return false, nil
	}
	if s.box.Old(p.TOTPSeed) {
		if err := s.store.ResealTOTP(ctx, p.ID, p.TOTPSeed, s.box.Seal(seed, place(p.ID)...)); err != nil {
			return false, err
		}
	}
	return s.store.TakeTOTPStep(ctx, p.ID, step)
}

// takeRecoveryCode uses up a recovery code, and tells of it.
func (s *Service) takeRecoveryCode(ctx context.Context, p store.Person, code string, from Origin) (ok bool, err error) {
	err = s.store.InSystemTx(ctx, func(tx *store.Store) error {
		ok, err = tx.TakeRecoveryCode(ctx, p.ID, recoveryHash(p.ID, code), s.clock())
		if err != nil || !ok {
			return err
		}
		return s.tellAll(ctx, tx, Actor{Person: personOf(p), From: from}, Entry{Action: "recovery_code.used", Target: string(p.ID)})
	})
	return ok && err == nil, err
}
