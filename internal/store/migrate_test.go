package store_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// emptyDatabase is the address of a database with nothing in it.
func emptyDatabase(t *testing.T) string {
	t.Helper()
	u, err := url.Parse(storetest.URL(t)) // skips or fails without a server
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	name := fmt.Sprintf("waybill_empty_%d", os.Getpid())
	admin := storetest.Conn(t, u.String())
	if _, err := admin.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := admin.Exec(ctx, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Log(err)
		}
	})
	u.Path = "/" + name
	return u.String()
}

func TestFourMigrateAnEmptyDatabaseAtOnce(t *testing.T) {
	t.Parallel()
	empty := emptyDatabase(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if err := store.Migrate(t.Context(), empty); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	conn := storetest.Conn(t, empty)
	key := one[[]byte](t, conn, "SELECT signing_key FROM instance")
	if err := store.Migrate(t.Context(), empty); err != nil {
		t.Fatalf("migrating once more: %v", err)
	}
	if again := one[[]byte](t, conn, "SELECT signing_key FROM instance"); len(key) != 32 || !slices.Equal(key, again) {
		t.Error("the signing key changed")
	}
	if n := one[int](t, conn, "SELECT count(*) FROM shards"); n != ship.Shards {
		t.Errorf("%d shards", n)
	}
	s, err := store.Open(t.Context(), store.Options{URL: empty})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := s.Create(t.Context(), bought(shipmentOf(newTenant(), "o"), "1Z1")); err != nil {
		t.Error(err)
	}
}

// partitionsOf lists the partitions of a table.
func partitionsOf(t *testing.T, conn *pgx.Conn, table string) []string {
	t.Helper()
	rows, err := conn.Query(t.Context(), "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = $1::text::regclass ORDER BY 1", table)
	if err != nil {
		t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestPartitionsAreThereBeforeTheyAreNeeded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	at := now()
	for day := range 40 { // every day of six weeks, at its last moment
		last := at.Truncate(24 * time.Hour).Add(time.Duration(day+1)*24*time.Hour - time.Millisecond)
		if day%5 == 0 {
			if err := store.KeepPartitions(t.Context(), f.url, last, nil); err != nil {
				t.Fatal(err)
			}
		}
		if day%5 > 3 {
			continue // nobody kept them for more than three days
		}
		for _, table := range []string{"shipments", "journeys", "labels", "purchase_attempts", "tracking_events", "events"} {
			id := ship.NewRawID(1, last)
			var name string
			err := f.owner.QueryRow(t.Context(), `SELECT inhrelid::regclass::text FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
				WHERE inhparent = $1::text::regclass AND pg_get_expr(c.relpartbound, c.oid) <> 'DEFAULT'
				AND $2::uuid >= (regexp_match(pg_get_expr(c.relpartbound, c.oid), 'FROM \(''([^'']*)'))[1]::uuid
				AND $2::uuid < (regexp_match(pg_get_expr(c.relpartbound, c.oid), 'TO \(''([^'']*)'))[1]::uuid`, table, [16]byte(id)).Scan(&name)
			if err != nil {
				t.Fatalf("%s has no partition for %v: %v", table, last, err)
			}
		}
	}
}

func TestPartitionsOfTheLogAreDroppedAfterThirtyDays(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create(t, f.tenant, "o", "1Z1")
	today := "events_" + now().Format("20060102")
	before := partitionsOf(t, f.owner, "events")
	midnight := now().Truncate(24 * time.Hour).Add(24 * time.Hour)
	if err := store.KeepPartitions(t.Context(), f.url, midnight.Add(store.EventRetention), nil); err != nil {
		t.Fatal(err)
	}
	kept := partitionsOf(t, f.owner, "events")
	if !slices.Contains(kept, today) || slices.Contains(kept, before[0]) {
		t.Errorf("at 30 days the log has %v; it had %v", kept, before)
	}
	if one[int](t, f.owner, "SELECT count(*) FROM events") != 2 {
		t.Error("events of less than 30 days are gone")
	}
	// A copy that was cut short left a partition detached and not dropped.
	if _, err := f.owner.Exec(t.Context(), "ALTER TABLE events DETACH PARTITION "+today); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if err := store.KeepPartitions(t.Context(), f.url, midnight.Add(store.EventRetention+2*time.Hour), nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if one[*string](t, f.owner, "SELECT to_regclass($1)::text", today) != nil {
		t.Error("today's partition is still there")
	}
	if n := len(partitionsOf(t, f.owner, "events")); n < 5 {
		t.Errorf("%d partitions are left of the log", n)
	}
	if one[int](t, f.owner, "SELECT count(*) FROM shipments") != 1 {
		t.Error("the shipment is gone too")
	}
}
