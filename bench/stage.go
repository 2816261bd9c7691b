package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// stage is a database and a running service of its own.
type stage struct {
	conn     *pgx.Conn
	database string
	addr     string
	account  string // acct_...
	uuid     string // the same as stored
	key      string
	service  *exec.Cmd
	scripts  string // folder of pgbench scripts
	vars     map[string]string
	n        int64 // orders so far
}

const binary = "bin/waybill"

func newStage(ctx context.Context) (*stage, error) {
	s := &stage{}
	if err := s.makeDatabase(ctx); err != nil {
		return nil, err
	}
	if _, err := s.waybill("migrate"); err != nil {
		return nil, err
	}

	out, err := s.waybill("account", "create", "--name", "bench")
	if err != nil {
		return nil, err
	}
	s.account = strings.Fields(out)[0]
	if s.key, err = s.waybill("key", "create", "--account", s.account, "--name", "bench"); err != nil {
		return nil, err
	}
	s.key = strings.TrimSpace(s.key)

	if err := s.startService(); err != nil {
		return nil, err
	}
	if s.scripts, err = os.MkdirTemp("", "waybill-bench"); err != nil {
		return nil, err
	}
	return s, s.learn(ctx)
}

func (s *stage) makeDatabase(ctx context.Context) error {
	server := os.Getenv("DATABASE_URL")
	admin, err := pgx.Connect(ctx, server)
	if err != nil {
		return fmt.Errorf("DATABASE_URL: %w", err)
	}
	defer func() { _ = admin.Close(ctx) }()

	name := fmt.Sprintf("waybill_bench_%d", os.Getpid())
	if _, err := admin.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return err
	}
	address, err := url.Parse(server)
	if err != nil {
		return err
	}
	address.Path = "/" + name
	s.database = address.String()
	s.conn, err = pgx.Connect(ctx, s.database)
	return err
}

func (s *stage) waybill(args ...string) (string, error) {
	cmd := exec.Command(binary, args...)
	cmd.Env = append(os.Environ(), "DATABASE_URL="+s.database)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	return string(out), err
}

func (s *stage) startService() error {
	// The listener only finds a free port, for the service to listen on.
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.addr = listener.Addr().String()
	_ = listener.Close()

	s.service = exec.Command(binary, "serve", "--roles", "api")
	s.service.Env = append(os.Environ(),
		"DATABASE_URL="+s.database,
		"LISTEN="+s.addr,
		"METRICS_LISTEN=off",
		"LOG_LEVEL=WARN",
		"RATE_LIMIT=1000000",
		"RATE_BURST=1000000",
		"DATABASE_CONNECTIONS=32")
	s.service.Stderr = os.Stderr
	if err := s.service.Start(); err != nil {
		return err
	}

	for range 200 {
		response, err := http.Get("http://" + s.addr + "/readyz")
		if err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	return fmt.Errorf("the service did not become ready")
}

func (s *stage) close() {
	_ = s.service.Process.Signal(syscall.SIGTERM)
	_ = s.service.Wait()
	_ = os.RemoveAll(s.scripts)

	// The run may have been interrupted; the database is dropped all the same.
	ctx := context.Background()
	_ = s.conn.Close(ctx)
	admin, err := pgx.Connect(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		return
	}
	defer func() { _ = admin.Close(ctx) }()
	address, _ := url.Parse(s.database)
	_, _ = admin.Exec(ctx, "DROP DATABASE "+strings.TrimPrefix(address.Path, "/")+" WITH (FORCE)")
}

// metered adds to a sample what it cost: CPU of Postgres and of the service,
// and bytes of WAL, for each operation.
func (s *stage) metered(ctx context.Context, measure func() (sample, error)) (sample, error) {
	// Postgres writes whole pages to the WAL after a checkpoint. Every sample
	// starts with one, so all pay for that alike.
	if _, err := s.conn.Exec(ctx, "CHECKPOINT"); err != nil {
		return sample{}, err
	}
	postmaster, err := s.postmaster(ctx)
	if err != nil {
		return sample{}, err
	}

	postgresBefore := treeCPU(postmaster)
	serviceBefore := processCPU(s.service.Process.Pid)
	walBefore, err := s.wal(ctx)
	if err != nil {
		return sample{}, err
	}

	got, err := measure()
	if err != nil {
		return got, err
	}

	// The connections of pgbench end, and their CPU time is added to that of
	// the postmaster's ended children.
	time.Sleep(200 * time.Millisecond)
	operations := float64(got.count)
	walAfter, err := s.wal(ctx)
	if err != nil {
		return got, err
	}

	got.PostgresCPU = round(float64((treeCPU(postmaster) - postgresBefore).Microseconds()) / operations)
	got.ServiceCPU = round(float64((processCPU(s.service.Process.Pid) - serviceBefore).Microseconds()) / operations)
	got.WAL = round(float64(walAfter-walBefore) / operations)
	return got, nil
}

func (s *stage) wal(ctx context.Context) (n int64, err error) {
	err = s.conn.QueryRow(ctx, "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint").Scan(&n)
	return n, err
}

// disk returns how many bytes a shipment takes with all its rows and indexes,
// by table.
func (s *stage) disk(ctx context.Context) (map[string]float64, error) {
	rows, err := s.conn.Query(ctx, `
SELECT coalesce(p.relname, c.relname), sum(pg_total_relation_size(c.oid))::float8 / (SELECT count(*) FROM shipments)
FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid LEFT JOIN pg_class p ON p.oid = i.inhparent
WHERE c.relkind = 'r' AND coalesce(p.relname, c.relname) IN ('shipments', 'shipment_states', 'labels', 'lookup_keys', 'events', 'sandbox_polls', 'idempotency_keys')
GROUP BY 1`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()

	sizes := map[string]float64{}
	for rows.Next() {
		var name string
		var size float64
		if err := rows.Scan(&name, &size); err != nil {
			return nil, err
		}
		sizes[name] = round(size)
		sizes["total"] = round(sizes["total"] + size)
	}
	return sizes, rows.Err()
}
