package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// makeDatabase makes a database on the server of DATABASE_URL, and connects to
// it as its owner.
func makeDatabase(ctx context.Context, purpose string) (database string, conn *pgx.Conn, err error) {
	server := os.Getenv("DATABASE_URL")
	admin, err := pgx.Connect(ctx, server)
	if err != nil {
		return "", nil, fmt.Errorf("DATABASE_URL: %w", err)
	}
	defer func() { _ = admin.Close(ctx) }()

	name := fmt.Sprintf("waybill_bench_%d_%s", os.Getpid(), purpose)
	if _, err := admin.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return "", nil, err
	}
	address, err := url.Parse(server)
	if err != nil {
		return "", nil, err
	}
	address.Path = "/" + name
	conn, err = pgx.Connect(ctx, address.String())
	return address.String(), conn, err
}

// dropDatabase drops a database, also after the run was interrupted.
func dropDatabase(conn *pgx.Conn, database string) {
	ctx := context.Background()
	_ = conn.Close(ctx)
	admin, err := pgx.Connect(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		return
	}
	defer func() { _ = admin.Close(ctx) }()

	address, err := url.Parse(database)
	if err != nil {
		return
	}
	_, _ = admin.Exec(ctx, "DROP DATABASE "+strings.TrimPrefix(address.Path, "/")+" WITH (FORCE)")
}

const sqlPartitions = `
SELECT p.relname, c.relname FROM pg_inherits i
JOIN pg_class p ON p.oid = i.inhparent JOIN pg_class c ON c.oid = i.inhrelid
WHERE p.relkind = 'p' AND p.relnamespace = 'public'::regnamespace`

// periodName are the names of partitions of years and months. Those of days are
// dropped after some weeks: there are no more of them in an old database.
var periodName = regexp.MustCompile(`_(\d{4}|\d{6})$`)

const sqlOldPartition = `
CREATE TABLE IF NOT EXISTS %[1]s (LIKE %[2]s INCLUDING ALL);
ALTER TABLE %[1]s ENABLE ROW LEVEL SECURITY;
ALTER TABLE %[1]s FORCE ROW LEVEL SECURITY;
ALTER TABLE %[2]s ATTACH PARTITION %[1]s FOR VALUES FROM ('%[3]s') TO ('%[4]s')`

// age gives the database the partitions that it would have after so many
// months, whatever periods the binary that made it has chosen.
func age(ctx context.Context, conn *pgx.Conn, months int) error {
	existing := map[string]bool{}
	layouts := map[string]string{} // by table
	var table, partition string
	rows, _ := conn.Query(ctx, sqlPartitions) // its error is returned by the rows
	_, err := pgx.ForEachRow(rows, []any{&table, &partition}, func() error {
		existing[partition] = true
		if period := periodName.FindString(partition); period != "" {
			layouts[table] = map[int]string{5: "2006", 7: "200601"}[len(period)]
		}
		return nil
	})
	if err != nil {
		return err
	}

	now := time.Now().UTC()
	for table, layout := range layouts {
		for i := range months {
			first := time.Date(now.Year(), now.Month()-time.Month(i), 1, 0, 0, 0, 0, time.UTC)
			next := first.AddDate(0, 1, 0)
			if layout == "2006" {
				first = time.Date(first.Year(), time.January, 1, 0, 0, 0, 0, time.UTC)
				next = first.AddDate(1, 0, 0)
			}

			name := table + "_" + first.Format(layout)
			if existing[name] {
				continue
			}
			existing[name] = true
			sql := fmt.Sprintf(sqlOldPartition, name, table, uuidAt(first), uuidAt(next))
			if _, err := conn.Exec(ctx, sql); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

// uuidAt is the smallest id of a time, as Postgres reads it.
func uuidAt(at time.Time) string {
	id := ship.RawIDAt(at)
	return fmt.Sprintf("%x", id[:])
}
