package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// A Passkey is the public half of one, as stored.
type Passkey struct {
	ID         []byte // as the authenticator calls it
	Person     ship.PersonID
	Name       string
	Credential []byte // JSON
	CreatedAt  time.Time
	UsedAt     time.Time
}

const sqlAddPasskey = `
INSERT INTO passkeys (id, person_id, name, credential, created_at)
VALUES (@id, @person, @name, @credential, @at)
ON CONFLICT DO NOTHING`

// AddPasskey stores a new passkey. It is ship.Conflict if it is there.
func (s *Store) AddPasskey(ctx context.Context, k Passkey) error {
	args := personArgs(k.Person)
	args["id"] = k.ID
	args["name"] = k.Name
	args["credential"] = k.Credential
	args["at"] = k.CreatedAt

	n, err := s.run(ctx, sqlAddPasskey, args)
	if err == nil && n == 0 {
		err = ship.Coded(ship.Conflict, "passkey_refused", "this passkey is already registered")
	}
	return err
}

const sqlPasskeys = `
SELECT k.id, k.name, k.credential, k.created_at, k.last_used_at
FROM passkeys k
WHERE k.person_id = @person
ORDER BY k.created_at, k.id`

// Passkeys lists the passkeys of a person, oldest first.
func (s *Store) Passkeys(ctx context.Context, person ship.PersonID) ([]Passkey, error) {
	scan := func(r pgx.CollectableRow) (Passkey, error) {
		passkey := Passkey{Person: person}
		var used *time.Time
		err := r.Scan(&passkey.ID, &passkey.Name, &passkey.Credential, &passkey.CreatedAt, &used)
		passkey.CreatedAt = passkey.CreatedAt.UTC()
		passkey.UsedAt = timeOrZero(used)
		return passkey, err
	}
	return selectList(ctx, s.system(), scan, sqlPasskeys, personArgs(person))
}

// sqlUsePasskey accepts a signature count only above the stored one. An
// authenticator that does not count reports 0.
const sqlUsePasskey = `
UPDATE passkeys SET credential = @credential, last_used_at = @at
WHERE id = @id AND person_id = @person
  AND (@count = 0 OR coalesce((credential->'authenticator'->>'signCount')::bigint, 0) < @count)`

// UsePasskey records that a passkey was used, with the signature count that it
// reported. It is ship.Conflict if the passkey is gone or has reported as high a
// count before: then it was cloned.
func (s *Store) UsePasskey(ctx context.Context, k Passkey, count uint32) error {
	args := personArgs(k.Person)
	args["id"] = k.ID
	args["credential"] = k.Credential
	args["at"] = k.UsedAt
	args["count"] = int64(count)

	n, err := s.run(ctx, sqlUsePasskey, args)
	if err == nil && n == 0 {
		err = ship.Coded(ship.Conflict, "passkey_refused", "this passkey was not accepted")
	}
	return err
}

const sqlRemovePasskey = `DELETE FROM passkeys WHERE id = @id AND person_id = @person`

// RemovePasskey removes a passkey of the person; ship.NotFound if there is
// none.
func (s *Store) RemovePasskey(ctx context.Context, person ship.PersonID, id []byte) error {
	args := personArgs(person)
	args["id"] = id
	n, err := s.run(ctx, sqlRemovePasskey, args)
	if err == nil && n == 0 {
		err = ship.Errorf(ship.NotFound, "no such passkey")
	}
	return err
}
