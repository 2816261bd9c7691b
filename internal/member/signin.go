package member

import (
	"context"
	"strconv"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// SignInInput is what a person types.
type SignInInput struct {
	Email, Password string
	From            Origin
}

// SignIn signs a person in by password. If they have an authenticator, the
// answer is pending and SecondFactor follows. Whatever is wrong, the error is
// the same, and takes as long: it does not reveal who has an account here.
func (s *Service) SignIn(ctx context.Context, in SignInInput) (SignedIn, error) {
	email := normalizeEmail(in.Email)
	if checkEmail(email) != nil {
		email = "" // nobody's, and looked up all the same
	}

	// The attempt counts as failed until the password has matched.
	key := throttleKey("person", email)
	failedBefore, err := s.countAttempt(ctx, key, in.From.Addr)
	if err != nil {
		return SignedIn{}, err
	}

	// An unknown person has no hash, and matches takes as long for none.
	person, err := s.store.PersonByEmail(ctx, email)
	if err != nil && !isKind(err, ship.NotFound) {
		return SignedIn{}, err
	}
	ok, err := s.passwords.matches(ctx, in.Password, person.PasswordHash)
	if err != nil {
		return SignedIn{}, err
	}
	if !ok {
		s.noteRefused(person, in.From, "password")
		return SignedIn{}, signInFailed()
	}
	if err := s.clearAttempt(ctx, key, in.From.Addr); err != nil {
		return SignedIn{}, err
	}

	if person.PasswordHash, err = s.renewHash(ctx, person, in.Password); err != nil {
		return SignedIn{}, err
	}
	if person.TOTPSeed != nil {
		return s.beginSecondFactor(ctx, person, failedBefore)
	}
	return s.startSession(ctx, person, sessionStart{
		method:       "password",
		from:         in.From,
		failedBefore: failedBefore,
		prepare:      func(tx *store.Store) error { return recheckPassword(ctx, tx, person) },
	})
}

// recheckPassword checks the person again under a lock: a sign-in fails if the
// password was changed, or an authenticator was added, since the password was
// checked.
func recheckPassword(ctx context.Context, tx *store.Store, checked store.Person) error {
	person, err := tx.LockPerson(ctx, checked.ID)
	if err != nil {
		return err
	}
	if person.PasswordHash != checked.PasswordHash || person.TOTPSeed != nil {
		return signInFailed()
	}
	return nil
}

// lockPerson locks a person before what they prove themselves with is used up.
// Whoever drops a person's ways to sign in has the same lock, so the session
// that follows is either refused or ended.
func lockPerson(ctx context.Context, tx *store.Store, id ship.PersonID) error {
	_, err := tx.LockPerson(ctx, id)
	return err
}

func signInFailed() error {
	return ship.Coded(ship.Forbidden, "sign_in_failed", "the e-mail address or password is incorrect")
}

// renewHash stores the password at today's cost, if it was stored at another,
// and returns the hash that is stored then.
func (s *Service) renewHash(ctx context.Context, person store.Person, password string) (string, error) {
	if !s.passwords.outdated(person.PasswordHash) {
		return person.PasswordHash, nil
	}

	hash, err := s.passwords.hash(ctx, password)
	if err != nil {
		return "", err
	}
	return hash, s.store.SetPasswordHash(ctx, person.ID, hash, person.PasswordHash)
}

const codeTries = 5

// beginSecondFactor stores that the password was right, until the code comes.
func (s *Service) beginSecondFactor(ctx context.Context, person store.Person, failedBefore int) (SignedIn, error) {
	token, hash := newToken()
	err := s.store.InSystemTx(ctx, func(tx *store.Store) error {
		// Under the lock the password is still the one that was checked: a reset
		// drops what waits for a code, and must not miss this.
		locked, err := tx.LockPerson(ctx, person.ID)
		if err != nil {
			return err
		}
		if locked.PasswordHash != person.PasswordHash {
			return signInFailed()
		}

		return tx.AddCeremony(ctx, store.Ceremony{
			Hash:      hash,
			Kind:      kindCode,
			Person:    person.ID,
			Data:      []byte(strconv.Itoa(failedBefore)),
			ExpiresAt: s.clock().Add(ceremonyLifetime),
		})
	})
	if err != nil {
		return SignedIn{}, err
	}
	return SignedIn{Pending: token}, nil
}

// SecondFactorInput is the code after the password.
type SecondFactorInput struct {
	Pending string // of SignedIn
	Code    string // of the authenticator, or a recovery code
	From    Origin
}

// SecondFactor finishes a sign-in that waits for a code. A code can be used
// once; a few wrong ones end the sign-in.
func (s *Service) SecondFactor(ctx context.Context, in SecondFactorInput) (SignedIn, error) {
	hash := hashOf(in.Pending)
	ceremony, err := s.store.TryCeremony(ctx, hash, kindCode, codeTries, s.clock())
	if err != nil {
		return SignedIn{}, err
	}
	person, err := s.store.Person(ctx, ceremony.Person)
	if err != nil {
		return SignedIn{}, err
	}
	method, err := s.proveCode(ctx, person, in.Code, in.From)
	if err != nil {
		return SignedIn{}, err
	}

	failedBefore, _ := strconv.Atoi(string(ceremony.Data)) // only for the audit log
	return s.startSession(ctx, person, sessionStart{
		method:       method,
		from:         in.From,
		failedBefore: failedBefore,
		prepare:      func(tx *store.Store) error { return lockPerson(ctx, tx, person.ID) },
		finish: func(tx *store.Store) error {
			_, err := tx.TakeCeremony(ctx, hash, kindCode, s.clock())
			return err
		},
	})
}

// sessionStart is how a session begins.
type sessionStart struct {
	method       string
	from         Origin
	failedBefore int                         // wrong passwords before
	provedAt     time.Time                   // when the person was last asked; zero for now
	account      ship.AccountID              // where the session starts, one that the person belongs to; empty for the first
	prepare      func(tx *store.Store) error // what must happen before, in the same transaction; may be nil
	finish       func(tx *store.Store) error // ends the ceremony that led here, in the same transaction; may be nil
}

// startSession starts a session, with a token that nobody has seen, and ends the
// one that the browser had. Somebody who belongs to no account has nothing to be
// signed in to, so they accept the invitations that they have, as AcceptAs would.
func (s *Service) startSession(ctx context.Context, person store.Person, start sessionStart) (SignedIn, error) {
	token, hash := newToken()
	now := s.clock()
	row := store.Session{
		ID:        ship.NewSessionID(now),
		Hash:      hash,
		Person:    person.ID,
		Account:   start.account,
		Method:    start.method,
		Addr:      start.from.Addr,
		Agent:     truncateText(start.from.Agent, maxAgent),
		CreatedAt: now,
		ProvedAt:  now,
		ExpiresAt: now.Add(sessionLifetime),

		SecondFactor: isSecondFactor(start.method),
	}
	if !start.provedAt.IsZero() {
		row.ProvedAt = earlier(now, start.provedAt)
	}

	out := SignedIn{Token: token, Expires: row.ExpiresAt}
	err := s.store.InSystemTx(ctx, func(tx *store.Store) error {
		for _, step := range []func(*store.Store) error{start.prepare, start.finish} {
			if step == nil {
				continue
			}
			if err := step(tx); err != nil {
				return err
			}
		}

		if row.Account == "" {
			memberships, err := tx.Memberships(ctx, person.ID)
			if err != nil {
				return err
			}
			if len(memberships) > 0 {
				row.Account = memberships[0].Account
			} else if row.Account, err = s.acceptAll(ctx, tx, Actor{Person: personOf(person), From: start.from}); err != nil {
				return err
			}
			out.Joined = len(memberships) == 0
		}
		return s.storeSession(ctx, tx, person, row, start)
	})
	if err != nil {
		return SignedIn{}, err
	}
	out.Account = row.Account
	return out, nil
}

// storeSession stores the session, and writes that in the audit log.
func (s *Service) storeSession(ctx context.Context, tx *store.Store, person store.Person, row store.Session, start sessionStart) error {
	if err := tx.AddSession(ctx, row); err != nil {
		return err
	}
	if start.from.Token != "" {
		if err := tx.EndSessionByHash(ctx, hashOf(start.from.Token)); err != nil {
			return err
		}
	}

	details := map[string]string{"method": start.method}
	if start.failedBefore > 0 {
		details["failed_before"] = strconv.Itoa(start.failedBefore)
	}
	return s.auditAll(ctx, tx, Actor{Person: personOf(person), From: start.from}, Entry{
		Action:  "session.started",
		Target:  string(row.ID),
		Details: details,
	})
}

func notAMember() error {
	return ship.Coded(ship.Forbidden, "not_a_member", "you are not a member of any account: ask for an invitation")
}
