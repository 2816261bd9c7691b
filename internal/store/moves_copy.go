package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/waybillhq/waybill/internal/ship"
)

// How the rows of a shard get to another cell: a copy in the state of a replication
// slot, and from there on Postgres' logical replication with row filters.

const accountsTable = "accounts"

// A movedTable is a table with rows of accounts.
type movedTable struct {
	name     string
	key      string   // the column with the account
	columns  []string // that are copied
	isRecord bool     // of what the service did, which it may add to while the shard is frozen
	hasKey   bool     // the account is part of the primary key
	isPart   bool     // the table has further columns, with numbers that the database gives
}

// sqlMovedTables lists the tables with rows of accounts. Numbers that the database
// gives are not copied. Changes that are yet to be counted are moved at the switch. The
// accounts come first: what a mover that dies has copied is found by them.
const sqlMovedTables = `
SELECT c.relname::text, k.attname::text,
  ARRAY(SELECT a.attname::text FROM pg_attribute a
    WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' AND a.attidentity = '' ORDER BY a.attnum),
  coalesce((SELECT pg_get_expr(p.polwithcheck, p.polrelid) = 'true' FROM pg_policy p WHERE p.polrelid = c.oid AND p.polname = 'system'), false),
  EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary AND k.attnum = ANY (i.indkey)),
  EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attidentity <> '')
FROM pg_class c
JOIN pg_attribute k ON k.attrelid = c.oid AND k.attname = CASE c.relname WHEN 'accounts' THEN 'id' ELSE 'account_id' END
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
  AND c.relname <> 'shipment_changes'
ORDER BY c.relname <> 'accounts', c.relname`

func movedTables(ctx context.Context, conn *pgx.Conn) ([]movedTable, error) {
	var tables []movedTable
	var table movedTable
	err := selectEach(ctx, conn, []any{&table.name, &table.key, &table.columns, &table.isRecord, &table.hasKey, &table.isPart}, func() error {
		tables = append(tables, table)
		table.columns = nil
		return nil
	}, sqlMovedTables)
	return tables, err
}

// copyName is the name of the publication, the slot and the subscription of a move.
func copyName(move *Move) string {
	return fmt.Sprintf("waybill_%d_%s", move.Shard, move.ID[:8])
}

const (
	sqlSubscriptions = `
SELECT subname::text FROM pg_subscription
WHERE subdbid = (SELECT oid FROM pg_database WHERE datname = current_database()) AND subname ~ ('^waybill_' || $1::int || '_')`

	sqlSlots = `SELECT slot_name::text, coalesce(active_pid, 0) FROM pg_replication_slots WHERE database = current_database() AND slot_name ~ ('^waybill_' || $1::int || '_')`

	sqlPublications = `SELECT pubname::text FROM pg_publication WHERE pubname ~ ('^waybill_' || $1::int || '_')`

	sqlEndSender = `SELECT pg_terminate_backend($1)`

	sqlDropSlot = `SELECT pg_drop_replication_slot($1)`

	sqlOtherPublications = `SELECT count(*) FROM pg_publication WHERE pubname ~ '^waybill_[0-9]+_'`
)

// StopReplication drops the subscription, the slot and the publication of the shard,
// as far as they are there.
func (m *Mover) StopReplication(ctx context.Context, move *Move) error {
	names, err := selectList(ctx, m.target, pgx.RowTo[string], sqlSubscriptions, move.Shard)
	if err != nil {
		return err
	}
	for _, name := range names {
		// The slot is dropped separately: the source may be out of reach.
		for _, statement := range []string{"ALTER SUBSCRIPTION %s DISABLE", "ALTER SUBSCRIPTION %s SET (slot_name = NONE)", "DROP SUBSCRIPTION %s"} {
			if _, err := m.target.Exec(ctx, fmt.Sprintf(statement, name)); err != nil {
				return fmt.Errorf("drop the subscription: %w", explain(err))
			}
		}
	}
	if err := m.dropSlots(ctx, move); err != nil {
		return fmt.Errorf("drop the replication slot: %w", err)
	}

	names, err = selectList(ctx, m.source, pgx.RowTo[string], sqlPublications, move.Shard)
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, err := m.source.Exec(ctx, "DROP PUBLICATION "+name); err != nil {
			return fmt.Errorf("drop the publication: %w", explain(err))
		}
	}
	return m.resetIdentities(ctx)
}

func (m *Mover) dropSlots(ctx context.Context, move *Move) error {
	for range 100 {
		var name string
		var sender int
		slots := map[string]int{}
		err := selectEach(ctx, m.source, []any{&name, &sender}, func() error {
			slots[name] = sender
			return nil
		}, sqlSlots, move.Shard)
		if err != nil || len(slots) == 0 {
			return err
		}

		for name, sender := range slots {
			if sender != 0 {
				_, err = m.source.Exec(ctx, sqlEndSender, sender)
			} else {
				_, err = m.source.Exec(ctx, sqlDropSlot, name)
			}
			if err != nil && !isObjectInUse(err) {
				return explain(err)
			}
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
	return ship.Errorf(ship.Unavailable, "the slot is still in use")
}

func isObjectInUse(err error) bool {
	failure, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (failure.Code == "55006" || failure.Code == "42704")
}

// DropCopies stops the replication, and deletes what was copied to the target.
func (m *Mover) DropCopies(ctx context.Context, move *Move) error {
	if err := m.StopReplication(ctx, move); err != nil {
		return err
	}
	places, err := readCellMap(ctx, m.target)
	if err != nil {
		return err
	}
	if place := places.Shards[move.Shard]; place.Cell == move.Target {
		return ship.Errorf(ship.Conflict, "the target owns shard %d: nothing is deleted there", move.Shard)
	}
	return deleteShard(ctx, m.target, move.Shard)
}

const sqlCountShardAccounts = `SELECT count(*) FROM accounts WHERE shard_of(id) = $1`

// IsEmpty reports whether the shard has no account, so that nothing is to be copied.
func (m *Mover) IsEmpty(ctx context.Context, move *Move) (bool, error) {
	n, err := selectOne(ctx, m.source, pgx.RowTo[int], sqlCountShardAccounts, move.Shard)
	return n == 0, err
}

// HasReplication reports whether the target still follows the source.
func (m *Mover) HasReplication(ctx context.Context, move *Move) (bool, error) {
	names, err := selectList(ctx, m.target, pgx.RowTo[string], sqlSubscriptions, move.Shard)
	return slices.Contains(names, copyName(move)), err
}

const (
	// sqlPartitions lists the partitions with the times that their names begin at.
	sqlPartitions = `
SELECT c.relname::text, to_timestamp(substring(c.relname FROM '[0-9]+$'),
  CASE length(substring(c.relname FROM '[0-9]+$')) WHEN 4 THEN 'YYYY' WHEN 6 THEN 'YYYYMM' ELSE 'YYYYMMDD' END)
FROM pg_class c JOIN pg_inherits i ON i.inhrelid = c.oid
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND c.relname ~ '_[0-9]{4,8}$'`

	sqlTableOwner = `SELECT quote_ident(pg_get_userbyid(relowner)) FROM pg_class WHERE oid = 'goose_db_version'::regclass`
)

// makePartitions gives the target the partitions of the source.
func (m *Mover) makePartitions(ctx context.Context) error {
	var name string
	var begins time.Time
	present := map[string]bool{}
	err := selectEach(ctx, m.target, []any{&name, &begins}, func() error {
		present[name] = true
		return nil
	}, sqlPartitions)
	if err != nil {
		return err
	}
	var missing []time.Time
	err = selectEach(ctx, m.source, []any{&name, &begins}, func() error {
		if !present[name] {
			missing = append(missing, begins)
		}
		return nil
	}, sqlPartitions)
	if err != nil || len(missing) == 0 {
		return err
	}

	// Partitions belong to whoever makes them.
	owner, err := selectOne(ctx, m.target, pgx.RowTo[string], sqlTableOwner)
	if err != nil {
		return err
	}
	if _, err := m.target.Exec(ctx, "SET ROLE "+owner); err != nil {
		return explain(err)
	}
	defer func() { _, _ = m.target.Exec(context.WithoutCancel(ctx), "RESET ROLE") }()
	slices.SortFunc(missing, time.Time.Compare)
	for _, at := range slices.Compact(missing) {
		if _, err := m.target.Exec(ctx, sqlMakePartitions, at); err != nil {
			return fmt.Errorf("create partitions: %w", explain(err))
		}
	}
	return nil
}

const (
	sqlSetIdentities = `
DO $$
DECLARE
  leaf regclass;
BEGIN
  FOR leaf IN SELECT i.inhrelid FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'events'::regclass AND c.relreplident <> '%s' LOOP
    EXECUTE format('ALTER TABLE %%s REPLICA IDENTITY %s', leaf);
  END LOOP;
END $$`

	// sqlLockIdentities keeps two movers of one source from each other.
	sqlLockIdentities = `SELECT pg_advisory_xact_lock($1, -1)`

	sqlLimitIdentityLock = `SET LOCAL lock_timeout = '500ms'`
)

// inIdentities runs fn in a transaction in which no other mover changes the identities of
// events. Changing them takes a lock on events that everybody else waits behind. So it
// waits for a short time only and tries again, like a migration.
func (m *Mover) inIdentities(ctx context.Context, fn func(tx pgx.Tx) error) error {
	for start := time.Now(); ; {
		err := pgx.BeginFunc(ctx, m.source, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, sqlLimitIdentityLock); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, sqlLockIdentities, moverLock); err != nil {
				return err
			}
			return fn(tx)
		})
		if !isLockFailure(err) || time.Since(start) > lockPatience {
			return explain(err)
		}
		if err := pause(ctx, lockPause); err != nil {
			return err
		}
	}
}

// resetIdentities ends what Copy set, once no other move needs it.
func (m *Mover) resetIdentities(ctx context.Context) error {
	return m.inIdentities(ctx, func(tx pgx.Tx) error {
		others, err := selectOne(ctx, tx, pgx.RowTo[int], sqlOtherPublications)
		if err != nil || others > 0 {
			return err
		}
		_, err = tx.Exec(ctx, fmt.Sprintf(sqlSetIdentities, "d", "DEFAULT"))
		return err
	})
}

// publish makes the publication of the shard's rows. Filters may call nothing but
// functions of Postgres itself. An update or delete is filtered by the old key, of
// which the account is part; events have another key, and publish whole rows.
func (m *Mover) publish(ctx context.Context, move *Move, tables []movedTable) error {
	published := []string{fmt.Sprintf("shard_markers WHERE (shard = %d)", move.Shard)}
	for _, table := range tables {
		if !table.hasKey && table.name != "events" {
			return fmt.Errorf("the primary key of %s has no account: it cannot be moved", table.name)
		}
		name := table.name
		if table.isPart {
			name += " (" + strings.Join(table.columns, ", ") + ")"
		}
		published = append(published, fmt.Sprintf("%s WHERE (get_byte(uuid_send(%s), 6) = %d AND get_byte(uuid_send(%[2]s), 7) >> 4 = %[4]d)",
			name, table.key, move.Shard>>4, move.Shard&15))
	}

	err := m.inIdentities(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, fmt.Sprintf(sqlSetIdentities, "f", "FULL")); err != nil {
			return fmt.Errorf("replica identity of events: %w", err)
		}
		_, err := tx.Exec(ctx, fmt.Sprintf("CREATE PUBLICATION %s FOR TABLE %s WITH (publish_via_partition_root = true)", copyName(move), strings.Join(published, ", TABLE ")))
		return err
	})
	if err != nil {
		return fmt.Errorf("create the publication: %w", err)
	}
	return nil
}

// Copy copies the rows of the shard to the target, and has it follow the source from
// there on. Progress is called now and then.
func (m *Mover) Copy(ctx context.Context, move *Move, progress func(*Move)) error {
	tables, err := movedTables(ctx, m.source)
	if err != nil {
		return err
	}
	if err := m.makePartitions(ctx); err != nil {
		return err
	}
	if err := m.publish(ctx, move, tables); err != nil {
		return err
	}

	// The slot and the copy begin at the same state: what commits later is
	// replicated, what committed before is copied.
	replication, err := connectReplication(ctx, m.databases[move.Source])
	if err != nil {
		return fmt.Errorf("connect for replication: %w", err)
	}
	defer func() { _ = replication.Close(context.WithoutCancel(ctx)) }()
	results, err := replication.Exec(ctx, fmt.Sprintf("CREATE_REPLICATION_SLOT %s LOGICAL pgoutput (SNAPSHOT 'export')", copyName(move))).ReadAll()
	if err != nil {
		return fmt.Errorf("create the replication slot: %w", explain(err))
	}
	snapshot := string(results[0].Rows[0][2])

	err = pgx.BeginTxFunc(ctx, m.source, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SET TRANSACTION SNAPSHOT "+quoted(snapshot)); err != nil {
			return err
		}
		return m.copyTables(ctx, tx, move, tables, progress)
	})
	if err != nil {
		return err
	}

	_, err = m.target.Exec(ctx, fmt.Sprintf("CREATE SUBSCRIPTION %[1]s CONNECTION %[2]s PUBLICATION %[1]s WITH (create_slot = false, copy_data = false, slot_name = %[1]s)",
		copyName(move), quoted(m.databases[move.Source])))
	if err != nil {
		return fmt.Errorf("create the subscription: %w", explain(err))
	}
	return nil
}

func connectReplication(ctx context.Context, url string) (*pgconn.PgConn, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	usePrimary(config)
	config.RuntimeParams["replication"] = "database"
	return pgconn.ConnectConfig(ctx, &config.Config)
}

const sqlShardAccounts = `SELECT array_agg(id)::text FROM accounts WHERE shard_of(id) = $1`

const sqlSaveProgress = `
UPDATE shard_moves SET rows_expected = @expected, rows_copied = @rows, bytes_copied = @bytes, changed_at = now()
WHERE id = @id::uuid`

func (m *Mover) copyTables(ctx context.Context, tx pgx.Tx, move *Move, tables []movedTable, progress func(*Move)) error {
	accounts, err := selectOne(ctx, tx, pgx.RowTo[*string], sqlShardAccounts, move.Shard)
	if err != nil || accounts == nil {
		return err
	}
	move.RowsExpected = 0
	move.RowsCopied = 0
	move.BytesCopied = 0
	for _, table := range tables {
		n, err := selectOne(ctx, tx, pgx.RowTo[int64], fmt.Sprintf("SELECT count(*) FROM %s WHERE %s = ANY (%s::uuid[])", table.name, table.key, quoted(*accounts)))
		if err != nil {
			return fmt.Errorf("count %s: %w", table.name, err)
		}
		move.RowsExpected += n
	}

	// Triggers and foreign keys have done their work at the source.
	if _, err := m.target.Exec(ctx, "SET session_replication_role = replica"); err != nil {
		return explain(err)
	}
	defer func() { _, _ = m.target.Exec(context.WithoutCancel(ctx), "SET session_replication_role = origin") }()
	for _, table := range tables {
		if err := m.copyTable(ctx, tx, move, table, *accounts); err != nil {
			return fmt.Errorf("copy %s: %w", table.name, explain(err))
		}
		_, err := m.directory.Exec(ctx, sqlSaveProgress, pgx.NamedArgs{"id": move.ID, "expected": move.RowsExpected, "rows": move.RowsCopied, "bytes": move.BytesCopied})
		if err != nil {
			return explain(err)
		}
		progress(move)
	}
	return nil
}

// copyTable streams the rows of a table from one database to the other.
func (m *Mover) copyTable(ctx context.Context, tx pgx.Tx, move *Move, table movedTable, accounts string) error {
	list := strings.Join(table.columns, ", ")
	reader, writer := io.Pipe()
	counted := &countingReader{Reader: reader}
	sent := make(chan error, 1)
	go func() {
		_, err := tx.Conn().PgConn().CopyTo(ctx, writer, fmt.Sprintf("COPY (SELECT %s FROM %s WHERE %s = ANY (%s::uuid[])) TO STDOUT (FORMAT binary)",
			list, table.name, table.key, quoted(accounts)))
		sent <- errors.Join(err, writer.CloseWithError(err))
	}()

	tag, err := m.target.PgConn().CopyFrom(ctx, counted, fmt.Sprintf("COPY %s (%s) FROM STDIN (FORMAT binary)", table.name, list))
	_ = reader.CloseWithError(io.ErrClosedPipe) // a sender that nobody reads must end
	if sending := <-sent; sending != nil && err == nil {
		err = sending
	}
	move.RowsCopied += tag.RowsAffected()
	move.BytesCopied += counted.n.Load()
	return err
}

type countingReader struct {
	io.Reader
	n atomic.Int64
}

func (r *countingReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.n.Add(int64(n))
	return n, err
}

const (
	sqlMark = `INSERT INTO shard_markers (shard, marker) VALUES ($1, $2) ON CONFLICT (shard) DO UPDATE SET marker = excluded.marker`

	sqlMarker = `SELECT count(*) FROM shard_markers WHERE shard = $1 AND marker = $2`
)

// CatchUp waits until all that the source has committed by now is at the target, and
// returns how long that took.
func (m *Mover) CatchUp(ctx context.Context, move *Move, patience time.Duration) (time.Duration, error) {
	began := time.Now()
	marker := fmt.Sprint(move.ID, began.UnixNano())
	if _, err := m.source.Exec(ctx, sqlMark, move.Shard, marker); err != nil {
		return 0, explain(err)
	}
	for {
		n, err := selectOne(ctx, m.target, pgx.RowTo[int], sqlMarker, move.Shard, marker)
		if err != nil || n > 0 {
			return time.Since(began), err
		}
		if time.Since(began) > patience {
			return 0, ship.Errorf(ship.Unavailable, "the target is more than %s behind the source: see its log for errors of the subscription %s", patience, copyName(move))
		}
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return 0, err
		}
	}
}

// A tableSum is what is compared of a table: its rows, and a sum over their hashes.
type tableSum struct {
	Name string
	Rows int64
	Hash string
}

// Compare finds the tables whose rows differ. The shard must be frozen. Records of
// what the service did may have got further rows at the source.
func (m *Mover) Compare(ctx context.Context, move *Move) error {
	tables, err := movedTables(ctx, m.source)
	if err != nil {
		return err
	}
	accounts, err := selectOne(ctx, m.source, pgx.RowTo[*string], sqlShardAccounts, move.Shard)
	if err != nil || accounts == nil {
		return err
	}
	parts := make([]string, len(tables))
	for i, table := range tables {
		parts[i] = fmt.Sprintf("SELECT %s, count(*), coalesce(sum(hashtextextended(t::text, 0)::numeric), 0)::text FROM (SELECT %s FROM %s WHERE %s = ANY ($1::text::uuid[])) t",
			quoted(table.name), strings.Join(table.columns, ", "), table.name, table.key)
	}
	statement := strings.Join(parts, " UNION ALL ")

	// Both sides are summed up at once, because requests wait for it.
	var sums [2][]tableSum
	var errs [2]error
	var both sync.WaitGroup
	for i, conn := range []*pgx.Conn{m.source, m.target} {
		both.Go(func() { sums[i], errs[i] = selectList(ctx, conn, pgx.RowToStructByPos[tableSum], statement, *accounts) })
	}
	both.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		return fmt.Errorf("compare the cells: %w", err)
	}
	for _, table := range tables {
		isThis := func(sum tableSum) bool { return sum.Name == table.name }
		source := sums[0][slices.IndexFunc(sums[0], isThis)]
		target := sums[1][slices.IndexFunc(sums[1], isThis)]
		if source != target && !(table.isRecord && target.Rows <= source.Rows) {
			return ship.Errorf(ship.Conflict, "%s differs: %d rows at the source, %d at the target", table.name, source.Rows, target.Rows)
		}
	}
	return nil
}
