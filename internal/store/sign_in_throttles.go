package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// A Pace is how fast failures are slowed down: Free of them cost nothing, each
// further one doubles the wait from Least, by default a second, to Most, and one is
// forgotten every Fade.
type Pace struct {
	Free  int
	Least time.Duration
	Most  time.Duration
	Fade  time.Duration
	Keep  time.Duration // after the last failure, all are forgotten; zero for a day
}

// sqlTryThrottle counts one failure more, and sets how long the next attempt has
// to wait. It changes nothing and returns no row while the subject is blocked.
const sqlTryThrottle = `
INSERT INTO sign_in_throttles AS t (subject_hash, failures, last_attempt_at, blocked_until, kept_until)
VALUES (@subject, 1, @now, @now, @kept)
ON CONFLICT (subject_hash) DO UPDATE SET (failures, last_attempt_at, blocked_until, kept_until) = (
  SELECT n, @now, @now + make_interval(secs => CASE
    WHEN n <= @free THEN 0
    ELSE least(@least::float8 * power(2, least(n - @free - 1, 30)), @most::float8) END), @kept::timestamptz
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
	var kept time.Time
	if p.Keep > 0 {
		kept = now.Add(p.Keep)
	}
	args := pgx.NamedArgs{
		"subject": subject[:],
		"now":     now,
		"free":    p.Free,
		"least":   cmp.Or(p.Least, time.Second).Seconds(),
		"most":    p.Most.Seconds(),
		"kept":    nullTime(kept),
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

// mailPace is how fast an account can send mail to addresses that its owners or
// strangers have written.
var mailPace = Pace{Free: 30, Most: time.Hour, Fade: 10 * time.Minute}

// CountMail counts a message of the account to an address that nobody has proved. It
// is ship.Limited if the account has sent too many.
func (s *Store) CountMail(ctx context.Context, account ship.AccountID, now time.Time) error {
	_, wait, err := s.TryThrottle(ctx, sha256.Sum256([]byte("mail\x00"+string(account))), mailPace, now)
	if err != nil || wait == 0 {
		return err
	}
	limited := ship.Coded(ship.Limited, "too_many_mails", "your account has sent too many messages: wait a while and try again")
	limited.RetryAfter = wait
	return limited
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
