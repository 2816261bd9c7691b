package log_test

import (
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
	"github.com/waybillhq/waybill/internal/webhook"
	"github.com/waybillhq/waybill/test/proving"
)

// TestProveThatACursorOutlivesACrash kills Postgres right after transactions
// that came to nothing. Their numbers are given out again afterwards, and no
// cursor may have passed them.
func TestProveThatACursorOutlivesACrash(t *testing.T) {
	if os.Getenv("PROVE") == "" {
		t.Skip("PROVE is not set: make prove lists the proofs")
	}
	c := newCluster(t)
	st, owner := open(t, c.URL)
	tenant, log := storetest.Tenant(), webhook.New(webhook.Config{Store: st})
	cursor, reused := "", 0
	for range 3 {
		before := buy(t, st, tenant)
		last := abort(t, owner, tenant)
		cursor = readTo(t, log, tenant, cursor, before)
		c.Crash()
		owner.Reset()
		after := buy(t, st, tenant)
		if uint64(txOf(t, owner, after)) <= last {
			reused++
		}
		cursor = readTo(t, log, tenant, cursor, after)
	}
	t.Logf("after %d of 3 crashes a number was given out again", reused)
	if reused == 0 {
		t.Error("no number was given out again: the test shows nothing")
	}
}

// buy stores a shipment, as soon as the database answers.
func buy(t *testing.T, st *store.Store, tenant ship.Tenant) ship.ShipmentID {
	t.Helper()
	sh := storetest.Shipment(tenant, "o")
	var err error
	for until := time.Now().Add(proving.Patiently(time.Minute)); time.Now().Before(until); {
		if _, err = st.Create(t.Context(), storetest.Bought(sh, "1Z"+string(sh.ID))); err == nil {
			return sh.ID
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal(err)
	return ""
}

// abort runs a few transactions that come to nothing, and returns the number
// of the last.
func abort(t *testing.T, owner *pgxpool.Pool, tenant ship.Tenant) (last uint64) {
	t.Helper()
	account := [16]byte(tenant.Account.Raw())
	for range 20 {
		tx, err := owner.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ids := [][16]byte{ship.NewRawID(7, time.Now())}
		if _, err := tx.Exec(t.Context(), sqlInsert, ids, [][16]byte{account}, []bool{false}, []string{"shipment.created"}); err != nil {
			t.Fatal(err)
		}
		if err := tx.QueryRow(t.Context(), "SELECT pg_current_xact_id()::text::bigint").Scan(&last); err != nil {
			t.Fatal(err)
		}
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return last
}

func txOf(t *testing.T, owner *pgxpool.Pool, id ship.ShipmentID) (tx int64) {
	t.Helper()
	err := owner.QueryRow(t.Context(), "SELECT max(txid::text::bigint) FROM events WHERE subject_id = $1", [16]byte(id.Raw())).Scan(&tx)
	if err != nil {
		t.Fatal(err)
	}
	return tx
}

// readTo follows the cursor until the two events of the shipment, the next in
// the log, were shown.
func readTo(t *testing.T, log *webhook.Service, tenant ship.Tenant, cursor string, id ship.ShipmentID) string {
	t.Helper()
	seen := 0
	for deadline := time.Now().Add(proving.Patiently(time.Minute)); time.Now().Before(deadline); {
		got, err := log.Events(t.Context(), tenant, cursor, nil, 10)
		if err != nil {
			t.Fatalf("%v (%s)", err, ship.CodeOf(err))
		}
		for _, e := range got.Entries {
			if seen++; e.Event.Shipment != id || e.Event.Sequence != seen {
				t.Fatalf("event %d of %s is shown, want %d of %s", e.Event.Sequence, e.Event.Shipment, seen, id)
			}
		}
		if cursor = got.Next; seen == 2 && len(got.Entries) == 0 {
			return cursor // read once more behind the last event
		}
	}
	t.Fatalf("%d of 2 events of %s were shown", seen, id)
	return ""
}
