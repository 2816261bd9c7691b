package main

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// A meter measures what work costs: CPU time of Postgres and of a service, and
// bytes of WAL.
type meter struct {
	conn       *pgx.Conn
	postmaster int
}

func newMeter(ctx context.Context, conn *pgx.Conn) (*meter, error) {
	pid, err := postmaster(ctx, conn)
	return &meter{conn: conn, postmaster: pid}, err
}

// measure adds to a sample what each operation cost.
func (m *meter) measure(ctx context.Context, service int, do func() (sample, error)) (sample, error) {
	// Postgres writes whole pages to the WAL after a checkpoint. Every sample
	// starts with one, so all pay for that alike.
	if _, err := m.conn.Exec(ctx, "CHECKPOINT"); err != nil {
		return sample{}, err
	}
	postgresBefore := treeCPU(m.postmaster)
	serviceBefore := processCPU(service)
	walBefore, err := m.wal(ctx)
	if err != nil {
		return sample{}, err
	}

	got, err := do()
	if err != nil {
		return got, err
	}

	// The connections of pgbench end, and their CPU time is added to that of
	// the postmaster's ended children.
	time.Sleep(200 * time.Millisecond)
	operations := float64(got.count)
	walAfter, err := m.wal(ctx)
	if err != nil {
		return got, err
	}

	got.PostgresCPU = round(float64((treeCPU(m.postmaster) - postgresBefore).Microseconds()) / operations)
	got.ServiceCPU = round(float64((processCPU(service) - serviceBefore).Microseconds()) / operations)
	got.WAL = round(float64(walAfter-walBefore) / operations)
	return got, nil
}

func (m *meter) wal(ctx context.Context) (n int64, err error) {
	err = m.conn.QueryRow(ctx, "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint").Scan(&n)
	return n, err
}

// idleTime is how long the services are watched while they do nothing.
const idleTime = 20 * time.Second

// idle returns the CPU time that Postgres takes a second, in milliseconds,
// while the services have nothing to do.
func (m *meter) idle(ctx context.Context) (float64, error) {
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(5 * time.Second): // what the start left to do
	}

	before := treeCPU(m.postmaster)
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(idleTime):
	}
	return round(float64((treeCPU(m.postmaster) - before).Milliseconds()) / idleTime.Seconds()), nil
}
