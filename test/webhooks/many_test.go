//go:build chaos

package webhooks

import (
	"context"
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/test/proving"
)

// TestProveManyEndpoints has very many endpoints wait for one delivery each,
// all due at once, and a copy that starts.
func TestProveManyEndpoints(t *testing.T) {
	n := proving.Pick(t, 2000, 100_000)
	w := newWorld(t, 0)
	url, _ := startSink(t)
	w.seedEndpoints(n, url)
	w.addCopy("PROFILING=on")
	c := w.copies[0]
	idle, _ := memory(t, c)
	left := func() int { return w.count("SELECT count(*) FROM webhook_retries") }
	took := proving.Await(w.t, "every endpoint is tried", 5*time.Minute, func() bool { return left() == 0 })
	tried := w.count("SELECT count(DISTINCT endpoint_id) FROM webhook_attempts WHERE outcome = 'delivered'")
	twice := w.count("SELECT count(*) FROM webhook_attempts") - n
	_, most := memory(t, c)
	w.heap(c.Metrics)
	report(t, nil, map[string]any{"endpoints": n, "seconds": proving.Round(took.Seconds()), "perSecond": proving.Round(float64(n) / took.Seconds()), "twice": twice, "startMB": idle, "mostMB": most})
	if tried != n || twice != 0 {
		t.Errorf("%d of %d endpoints were tried, %d twice", tried, n, twice)
	}
	// The gate runs on any machine.
	if proving.Pick(t, false, true) && took > 3*time.Minute {
		t.Errorf("%d endpoints were tried in %s, want at most three minutes", n, took)
	}
}

const sqlSeedEvent = `
INSERT INTO events (id, account_id, livemode, subject_id, is_tracker, kind, sequence, body_version, snapshot)
VALUES ($1, $2, false, $1, true, 'shipment.in_transit', 1, 1, '{"s":"in_transit","u":"http://test","d":{"carrier":"ups","trackingNumber":"1Z"}}')
RETURNING txid::text`

// seedEndpoints makes n endpoints, 20 an account, each with a delivery of its
// account's event that failed once and is due.
func (w *world) seedEndpoints(n int, url string) {
	w.t.Helper()
	ctx := context.Background()
	st, err := store.Open(ctx, store.Options{URL: w.postgres.URL, Connections: 4})
	if err != nil {
		w.t.Fatal(err)
	}
	defer st.Close()
	own, err := st.SigningKey(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	box, err := seal.New(own)
	if err != nil {
		w.t.Fatal(err)
	}
	secret := make([]byte, 64)
	_, _ = rand.Read(secret)
	endpoints, retries := make([][]any, 0, n), make([][]any, 0, n)
	for len(endpoints) < n {
		account := ship.NewAccountID(7, time.Now())
		event := ship.NewRawID(7, time.Now())
		var tx string
		if err := w.pool.QueryRow(ctx, sqlSeedEvent, [16]byte(event), [16]byte(account.Raw())).Scan(&tx); err != nil {
			w.t.Fatal(err)
		}
		for range min(20, n-len(endpoints)) {
			id := ship.NewEndpointID(7, time.Now())
			raw := id.Raw()
			slot := int(raw[15]) % store.WebhookSlots
			sealed := box.Seal(secret, string(account), "test", string(id), "secret")
			endpoints = append(endpoints, []any{[16]byte(raw), [16]byte(account.Raw()), false, slot, fmt.Sprint(url, "/", len(endpoints)), "v1", sealed, false, time.Now().Add(-time.Hour)})
			retries = append(retries, []any{[16]byte(account.Raw()), false, [16]byte(raw), [16]byte(event), tx, slot, 1, time.Now()})
		}
	}
	w.copyIn("webhook_endpoints", []string{"id", "account_id", "livemode", "slot", "url", "signature_scheme", "encrypted_secret", "catching_up", "changed_at"}, endpoints)
	w.copyIn("webhook_retries", []string{"account_id", "livemode", "endpoint_id", "event_id", "event_txid", "slot", "attempts", "next_attempt_at"}, retries)
	// The log begins behind the events: only the schedule tells of them.
	if _, err := w.pool.Exec(ctx, "UPDATE webhook_slots SET cursor_txid = pg_current_xact_id()"); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) copyIn(table string, columns []string, rows [][]any) {
	w.t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, w.postgres.URL)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.CopyFrom(ctx, pgx.Identifier{table}, columns, pgx.CopyFromRows(rows)); err != nil {
		w.t.Fatalf("%s: %v", table, err)
	}
	if _, err := conn.Exec(ctx, "VACUUM ANALYZE "+table); err != nil {
		w.t.Fatal(err)
	}
}
