package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// A Member is a person of an account, without secrets.
type Member struct {
	Person    Person
	Role      string
	JoinedAt  time.Time
	SeenAt    time.Time // zero if not signed in
	TwoFactor bool

	DailyLimit ship.Money // in the dashboard; zero for none
}

const sqlMembers = `
SELECT p.id, p.email, p.email_verified_at, p.name, p.created_at, m.role, m.joined_at,
  coalesce(m.daily_limit_minor, 0), coalesce(m.daily_limit_currency, '')
FROM members m JOIN people p ON p.id = m.person_id
WHERE m.account_id = $1
ORDER BY m.joined_at, p.id`

// Members lists the members of an account, oldest first.
func (s *Store) Members(ctx context.Context, account ship.AccountID) ([]Member, error) {
	list, err := queryList(ctx, s, ship.Tenant{Account: account}, scanMember, sqlMembers, account)
	if err != nil {
		return nil, fmt.Errorf("members: %w", err)
	}
	return list, s.addSignInState(ctx, list)
}

func scanMember(r pgx.CollectableRow) (Member, error) {
	var member Member
	var verified *time.Time
	err := r.Scan(&member.Person.ID, &member.Person.Email, &verified, &member.Person.Name, &member.Person.CreatedAt, &member.Role, &member.JoinedAt,
		&member.DailyLimit.Minor, &member.DailyLimit.Currency)
	member.Person.EmailVerifiedAt = timeOrZero(verified)
	member.Person.CreatedAt = member.Person.CreatedAt.UTC()
	member.JoinedAt = member.JoinedAt.UTC()
	return member, err
}

const sqlSignInState = `
SELECT p.id,
  (SELECT max(s.last_seen_at) FROM sessions s WHERE s.person_id = p.id),
  p.encrypted_totp_seed IS NOT NULL OR EXISTS (SELECT FROM passkeys k WHERE k.person_id = p.id)
FROM people p WHERE p.id = ANY (@people)`

// addSignInState fills in when members were last seen, and whether they have a
// second factor. Sessions belong to no tenant, so the system's role reads them.
func (s *Store) addSignInState(ctx context.Context, members []Member) error {
	ids := make(idArray, len(members))
	byPerson := map[ship.PersonID]*Member{}
	for i := range members {
		person := members[i].Person.ID
		ids[i] = person.Raw()
		byPerson[person] = &members[i]
	}

	var id ship.PersonID
	var seen *time.Time
	var hasTwoFactor bool
	return selectEach(ctx, s.system(), []any{&id, &seen, &hasTwoFactor}, func() error {
		byPerson[id].SeenAt = timeOrZero(seen)
		byPerson[id].TwoFactor = hasTwoFactor
		return nil
	}, sqlSignInState, pgx.NamedArgs{"people": ids})
}

// A Membership is an account that a person belongs to.
type Membership struct {
	Account ship.AccountID
	Name    string
	Role    string
}

const sqlMemberships = `
SELECT a.id, a.name, m.role
FROM members m JOIN accounts a ON a.id = m.account_id
WHERE m.person_id = @person
ORDER BY m.joined_at, a.id`

// Memberships lists the accounts of a person, the one joined first first.
func (s *Store) Memberships(ctx context.Context, person ship.PersonID) ([]Membership, error) {
	return selectList(ctx, s.system(), pgx.RowToStructByPos[Membership], sqlMemberships, pgx.NamedArgs{"person": person})
}

const sqlLockAccount = `SELECT a.name FROM accounts a WHERE a.id = @account FOR NO KEY UPDATE`

// LockAccount keeps others from changing the account's members until the
// transaction ends, and returns the account's name.
func (s *Store) LockAccount(ctx context.Context, account ship.AccountID) (name string, err error) {
	err = s.system().QueryRow(ctx, sqlLockAccount, pgx.NamedArgs{"account": account}).Scan(&name)
	return name, explain(err)
}

const sqlMember = `
SELECT p.email, p.name, m.role,
  (SELECT count(*) FROM members o WHERE o.account_id = m.account_id AND o.role = 'owner')
FROM members m JOIN people p ON p.id = m.person_id
WHERE m.account_id = @account AND m.person_id = @person`

// Member returns a member of the account and how many owners the account has;
// ship.NotFound if the person is none of its members.
func (s *Store) Member(ctx context.Context, account ship.AccountID, person ship.PersonID) (m Member, owners int, err error) {
	m.Person.ID = person
	row := s.system().QueryRow(ctx, sqlMember, memberArgs(account, person))
	err = row.Scan(&m.Person.Email, &m.Person.Name, &m.Role, &owners)
	if errors.Is(err, pgx.ErrNoRows) {
		return m, 0, ship.Errorf(ship.NotFound, "no such member")
	}
	return m, owners, explain(err)
}

func memberArgs(account ship.AccountID, person ship.PersonID) pgx.NamedArgs {
	return pgx.NamedArgs{"account": account, "person": person}
}

// sqlAddMember adds nobody who can sign in under an address that they have not
// proved to be theirs: whoever set that password may have set it for somebody
// else's address, and would gain the account.
const sqlAddMember = `
WITH trusted AS (
  SELECT p.id FROM people p
  WHERE p.id = @person AND (p.email_verified_at IS NOT NULL
    OR p.password_hash IS NULL
      AND NOT EXISTS (SELECT FROM passkeys k WHERE k.person_id = p.id)
      AND NOT EXISTS (SELECT FROM identities i WHERE i.person_id = p.id)
      AND NOT EXISTS (SELECT FROM sessions s WHERE s.person_id = p.id))
), added AS (
  INSERT INTO members (account_id, person_id, role, joined_at)
  SELECT @account, trusted.id, @role, @at FROM trusted
  ON CONFLICT DO NOTHING
  RETURNING person_id
)
SELECT EXISTS (SELECT FROM trusted), EXISTS (SELECT FROM added)`

// AddMember makes the person a member. It is ship.Conflict if they are one, and
// if they can sign in but have not proved that the address is theirs.
func (s *Store) AddMember(ctx context.Context, account ship.AccountID, person ship.PersonID, role string, at time.Time) error {
	args := memberArgs(account, person)
	args["role"] = role
	args["at"] = at

	var isTrusted, isAdded bool
	err := s.system().QueryRow(ctx, sqlAddMember, args).Scan(&isTrusted, &isAdded)
	switch {
	case err != nil:
		return explain(err)
	case !isTrusted:
		return UnverifiedEmail()
	case !isAdded:
		return ship.Coded(ship.Conflict, "already_member", "this person is already a member of the account")
	}
	return nil
}

// UnverifiedEmail returns the error for somebody who would join a further account
// under an address that they have not proved to be theirs.
func UnverifiedEmail() error {
	return ship.Coded(ship.Conflict, "email_unverified",
		"this e-mail address is in use in another account and has not been verified: ask the operator of this service for a link, which waybill member reset prints")
}

// sqlSetRole ends what only owners have.
const sqlSetRole = `
UPDATE members SET role = @role, break_glass = break_glass AND @role::text = 'owner'
WHERE account_id = @account AND person_id = @person`

// SetRole changes what a member may do.
func (s *Store) SetRole(ctx context.Context, account ship.AccountID, person ship.PersonID, role string) error {
	args := memberArgs(account, person)
	args["role"] = role
	_, err := s.run(ctx, sqlSetRole, args)
	return err
}

const sqlSetDailyLimit = `
UPDATE members SET daily_limit_minor = nullif(@minor::bigint, 0), daily_limit_currency = @currency
WHERE account_id = @account AND person_id = @person`

// SetDailyLimit changes what a member may spend in a day in the dashboard; zero
// ends the limit.
func (s *Store) SetDailyLimit(ctx context.Context, account ship.AccountID, person ship.PersonID, limit ship.Money) error {
	args := memberArgs(account, person)
	args["minor"] = limit.Minor
	args["currency"] = null(limit.Currency)
	_, err := s.run(ctx, sqlSetDailyLimit, args)
	return err
}

const sqlDailyLimit = `
SELECT coalesce(m.daily_limit_minor, 0), coalesce(m.daily_limit_currency, '')
FROM members m WHERE m.account_id = @account AND m.person_id = @person`

// DailyLimit returns what a member may spend in a day in the dashboard; zero for
// no limit, and for somebody who is no member.
func (s *Store) DailyLimit(ctx context.Context, account ship.AccountID, person ship.PersonID) (limit ship.Money, err error) {
	err = s.system().QueryRow(ctx, sqlDailyLimit, memberArgs(account, person)).Scan(&limit.Minor, &limit.Currency)
	if errors.Is(err, pgx.ErrNoRows) {
		return ship.Money{}, nil
	}
	return limit, explain(err)
}

const sqlRemoveMember = `
WITH ended_sessions AS (
  DELETE FROM sessions WHERE current_account_id = @account AND person_id = @person
)
DELETE FROM members WHERE account_id = @account AND person_id = @person`

// RemoveMember ends a membership, and the person's sessions that used the account
// last.
func (s *Store) RemoveMember(ctx context.Context, account ship.AccountID, person ship.PersonID) error {
	_, err := s.run(ctx, sqlRemoveMember, memberArgs(account, person))
	return err
}

const sqlAnyOwner = `SELECT EXISTS (SELECT FROM members WHERE role = 'owner')`

// AnyOwner reports whether any account has an owner: then the installation is
// claimed.
func (s *Store) AnyOwner(ctx context.Context) (claimed bool, err error) {
	err = s.system().QueryRow(ctx, sqlAnyOwner).Scan(&claimed)
	return claimed, explain(err)
}

const sqlLockClaim = `LOCK TABLE members IN SHARE ROW EXCLUSIVE MODE`

// LockClaim lets one transaction at a time find out whether the installation
// is claimed, and claim it.
func (s *Store) LockClaim(ctx context.Context) error {
	_, err := s.system().Exec(ctx, sqlLockClaim)
	return explain(err)
}
