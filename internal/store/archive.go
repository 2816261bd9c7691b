package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// What is archived before its partition is dropped. An archive is read for years, and
// an erasure cannot reach it: so columns that can hold personal data are left out of
// it. The orders of a year of shipments are in it, because they have been erased by
// then; one that was not, is left out.

// archiveColumns are the columns that the archive has of a table, as a list of SELECT.
var archiveColumns = map[string]string{
	"shipments": `s.id, s.account_id, s.livemode, s.carrier, s.duplicate_of_id,
		CASE WHEN st.erased_at IS NOT NULL THEN s.request END AS request,
		CASE WHEN st.erased_at IS NOT NULL THEN s.purchase END AS purchase`,
	"shipment_states": `s.id, s.account_id, s.livemode, s.is_tracker, s.state, s.status, s.sequence, s.attempt, s.piece_count,
		s.purchased_at, s.last_event_at, s.estimated_delivery_at, s.estimate_source, s.carrier, s.tracking_number, s.reason,
		s.piece_statuses, s.voided_at, s.erased_at`,
	"purchase_attempts": `s.shipment_id, s.account_id, s.livemode, s.attempt, s.reference, s.carrier, s.service, s.started_at,
		s.ended_at, s.outcome, s.error_code, s.connection_id, s.api_key_id`,
	"tracking_events": `s.subject_id, s.account_id, s.livemode, s.piece, s.code, s.occurred_at, s.status, s.reason, s.location,
		s.timezone_unknown`,
	"events": `s.id, s.account_id, s.livemode, s.subject_id, s.is_tracker, s.kind, s.sequence, s.late,
		s.snapshot->>'s' AS status, s.snapshot->>'p' AS previous_status, s.snapshot->>'l' AS state`,
	"webhook_attempts": `s.id, s.account_id, s.livemode, s.endpoint_id, s.event_id, s.attempt, s.trigger, s.outcome,
		s.response_status, s.total_ms`,
	"charges": `s.shipment_id, s.account_id, s.livemode, s.tracking_number, s.kind, s.attempt, s.carrier, s.connection_id,
		s.amount_minor, s.currency, s.occurred_at`,
}

// archiveKeys are the columns that these tables are partitioned by.
var archiveKeys = map[string]string{
	"shipments":         "id",
	"shipment_states":   "id",
	"purchase_attempts": "shipment_id",
	"tracking_events":   "subject_id",
	"events":            "id",
	"webhook_attempts":  "id",
	"charges":           "shipment_id",
}

// yearTables lose a year together: see shipment_retention.go.
var yearTables = []string{"shipments", "shipment_states", "purchase_attempts", "tracking_events"}

// IsArchived reports whether partitions of the table are archived before they are
// dropped. Labels, documents, raw pushes and the logs of requests are not: without
// personal data, nothing is left of them.
func IsArchived(table string) bool { return archiveColumns[table] != "" }

// ArchivedTables are the names of the tables of an archive.
func ArchivedTables() []string { return slices.Sorted(maps.Keys(archiveColumns)) }

// A Partition is a day, a month or a year of a table.
type Partition struct {
	Table string
	Name  string // "events_20251017"
	Start time.Time
	End   time.Time

	// Content changes with the rows that the partition has, in a cell: those of a
	// shard that has moved here can come after it was archived, or even dropped. It is
	// empty in an installation with one database.
	Content string
}

// partitionOf reads the times of a partition from its name.
func partitionOf(table, name string) (Partition, error) {
	digits := strings.TrimPrefix(name, table+"_")
	p := Partition{Table: table, Name: name}
	var err error
	switch len(digits) {
	case 8:
		p.Start, err = time.Parse("20060102", digits)
		p.End = p.Start.AddDate(0, 0, 1)
	case 6:
		p.Start, err = time.Parse("200601", digits)
		p.End = p.Start.AddDate(0, 1, 0)
	case 4:
		p.Start, err = time.Parse("2006", digits)
		p.End = p.Start.AddDate(1, 0, 0)
	default:
		err = errors.New("it has no time")
	}
	if err != nil {
		return p, fmt.Errorf("partition %s: %w", name, err)
	}
	return p, nil
}

// sqlExpiredPartitions lists the partitions that drop_expired_partition would drop,
// oldest first. One that is detached cannot be read any more.
const sqlExpiredPartitions = `
SELECT c.relname::text, c.relispartition
FROM partition_rules r
CROSS JOIN LATERAL (SELECT CASE r.period WHEN 'day' THEN 'YYYYMMDD' WHEN 'month' THEN 'YYYYMM' ELSE 'YYYY' END AS layout) l
JOIN pg_class p ON p.oid = format('public.%I', r.parent)::regclass
JOIN pg_class c ON c.relnamespace = p.relnamespace AND c.relowner = p.relowner AND c.relkind = 'r'
WHERE r.parent = $1 AND r.min_keep IS NOT NULL
  AND c.relname ~ ('^' || r.parent || '_[0-9]{' || length(l.layout) || '}$')
  AND right(c.relname, length(l.layout)) COLLATE "C"
    < to_char((least(now() - $2::interval, now() - r.min_keep) - interval '1 hour') AT TIME ZONE 'UTC', l.layout)
ORDER BY c.relname COLLATE "C"`

// ExpiredPartitions returns the partitions of archived tables that are past their
// retention and still there: the default retention, unless other has another.
func (s *Store) ExpiredPartitions(ctx context.Context, other Retention) ([]Partition, error) {
	var all []Partition
	keep := other.merge()
	for _, table := range slices.Sorted(maps.Keys(keep)) {
		if !IsArchived(table) {
			continue
		}
		list, err := s.expiredPartitions(ctx, table, keep[table])
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}

// expiredPartitions returns those of one table, oldest first.
func (s *Store) expiredPartitions(ctx context.Context, table string, keep time.Duration) ([]Partition, error) {
	var list []Partition
	var name string
	var isAttached bool
	err := selectEach(ctx, s.sys, []any{&name, &isAttached}, func() error {
		if !isAttached {
			return ship.Errorf(ship.Conflict, "the partition %s is detached and cannot be archived: attach it to %s again, or drop it by hand", name, table)
		}
		partition, err := partitionOf(table, name)
		list = append(list, partition)
		return err
	}, sqlExpiredPartitions, table, keep)
	if err != nil {
		return nil, fmt.Errorf("find old partitions of %s: %w", table, err)
	}
	return list, s.readContents(ctx, list)
}

// YearPartitions returns the partitions of a year of shipments.
func (s *Store) YearPartitions(ctx context.Context, year ExpiredYear) ([]Partition, error) {
	var list []Partition
	for _, table := range yearTables {
		partition, err := partitionOf(table, table+"_"+year.Year)
		if err != nil {
			return nil, err
		}
		list = append(list, partition)
	}
	return list, s.readContents(ctx, list)
}

// readContents completes partitions of a cell.
func (s *Store) readContents(ctx context.Context, list []Partition) error {
	if s.cell == "" || len(list) == 0 {
		return nil
	}
	err := pgx.BeginFunc(ctx, s.sys, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlReadLong); err != nil {
			return err
		}
		for i, p := range list {
			statement := fmt.Sprintf("SELECT count(*) || '/' || coalesce(sum(hashtextextended(s.%[1]s::text || s.account_id::text, 0)::numeric), 0) FROM %[2]s s WHERE s.%[1]s >= $1 AND s.%[1]s < $2",
				archiveKeys[p.Table], p.Table)
			if err := tx.QueryRow(ctx, statement, ship.RawIDAt(p.Start), ship.RawIDAt(p.End)).Scan(&list[i].Content); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("compare partitions with the archive: %w", explain(err))
	}
	return nil
}

const (
	sqlLockArchive = `SELECT pg_try_advisory_xact_lock(512736453233)`
	sqlReadLong    = `SET LOCAL statement_timeout = 0`
)

// archiveSQL selects the rows of a partition as JSON, by ids: the login that serves
// has no rights on a partition itself.
func archiveSQL(table string) string {
	from := table + " s"
	if table == "shipments" {
		from += ` JOIN shipment_states st ON st.account_id = s.account_id AND st.livemode = s.livemode AND st.id = s.id
			AND st.id >= $1 AND st.id < $2`
	}
	return fmt.Sprintf("SELECT row_to_json(r)::text FROM (SELECT %s FROM %s WHERE s.%s >= $1 AND s.%[3]s < $2) r",
		archiveColumns[table], from, archiveKeys[table])
}

// ExportPartition calls fn with each row of the partition as a line of JSON, as they
// are at one moment. It is ship.Conflict if another copy exports one now.
func (s *Store) ExportPartition(ctx context.Context, p Partition, fn func(line []byte) error) error {
	if !IsArchived(p.Table) {
		return fmt.Errorf("the table %q is not archived", p.Table)
	}
	err := pgx.BeginTxFunc(ctx, s.sys, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(tx pgx.Tx) error {
		var isLocked bool
		if err := tx.QueryRow(ctx, sqlLockArchive).Scan(&isLocked); err != nil {
			return err
		}
		if !isLocked {
			return ship.Errorf(ship.Conflict, "another copy is writing to the archive")
		}
		if _, err := tx.Exec(ctx, sqlReadLong); err != nil {
			return err
		}

		var line []byte
		rows, _ := tx.Query(ctx, archiveSQL(p.Table), ship.RawIDAt(p.Start), ship.RawIDAt(p.End)) // its error is returned by the rows
		_, err := pgx.ForEachRow(rows, []any{&line}, func() error { return fn(line) })
		return err
	})
	if err != nil {
		return fmt.Errorf("read %s: %w", p.Name, explain(err))
	}
	return nil
}
