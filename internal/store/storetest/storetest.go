// Package storetest gives each test a database of its own, copied from a
// migrated template. It is for tests alone.
package storetest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/store"
)

var counter atomic.Int64

// URL returns the address of a new database, dropped when the test ends. The
// server is the one of DATABASE_URL; without it the test is skipped, but in CI
// it fails.
func URL(t testing.TB) string {
	t.Helper()
	server := os.Getenv("DATABASE_URL")
	if server == "" {
		if os.Getenv("CI") != "" {
			t.Fatal("DATABASE_URL is not set")
		}
		t.Skip("DATABASE_URL is not set: start one with scripts/postgres")
	}

	ctx := context.Background()
	admin, err := pgx.Connect(ctx, server)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = admin.Close(ctx) }()

	template := makeTemplate(t, ctx, admin, server)
	name := fmt.Sprintf("waybill_test_%d_%d", os.Getpid(), counter.Add(1))
	if _, err := admin.Exec(ctx, fmt.Sprintf("CREATE DATABASE %s TEMPLATE %s", name, template)); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		admin, err := pgx.Connect(ctx, server)
		if err != nil {
			t.Log(err)
			return
		}
		defer func() { _ = admin.Close(ctx) }()
		if _, err := admin.Exec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
			t.Log(err)
		}
	})
	return withoutFilters(t, withDatabase(t, server, name))
}

// withoutFilters leads to the database through a proxy if WITHOUT_TENANT_FILTERS
// names a file: see Unfiltered.
func withoutFilters(t testing.TB, address string) string {
	t.Helper()
	file := os.Getenv("WITHOUT_TENANT_FILTERS")
	if file == "" {
		return address
	}
	parsed, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	parsed.Host = sharedProxy(t, parsed, file)
	return parsed.String()
}

// Open returns a store on a database of its own.
func Open(t testing.TB) *store.Store {
	t.Helper()
	s, err := store.Open(context.Background(), store.Options{URL: URL(t), Connections: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// ServingURL returns the address of the database at url as a login that owns
// nothing, dropped when the test ends.
func ServingURL(t testing.TB, url string) string {
	t.Helper()
	name := fmt.Sprintf("waybill_serve_%d_%d", os.Getpid(), counter.Add(1))
	serving, err := store.CreateServingLogin(context.Background(), url, name)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		ctx := context.Background()
		admin, err := pgx.Connect(ctx, os.Getenv("DATABASE_URL"))
		if err != nil {
			t.Log(err)
			return
		}
		defer func() { _ = admin.Close(ctx) }()

		// Temporary objects of a session that has just ended are removed a moment
		// later.
		for range 100 {
			if _, err = admin.Exec(ctx, "DROP ROLE "+name); err == nil {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
		t.Error(err)
	})
	return serving
}

// Conn connects to url as the owner, past row-level security if it may.
func Conn(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// makeTemplate migrates a template once for each state of the schema; test
// binaries that run beside each other wait for the first.
func makeTemplate(t testing.TB, ctx context.Context, admin *pgx.Conn, server string) string {
	t.Helper()

	// A template of another day lacks the partitions of today.
	name := "waybill_template_" + store.SchemaHash() + time.Now().UTC().Format("_20060102")
	if _, err := admin.Exec(ctx, "SELECT pg_advisory_lock(hashtext($1))", name); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = admin.Exec(ctx, "SELECT pg_advisory_unlock(hashtext($1))", name) }()

	var exists bool
	if err := admin.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name).Scan(&exists); err != nil {
		t.Fatal(err)
	}
	if exists {
		return name
	}

	// Migrated under another name first: a killed test leaves no half template.
	draft := name + "_draft"
	for _, sql := range []string{"DROP DATABASE IF EXISTS " + draft + " WITH (FORCE)", "CREATE DATABASE " + draft} {
		if _, err := admin.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Migrate(ctx, withDatabase(t, server, draft)); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.Exec(ctx, fmt.Sprintf("ALTER DATABASE %s RENAME TO %s", draft, name)); err != nil {
		t.Fatal(err)
	}
	return name
}

func withDatabase(t testing.TB, server, name string) string {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	return u.String()
}
