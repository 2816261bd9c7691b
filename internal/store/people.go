package store

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/waybillhq/waybill/internal/ship"
)

// A Person is somebody who signs in, as stored.
type Person struct {
	ID              ship.PersonID
	Email           string
	EmailVerifiedAt time.Time // when they proved that the address is theirs; zero if they have not
	Name            string
	PasswordHash    string // empty if there is none
	TOTPSeed        []byte // sealed; nil if there is none
	CreatedAt       time.Time
}

const personColumns = `p.id, p.email, p.email_verified_at, p.name, coalesce(p.password_hash, ''), p.encrypted_totp_seed, p.created_at`

func scanPerson(r pgx.Row) (Person, error) {
	var person Person
	var verified *time.Time
	err := r.Scan(&person.ID, &person.Email, &verified, &person.Name, &person.PasswordHash, &person.TOTPSeed, &person.CreatedAt)
	if errors.Is(err, pgx.ErrNoRows) {
		return Person{}, ship.Errorf(ship.NotFound, "no such person")
	}

	person.EmailVerifiedAt = timeOrZero(verified)
	person.CreatedAt = person.CreatedAt.UTC()
	return person, explain(err)
}

func personArgs(id ship.PersonID) pgx.NamedArgs { return pgx.NamedArgs{"person": id} }

const sqlAddPerson = `
INSERT INTO people (id, email, email_verified_at, name, password_hash, created_at)
VALUES (@person, @email, @verified, @name, @hash, @at)`

// AddPerson stores a new person. It is ship.Conflict if the e-mail is
// somebody's.
func (s *Store) AddPerson(ctx context.Context, p Person) error {
	args := personArgs(p.ID)
	args["email"] = p.Email
	args["verified"] = nullTime(p.EmailVerifiedAt)
	args["name"] = p.Name
	args["hash"] = null(p.PasswordHash)
	args["at"] = p.CreatedAt

	_, err := s.run(ctx, sqlAddPerson, args)
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.ConstraintName == "people_email_key" {
		return ship.Coded(ship.Conflict, "email_taken", "this e-mail address is already in use")
	}
	return err
}

const sqlPerson = `SELECT ` + personColumns + ` FROM people p WHERE p.id = @person`

// Person returns a person; ship.NotFound if there is none.
func (s *Store) Person(ctx context.Context, id ship.PersonID) (Person, error) {
	return scanPerson(s.system().QueryRow(ctx, sqlPerson, personArgs(id)))
}

const sqlLockPerson = `SELECT ` + personColumns + ` FROM people p WHERE p.id = @person FOR NO KEY UPDATE`

// LockPerson returns a person whose ways to sign in nobody else changes until
// the transaction ends.
func (s *Store) LockPerson(ctx context.Context, id ship.PersonID) (Person, error) {
	return scanPerson(s.system().QueryRow(ctx, sqlLockPerson, personArgs(id)))
}

const sqlPersonByEmail = `SELECT ` + personColumns + ` FROM people p WHERE p.email = @email`

// PersonByEmail returns who signs in with the e-mail; ship.NotFound if nobody
// does.
func (s *Store) PersonByEmail(ctx context.Context, email string) (Person, error) {
	return scanPerson(s.system().QueryRow(ctx, sqlPersonByEmail, pgx.NamedArgs{"email": email}))
}

const sqlVerifyEmail = `UPDATE people SET email_verified_at = @at WHERE id = @person`

// VerifyEmail records that the person has proved that the address is theirs.
func (s *Store) VerifyEmail(ctx context.Context, id ship.PersonID, at time.Time) error {
	args := personArgs(id)
	args["at"] = at
	_, err := s.run(ctx, sqlVerifyEmail, args)
	return err
}

const sqlRenamePerson = `UPDATE people SET name = @name WHERE id = @person`

// RenamePerson changes a person's name.
func (s *Store) RenamePerson(ctx context.Context, id ship.PersonID, name string) error {
	args := personArgs(id)
	args["name"] = name
	_, err := s.run(ctx, sqlRenamePerson, args)
	return err
}

const sqlSetPasswordHash = `
UPDATE people SET password_hash = @hash
WHERE id = @person AND (@present::text IS NULL OR password_hash = @present)`

// SetPasswordHash changes a person's password; if present is not empty, only
// if that is still their password.
func (s *Store) SetPasswordHash(ctx context.Context, id ship.PersonID, hash, present string) error {
	args := personArgs(id)
	args["hash"] = hash
	args["present"] = null(present)
	_, err := s.run(ctx, sqlSetPasswordHash, args)
	return err
}

const sqlSetTOTP = `UPDATE people SET encrypted_totp_seed = @seed, totp_last_step = @step WHERE id = @person`

// SetTOTP gives the person an authenticator, whose code of the step is used
// up; nil takes it away.
func (s *Store) SetTOTP(ctx context.Context, id ship.PersonID, seed []byte, step int64) error {
	args := personArgs(id)
	args["seed"] = seed
	args["step"] = step
	_, err := s.run(ctx, sqlSetTOTP, args)
	return err
}

const sqlResealTOTP = `
UPDATE people SET encrypted_totp_seed = @seed
WHERE id = @person AND encrypted_totp_seed = @present`

// ResealTOTP replaces the sealed seed by the same seed under another key.
func (s *Store) ResealTOTP(ctx context.Context, id ship.PersonID, present, seed []byte) error {
	args := personArgs(id)
	args["seed"] = seed
	args["present"] = present
	_, err := s.run(ctx, sqlResealTOTP, args)
	return err
}

// sqlTakeTOTPStep changes nothing if the step, or a later one, is used up: an
// intercepted code cannot be replayed.
const sqlTakeTOTPStep = `
UPDATE people SET totp_last_step = @step
WHERE id = @person AND encrypted_totp_seed IS NOT NULL AND totp_last_step < @step`

// TakeTOTPStep uses up the code of a step: it reports false if that or a later
// one was used before.
func (s *Store) TakeTOTPStep(ctx context.Context, id ship.PersonID, step int64) (bool, error) {
	args := personArgs(id)
	args["step"] = step
	n, err := s.run(ctx, sqlTakeTOTPStep, args)
	return n == 1, err
}

const sqlSetRecoveryCodes = `
WITH old_codes AS (DELETE FROM recovery_codes WHERE person_id = @person)
INSERT INTO recovery_codes (person_id, code_hash) SELECT @person, unnest(@hashes::bytea[])`

// SetRecoveryCodes replaces a person's recovery codes, by their hashes.
func (s *Store) SetRecoveryCodes(ctx context.Context, id ship.PersonID, hashes [][]byte) error {
	if hashes == nil {
		hashes = [][]byte{}
	}
	args := personArgs(id)
	args["hashes"] = hashes
	_, err := s.run(ctx, sqlSetRecoveryCodes, args)
	return err
}

const sqlTakeRecoveryCode = `
UPDATE recovery_codes SET used_at = @at
WHERE person_id = @person AND code_hash = @hash AND used_at IS NULL`

// TakeRecoveryCode uses up a recovery code: it reports false if there is none
// such, or none any more.
func (s *Store) TakeRecoveryCode(ctx context.Context, id ship.PersonID, hash []byte, at time.Time) (bool, error) {
	args := personArgs(id)
	args["hash"] = hash
	args["at"] = at
	n, err := s.run(ctx, sqlTakeRecoveryCode, args)
	return n == 1, err
}

const sqlCountWaysIn = `
SELECT
  (SELECT count(*) FROM recovery_codes c WHERE c.person_id = @person AND c.used_at IS NULL),
  (SELECT count(*) FROM passkeys k WHERE k.person_id = @person),
  (SELECT count(*) FROM identities i WHERE i.person_id = @person)`

// WaysIn counts what a person can sign in with besides a password.
type WaysIn struct{ RecoveryCodes, Passkeys, Identities int }

// WaysIn counts what the person can sign in with besides a password.
func (s *Store) WaysIn(ctx context.Context, id ship.PersonID) (w WaysIn, err error) {
	err = s.system().QueryRow(ctx, sqlCountWaysIn, personArgs(id)).Scan(&w.RecoveryCodes, &w.Passkeys, &w.Identities)
	return w, explain(err)
}

const sqlPersonByIdentity = `
SELECT ` + personColumns + `
FROM identities i JOIN people p ON p.id = i.person_id
WHERE i.issuer = @issuer AND i.subject = @subject`

// PersonByIdentity returns who the identity provider means; ship.NotFound if
// nobody here.
func (s *Store) PersonByIdentity(ctx context.Context, issuer, subject string) (Person, error) {
	return scanPerson(s.system().QueryRow(ctx, sqlPersonByIdentity, pgx.NamedArgs{"issuer": issuer, "subject": subject}))
}

const sqlAddIdentity = `INSERT INTO identities (issuer, subject, person_id, created_at) VALUES (@issuer, @subject, @person, @at)`

// AddIdentity records who the person is to an identity provider.
func (s *Store) AddIdentity(ctx context.Context, id ship.PersonID, issuer, subject string, at time.Time) error {
	args := personArgs(id)
	args["issuer"] = issuer
	args["subject"] = subject
	args["at"] = at
	_, err := s.run(ctx, sqlAddIdentity, args)
	return err
}

const sqlDropSecondFactors = `
WITH old_passkeys AS (
  DELETE FROM passkeys WHERE person_id = @person
), old_codes AS (
  DELETE FROM recovery_codes WHERE person_id = @person
)
UPDATE people SET encrypted_totp_seed = NULL, totp_last_step = 0 WHERE id = @person`

// DropSecondFactors removes a person's passkeys, authenticator and recovery
// codes.
func (s *Store) DropSecondFactors(ctx context.Context, person ship.PersonID) error {
	_, err := s.run(ctx, sqlDropSecondFactors, personArgs(person))
	return err
}

const sqlDropWaysIn = `
WITH old_passkeys AS (
  DELETE FROM passkeys WHERE person_id = @person
), old_identities AS (
  DELETE FROM identities WHERE person_id = @person
), old_sessions AS (
  DELETE FROM sessions WHERE person_id = @person
), open_flows AS (
  DELETE FROM auth_flows WHERE person_id = @person
)
UPDATE people SET password_hash = NULL WHERE id = @person`

// DropWaysIn removes everything that somebody could sign in with as the person,
// and ends all sessions and links. What a sign-in asks for in addition stays:
// see DropSecondFactors.
func (s *Store) DropWaysIn(ctx context.Context, person ship.PersonID) error {
	_, err := s.run(ctx, sqlDropWaysIn, personArgs(person))
	return err
}

// sqlDeleteUnverified deletes in one statement, at whose end the references are
// checked.
const sqlDeleteUnverified = `
WITH leaving AS (
  SELECT p.id FROM people p
  WHERE p.id = @person AND p.email_verified_at IS NULL
    AND NOT EXISTS (SELECT FROM members m WHERE m.person_id = p.id)
), old_passkeys AS (
  DELETE FROM passkeys WHERE person_id IN (SELECT id FROM leaving)
), old_codes AS (
  DELETE FROM recovery_codes WHERE person_id IN (SELECT id FROM leaving)
), old_identities AS (
  DELETE FROM identities WHERE person_id IN (SELECT id FROM leaving)
), old_sessions AS (
  DELETE FROM sessions WHERE person_id IN (SELECT id FROM leaving)
), open_flows AS (
  DELETE FROM auth_flows WHERE person_id IN (SELECT id FROM leaving)
)
DELETE FROM people WHERE id IN (SELECT id FROM leaving)`

// DeleteUnverified deletes a person who has not proved that the address is
// theirs and belongs to no account. It does nothing to others.
func (s *Store) DeleteUnverified(ctx context.Context, person ship.PersonID) error {
	_, err := s.run(ctx, sqlDeleteUnverified, personArgs(person))
	return err
}
