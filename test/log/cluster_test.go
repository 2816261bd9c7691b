package log_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/test/proving"
)

// newCluster is a Postgres of the test's own, because a transaction in any
// database of a cluster holds the log's horizon up.
func newCluster(t *testing.T) *proving.Cluster {
	t.Helper()
	c := proving.NewCluster(t)
	if err := store.Migrate(t.Context(), c.URL); err != nil {
		t.Fatal(err)
	}
	return c
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
