package member

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// How long sessions last.
const (
	sessionLifetime = 14 * 24 * time.Hour
	idleTimeout     = 12 * time.Hour
	touchEvery      = time.Minute // how exact the time last seen is
)

const maxAgent = 200

// storableText returns s without what Postgres cannot store as text.
func storableText(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, ""), "\x00", "")
}

// truncateText returns s as storable text of at most n bytes.
func truncateText(s string, n int) string {
	s = storableText(s)
	if len(s) <= n {
		return s
	}

	// A character is not cut in two.
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Authenticate returns who holds the session's token, in the account that they
// used last. It is ship.Forbidden with the code "not_signed_in" if nobody does.
// It reads the session every time: one that was ended is over at once.
func (s *Service) Authenticate(ctx context.Context, token string, from Origin) (Actor, error) {
	return s.AuthenticateIn(ctx, token, "", from)
}

// AuthenticateIn is Authenticate in an account of the person: the actor's role
// is the one they have there. It is ship.NotFound if they are not a member of
// the account, whether or not it exists. The session remembers the account as
// the one used last.
func (s *Service) AuthenticateIn(ctx context.Context, token string, account ship.AccountID, from Origin) (Actor, error) {
	return s.authenticate(ctx, token, account, from, true)
}

// AuthenticateUnused is AuthenticateIn for what an open page requests by itself.
// It does not count as use of the session, which ends in time although a page
// stays open.
func (s *Service) AuthenticateUnused(ctx context.Context, token string, account ship.AccountID, from Origin) (Actor, error) {
	return s.authenticate(ctx, token, account, from, false)
}

func (s *Service) authenticate(ctx context.Context, token string, account ship.AccountID, from Origin, isUse bool) (Actor, error) {
	now := s.clock()
	found, err := s.store.SessionByHash(ctx, hashOf(token), account, now, now.Add(-idleTimeout))
	if isKind(err, ship.NotFound) {
		return Actor{}, notSignedIn()
	}
	if err != nil {
		return Actor{}, err
	}

	session := found.Session
	if found.Standing.Role == "" {
		if account == "" {
			return Actor{}, notSignedIn()
		}
		return Actor{}, ship.Errorf(ship.NotFound, "no such account")
	}
	account = cmp.Or(account, session.Account)

	// The time last seen is not written with every request.
	if isUse && (now.Sub(session.SeenAt) >= touchEvery || account != session.Account) {
		if err := s.store.TouchSession(ctx, session.ID, account, now, from.Addr); err != nil {
			return Actor{}, err
		}
	}

	from.Agent = truncateText(from.Agent, maxAgent)
	from.Token = ""
	actor := Actor{
		Person:     personOf(found.Person),
		Account:    account,
		Role:       Role(found.Standing.Role),
		Session:    session.ID,
		From:       from,
		FreshUntil: session.ProvedAt.Add(freshDuration),
		method:     session.Method,
		missing:    missingProof(session, found.Standing),
		now:        now,

		SecondFactor: provesSecondFactor(session, found.Standing),
		DailyLimit:   found.Standing.DailyLimit,
	}

	breaksGlass := actor.missing == nil && bypassesSSO(session, found.Standing)
	if breaksGlass && !found.Standing.BreakGlassRecorded {
		if err := s.recordBreakGlass(ctx, actor, session.Method); err != nil {
			return Actor{}, err
		}
	}
	return actor, nil
}

// Recheck returns nil if the actor's session goes on, still meets what the
// account requires, and their role in it allows the action. It is for what lasts
// longer than a request, and does not count as use of the session.
func (s *Service) Recheck(ctx context.Context, a Actor, action Action) error {
	now := s.clock()
	session, standing, err := s.store.SessionIn(ctx, a.Person.ID, a.Session, a.Account, now, now.Add(-idleTimeout))
	if isKind(err, ship.NotFound) {
		return notSignedIn()
	}
	if err != nil {
		return err
	}
	if !Role(standing.Role).Can(action) {
		return notAllowed()
	}
	return missingProof(session, standing)
}

func notSignedIn() error {
	return ship.Coded(ship.Forbidden, "not_signed_in", "you are not signed in")
}

// A Session is one browser that is signed in.
type Session struct {
	ID        ship.SessionID
	Method    string // how: password, totp, recovery_code, passkey, oidc, invitation, setup
	From      Origin
	CreatedAt time.Time
	SeenAt    time.Time
	ExpiresAt time.Time
	Current   bool
}

// Sessions lists the actor's own sessions, the one last seen first.
func (s *Service) Sessions(ctx context.Context, a Actor) ([]Session, error) {
	now := s.clock()
	rows, err := s.store.Sessions(ctx, a.Person.ID, now, now.Add(-idleTimeout))
	list := make([]Session, len(rows))
	for i, row := range rows {
		list[i] = Session{
			ID:        row.ID,
			Method:    row.Method,
			From:      Origin{Addr: row.Addr, Agent: row.Agent},
			CreatedAt: row.CreatedAt,
			SeenAt:    row.SeenAt,
			ExpiresAt: earlier(row.ExpiresAt, row.SeenAt.Add(idleTimeout)),
			Current:   row.ID == a.Session,
		}
	}
	return list, err
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// SignOut ends the actor's session.
func (s *Service) SignOut(ctx context.Context, a Actor) error {
	return s.endSession(ctx, a, a.Session, "session.ended")
}

// RevokeSession ends one of the actor's sessions; ship.NotFound if it is not
// theirs.
func (s *Service) RevokeSession(ctx context.Context, a Actor, id ship.SessionID) error {
	return s.endSession(ctx, a, id, "session.revoked")
}

func (s *Service) endSession(ctx context.Context, a Actor, id ship.SessionID, action string) error {
	return s.store.InSystemTx(ctx, func(tx *store.Store) error {
		if err := tx.EndSession(ctx, a.Person.ID, id); err != nil {
			return err
		}
		return s.auditAll(ctx, tx, a, Entry{Action: action, Target: string(id)})
	})
}

// RevokeOtherSessions ends all of the actor's sessions but this one, and
// reports how many.
func (s *Service) RevokeOtherSessions(ctx context.Context, a Actor) (n int, err error) {
	err = s.store.InSystemTx(ctx, func(tx *store.Store) error {
		if n, err = tx.EndSessions(ctx, a.Person.ID, a.Session); err != nil {
			return err
		}
		return s.auditAll(ctx, tx, a, Entry{
			Action:  "session.revoked",
			Target:  string(a.Person.ID),
			Details: countDetail("sessions", n),
		})
	})
	return n, err
}

// RevokeSessionsOf ends all sessions of a member of the actor's account, and
// reports how many. They end in the member's other accounts too: a session is for
// all of them.
func (s *Service) RevokeSessionsOf(ctx context.Context, a Actor, p ship.PersonID) (n int, err error) {
	if err := a.Allow(ManageMembers); err != nil {
		return 0, err
	}

	err = s.store.InSystemTx(ctx, func(tx *store.Store) error {
		if _, _, err := tx.Member(ctx, a.Account, p); err != nil {
			return err
		}
		if n, err = tx.EndSessions(ctx, p, ""); err != nil {
			return err
		}
		return s.audit(ctx, tx, a, Entry{
			Action:  "session.revoked",
			Target:  string(p),
			Details: countDetail("sessions", n),
		})
	})
	return n, err
}

// countDetail is the detail of an entry that counts something.
func countDetail(name string, n int) map[string]string {
	return map[string]string{name: strconv.Itoa(n)}
}

// A Membership is an account that a person belongs to.
type Membership struct {
	Account ship.AccountID
	Name    string
	Role    Role
}

// Accounts lists the accounts that the actor belongs to.
func (s *Service) Accounts(ctx context.Context, a Actor) ([]Membership, error) {
	rows, err := s.store.Memberships(ctx, a.Person.ID)
	list := make([]Membership, len(rows))
	for i, row := range rows {
		list[i] = Membership{Account: row.Account, Name: row.Name, Role: Role(row.Role)}
	}
	return list, err
}
