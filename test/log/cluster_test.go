package log_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/waybillhq/waybill/internal/store"
)

// cluster starts a Postgres of the test's own, because a transaction in any
// database of a cluster holds the log's horizon up, and returns its address.
func cluster(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	postgres := func(ctx context.Context, what string) (string, error) {
		cmd := exec.CommandContext(ctx, "../../scripts/postgres", what)
		cmd.Env = append(os.Environ(), "WAYBILL_PG_DIR="+dir, "WAYBILL_PG_PORT=")
		out, err := cmd.Output()
		return strings.TrimSpace(string(out)), err
	}
	t.Cleanup(func() {
		if _, err := postgres(context.Background(), "destroy"); err != nil {
			t.Log(err)
		}
	})
	if _, err := postgres(t.Context(), "start"); err != nil {
		t.Fatalf("start Postgres: %v", err)
	}
	url, err := postgres(t.Context(), "url")
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	return url
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
