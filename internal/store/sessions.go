package store

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// A Session is one browser that is signed in, as stored.
type Session struct {
	ID        ship.SessionID
	Hash      [32]byte // of its token
	Person    ship.PersonID
	Account   ship.AccountID // used last
	Method    string
	Addr      netip.Addr
	Agent     string
	CreatedAt time.Time
	ProvedAt  time.Time // when the person last authenticated
	SeenAt    time.Time
	ExpiresAt time.Time
}

const sqlAddSession = `
INSERT INTO sessions (id, token_hash, person_id, current_account_id, method, remote_address, user_agent,
  created_at, authenticated_at, last_seen_at, expires_at)
VALUES (@id, @hash, @person, @account, @method, @address, @agent,
  @at, @proved, @at, @expires)`

// AddSession stores a new session.
func (s *Store) AddSession(ctx context.Context, n Session) error {
	_, err := s.run(ctx, sqlAddSession, pgx.NamedArgs{
		"id":      n.ID,
		"hash":    n.Hash[:],
		"person":  n.Person,
		"account": n.Account,
		"method":  n.Method,
		"address": nullAddr(n.Addr),
		"agent":   n.Agent,
		"at":      n.CreatedAt,
		"proved":  n.ProvedAt,
		"expires": n.ExpiresAt,
	})
	return err
}

const sessionColumns = `s.id, s.person_id, s.current_account_id, s.method, s.remote_address, s.user_agent,
  s.created_at, s.authenticated_at, s.last_seen_at, s.expires_at`

// scanSession reads sessionColumns. Further columns come after them.
func scanSession(r pgx.Row, further ...any) (Session, error) {
	var session Session
	var address *netip.Addr
	targets := []any{
		&session.ID, &session.Person, &session.Account, &session.Method, &address, &session.Agent,
		&session.CreatedAt, &session.ProvedAt, &session.SeenAt, &session.ExpiresAt,
	}
	err := r.Scan(append(targets, further...)...)

	session.Addr = value(address)
	session.CreatedAt = session.CreatedAt.UTC()
	session.ProvedAt = session.ProvedAt.UTC()
	session.SeenAt = session.SeenAt.UTC()
	session.ExpiresAt = session.ExpiresAt.UTC()
	return session, err
}

// A SignedIn is a session with its person and their role in one account.
type SignedIn struct {
	Session Session
	Person  Person // without secrets
	Role    string // in the account that was asked for; empty if they are not a member of it
}

// sqlSessionByHash returns the session with an empty role if its person is not a
// member of the account.
const sqlSessionByHash = `
SELECT ` + sessionColumns + `, p.email, p.email_verified_at, p.name, p.created_at, coalesce(m.role, '')
FROM sessions s
JOIN people p ON p.id = s.person_id
LEFT JOIN members m ON m.account_id = coalesce(@account, s.current_account_id) AND m.person_id = s.person_id
WHERE s.token_hash = @hash AND s.expires_at > @now AND s.last_seen_at > @idle`

// SessionByHash returns the session of a token, with the person's role in the
// account, or in the one they used last if account is empty. It is ship.NotFound
// if the session is over or was last seen before idle.
func (s *Store) SessionByHash(ctx context.Context, hash [32]byte, account ship.AccountID, now, idle time.Time) (SignedIn, error) {
	row := s.system().QueryRow(ctx, sqlSessionByHash, pgx.NamedArgs{
		"hash":    hash[:],
		"account": null(account),
		"now":     now,
		"idle":    idle,
	})

	var person Person
	var verified *time.Time
	var role string
	session, err := scanSession(row, &person.Email, &verified, &person.Name, &person.CreatedAt, &role)
	if errors.Is(err, pgx.ErrNoRows) {
		return SignedIn{}, ship.Errorf(ship.NotFound, "no such session")
	}

	session.Hash = hash
	person.ID = session.Person
	person.EmailVerifiedAt = timeOrZero(verified)
	person.CreatedAt = person.CreatedAt.UTC()
	return SignedIn{Session: session, Person: person, Role: role}, explain(err)
}

const sqlSessionRole = `
SELECT m.role
FROM sessions s JOIN members m ON m.account_id = @account AND m.person_id = s.person_id
WHERE s.id = @id AND s.person_id = @person AND s.expires_at > @now AND s.last_seen_at > @idle`

// SessionRole returns the role in the account of the person whose session it is.
// It is ship.NotFound if the session is over or was last seen before idle, or if
// the person is not a member of the account.
func (s *Store) SessionRole(ctx context.Context, person ship.PersonID, id ship.SessionID, account ship.AccountID, now, idle time.Time) (role string, err error) {
	args := sessionArgs(person, id)
	args["account"] = account
	args["now"] = now
	args["idle"] = idle
	err = s.system().QueryRow(ctx, sqlSessionRole, args).Scan(&role)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", ship.Errorf(ship.NotFound, "no such session")
	}
	return role, explain(err)
}

const sqlTouchSession = `
UPDATE sessions SET last_seen_at = @at, remote_address = @address, current_account_id = @account
WHERE id = @id AND last_seen_at < @at`

// TouchSession records that a session was used, in which account, and from
// where.
func (s *Store) TouchSession(ctx context.Context, id ship.SessionID, account ship.AccountID, at time.Time, from netip.Addr) error {
	_, err := s.run(ctx, sqlTouchSession, pgx.NamedArgs{
		"id":      id,
		"account": account,
		"at":      at,
		"address": nullAddr(from),
	})
	return err
}

const sqlRenewSession = `
UPDATE sessions SET token_hash = @hash, authenticated_at = @at, last_seen_at = @at
WHERE id = @id AND person_id = @person
RETURNING expires_at`

// RenewSession gives a session another token after its person authenticated
// again. It returns when the session ends; ship.NotFound if it has.
func (s *Store) RenewSession(ctx context.Context, person ship.PersonID, id ship.SessionID, hash [32]byte, at time.Time) (expires time.Time, err error) {
	args := sessionArgs(person, id)
	args["hash"] = hash[:]
	args["at"] = at
	err = s.system().QueryRow(ctx, sqlRenewSession, args).Scan(&expires)
	return expires.UTC(), explain(err)
}

func sessionArgs(person ship.PersonID, id ship.SessionID) pgx.NamedArgs {
	return pgx.NamedArgs{"id": id, "person": person}
}

const sqlSessions = `
SELECT ` + sessionColumns + ` FROM sessions s
WHERE s.person_id = @person AND s.expires_at > @now AND s.last_seen_at > @idle
ORDER BY s.last_seen_at DESC, s.id`

// Sessions lists the sessions of a person that are not over, the one last seen
// first.
func (s *Store) Sessions(ctx context.Context, person ship.PersonID, now, idle time.Time) ([]Session, error) {
	scan := func(r pgx.CollectableRow) (Session, error) { return scanSession(r) }
	return selectList(ctx, s.system(), scan, sqlSessions, pgx.NamedArgs{"person": person, "now": now, "idle": idle})
}

const sqlEndSession = `DELETE FROM sessions WHERE id = @id AND person_id = @person`

// EndSession ends a session of the person; ship.NotFound if there is none.
func (s *Store) EndSession(ctx context.Context, person ship.PersonID, id ship.SessionID) error {
	n, err := s.run(ctx, sqlEndSession, sessionArgs(person, id))
	if err == nil && n == 0 {
		err = ship.Errorf(ship.NotFound, "no such session")
	}
	return err
}

// sqlEndSessions also deletes sign-ins in progress, but leaves password resets.
const sqlEndSessions = `
WITH open_flows AS (
  DELETE FROM auth_flows WHERE person_id = @person AND kind <> 'reset'
)
DELETE FROM sessions WHERE person_id = @person AND id <> @id`

// EndSessions ends all sessions of the person but one, or all for no id, and
// sign-ins in progress. It reports how many sessions it ended.
func (s *Store) EndSessions(ctx context.Context, person ship.PersonID, but ship.SessionID) (int, error) {
	return s.run(ctx, sqlEndSessions, sessionArgs(person, but))
}

const sqlEndSessionByHash = `DELETE FROM sessions WHERE token_hash = @hash`

// EndSessionByHash ends the session of a token, if there is one.
func (s *Store) EndSessionByHash(ctx context.Context, hash [32]byte) error {
	_, err := s.run(ctx, sqlEndSessionByHash, pgx.NamedArgs{"hash": hash[:]})
	return err
}

const sqlSweepSignIns = `
WITH old_sessions AS (
  DELETE FROM sessions WHERE expires_at < @now OR last_seen_at < @idle
), old_flows AS (
  DELETE FROM auth_flows WHERE expires_at < @now
)
DELETE FROM sign_in_throttles WHERE last_attempt_at < @quiet`

// SweepSignIns deletes what is over: sessions, sign-ins that were not completed,
// and throttles without an attempt since quiet.
func (s *Store) SweepSignIns(ctx context.Context, now, idle, quiet time.Time) error {
	_, err := s.run(ctx, sqlSweepSignIns, pgx.NamedArgs{"now": now, "idle": idle, "quiet": quiet})
	return err
}
