package store

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// Restores of the database to an earlier moment: which server it is and how far it has
// come, which copies of the service beat on it, and what was noticed.

// A ServerPosition says which database this is and how far it has come. Any login may
// read it.
type ServerPosition struct {
	System   string `json:"system"`   // identifier of the cluster
	Timeline int    `json:"timeline"` // of its log
	WAL      int64  `json:"wal"`      // position in it
	Database uint32 `json:"database"` // within the cluster
}

// sqlServerPosition reads the timeline from the name of the present log file: the last
// checkpoint still names the old one for a while after a promotion. A standby has no
// position of its own.
const sqlServerPosition = `
SELECT (SELECT system_identifier::text FROM pg_control_system()),
  CASE WHEN pg_is_in_recovery() THEN 0
    ELSE ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int END,
  CASE WHEN pg_is_in_recovery() THEN 0
    ELSE (pg_current_wal_lsn() - '0/0'::pg_lsn)::bigint END,
  (SELECT oid FROM pg_database WHERE datname = current_database())`

func (p *ServerPosition) targets() []any {
	return []any{&p.System, &p.Timeline, &p.WAL, &p.Database}
}

// A RestoreState is what is recorded of the last restore.
type RestoreState struct {
	Number      int       // how many were noticed; 0 for none
	NoticedAt   time.Time // zero if none was
	NoticedBy   string
	RestoredTo  time.Time
	ContinuedAt time.Time // zero until an operator released all accounts

	// AsksCarriers says that purchases of the lost time may be unknown to all: one
	// under a key is looked up before it is made.
	AsksCarriers bool

	// HasMissing says that there are rows of missing purchases, decided or not.
	HasMissing bool
}

const sqlRestoreState = `
SELECT r.number, r.noticed_at, coalesce(r.noticed_by, ''), r.restored_to, r.continued_at,
  r.may_have_lost AND r.continued_at IS NULL AND EXISTS (
    SELECT FROM unnest(r.awaited) AS awaited (copy_id)
    WHERE NOT EXISTS (SELECT FROM service_copies c WHERE c.copy_id = awaited.copy_id AND c.joined >= r.number)
  ),
  EXISTS (SELECT FROM missing_purchases)
FROM restore_state r`

// RestoreState reads what is recorded of the last restore.
func (s *Store) RestoreState(ctx context.Context) (RestoreState, error) {
	state, err := selectOne(ctx, s.sys, scanRestoreState, sqlRestoreState)
	if err != nil {
		return state, fmt.Errorf("read the state of restores: %w", err)
	}
	return state, nil
}

func scanRestoreState(r pgx.CollectableRow) (RestoreState, error) {
	var state RestoreState
	var noticedAt, restoredTo, continuedAt *time.Time
	err := r.Scan(&state.Number, &noticedAt, &state.NoticedBy, &restoredTo, &continuedAt, &state.AsksCarriers, &state.HasMissing)
	state.NoticedAt = timeOrZero(noticedAt)
	state.RestoredTo = timeOrZero(restoredTo)
	state.ContinuedAt = timeOrZero(continuedAt)
	return state, err
}

// A CopyState is what the database knows of a copy.
type CopyState struct {
	Server ServerPosition
	Beat   int64     // 0 if it does not know the copy
	SeenAt time.Time // when it beat last
	Joined int
}

const sqlCopyState = `
SELECT p.*, coalesce(c.beat, 0), c.seen_at, coalesce(c.joined, 0)
FROM (` + sqlServerPosition + `) p
LEFT JOIN service_copies c ON c.copy_id = @copy`

// CopyState reads what the database knows of a copy, and which database it is.
func (s *Store) CopyState(ctx context.Context, copyID string) (CopyState, error) {
	var state CopyState
	var seenAt *time.Time
	targets := append(state.Server.targets(), &state.Beat, &seenAt, &state.Joined)
	err := s.sys.QueryRow(ctx, sqlCopyState, pgx.NamedArgs{"copy": copyID}).Scan(targets...)
	state.SeenAt = timeOrZero(seenAt)
	if err != nil {
		return state, fmt.Errorf("read the state of a copy: %w", explain(err))
	}
	return state, nil
}

// sqlBeat also says that the copy has joined its log after the last restore, if it has.
const sqlBeat = `
INSERT INTO service_copies AS c (copy_id, host, seen_at, beat, joined)
VALUES (@copy, @host, now(), greatest(@least::bigint, 1), @joined)
ON CONFLICT (copy_id) DO UPDATE SET
  host = excluded.host,
  seen_at = now(),
  ended_at = NULL,
  beat = greatest(c.beat + 1, @least::bigint),
  joined = greatest(c.joined, excluded.joined)
RETURNING beat, seen_at, pg_current_wal_lsn() - '0/0'::pg_lsn`

// A Beat is what a copy writes to its disk once the database has it.
type Beat struct {
	Number int64
	At     time.Time // on the database's clock
	WAL    int64
}

// Beat records that a copy is alive, with a beat above all it made before. It has joined
// its log after the restore of the number.
func (s *Store) Beat(ctx context.Context, copyID, host string, last int64, joined int) (Beat, error) {
	var beat Beat
	row := s.sys.QueryRow(ctx, sqlBeat, pgx.NamedArgs{"copy": copyID, "host": host, "least": last + 1, "joined": joined})
	if err := row.Scan(&beat.Number, &beat.At, &beat.WAL); err != nil {
		return beat, fmt.Errorf("record a beat: %w", explain(err))
	}
	return beat, nil
}

const sqlEndCopy = `UPDATE service_copies SET ended_at = now() WHERE copy_id = @copy`

// EndCopy records that a copy stopped in order: a later restore does not wait for it.
func (s *Store) EndCopy(ctx context.Context, copyID string) error {
	_, err := s.run(ctx, sqlEndCopy, pgx.NamedArgs{"copy": copyID})
	return err
}

const sqlCopiesSeen = `
SELECT copy_id, seen_at FROM service_copies
WHERE ended_at IS NULL AND seen_at > now() - interval '1 day'`

// CopiesSeen returns the copies that have not ended, with when they beat last.
func (s *Store) CopiesSeen(ctx context.Context) (map[string]time.Time, error) {
	seen := map[string]time.Time{}
	var id string
	var at time.Time
	err := selectEach(ctx, s.sys, []any{&id, &at}, func() error {
		seen[id] = at.UTC()
		return nil
	}, sqlCopiesSeen)
	if err != nil {
		return nil, fmt.Errorf("read the copies: %w", err)
	}
	return seen, nil
}

// A NoticedRestore is a restore as a copy or a person has noticed it.
type NoticedRestore struct {
	By          string // "identifier", "timeline", "position", "missing" or "command"
	MayHaveLost bool   // purchases that no log has
	Since       int    // the number of the last restore that was known

	// RestoredTo is about the moment that the database was put back to; zero if the
	// database must say.
	RestoredTo time.Time
	Copies     map[string]time.Time // that the disk has seen, with when they were last alive
}

// sqlNoticeRestore records a restore once, however many copies notice it: one that knows
// of no restore after @since has noticed the one that is recorded. Awaited are the copies
// that were alive at the moment that the database was put back to, whose rows have stood
// still since, and those that the disks have seen later.
const sqlNoticeRestore = `
WITH known AS (
  SELECT coalesce(@restored_to::timestamptz,
      max(seen_at) FILTER (WHERE seen_at < pg_postmaster_start_time()),
      max(seen_at)) AS moment,
    count(*) AS copies
  FROM service_copies
), alive AS (
  SELECT copy_id FROM service_copies, known
  WHERE (ended_at IS NULL OR ended_at >= moment)
    AND seen_at BETWEEN moment - interval '1 minute' AND moment + interval '1 minute'
  UNION
  SELECT copy_id FROM known, unnest(@copies::text[], @seen::timestamptz[]) AS disk (copy_id, seen)
  WHERE moment IS NULL OR seen >= moment - interval '1 minute'
  UNION
  SELECT 'unknown' FROM known WHERE copies = 0 AND cardinality(@copies::text[]) = 0
)
UPDATE restore_state SET
  number = greatest(number, @since + 1),
  noticed_at = CASE WHEN number <= @since THEN now() ELSE noticed_at END,
  noticed_by = CASE WHEN number <= @since THEN @noticed_by ELSE noticed_by END,
  restored_to = CASE WHEN number <= @since THEN known.moment ELSE restored_to END,
  may_have_lost = @may_have_lost OR number > @since AND may_have_lost,
  awaited = ARRAY(
    SELECT copy_id FROM alive
    UNION
    SELECT copy_id FROM unnest(awaited) AS earlier (copy_id) WHERE number > @since
  ),
  continued_at = CASE WHEN number > @since THEN continued_at END
FROM known
RETURNING number`

// NoticeRestore records that the database was put back to an earlier moment, and returns
// the number of that restore.
func (s *Store) NoticeRestore(ctx context.Context, noticed NoticedRestore) (number int, err error) {
	copies := []string{}
	seen := []time.Time{}
	for id, at := range noticed.Copies {
		copies = append(copies, id)
		seen = append(seen, at)
	}
	err = s.sys.QueryRow(ctx, sqlNoticeRestore, pgx.NamedArgs{
		"noticed_by":    noticed.By,
		"may_have_lost": noticed.MayHaveLost,
		"since":         noticed.Since,
		"restored_to":   nullTime(noticed.RestoredTo),
		"copies":        copies,
		"seen":          seen,
	}).Scan(&number)
	if err != nil {
		return 0, fmt.Errorf("record a restore: %w", explain(err))
	}
	return number, nil
}

const sqlContinue = `
WITH released AS (
  UPDATE missing_purchases SET state = 'held', decided_by = @by, decided_at = now()
  WHERE state = 'missing'
)
UPDATE restore_state SET continued_at = now() WHERE number > 0 AND continued_at IS NULL`

// Continue releases all accounts: nothing is looked up any more before it is bought, and
// what is missing is held.
func (s *Store) Continue(ctx context.Context, by string) error {
	_, err := s.run(ctx, sqlContinue, pgx.NamedArgs{"by": by})
	return err
}

// KnowRestore tells the store of which restore this process knows: it records no live
// purchase after a later one.
func (s *Store) KnowRestore(number int) { s.restoreNumber.Store(int32(number)) }

// A serverWatch notices that connections lead to another database than before: a standby
// that was promoted, or one that was restored.
type serverWatch struct {
	mu      sync.Mutex
	present ServerPosition // without its position; of the last connection
	changes int
}

// note reads where a new connection leads. It costs one round trip of a connection.
func (w *serverWatch) note(ctx context.Context, conn *pgx.Conn) error {
	var server ServerPosition
	if err := conn.QueryRow(ctx, sqlServerPosition).Scan(server.targets()...); err != nil {
		return err
	}
	if server.Timeline == 0 { // a standby, which nothing is bought on
		return nil
	}
	server.WAL = 0

	w.mu.Lock()
	defer w.mu.Unlock()
	if server != w.present {
		w.present = server
		w.changes++
	}
	return nil
}

// ServerChanges counts how often new connections led to another database than the one
// before. Nothing is bought on it before it is compared with the recovery log.
func (s *Store) ServerChanges() int {
	s.servers.mu.Lock()
	defer s.servers.mu.Unlock()
	return s.servers.changes
}
