package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// Moves of shards between cells: their rows in the directory, the fence around a
// shard, and what is done at the switch. How rows are copied is in moves_copy.go.

// A MoveState is how far a move is.
type MoveState string

// The states of a move. Until it is switched it can go back to planned.
const (
	MovePlanned    MoveState = "planned"
	MoveCopying    MoveState = "copying"
	MoveCatchingUp MoveState = "catching_up"
	MoveFrozen     MoveState = "frozen"
	MoveSwitched   MoveState = "switched"
	MovePurging    MoveState = "purging"
	MoveDone       MoveState = "done"
)

// A Move is a move of a shard, as the directory knows it.
type Move struct {
	ID           string
	Shard        int
	Source       string
	Target       string
	State        MoveState
	Epoch        int // of the shard afterwards
	RowsExpected int64
	RowsCopied   int64
	BytesCopied  int64
	Failures     int
	LastError    *string
	StartedAt    time.Time
	FrozenAt     *time.Time
	SwitchedAt   *time.Time
	PurgeAfter   *time.Time

	token int64 // of the lease on the shard, in both cells
}

const moveColumns = `id::text, shard, source, target, state, epoch, rows_expected, rows_copied, bytes_copied, failures, last_error,
  started_at, frozen_at, switched_at, purge_after`

// A Mover moves shards. It has a connection of the directory's owner, and in both
// cells one of an operator's login: a superuser, because subscriptions and rows of
// all accounts need that.
type Mover struct {
	directory, source, target *pgx.Conn
	directoryURL              string
	databases                 map[string]string // of the cells, by name
}

// OpenDirectoryOwner connects to the directory as the owner of its tables.
func OpenDirectoryOwner(ctx context.Context, url string) (*Mover, error) {
	conn, err := connectOwner(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("directory: %w", err)
	}
	return &Mover{directory: conn, directoryURL: url}, nil
}

// Close ends the connections.
func (m *Mover) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	m.closeCells(ctx)
	_ = m.directory.Close(ctx)
}

func (m *Mover) closeCells(ctx context.Context) {
	for _, conn := range []*pgx.Conn{m.source, m.target} {
		if conn != nil {
			_ = conn.Close(ctx)
		}
	}
	m.source = nil
	m.target = nil
}

// Places returns the map of the directory.
func (m *Mover) Places(ctx context.Context) (*CellMap, error) { return readCellMap(ctx, m.directory) }

const (
	sqlOpenMove = `SELECT ` + moveColumns + ` FROM shard_moves WHERE shard = $1 AND state <> 'done'`

	sqlMoves = `SELECT ` + moveColumns + ` FROM shard_moves WHERE $1 OR state <> 'done' ORDER BY started_at`

	sqlPlanMove = `
INSERT INTO shard_moves (shard, source, target, epoch)
SELECT s.shard, s.cell, c.name, s.epoch + 1
FROM shards s JOIN cells c ON c.name = @target
WHERE s.shard = @shard AND s.cell <> c.name
RETURNING ` + moveColumns
)

// Moves lists the moves that are not done, or all of them.
func (m *Mover) Moves(ctx context.Context, all bool) ([]Move, error) {
	return selectList(ctx, m.directory, pgx.RowToStructByPos[Move], sqlMoves, all)
}

// Why a move cannot begin yet.
var (
	ErrOldRows = errors.New("keeps its old rows")
	ErrBusy    = errors.New("another mover is at work")
)

// Plan returns the open move of the shard to the cell, or a new one.
func (m *Mover) Plan(ctx context.Context, shard ship.Shard, target string) (Move, error) {
	open, err := selectOne(ctx, m.directory, pgx.RowToStructByPos[Move], sqlOpenMove, int(shard))
	switch {
	case ship.KindOf(err) == ship.NotFound:
	case err != nil:
		return open, err
	case open.State == MovePurging:
		return open, fmt.Errorf("shard %d has moved from %s to %s, and %s %w until %s: \"waybill shard purge --now\" deletes them at once",
			shard, open.Source, open.Target, open.Source, ErrOldRows, open.PurgeAfter.Local().Format(time.DateTime))
	case open.Target != target:
		return open, ship.Errorf(ship.Conflict, "shard %d is moving to %s already", shard, open.Target)
	default:
		return open, nil
	}

	planned, err := selectOne(ctx, m.directory, pgx.RowToStructByPos[Move], sqlPlanMove, pgx.NamedArgs{"shard": int(shard), "target": target})
	if ship.KindOf(err) == ship.NotFound {
		return planned, ship.Errorf(ship.NotFound, "there is no cell %s, or it holds shard %d already", target, shard)
	}
	return planned, err
}

// moverLock is the class of the locks that keep two movers from one move.
const moverLock = 2002876005

const (
	sqlLockMove   = `SELECT pg_try_advisory_lock($1, $2)`
	sqlUnlockMove = `SELECT pg_advisory_unlock($1, $2)`
)

const sqlShardMove = `SELECT ` + moveColumns + ` FROM shard_moves WHERE id = $1::uuid`

// Open connects to both cells of a move, and keeps other movers from it until it is
// released or the connection to the directory ends.
func (m *Mover) Open(ctx context.Context, move *Move, databases map[string]string) error {
	if err := m.lock(ctx, move); err != nil {
		return err
	}

	m.closeCells(ctx)
	m.databases = databases
	return m.Reconnect(ctx, move)
}

// lock keeps other movers from the move. The state is read again under the lock:
// another mover may have taken the move further since it was read.
func (m *Mover) lock(ctx context.Context, move *Move) error {
	isFree, err := selectOne(ctx, m.directory, pgx.RowTo[bool], sqlLockMove, moverLock, move.Shard)
	if err != nil {
		return err
	}
	if !isFree {
		busy := ship.Errorf(ship.Conflict, "another mover is at work on shard %d", move.Shard)
		return errors.Join(busy, ErrBusy)
	}

	present, err := selectOne(ctx, m.directory, pgx.RowToStructByPos[Move], sqlShardMove, move.ID)
	if err == nil {
		*move = present
	}
	return err
}

// Reconnect connects to the cells of a move again, where the connection was lost.
func (m *Mover) Reconnect(ctx context.Context, move *Move) error {
	if err := m.reconnect(ctx, &m.source, move.Source); err != nil {
		return err
	}
	return m.reconnect(ctx, &m.target, move.Target)
}

func (m *Mover) reconnect(ctx context.Context, conn **pgx.Conn, cell string) (err error) {
	if *conn == nil || (*conn).IsClosed() {
		*conn, err = openCell(ctx, cell, m.databases)
	}
	return err
}

// relockPatience is how long the lock of a connection that broke is waited for.
const relockPatience = 5 * time.Second

// reopenDirectory connects to the directory again, if the connection was lost: a
// statement that is cancelled closes its own. The lock of the move went with it, so it
// is taken again.
func (m *Mover) reopenDirectory(ctx context.Context, move *Move) error {
	if !m.directory.IsClosed() {
		return nil
	}
	conn, err := connectOwner(ctx, m.directoryURL)
	if err != nil {
		return fmt.Errorf("directory: %w", err)
	}
	m.directory = conn

	for start := time.Now(); ; {
		err := m.lock(ctx, move)
		if ship.KindOf(err) != ship.Conflict || time.Since(start) > relockPatience {
			return err
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

// Release lets other movers at the move.
func (m *Mover) Release(ctx context.Context, move *Move) error {
	_, err := m.directory.Exec(ctx, sqlUnlockMove, moverLock, move.Shard)
	return explain(err)
}

const sqlInspectCell = `
SELECT (SELECT cell FROM instance), EXISTS (SELECT FROM cell_state), current_setting('wal_level'),
  (SELECT rolsuper FROM pg_roles WHERE rolname = current_user),
  (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = '` + application + `')`

// openCell connects to the database of a cell with an operator's login.
func openCell(ctx context.Context, name string, databases map[string]string) (*pgx.Conn, error) {
	if databases[name] == "" {
		return nil, ship.Errorf(ship.Invalid, "the address of the database of cell %s is missing: --cell-database %s=postgres://...", name, name)
	}
	conn, state, err := inspectSchema(ctx, databases[name])
	if err != nil {
		return nil, fmt.Errorf("cell %s: %w", name, err)
	}

	var present, walLevel string
	var isFenced, isSuperuser bool
	var unaware int
	err = conn.QueryRow(ctx, sqlInspectCell).Scan(&present, &isFenced, &walLevel, &isSuperuser, &unaware)
	switch {
	case err != nil:
		err = explain(err)
	case state.NeedsMigration() != nil:
		err = state.NeedsMigration()
	case !isFenced || present != name:
		err = ship.Errorf(ship.Conflict, "the database is not this cell")
	case !isSuperuser:
		err = ship.Errorf(ship.Forbidden, "a move needs a superuser, and %s is not one", state.Login.User)
	case walLevel != "logical":
		err = ship.Errorf(ship.Conflict, "the server has wal_level=%s: set wal_level=logical, and restart it", walLevel)
	case unaware > 0:
		err = ship.Errorf(ship.Conflict, "%d connections are of copies of the service that were started before the database became a cell: restart them", unaware)
	}
	if err == nil {
		_, err = conn.Exec(ctx, sqlSameText)
	}
	if err != nil {
		_ = conn.Close(ctx)
		return nil, fmt.Errorf("cell %s: %w", name, err)
	}
	return conn, nil
}

// sqlSameText has both cells of a move write values as the same text, because texts are
// compared, whatever the settings of their servers are. A copy may take long.
const sqlSameText = `
SELECT set_config('timezone', 'UTC', false), set_config('datestyle', 'ISO', false), set_config('intervalstyle', 'postgres', false),
  set_config('bytea_output', 'hex', false), set_config('extra_float_digits', '1', false), set_config('statement_timeout', '0', false)`

const (
	sqlSetMoveState = `
UPDATE shard_moves SET state = @state, changed_at = now(),
  frozen_at = CASE WHEN @state = 'frozen' THEN clock_timestamp() WHEN @state = 'planned' THEN NULL ELSE frozen_at END,
  purge_after = CASE WHEN @state = 'purging' THEN now() + @keep::interval ELSE purge_after END
WHERE id = @id::uuid
RETURNING frozen_at, switched_at`

	sqlMoveFailed = `
UPDATE shard_moves SET state = 'planned', failures = failures + 1, last_error = @error, changed_at = now(), rows_copied = 0, bytes_copied = 0
WHERE id = @id::uuid AND state IN ('planned', 'copying', 'catching_up', 'frozen')`
)

// SetState records how far the move is. Keep is for how long the source keeps its
// rows, for a move that begins to purge.
func (m *Mover) SetState(ctx context.Context, move *Move, state MoveState, keep time.Duration) error {
	args := pgx.NamedArgs{"id": move.ID, "state": string(state), "keep": keep}
	if err := m.directory.QueryRow(ctx, sqlSetMoveState, args).Scan(&move.FrozenAt, &move.SwitchedAt); err != nil {
		return explain(err)
	}
	move.State = state
	return nil
}

const (
	sqlHold = `
UPDATE shards SET moving_to = @target, lease_token = @token, lease_until = clock_timestamp() + @lease::interval
WHERE shard = @shard AND lease_token <= @token`

	sqlFreeze = `
UPDATE shards SET frozen = true
WHERE shard = @shard AND lease_token = @token AND moving_to IS NOT NULL AND lease_until > clock_timestamp()`

	sqlThaw = `UPDATE shards SET moving_to = NULL, frozen = false, lease_until = NULL WHERE shard = @shard AND cell = @source`

	sqlLockShard = `SELECT pg_advisory_xact_lock(2002876004, $1)`

	// sqlNoticeEndpoints has the dispatcher read the endpoints' rows again, with the
	// positions that sqlKeepPositions gave them.
	sqlNoticeEndpoints = `
UPDATE webhook_endpoints SET version = version + 1, changed_at = clock_timestamp()
WHERE shard_of(account_id) = @shard`

	// sqlNoticeThawed is for endpoints of a shard that was frozen.
	sqlNoticeThawed = sqlNoticeEndpoints + ` AND EXISTS (SELECT FROM shards WHERE shard = @shard AND cell = @source AND frozen)`
)

// GoBack gives up an attempt to move: the shard is served at its source again, and
// what was copied is dropped.
//
// The directory is asked first, and if it does not answer, nothing is done: the
// switch may be recorded although its answer was lost, and then the target has the
// only shard that is served. A move that turns out to be switched is left as it is.
func (m *Mover) GoBack(ctx context.Context, move *Move, cause error) error {
	if err := m.reopenDirectory(ctx, move); err != nil {
		return err
	}

	args := moveArgs(move)
	args["error"] = cause.Error()
	tag, err := m.directory.Exec(ctx, sqlMoveFailed, args)
	if err != nil {
		return explain(err)
	}
	if tag.RowsAffected() == 0 {
		move.State = MoveSwitched
		return nil
	}
	move.State = MovePlanned

	// The source first: the shard is served there even if the target is down.
	err = m.reconnect(ctx, &m.source, move.Source)
	if err == nil {
		err = m.thawSource(ctx, args)
	}
	if err == nil {
		_, err = m.directory.Exec(ctx, sqlThaw, args)
	}
	if err != nil {
		return fmt.Errorf("serve shard %d again: %w", move.Shard, explain(err))
	}

	if err := m.reconnect(ctx, &m.target, move.Target); err != nil {
		return err
	}
	if err := raiseLogEpoch(ctx, m.target, 0); err != nil {
		return err
	}
	return m.DropCopies(ctx, move)
}

// thawSource has the source serve the shard again. While it was frozen, its webhooks'
// dispatcher saw none of its events, so the endpoints go back to where they were.
func (m *Mover) thawSource(ctx context.Context, args pgx.NamedArgs) error {
	return pgx.BeginFunc(ctx, m.source, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlNoticeThawed, args); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, sqlThaw, args)
		return err
	})
}

// Hold has routers hold the requests of the shard, and copies of the service refuse
// them.
func (m *Mover) Hold(ctx context.Context, move *Move) error {
	token, err := selectOne(ctx, m.directory, pgx.RowTo[int64], sqlNewToken)
	if err != nil {
		return err
	}
	move.token = token
	for _, conn := range []*pgx.Conn{m.directory, m.source} {
		tag, err := conn.Exec(ctx, sqlHold, moveArgs(move))
		if err != nil {
			return explain(err)
		}
		if tag.RowsAffected() == 0 {
			return ship.Errorf(ship.Conflict, "another mover holds shard %d", move.Shard)
		}
	}
	return nil
}

// sqlLimitFreeze is how long a move waits for transactions that are in the shard.
const sqlLimitFreeze = `SET lock_timeout = '5s'`

// From the moment that a shard is frozen, the service's own role sees none of its rows.
// The dispatcher of webhooks and the roll-up of the counts follow the log of all
// shards with one cursor: they pass the events of this one unseen. So what they have
// yet to do is written down before.
const (
	sqlHoldSlots = `SELECT slot FROM webhook_slots ORDER BY slot FOR UPDATE`

	// sqlKeepPositions has the endpoints read on by themselves from where their slot
	// is. What was delivered since is not sent again, as in a recovery.
	sqlKeepPositions = `
UPDATE webhook_endpoints e SET
  cursor_txid = coalesce(e.cursor_txid, s.cursor_txid),
  cursor_id = coalesce(e.cursor_id, s.cursor_id),
  cursor_at = coalesce(e.cursor_at, s.cursor_at),
  recover_since = coalesce(e.recover_since, e.cursor_at, s.cursor_at),
  catching_up = true,
  version = e.version + 1
FROM webhook_slots s
WHERE s.slot = e.slot AND shard_of(e.account_id) = @shard`

	// sqlKeepUncounted notes the shipments that the log has events of which are yet to
	// be counted.
	sqlKeepUncounted = `
INSERT INTO shipment_changes (account_id, livemode, shipment_id)
SELECT DISTINCT e.account_id, e.livemode, e.subject_id FROM events e, facts_progress p
WHERE (e.txid, e.id) > (p.cursor_txid, p.cursor_id) AND NOT e.is_tracker AND shard_of(e.account_id) = @shard`
)

// Freeze ends writing to the shard. When it returns, no transaction is open that
// could still write to it: those of tenants hold the shard's lock, and all others
// that began before are waited for.
func (m *Mover) Freeze(ctx context.Context, move *Move) error {
	if _, err := m.source.Exec(ctx, sqlLimitFreeze); err != nil {
		return explain(err)
	}
	err := pgx.BeginFunc(ctx, m.source, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlLockShard, move.Shard); err != nil {
			return err
		}

		// The dispatcher and the roll-up lock these rows first, so neither is
		// between two statements when the shard disappears.
		for _, statement := range []string{sqlHoldSlots, sqlHoldRollUp} {
			if _, err := tx.Exec(ctx, statement); err != nil {
				return err
			}
		}
		for _, statement := range []string{sqlKeepPositions, sqlKeepUncounted} {
			if _, err := tx.Exec(ctx, statement, moveArgs(move)); err != nil {
				return err
			}
		}
		tag, err := tx.Exec(ctx, sqlFreeze, moveArgs(move))
		if err == nil && tag.RowsAffected() == 0 {
			return errTakenBack(move)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("freeze shard %d: %w", move.Shard, explain(err))
	}
	return waitOut(ctx, m.source)
}

const (
	sqlClock = `SELECT clock_timestamp()`

	sqlOlderTransactions = `
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND application_name = '` + cellApplication + `' AND xact_start < $1`

	waitOutAtMost = 10 * time.Second
)

// waitOut waits until every transaction of the service that is open now has ended.
func waitOut(ctx context.Context, conn *pgx.Conn) error {
	began, err := selectOne(ctx, conn, pgx.RowTo[time.Time], sqlClock)
	if err != nil {
		return err
	}
	for start := time.Now(); ; {
		open, err := selectOne(ctx, conn, pgx.RowTo[int], sqlOlderTransactions, began)
		if err != nil || open == 0 {
			return err
		}
		if time.Since(start) > waitOutAtMost {
			return ship.Errorf(ship.Unavailable, "%d transactions are still open after %s", open, waitOutAtMost)
		}
		if err := pause(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
}

// pause waits, unless ctx ends before.
func pause(ctx context.Context, wait time.Duration) error {
	select {
	case <-time.After(wait):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

const (
	sqlLogEpoch = `SELECT log_epoch FROM cell_state`

	// sqlRaiseLogEpoch raises the epoch, and has readers see it once no transaction is
	// open that may still write the one before: such a transaction may commit after one
	// of the new epoch, and readers must not pass it. Until then they see no new event
	// of the whole cell, so the server does both, even if the mover dies in between.
	// An epoch that somebody else raises meanwhile is not made readable here.
	sqlRaiseLogEpoch = `
DO $$
DECLARE
  began timestamptz;
  raised integer;
BEGIN
  UPDATE cell_state SET log_epoch = %[1]d WHERE log_epoch < %[1]d;
  COMMIT;
  raised := (SELECT log_epoch FROM cell_state WHERE log_epoch > readable_log_epoch);
  began := clock_timestamp();
  WHILE raised IS NOT NULL AND EXISTS (
    SELECT FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = '` + cellApplication + `' AND xact_start < began
  ) LOOP
    COMMIT; -- the list of transactions is read anew
    PERFORM pg_sleep(0.005);
  END LOOP;
  UPDATE cell_state SET readable_log_epoch = raised WHERE readable_log_epoch < raised;
END $$`
)

// RaiseLogEpoch makes what the target writes to its log from now on come after all
// that the source has written.
func (m *Mover) RaiseLogEpoch(ctx context.Context) error {
	above, err := selectOne(ctx, m.source, pgx.RowTo[int], sqlLogEpoch)
	if err != nil {
		return err
	}
	return raiseLogEpoch(ctx, m.target, above+1)
}

// raiseLogEpoch raises the epoch of a cell's log, unless it is as high. It also ends what
// a server that crashed has left half done. A mover that is stopped waits for it.
func raiseLogEpoch(ctx context.Context, conn *pgx.Conn, epoch int) error {
	_, err := conn.Exec(context.WithoutCancel(ctx), fmt.Sprintf(sqlRaiseLogEpoch, epoch))
	return explain(err)
}

// IsLogAbove reports whether the target's log still comes after the source's: another
// shard may have moved to the source meanwhile.
func (m *Mover) IsLogAbove(ctx context.Context) (bool, error) {
	source, err := selectOne(ctx, m.source, pgx.RowTo[int], sqlLogEpoch)
	if err != nil {
		return false, err
	}
	target, err := selectOne(ctx, m.target, pgx.RowTo[int], sqlLogEpoch)
	return target > source, err
}

const sqlSwitch = `
WITH moved AS (
  UPDATE shards SET cell = @target, epoch = @epoch, moving_to = @target, frozen = true, lease_until = NULL
  WHERE shard = @shard AND lease_token = @token
  RETURNING shard
)
UPDATE shard_moves SET state = 'switched', changed_at = now() WHERE id = @id::uuid AND EXISTS (SELECT FROM moved)`

// Switch makes the target the shard's owner in the directory. From here on the
// move can only go forward.
func (m *Mover) Switch(ctx context.Context, move *Move) error {
	tag, err := m.directory.Exec(ctx, sqlSwitch, moveArgs(move))
	if err != nil {
		return explain(err)
	}
	if tag.RowsAffected() == 0 {
		return errTakenBack(move)
	}
	move.State = MoveSwitched
	return nil
}

func moveArgs(move *Move) pgx.NamedArgs {
	return pgx.NamedArgs{
		"id":     move.ID,
		"shard":  move.Shard,
		"source": move.Source,
		"target": move.Target,
		"epoch":  move.Epoch,
		"token":  move.token,
		"lease":  LeaseFor,
	}
}

const (
	// sqlArrive finds no row if it was done before.
	sqlArrive = `
UPDATE shards SET cell = @target, epoch = @epoch, moving_to = NULL, frozen = false, lease_until = NULL
WHERE shard = @shard AND NOT (cell = @target AND epoch = @epoch AND NOT frozen)`

	// sqlUncounted lists the shipments whose facts at the source lack their last
	// change.
	sqlUncounted = `
SELECT DISTINCT account_id::text, livemode, shipment_id::text FROM shipment_changes WHERE shard_of(account_id) = @shard`

	sqlCountAgain = `
INSERT INTO shipment_changes (account_id, livemode, shipment_id)
SELECT * FROM unnest(@accounts::uuid[], @livemodes::boolean[], @shipments::uuid[])`

	sqlAsReplica = `SET LOCAL session_replication_role = replica`
)

// Arrive makes the target own the shard, with what is not copied as rows: the
// position of its webhooks, its jobs, its people, and the shipments that are to be
// counted. It is done once, however often it is called.
func (m *Mover) Arrive(ctx context.Context, move *Move) error {
	return pgx.BeginFunc(ctx, m.target, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, sqlArrive, moveArgs(move))
		if err != nil {
			return fmt.Errorf("own shard %d: %w", move.Shard, explain(err))
		}
		if tag.RowsAffected() == 0 {
			return nil
		}

		// Triggers and foreign keys have done their work at the source.
		if _, err := tx.Exec(ctx, sqlAsReplica); err != nil {
			return explain(err)
		}
		for _, step := range []func(context.Context, pgx.Tx, *Move) error{m.moveEndpoints, m.moveUncounted, m.moveJobs, m.movePeople} {
			if err := step(ctx, tx, move); err != nil {
				return fmt.Errorf("complete shard %d: %w", move.Shard, explain(err))
			}
		}
		return nil
	})
}

// moveEndpoints has the target's dispatcher notice the endpoints. Their positions were
// kept when the shard was frozen.
func (m *Mover) moveEndpoints(ctx context.Context, tx pgx.Tx, move *Move) error {
	_, err := tx.Exec(ctx, sqlNoticeEndpoints, moveArgs(move))
	return err
}

func (m *Mover) moveUncounted(ctx context.Context, tx pgx.Tx, move *Move) error {
	var accounts, shipments []string
	var livemodes []bool
	var account, shipment string
	var livemode bool
	err := selectEach(ctx, m.source, []any{&account, &livemode, &shipment}, func() error {
		accounts = append(accounts, account)
		livemodes = append(livemodes, livemode)
		shipments = append(shipments, shipment)
		return nil
	}, sqlUncounted, pgx.NamedArgs{"shard": move.Shard})
	if err != nil || len(accounts) == 0 {
		return err
	}
	_, err = tx.Exec(ctx, sqlCountAgain, pgx.NamedArgs{"accounts": accounts, "livemodes": livemodes, "shipments": shipments})
	return err
}

// What is moved as JSON: a few rows of tables that are not divided by account. A job
// that was running is available again. Sessions are not moved: people sign in anew.
const (
	jobsOfShard = `finalized_at IS NULL AND args->>'account' IN (SELECT account_text(a.id) FROM accounts a WHERE shard_of(a.id) = $1)`

	sqlMovedJobs = `
SELECT (to_jsonb(j) - 'id' || jsonb_build_object('state', CASE j.state::text WHEN 'running' THEN 'available' ELSE j.state::text END))::text
FROM river_job j WHERE ` + jobsOfShard

	sqlDropMovedJobs = `DELETE FROM river_job WHERE ` + jobsOfShard

	sqlColumnsBut = `
SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' AND attname <> $2`
)

func (m *Mover) moveJobs(ctx context.Context, tx pgx.Tx, move *Move) error {
	return m.moveAsJSON(ctx, tx, move, "river_job", "id", sqlMovedJobs)
}

// moveAsJSON copies the rows of a query, one JSON object each, without a column
// that the target gives a value to. What the target has already stays.
func (m *Mover) moveAsJSON(ctx context.Context, tx pgx.Tx, move *Move, table, without, query string) error {
	rows, err := selectList(ctx, m.source, pgx.RowTo[string], query, move.Shard)
	if err != nil || len(rows) == 0 {
		return err
	}
	list, err := selectOne(ctx, tx, pgx.RowTo[string], sqlColumnsBut, table, without)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, fmt.Sprintf(
		"INSERT INTO %[1]s (%[2]s) SELECT %[2]s FROM unnest($1::text[]) AS r (item), jsonb_populate_record(NULL::%[1]s, r.item::jsonb) ON CONFLICT DO NOTHING", table, list), rows)
	return err
}

const sqlLeave = `
UPDATE shards SET cell = @target, epoch = @epoch, moving_to = NULL, frozen = false, lease_until = NULL
WHERE shard = @shard AND epoch <= @epoch`

const sqlMoveSwitched = `UPDATE shard_moves SET switched_at = coalesce(switched_at, clock_timestamp()) WHERE id = @id::uuid`

// Leave has the source give the shard up, and routers send its requests to the
// target.
func (m *Mover) Leave(ctx context.Context, move *Move) error {
	for _, conn := range []*pgx.Conn{m.source, m.directory} {
		if _, err := conn.Exec(ctx, sqlLeave, moveArgs(move)); err != nil {
			return explain(err)
		}
	}
	if _, err := m.directory.Exec(ctx, sqlMoveSwitched, moveArgs(move)); err != nil {
		return explain(err)
	}
	_, err := m.source.Exec(ctx, sqlDropMovedJobs, move.Shard)
	return explain(err)
}

// sqlErasedAtTarget also finds an erasure that was requested before the shard was frozen
// and done after it.
const sqlErasedAtTarget = `
SELECT EXISTS (SELECT FROM erasures WHERE shard_of(account_id) = $1 AND (id >= $2 OR finished_at >= $3))`

// IsErased reports whether personal data of the shard was erased at the target since
// the shard was frozen. The source must not keep it then. The target works from before
// the switch is complete, and a mover that dies in between can complete it much later.
func (m *Mover) IsErased(ctx context.Context, move *Move) (bool, error) {
	at := *move.FrozenAt
	return selectOne(ctx, m.target, pgx.RowTo[bool], sqlErasedAtTarget, move.Shard, ship.RawIDAt(at), at)
}

// Purge deletes the rows of a shard at the source that it has left, some at a time.
func (m *Mover) Purge(ctx context.Context, move *Move) error {
	places, err := readCellMap(ctx, m.source)
	if err != nil {
		return err
	}
	if places.Shards[move.Shard].Cell == move.Source {
		return ship.Errorf(ship.Conflict, "%s still owns shard %d", move.Source, move.Shard)
	}
	if _, err := m.source.Exec(ctx, sqlDropMovedJobs, move.Shard); err != nil {
		return explain(err)
	}
	return deleteShard(ctx, m.source, move.Shard)
}

const (
	sqlForgetCurrentAccount = `UPDATE sessions SET current_account_id = NULL WHERE shard_of(current_account_id) = $1`

	sqlDeleteAccounts = `DELETE FROM accounts WHERE shard_of(id) = $1`

	// sqlLeaves lists the tables themselves, and the partitions of those that have
	// some.
	sqlLeaves = `
SELECT leaf.relation::regclass::text
FROM pg_class c CROSS JOIN LATERAL (
  SELECT c.oid AS relation WHERE c.relkind = 'r'
  UNION ALL SELECT p.relid FROM pg_partition_tree(c.oid) p WHERE c.relkind = 'p' AND p.isleaf
) leaf
WHERE c.relnamespace = 'public'::regnamespace AND c.relname = ANY ($1)`

	purgeBatch = 5000
)

// deleteShard deletes all rows of the shard.
func deleteShard(ctx context.Context, conn *pgx.Conn, shard int) error {
	tables, err := movedTables(ctx, conn)
	if err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, "SET session_replication_role = replica"); err != nil {
		return explain(err)
	}
	defer func() { _, _ = conn.Exec(context.WithoutCancel(ctx), "SET session_replication_role = origin") }()
	if _, err := conn.Exec(ctx, sqlForgetCurrentAccount, shard); err != nil {
		return explain(err)
	}

	// The accounts come last: the rows of the others are found by them.
	names := []string{"shipment_changes"}
	for _, table := range tables {
		if table.name != accountsTable {
			names = append(names, table.name)
		}
	}
	leaves, err := selectList(ctx, conn, pgx.RowTo[string], sqlLeaves, names)
	if err != nil {
		return err
	}
	for _, leaf := range leaves {
		statement := fmt.Sprintf(`DELETE FROM ONLY %[1]s WHERE ctid = ANY (ARRAY(
			SELECT ctid FROM ONLY %[1]s WHERE account_id = ANY (ARRAY(SELECT id FROM accounts WHERE shard_of(id) = $1)) LIMIT %[2]d))`, leaf, purgeBatch)
		for {
			tag, err := conn.Exec(ctx, statement, shard)
			if err != nil {
				return fmt.Errorf("delete from %s: %w", leaf, explain(err))
			}
			if tag.RowsAffected() < purgeBatch {
				break
			}
		}
	}
	_, err = conn.Exec(ctx, sqlDeleteAccounts, shard)
	return explain(err)
}

// quoted is a text as a literal of SQL.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
