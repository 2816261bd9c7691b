package store

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

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
