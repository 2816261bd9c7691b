package store

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// A Ceremony is a step of signing in that has begun and can be completed once.
type Ceremony struct {
	Hash      [32]byte // of its token
	Kind      string
	Person    ship.PersonID // empty if it is not known yet
	Data      []byte
	ExpiresAt time.Time
}

const sqlAddCeremony = `
INSERT INTO auth_flows (token_hash, kind, person_id, data, expires_at)
VALUES (@hash, @kind, @person, @data, @expires)`

// AddCeremony stores a new ceremony.
func (s *Store) AddCeremony(ctx context.Context, c Ceremony) error {
	_, err := s.run(ctx, sqlAddCeremony, pgx.NamedArgs{
		"hash":    c.Hash[:],
		"kind":    c.Kind,
		"person":  null(c.Person),
		"data":    append([]byte{}, c.Data...), // none is empty, not NULL
		"expires": c.ExpiresAt,
	})
	return err
}

func scanCeremony(r pgx.Row, hash [32]byte, kind string) (Ceremony, error) {
	c := Ceremony{Hash: hash, Kind: kind}
	err := r.Scan(&c.Person, &c.Data, &c.ExpiresAt)
	if errors.Is(err, pgx.ErrNoRows) {
		return c, ceremonyGone()
	}
	return c, explain(err)
}

func ceremonyGone() error {
	return ship.Coded(ship.Gone, "expired", "this request has expired or was already used: start again")
}

func ceremonyArgs(hash [32]byte, kind string, now time.Time) pgx.NamedArgs {
	return pgx.NamedArgs{"hash": hash[:], "kind": kind, "now": now}
}

const sqlTakeCeremony = `
DELETE FROM auth_flows
WHERE token_hash = @hash AND kind = @kind AND expires_at > @now
RETURNING person_id, data, expires_at`

// TakeCeremony ends a ceremony and returns it; ship.Gone if it has ended.
func (s *Store) TakeCeremony(ctx context.Context, hash [32]byte, kind string, now time.Time) (Ceremony, error) {
	return scanCeremony(s.system().QueryRow(ctx, sqlTakeCeremony, ceremonyArgs(hash, kind, now)), hash, kind)
}

const sqlCeremony = `
SELECT person_id, data, expires_at FROM auth_flows
WHERE token_hash = @hash AND kind = @kind AND expires_at > @now`

// Ceremony returns a ceremony and leaves it; ship.Gone if it has ended.
func (s *Store) Ceremony(ctx context.Context, hash [32]byte, kind string, now time.Time) (Ceremony, error) {
	return scanCeremony(s.system().QueryRow(ctx, sqlCeremony, ceremonyArgs(hash, kind, now)), hash, kind)
}

const sqlTryCeremony = `
UPDATE auth_flows SET attempts = attempts + 1
WHERE token_hash = @hash AND kind = @kind AND expires_at > @now AND attempts < @most
RETURNING person_id, data, expires_at`

// TryCeremony counts a try of a ceremony that may be tried limit times, and
// returns it; ship.Gone if it has ended or was tried too often.
func (s *Store) TryCeremony(ctx context.Context, hash [32]byte, kind string, limit int, now time.Time) (Ceremony, error) {
	args := ceremonyArgs(hash, kind, now)
	args["most"] = limit
	return scanCeremony(s.system().QueryRow(ctx, sqlTryCeremony, args), hash, kind)
}

const sqlSpendCeremony = `
INSERT INTO auth_flows (token_hash, kind, data, expires_at)
VALUES (@hash, @kind, '', @expires)
ON CONFLICT DO NOTHING`

// SpendCeremony ends a ceremony that has no row until then; ship.Gone if it
// has ended.
func (s *Store) SpendCeremony(ctx context.Context, c Ceremony) error {
	n, err := s.run(ctx, sqlSpendCeremony, pgx.NamedArgs{"hash": c.Hash[:], "kind": c.Kind, "expires": c.ExpiresAt})
	if err == nil && n == 0 {
		err = ceremonyGone()
	}
	return err
}

const sqlDropCeremonies = `DELETE FROM auth_flows WHERE kind = @kind AND person_id IS NOT DISTINCT FROM @person::uuid`

// DropCeremonies ends all of a kind that the person has; for no person, those
// of nobody.
func (s *Store) DropCeremonies(ctx context.Context, kind string, person ship.PersonID) error {
	_, err := s.run(ctx, sqlDropCeremonies, pgx.NamedArgs{"kind": kind, "person": null(person)})
	return err
}
