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
// the same, and takes as long: it does not tell who is known here.
func (s *Service) SignIn(ctx context.Context, in SignInInput) (SignedIn, error) {
	email := tidyEmail(in.Email)
	if checkEmail(email) != nil {
		email = "" // nobody's, and looked up all the same
	}
	who := subject("person", email)
	failed, err := s.attempt(ctx, who, in.From.Addr)
	if err != nil {
		return SignedIn{}, err
	}
	p, err := s.store.PersonByEmail(ctx, email)
	if err != nil && !isKind(err, ship.NotFound) {
		return SignedIn{}, err
	}
	ok, err := s.passwords.matches(ctx, in.Password, p.PasswordHash)
	if err != nil {
		return SignedIn{}, err
	}
	if !ok {
		return SignedIn{}, signInFailed()
	}
	if err := s.succeeded(ctx, who, in.From.Addr); err != nil {
		return SignedIn{}, err
	}
	if p.PasswordHash, err = s.renewHash(ctx, p, in.Password); err != nil {
		return SignedIn{}, err
	}
	if p.TOTPSeed != nil {
		return s.awaitCode(ctx, p, failed)
	}
	return s.begin(ctx, p, opening{method: "password", from: in.From, failed: failed, also: func(tx *store.Store) error {
		return stillProves(ctx, tx, p)
	}})
}

// stillProves looks again under a lock: a password that was changed, or an
// authenticator that was added, since the password was checked counts.
func stillProves(ctx context.Context, tx *store.Store, p store.Person) error {
	now, err := tx.LockPerson(ctx, p.ID)
	if err != nil {
		return err
	}
	if now.PasswordHash != p.PasswordHash || now.TOTPSeed != nil {
		return signInFailed()
	}
	return nil
}

func signInFailed() error {
	return ship.Coded(ship.Forbidden, "sign_in_failed", "the e-mail or the password is not right")
}

// renewHash stores the password at today's cost, if it was stored at another,
// and returns the hash that is stored then.
func (s *Service) renewHash(ctx context.Context, p store.Person, password string) (string, error) {
	if !s.passwords.outdated(p.PasswordHash) {
		return p.PasswordHash, nil
	}
	hash, err := s.passwords.hash(ctx, password)
	if err != nil {
		return "", err
	}
	return hash, s.store.SetPasswordHash(ctx, p.ID, hash, p.PasswordHash)
}

const codeTries = 5

// awaitCode remembers that the password was right.
func (s *Service) awaitCode(ctx context.Context, p store.Person, failed int) (SignedIn, error) {
	token, hash := newToken()
	err := s.store.AddCeremony(ctx, store.Ceremony{
		Hash: hash, Kind: kindCode, Person: p.ID, Data: []byte(strconv.Itoa(failed)), ExpiresAt: s.clock().Add(ceremonyFor),
	})
	return SignedIn{Pending: token}, err
}

// SecondFactorInput is the code after the password.
type SecondFactorInput struct {
	Pending string // of SignedIn
	Code    string // of the authenticator, or a recovery code
	From    Origin
}

// SecondFactor ends a sign-in that waits for a code. A code is good once; a
// few wrong ones end the sign-in.
func (s *Service) SecondFactor(ctx context.Context, in SecondFactorInput) (SignedIn, error) {
	hash := hashOf(in.Pending)
	c, err := s.store.TryCeremony(ctx, hash, kindCode, codeTries, s.clock())
	if err != nil {
		return SignedIn{}, err
	}
	p, err := s.store.Person(ctx, c.Person)
	if err != nil {
		return SignedIn{}, err
	}
	method, err := s.proveCode(ctx, p, in.Code, in.From)
	if err != nil {
		return SignedIn{}, err
	}
	failed, _ := strconv.Atoi(string(c.Data)) // only told in the record
	return s.begin(ctx, p, opening{method: method, from: in.From, failed: failed, end: func(tx *store.Store) error {
		_, err := tx.TakeCeremony(ctx, hash, kindCode, s.clock())
		return err
	}})
}

// opening is how a session begins.
type opening struct {
	method string
	from   Origin
	failed int                         // wrong passwords before
	proved time.Time                   // when the person was last asked; zero for now
	to     ship.AccountID              // whose pages to show, a member of which the person is; empty for the first
	end    func(tx *store.Store) error // ends what led here, in the same transaction; may be nil
	also   func(tx *store.Store) error // what else changes before; may be nil
}

// begin starts a session, with a token that nobody has seen, and ends the one
// that the browser had.
func (s *Service) begin(ctx context.Context, p store.Person, o opening) (SignedIn, error) {
	token, hash := newToken()
	now := s.clock()
	row := store.Session{
		ID: ship.NewSessionID(now), Hash: hash, Person: p.ID, Account: o.to, Method: o.method, Addr: o.from.Addr, Agent: cut(o.from.Agent, maxAgent),
		CreatedAt: now, ProvedAt: now, ExpiresAt: now.Add(lastFor),
	}
	if !o.proved.IsZero() {
		row.ProvedAt = earlier(now, o.proved)
	}
	err := s.store.InSystemTx(ctx, func(tx *store.Store) error {
		for _, step := range []func(*store.Store) error{o.also, o.end} {
			if step == nil {
				continue
			}
			if err := step(tx); err != nil {
				return err
			}
		}
		if row.Account == "" {
			in, err := tx.Memberships(ctx, p.ID)
			if err != nil {
				return err
			}
			if len(in) == 0 {
				return notAMember()
			}
			row.Account = in[0].Account
		}
		return s.open(ctx, tx, p, row, o)
	})
	if err != nil {
		return SignedIn{}, err
	}
	return SignedIn{Token: token, Account: row.Account, Expires: row.ExpiresAt}, nil
}

// open stores the session, and tells of it.
func (s *Service) open(ctx context.Context, tx *store.Store, p store.Person, row store.Session, o opening) error {
	if err := tx.AddSession(ctx, row); err != nil {
		return err
	}
	if o.from.Token != "" {
		if err := tx.EndSessionByHash(ctx, hashOf(o.from.Token)); err != nil {
			return err
		}
	}
	details := map[string]string{"method": o.method}
	if o.failed > 0 {
		details["failed_before"] = strconv.Itoa(o.failed)
	}
	return s.tellAll(ctx, tx, Actor{Person: personOf(p), From: o.from}, Entry{Action: "session.started", Target: string(row.ID), Details: details})
}

func notAMember() error {
	return ship.Coded(ship.Forbidden, "not_a_member", "you are not a member of any account: ask for an invitation")
}
