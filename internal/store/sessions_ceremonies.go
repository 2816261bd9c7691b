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

// A Pace is how fast failures are slowed down: Free of them cost nothing, each
// further one doubles the wait from a second to Most, and one is forgotten
// every Fade.
type Pace struct {
	Free int
	Most time.Duration
	Fade time.Duration
}

// sqlTryThrottle counts one failure more, and sets how long the next attempt has
// to wait. It changes nothing and returns no row while the subject is blocked.
const sqlTryThrottle = `
INSERT INTO sign_in_throttles AS t (subject_hash, failures, last_attempt_at, blocked_until)
VALUES (@subject, 1, @now, @now)
ON CONFLICT (subject_hash) DO UPDATE SET (failures, last_attempt_at, blocked_until) = (
  SELECT n, @now, @now + make_interval(secs => CASE
    WHEN n <= @free THEN 0
    ELSE least(power(2, least(n - @free - 1, 30)), @most::float8) END)
  FROM (
    SELECT greatest(t.failures - floor(extract(epoch FROM @now - t.last_attempt_at) / @fade::float8)::integer, 0) + 1 AS n
  ) AS counted)
WHERE t.blocked_until <= @now
RETURNING t.failures`

const sqlBlockedUntil = `SELECT blocked_until FROM sign_in_throttles WHERE subject_hash = @subject`

// TryThrottle counts an attempt as failed before it is made, so that attempts
// made at the same time count too; ClearThrottle takes that back. It returns how many
// failures there are with this one, or for how long the subject must wait: then
// nothing is counted.
func (s *Store) TryThrottle(ctx context.Context, subject [32]byte, p Pace, now time.Time) (failures int, wait time.Duration, err error) {
	args := pgx.NamedArgs{
		"subject": subject[:],
		"now":     now,
		"free":    p.Free,
		"most":    p.Most.Seconds(),
		"fade":    p.Fade.Seconds(),
	}
	err = s.system().QueryRow(ctx, sqlTryThrottle, args).Scan(&failures)
	if !errors.Is(err, pgx.ErrNoRows) {
		return failures, 0, explain(err)
	}

	// The subject is blocked. If the throttle was cleared meanwhile there is no
	// row, and the wait is the shortest.
	var blockedUntil time.Time
	err = s.system().QueryRow(ctx, sqlBlockedUntil, args).Scan(&blockedUntil)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return 0, 0, explain(err)
	}
	return 0, max(blockedUntil.Sub(now), time.Second), nil
}

const sqlEaseThrottle = `UPDATE sign_in_throttles SET failures = greatest(failures - 1, 0) WHERE subject_hash = @subject`

// EaseThrottle takes one attempt back: it has not failed.
func (s *Store) EaseThrottle(ctx context.Context, subject [32]byte) error {
	_, err := s.run(ctx, sqlEaseThrottle, pgx.NamedArgs{"subject": subject[:]})
	return err
}

const sqlClearThrottle = `DELETE FROM sign_in_throttles WHERE subject_hash = @subject`

// ClearThrottle forgets the failures of a subject.
func (s *Store) ClearThrottle(ctx context.Context, subject [32]byte) error {
	_, err := s.run(ctx, sqlClearThrottle, pgx.NamedArgs{"subject": subject[:]})
	return err
}
