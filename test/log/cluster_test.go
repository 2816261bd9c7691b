package log_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/waybillhq/waybill/internal/store"
)

// A cluster is a Postgres of the test's own, because a transaction in any
// database of a cluster holds the log's horizon up.
type cluster struct {
	dir, url string
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{dir: t.TempDir()}
	t.Cleanup(func() {
		if _, err := c.do(context.Background(), "destroy"); err != nil {
			t.Log(err)
		}
	})
	var err error
	if _, err = c.do(t.Context(), "start"); err != nil {
		t.Fatalf("start Postgres: %v", err)
	}
	if c.url, err = c.do(t.Context(), "url"); err != nil {
		t.Fatal(err)
	}
	if err := store.Migrate(t.Context(), c.url); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *cluster) do(ctx context.Context, what string) (string, error) {
	cmd := exec.CommandContext(ctx, "../../scripts/postgres", what)
	cmd.Env = append(os.Environ(), "WAYBILL_PG_DIR="+c.dir, "WAYBILL_PG_PORT=")
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}

// crash kills the server as a failing machine would, and starts it again.
func (c *cluster) crash(t *testing.T) {
	t.Helper()
	status, err := c.do(t.Context(), "status")
	if err != nil {
		t.Fatal(err)
	}
	_, base, _ := strings.Cut(status, "data in ")
	file, err := os.ReadFile(filepath.Join(base, "data", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(file), "\n")
	pid, err := strconv.Atoi(line)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, err := c.do(t.Context(), "start"); err != nil {
		t.Fatalf("start Postgres again: %v", err)
	}
}

// open connects to the cluster twice: the service's way, and as the owner for
// writers that hold their transactions as they like.
func open(t *testing.T, url string) (*store.Store, *pgxpool.Pool) {
	t.Helper()
	st, err := store.Open(t.Context(), store.Options{URL: url, Connections: 40})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	cfg.MaxConns = writers
	owner, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(owner.Close)
	return st, owner
}
