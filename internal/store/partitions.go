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

// partitioned lists the tables that are cut by the time in their ids.
var partitioned = []struct {
	table  string
	period period
	with   string
}{
	{table: "shipments", period: month},
	{table: "journeys", period: month, with: "WITH (fillfactor = 80)"},
	{table: "labels", period: month},
	{table: "purchase_attempts", period: month},
	{table: "tracking_events", period: month},
	{table: "events", period: day},
}

// A period is how long a partition is.
type period struct {
	name  string // of the layout of partition names
	start func(time.Time) time.Time
	next  func(time.Time) time.Time
	ahead int // partitions made before they are needed
}

var (
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

// EventRetention is how long the log is kept.
const EventRetention = 30 * 24 * time.Hour

// lockPartitions keeps copies of the program from making partitions at once.
const lockPartitions = 0x7761796270 // "wayb" and p

// KeepPartitions makes the partitions that the near future needs and drops
// what is past its time. It runs as the database's owner.
func KeepPartitions(ctx context.Context, url string, now time.Time) error {
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer pool.Close()
	if err := makePartitions(ctx, pool, now); err != nil {
		return err
	}
	return dropPartitions(ctx, pool, "events", day, now.Add(-EventRetention))
}

func makePartitions(ctx context.Context, pool *pgxpool.Pool, now time.Time) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(lockPartitions)); err != nil {
			return fmt.Errorf("lock partitions: %w", err)
		}
		for _, p := range partitioned {
			// One before, for a clock that lags at the border.
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

func makePartition(ctx context.Context, tx pgx.Tx, table string, p period, with string, from time.Time) error {
	name := table + "_" + from.Format(p.name)
	var there bool
	if err := tx.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", name).Scan(&there); err != nil {
		return fmt.Errorf("look for %s: %w", name, err)
	}
	if there {
		return nil
	}
	sql := fmt.Sprintf(sqlMakePartition, name, table, with, uuidText(ship.RawIDAt(from)), uuidText(ship.RawIDAt(p.next(from))))
	for statement := range strings.SplitSeq(sql, ";") {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return fmt.Errorf("make %s: %w", name, err)
		}
	}
	return nil
}

const sqlPartitions = `SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = $1::text::regclass`

// dropPartitions drops the partitions of the table that end before the time.
func dropPartitions(ctx context.Context, pool *pgxpool.Pool, table string, p period, before time.Time) error {
	rows, err := pool.Query(ctx, sqlPartitions, table)
	if err != nil {
		return fmt.Errorf("partitions of %s: %w", table, err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("partitions of %s: %w", table, err)
	}
	for _, name := range names {
		from, err := time.Parse(p.name, strings.TrimPrefix(name, table+"_"))
		if err != nil || p.next(from).After(before) {
			continue
		}
		if _, err := pool.Exec(ctx, "DROP TABLE "+pgx.Identifier{name}.Sanitize()); err != nil {
			return fmt.Errorf("drop %s: %w", name, err)
		}
	}
	return nil
}
