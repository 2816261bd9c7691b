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

	SecondFactor bool // the person has proved one in this session
}

const sqlAddSession = `
INSERT INTO sessions (id, token_hash, person_id, current_account_id, method, remote_address, user_agent,
  created_at, authenticated_at, last_seen_at, expires_at, second_factor)
VALUES (@id, @hash, @person, @account, @method, @address, @agent,
  @at, @proved, @at, @expires, @second_factor)`

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

		"second_factor": n.SecondFactor,
	})
	return err
}

const sessionColumns = `s.id, s.person_id, s.current_account_id, s.method, s.remote_address, s.user_agent,
  s.created_at, s.authenticated_at, s.last_seen_at, s.expires_at, s.second_factor`

// scanSession reads sessionColumns. Further columns come after them.
func scanSession(r pgx.Row, further ...any) (Session, error) {
	var session Session
	var address *netip.Addr
	targets := []any{
		&session.ID, &session.Person, &session.Account, &session.Method, &address, &session.Agent,
		&session.CreatedAt, &session.ProvedAt, &session.SeenAt, &session.ExpiresAt, &session.SecondFactor,
	}
	err := r.Scan(append(targets, further...)...)

	session.Addr = value(address)
	session.CreatedAt = session.CreatedAt.UTC()
	session.ProvedAt = session.ProvedAt.UTC()
	session.SeenAt = session.SeenAt.UTC()
	session.ExpiresAt = session.ExpiresAt.UTC()
	return session, err
}

// A SignedIn is a session with its person and their standing in one account.
type SignedIn struct {
	Session  Session
	Person   Person // without secrets
	Standing Standing
}

// A Standing is what a person is in an account, and what the account requires of
// the session.
type Standing struct {
	Role                 string // empty if they are not a member of the account
	RequiresSecondFactor bool   // of members with the role
	HasSecondFactor      bool   // the person has an authenticator or a passkey
	RequiresSSO          bool   // only sessions of the identity provider reach the account
	IsBreakGlass         bool   // except for this person's
	BreakGlassRecorded   bool   // and it is recorded that this session did

	DailyLimit ship.Money // of the person's purchases; zero for none
}

// standingColumns are read to standingTargets.
const standingColumns = `coalesce(m.role, ''), coalesce(m.role = ANY (a.two_factor_roles), false),
  p.encrypted_totp_seed IS NOT NULL OR EXISTS (SELECT FROM passkeys k WHERE k.person_id = p.id),
  coalesce(a.sso_required, false), coalesce(m.break_glass AND m.role = 'owner', false),
  coalesce(m.account_id = ANY (s.break_glass_accounts), false),
  coalesce(m.daily_limit_minor, 0), coalesce(m.daily_limit_currency, '')`

func standingTargets(standing *Standing) []any {
	return []any{
		&standing.Role,
		&standing.RequiresSecondFactor,
		&standing.HasSecondFactor,
		&standing.RequiresSSO,
		&standing.IsBreakGlass,
		&standing.BreakGlassRecorded,
		&standing.DailyLimit.Minor,
		&standing.DailyLimit.Currency,
	}
}

// sqlSessionByHash returns the session with an empty role if its person is not a
// member of the account.
const sqlSessionByHash = `
SELECT ` + sessionColumns + `, p.email, p.email_verified_at, p.name, p.created_at, ` + standingColumns + `
FROM sessions s
JOIN people p ON p.id = s.person_id
LEFT JOIN members m ON m.account_id = coalesce(@account, s.current_account_id) AND m.person_id = s.person_id
LEFT JOIN accounts a ON a.id = m.account_id
WHERE s.token_hash = @hash AND s.expires_at > @now AND s.last_seen_at > @idle`

// SessionByHash returns the session of a token, with the person's standing in the
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
	var standing Standing
	further := []any{&person.Email, &verified, &person.Name, &person.CreatedAt}
	session, err := scanSession(row, append(further, standingTargets(&standing)...)...)
	if errors.Is(err, pgx.ErrNoRows) {
		return SignedIn{}, ship.Errorf(ship.NotFound, "no such session")
	}

	session.Hash = hash
	person.ID = session.Person
	person.EmailVerifiedAt = timeOrZero(verified)
	person.CreatedAt = person.CreatedAt.UTC()
	return SignedIn{Session: session, Person: person, Standing: standing}, explain(err)
}

const sqlSessionIn = `
SELECT ` + sessionColumns + `, ` + standingColumns + `
FROM sessions s
JOIN people p ON p.id = s.person_id
JOIN members m ON m.account_id = @account AND m.person_id = s.person_id
JOIN accounts a ON a.id = m.account_id
WHERE s.id = @id AND s.person_id = @person AND s.expires_at > @now AND s.last_seen_at > @idle`

// SessionIn returns a session with its person's standing in the account. It is
// ship.NotFound if the session is over or was last seen before idle, or if the
// person is not a member of the account.
func (s *Store) SessionIn(ctx context.Context, person ship.PersonID, id ship.SessionID, account ship.AccountID, now, idle time.Time) (session Session, standing Standing, err error) {
	args := sessionArgs(person, id)
	args["account"] = account
	args["now"] = now
	args["idle"] = idle
	session, err = scanSession(s.system().QueryRow(ctx, sqlSessionIn, args), standingTargets(&standing)...)
	if errors.Is(err, pgx.ErrNoRows) {
		return session, standing, ship.Errorf(ship.NotFound, "no such session")
	}
	return session, standing, explain(err)
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
UPDATE sessions SET token_hash = @hash, authenticated_at = @at, last_seen_at = @at,
  second_factor = second_factor OR @second_factor
WHERE id = @id AND person_id = @person
RETURNING expires_at`

// RenewSession gives a session another token after its person authenticated
// again, perhaps with a second factor. It returns when the session ends;
// ship.NotFound if it has.
func (s *Store) RenewSession(ctx context.Context, person ship.PersonID, id ship.SessionID, hash [32]byte, at time.Time, secondFactor bool) (expires time.Time, err error) {
	args := sessionArgs(person, id)
	args["hash"] = hash[:]
	args["at"] = at
	args["second_factor"] = secondFactor
	err = s.system().QueryRow(ctx, sqlRenewSession, args).Scan(&expires)
	return expires.UTC(), explain(err)
}

const sqlProveSecondFactor = `UPDATE sessions SET second_factor = true WHERE id = @id AND person_id = @person`

// ProveSecondFactor records that the person has proved a second factor in the
// session.
func (s *Store) ProveSecondFactor(ctx context.Context, person ship.PersonID, id ship.SessionID) error {
	_, err := s.run(ctx, sqlProveSecondFactor, sessionArgs(person, id))
	return err
}

const sqlMarkBreakGlass = `
UPDATE sessions SET break_glass_accounts = break_glass_accounts || @account::uuid
WHERE id = @id AND person_id = @person AND NOT @account::uuid = ANY (break_glass_accounts)`

// MarkBreakGlass records that the session has reached the account although that
// requires single sign-on. It reports false if that was recorded before.
func (s *Store) MarkBreakGlass(ctx context.Context, person ship.PersonID, id ship.SessionID, account ship.AccountID) (bool, error) {
	args := sessionArgs(person, id)
	args["account"] = account
	n, err := s.run(ctx, sqlMarkBreakGlass, args)
	return n == 1, err
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
), old_devices AS (
  DELETE FROM device_sign_ins WHERE expires_at < @now
)
DELETE FROM sign_in_throttles
WHERE last_attempt_at < @quiet AND (kept_until IS NULL OR kept_until < @now)`

// SweepSignIns deletes what is over: sessions, sign-ins of people and terminals that
// were not completed, and throttles without an attempt since quiet that need not be kept.
func (s *Store) SweepSignIns(ctx context.Context, now, idle, quiet time.Time) error {
	_, err := s.run(ctx, sqlSweepSignIns, pgx.NamedArgs{"now": now, "idle": idle, "quiet": quiet})
	return err
}
