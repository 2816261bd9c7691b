package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/waybillhq/waybill/internal/ship"
)

// Partitions of large tables: made ahead of time, dropped after their retention.

// partitioned lists the tables that are partitioned by the time in their ids.
var partitioned = []struct {
	table  string
	period period
	with   string
	keep   time.Duration // after this long a partition is dropped; zero keeps it
}{
	{table: "shipments", period: year},
	{table: "shipment_states", period: year, with: "WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05)"},
	{table: "purchase_attempts", period: year},
	{table: "tracking_events", period: year},
	{table: "labels", period: month},
	{table: "charges", period: month},
	{table: "documents", period: month},
	{table: "events", period: day, keep: EventRetention},
	{table: "webhook_attempts", period: day, keep: AttemptRetention},
	{table: "pushes", period: day, keep: PushRetention},
	{table: "api_requests", period: day, keep: RequestRetention},
	{table: "carrier_exchanges", period: day, keep: ExchangeRetention},
	{table: "carrier_calls", period: day, keep: CallRetention},
}

// A period is how long a partition is.
type period struct {
	name  string // of the layout of partition names
	start func(time.Time) time.Time
	next  func(time.Time) time.Time
	ahead int // partitions made before they are needed
}

// Tables that a purchase updates or a look-up joins have few partitions: a
// statement locks and opens all of them, whichever it needs, so with months an
// installation would become slower as it ages. Those that a purchase only
// inserts into, and those that are dropped, have the partitions that suit them.
var (
	year = period{
		name:  "2006",
		start: func(t time.Time) time.Time { return time.Date(t.Year(), time.January, 1, 0, 0, 0, 0, time.UTC) },
		next:  func(t time.Time) time.Time { return t.AddDate(1, 0, 0) },
		ahead: 1,
	}
	month = period{
		name:  "200601",
		start: func(t time.Time) time.Time { return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC) },
		next:  func(t time.Time) time.Time { return t.AddDate(0, 1, 0) },
		ahead: 1,
	}
	day = period{
		name:  "20060102",
		start: func(t time.Time) time.Time { return t.Truncate(24 * time.Hour) },
		next:  func(t time.Time) time.Time { return t.AddDate(0, 0, 1) },
		ahead: 3,
	}
)

// How long the log and the record of deliveries are kept.
const (
	EventRetention   = 30 * 24 * time.Hour
	AttemptRetention = 30 * 24 * time.Hour
	PushRetention    = 30 * 24 * time.Hour
	CallRetention    = 3 * 24 * time.Hour

	// These two are defaults; the operator may choose others.
	RequestRetention  = 7 * 24 * time.Hour
	ExchangeRetention = 30 * 24 * time.Hour
)

// Retention is how long the rows of tables are kept, by name, where that differs from
// the default.
type Retention map[string]time.Duration

// MaintainPartitions makes the partitions that the near future needs and drops those
// past their retention: the default, unless other has another. It runs as the
// database's owner.
func MaintainPartitions(ctx context.Context, url string, now time.Time, other Retention) error {
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer pool.Close()

	if err := makePartitions(ctx, pool, now); err != nil {
		return err
	}

	for _, p := range partitioned {
		if p.keep == 0 {
			continue
		}
		if keep := other[p.table]; keep > 0 {
			p.keep = keep
		}

		// A little later than a cursor ends: a row may commit after its time.
		if err := dropPartitions(ctx, pool, p.table, p.period, now.Add(-p.keep-time.Hour)); err != nil {
			return err
		}
	}
	return nil
}

// makePartitions makes the partitions of all tables that the near future needs.
func makePartitions(ctx context.Context, pool *pgxpool.Pool, now time.Time) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(lockSchema)); err != nil {
			return fmt.Errorf("lock the schema: %w", err)
		}

		for _, p := range partitioned {
			// Also the one before, for a clock that lags at the border.
			from := p.period.start(p.period.start(now.UTC()).Add(-time.Hour))
			for range p.period.ahead + 2 {
				if err := makePartition(ctx, tx, p.table, p.period, p.with, from); err != nil {
					return err
				}
				from = p.period.next(from)
			}
		}
		return nil
	})
}

// sqlMakePartition makes the table apart and attaches it, because that takes a
// lock on the parent that does not stop readers and writers.
const sqlMakePartition = `
CREATE TABLE %[1]s (LIKE %[2]s INCLUDING ALL) %[3]s;
ALTER TABLE %[1]s ENABLE ROW LEVEL SECURITY;
ALTER TABLE %[1]s FORCE ROW LEVEL SECURITY;
ALTER TABLE %[2]s ATTACH PARTITION %[1]s FOR VALUES FROM ('%[4]s') TO ('%[5]s')`

// makePartition makes the partition of the table that begins at from, unless it
// exists.
func makePartition(ctx context.Context, tx pgx.Tx, table string, p period, with string, from time.Time) error {
	name := table + "_" + from.Format(p.name)
	var exists bool
	if err := tx.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", name).Scan(&exists); err != nil {
		return fmt.Errorf("look for %s: %w", name, err)
	}
	if exists {
		return nil
	}

	first := uuidText(ship.RawIDAt(from))
	end := uuidText(ship.RawIDAt(p.next(from)))
	sql := fmt.Sprintf(sqlMakePartition, name, table, with, first, end)
	for statement := range strings.SplitSeq(sql, ";") {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return fmt.Errorf("create %s: %w", name, err)
		}
	}
	return nil
}

// sqlPartitions lists a table's partitions, those too that were detached and
// not dropped yet.
const sqlPartitions = `
SELECT c.relname, i.inhrelid IS NOT NULL, coalesce(i.inhdetachpending, false)
FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace AND c.relname ~ ('^' || $1::text || '_[0-9]+$')`

// A partition is one of a table's.
type partition struct {
	name       string
	isAttached bool
	isPending  bool // its detaching was cut short
}

// lockDrop keeps copies of the program from dropping partitions at once.
const lockDrop = 0x7761796264 // "wayb" and d

// dropPartitions drops the partitions of the table that end before the time.
// One that is dropped outright would stop every reader and writer of the table
// behind the slowest of them, so it is detached first.
func dropPartitions(ctx context.Context, pool *pgxpool.Pool, table string, p period, before time.Time) error {
	return pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		// Another copy that drops partitions now does this copy's work too.
		var isLocked bool
		err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", int64(lockDrop)).Scan(&isLocked)
		if err != nil || !isLocked {
			return err
		}
		defer func() { _, _ = conn.Exec(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", int64(lockDrop)) }()

		rows, err := conn.Query(ctx, sqlPartitions, table)
		if err != nil {
			return fmt.Errorf("partitions of %s: %w", table, err)
		}
		partitions, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (part partition, err error) {
			err = r.Scan(&part.name, &part.isAttached, &part.isPending)
			return part, err
		})
		if err != nil {
			return fmt.Errorf("partitions of %s: %w", table, err)
		}

		for _, part := range partitions {
			from, err := time.Parse(p.name, strings.TrimPrefix(part.name, table+"_"))
			if err != nil || p.next(from).After(before) {
				continue
			}
			if err := part.drop(ctx, conn, table); err != nil {
				return fmt.Errorf("drop %s: %w", part.name, err)
			}
		}
		return nil
	})
}

// drop detaches the partition, or goes on with a detaching that was cut short,
// and drops it. DETACH CONCURRENTLY cannot run in a transaction.
func (p partition) drop(ctx context.Context, conn *pgxpool.Conn, table string) error {
	mode := "CONCURRENTLY"
	if p.isPending {
		mode = "FINALIZE"
	}
	if p.isAttached {
		if _, err := conn.Exec(ctx, fmt.Sprintf("ALTER TABLE %s DETACH PARTITION %s %s", table, p.name, mode)); err != nil {
			return err
		}
	}

	_, err := conn.Exec(ctx, "DROP TABLE "+p.name)
	return err
}
