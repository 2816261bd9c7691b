package member

import (
	"context"
	"fmt"
	"strings"

	"github.com/waybillhq/waybill/internal/seal"
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

// seedPlace is what the seal of a person's seed is bound to.
func seedPlace(p ship.PersonID) []string { return []string{"person", string(p), "totp"} }

// ResealSeeds brings the seeds of all authenticators under the box's present key,
// also of those that are being set up, and calls report for each that needs it.
// They are used meanwhile.
func ResealSeeds(ctx context.Context, st *store.Store, box *seal.Box, report func(error)) error {
	for _, table := range []store.SealedTable{store.SealedFlows, store.SealedSeeds} {
		err := st.ResealRows(ctx, table, box.KeyHeaders()[0], func(row store.SealedRow) [][]byte {
			person := ship.PersonIDOf(row.ID)
			resealed, err := box.ResealEach(row.Secrets, func(int) []string { return seedPlace(person) })
			if err != nil {
				err = fmt.Errorf("seed of %s: %w", person, err)
			}
			report(err)
			return resealed
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// BeginTOTP creates a seed for the actor's authenticator. It becomes active once
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
		Hash:      hash,
		Kind:      kindTOTP,
		Person:    a.Person.ID,
		Data:      s.box.Seal(seed, seedPlace(a.Person.ID)...),
		ExpiresAt: s.clock().Add(ceremonyLifetime),
	})

	return TOTPSetup{
		Token:  token,
		Secret: seedText.EncodeToString(seed),
		URI:    otpauth(appName, a.Person.Email, seed),
	}, err
}

// ConfirmTOTP activates the authenticator, and returns the recovery codes: they
// are shown only this once.
func (s *Service) ConfirmTOTP(ctx context.Context, a Actor, token, code string) ([]string, error) {
	if err := a.Allow(ManageOwnSecrets); err != nil {
		return nil, err
	}

	hash := hashOf(token)
	ceremony, err := s.store.TryCeremony(ctx, hash, kindTOTP, codeTries, s.clock())
	if err != nil {
		return nil, err
	}
	if ceremony.Person != a.Person.ID {
		return nil, expired()
	}

	seed, err := s.box.Open(ceremony.Data, seedPlace(a.Person.ID)...)
	if err != nil {
		return nil, fmt.Errorf("seed of %s: %w", a.Person.ID, err)
	}
	step, ok := matchingStep(seed, normalizeCode(code), s.now())
	if !ok {
		return nil, invalidCode()
	}

	// The step is stored with the seed, so that this code is not accepted again
	// for a sign-in.
	codes, hashes := newRecoveryCodes(a.Person.ID)
	err = s.changeSelf(ctx, a, Entry{Action: "totp.added"}, func(tx *store.Store, _ store.Person) error {
		if _, err := tx.TakeCeremony(ctx, hash, kindTOTP, s.clock()); err != nil {
			return err
		}
		if err := s.proveFirstFactor(ctx, tx, a); err != nil {
			return err
		}
		if err := tx.SetTOTP(ctx, a.Person.ID, ceremony.Data, step); err != nil {
			return err
		}
		return tx.SetRecoveryCodes(ctx, a.Person.ID, hashes)
	})
	if err != nil {
		return nil, err
	}
	return codes, nil
}

// RemoveTOTP removes the actor's authenticator and recovery codes.
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

// NewRecoveryCodes replaces the actor's recovery codes. They are shown only this
// once. It is ship.Conflict without an authenticator.
func (s *Service) NewRecoveryCodes(ctx context.Context, a Actor) ([]string, error) {
	if err := a.Allow(ManageOwnSecrets); err != nil {
		return nil, err
	}

	codes, hashes := newRecoveryCodes(a.Person.ID)
	err := s.changeSelf(ctx, a, Entry{Action: "recovery_codes.made"}, func(tx *store.Store, person store.Person) error {
		if person.TOTPSeed == nil {
			return ship.Coded(ship.Conflict, "no_authenticator", "no authenticator app is set up, so there is nothing to recover")
		}
		return tx.SetRecoveryCodes(ctx, a.Person.ID, hashes)
	})
	if err != nil {
		return nil, err
	}
	return codes, nil
}

// changeSelf changes the actor's own ways to sign in under a lock, and writes
// the entry in the audit log of each of their accounts.
func (s *Service) changeSelf(ctx context.Context, a Actor, entry Entry, change func(*store.Store, store.Person) error) error {
	if entry.Target == "" {
		entry.Target = string(a.Person.ID)
	}

	return s.store.InSystemTx(ctx, func(tx *store.Store) error {
		person, err := s.lockActor(ctx, tx, a)
		if err != nil {
			return err
		}
		if err := change(tx, person); err != nil {
			return err
		}
		return s.auditAll(ctx, tx, a, entry)
	})
}

// lockActor locks the actor's person, whose ways to sign in nobody else changes
// until the transaction ends. A session that was ended since it was read changes
// nothing any more: otherwise a request that is under way could add a way in
// after all of them were dropped.
func (s *Service) lockActor(ctx context.Context, tx *store.Store, a Actor) (store.Person, error) {
	person, err := tx.LockPerson(ctx, a.Person.ID)
	if err != nil || a.Session == "" {
		return person, err
	}

	now := s.clock()
	session, standing, err := tx.SessionIn(ctx, a.Person.ID, a.Session, a.Account, now, now.Add(-idleTimeout))
	if isKind(err, ship.NotFound) {
		return person, notSignedIn()
	}
	if err != nil {
		return person, err
	}
	return person, s.requireOwnFactor(ctx, tx, session, standing)
}

// normalizeCode removes the spaces with which codes are shown and typed.
func normalizeCode(code string) string { return strings.ReplaceAll(strings.TrimSpace(code), " ", "") }

func invalidCode() error {
	e := ship.Coded(ship.Forbidden, "wrong_code", "the code is incorrect or has already been used")
	e.Fields = []ship.FieldError{{Pointer: "/code", Code: "invalid", Detail: "is incorrect or has already been used"}}
	return e
}

// proveCode checks a code of the person's authenticator, or a recovery code,
// and uses it up. It reports which it was, as the method of a session.
func (s *Service) proveCode(ctx context.Context, person store.Person, code string, from Origin) (method string, err error) {
	// The attempt counts as failed until it has succeeded, so that many at once
	// cannot all be tried.
	key := throttleKey("code", string(person.ID))
	if _, err := s.countAttempt(ctx, key, from.Addr); err != nil {
		return "", err
	}

	ok := false
	if code = normalizeCode(code); len(code) == totpDigits {
		method = "totp"
		ok, err = s.takeCode(ctx, person, code)
	} else {
		method = "recovery_code"
		ok, err = s.takeRecoveryCode(ctx, person, code, from)
	}
	if err != nil {
		return "", err
	}
	if !ok {
		s.noteRefused(person, from, "code")
		return "", invalidCode()
	}
	return method, s.clearAttempt(ctx, key, from.Addr)
}

// takeCode uses up a code of the authenticator: it and those before it are not
// accepted again.
func (s *Service) takeCode(ctx context.Context, person store.Person, code string) (bool, error) {
	if s.box == nil || person.TOTPSeed == nil {
		return false, nil
	}
	seed, err := s.box.Open(person.TOTPSeed, seedPlace(person.ID)...)
	if err != nil {
		return false, fmt.Errorf("seed of %s: %w", person.ID, err)
	}
	step, ok := matchingStep(seed, code, s.now())
	if !ok {
		return false, nil
	}

	// A seed that is sealed with an old key moves to the current one.
	if s.box.Old(person.TOTPSeed) {
		if err := s.store.ResealTOTP(ctx, person.ID, person.TOTPSeed, s.box.Seal(seed, seedPlace(person.ID)...)); err != nil {
			return false, err
		}
	}
	return s.store.TakeTOTPStep(ctx, person.ID, step)
}

// takeRecoveryCode uses up a recovery code, and writes that in the audit log.
func (s *Service) takeRecoveryCode(ctx context.Context, person store.Person, code string, from Origin) (ok bool, err error) {
	err = s.store.InSystemTx(ctx, func(tx *store.Store) error {
		ok, err = tx.TakeRecoveryCode(ctx, person.ID, recoveryHash(person.ID, code), s.clock())
		if err != nil || !ok {
			return err
		}
		return s.auditAll(ctx, tx, Actor{Person: personOf(person), From: from}, Entry{Action: "recovery_code.used", Target: string(person.ID)})
	})
	return ok && err == nil, err
}
